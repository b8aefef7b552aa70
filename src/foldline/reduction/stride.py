"""Which earlier reductions a thread keeps: fewer, the further back they are."""

FOLD_STRIDE = 16
"""How many of the newest reductions are kept, and how much rarer older ones get."""


def is_kept(number: int, newest: int) -> bool:
    """
    Whether reduction *number* is kept when *newest* have been made.

    The last 16 are kept, of the last 256 every 16th, of the last 4,096 every 256th and so on: after
    an edit there is one not far before it, and there are few at any length.
    """
    stride = FOLD_STRIDE
    while newest - number >= stride:
        if number % stride or not number:
            return False
        stride *= FOLD_STRIDE
    return True
