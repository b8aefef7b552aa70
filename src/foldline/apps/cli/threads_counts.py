"""
Numbers of things, in words.
"""

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """
    Return *number* and *noun*, which is in the plural where there is not exactly one.
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
