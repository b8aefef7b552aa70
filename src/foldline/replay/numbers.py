"""Numbers and texts as a page or a terminal shows them."""

from html import escape


def counted(number: int, noun: str) -> str:
    """Return *number* with *noun*, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def shown_dollars(amount: float) -> str:
    """Return *amount* as people write it, with more digits if it is small."""
    sign, size = "-" if amount < 0 else "", abs(amount)
    return f"{sign}${size:,.2f}" if size >= 1 else f"{sign}${size:.4f}"


def short_number(number: float) -> str:
    """Write *number* with three digits, such as `98.7k` or `1.02M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # What rounds up to a thousand of one unit is one of the next.
        if number >= size * 0.9995:
            return f"{number / size:#.3g}".rstrip(".") + unit
    return f"{number:.0f}"


def plain_text(text: str, *, keeps_lines: bool = False) -> str:
    """Return *text*, which may hold anything, so that a page only shows it."""
    kept = "\n\t" if keeps_lines else ""
    return escape("".join(sign if sign.isprintable() or sign in kept else " " for sign in text))
