"""What of a text is no question."""

import re

from foldline.reduction.statements import statements


__all__ = ["unasked"]


# What is longer says something.
_LONGEST = 300
_MARKS = ("?", "？", "؟")
# Of figures and dates, addresses, paths and names in code.
_HAS_FACT = re.compile(r"[\d@_/\\`]").search
_HAS_WORD = re.compile(r"\w").search
# A greeting at the end, and a name.
_SIGNED = re.compile(
    r"(?:lg|vg|mfg|best|cheers|thanks|thx|gru(?:ß|ss)|saludos|cordialement"
    r"|(?:kind |best |warm )?regards|(?:viele |liebe )?gr[uü](?:ß|ss)e)\b[,.! ]{0,3}\w{0,20}[.!]?",
    re.IGNORECASE,
).fullmatch


def unasked(text: str) -> str:
    """Return *text* without its questions; one that names a figure, an address or an id is kept."""
    if len(text) > _LONGEST or not any(mark in text for mark in _MARKS):
        return text
    return "\n".join(one for one in statements(text) if _HAS_FACT(one) or not _only_asks(one))


def _only_asks(statement: str) -> bool:
    said = statement.strip()
    after = said[1 + max(map(said.rfind, _MARKS)) :]
    is_aside = said.startswith("(") and said.endswith(")")
    return not _HAS_WORD(after) or is_aside or _SIGNED(said) is not None
