"""Text of others on a page of ours."""

from html import escape


__all__ = ["markup"]


def markup(text: str) -> str:
    """Return *text*, which may hold anything, so that a page shows it and nothing obeys it."""
    return escape("".join(sign if sign.isprintable() else " " for sign in text))
