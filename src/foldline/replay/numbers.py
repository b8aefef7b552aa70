"""Numbers as a page or a terminal has room for."""

__all__ = ["short_number"]


def short_number(number: float) -> str:
    """Write *number* with three digits, such as `98.7k` or `1.02M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        # What rounds up to a thousand of one unit is one of the next.
        if number >= size * 0.9995:
            return f"{number / size:#.3g}".rstrip(".") + unit
    return f"{number:.0f}"
