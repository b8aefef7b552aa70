"""What of a text is no question."""

import re

from foldline.reduction.statements import statements


__all__ = ["unasked"]


# What is longer says something.
_LONGEST = 300
_MARKS = ("?", "？", "؟")
# Of figures and dates, addresses, paths and names in code.
_HAS_FACT = re.compile(r"[\d@_/\\`]").search


def unasked(text: str) -> str:
    """Return *text* without its questions; one that names a figure, an address or an id is kept."""
    if len(text) > _LONGEST:
        return text
    return "\n".join(
        one for one in statements(text) if not one.rstrip().endswith(_MARKS) or _HAS_FACT(one)
    )
