"""Text made fit for one line of a digest, and cut where no word is harmed."""

import re

from foldline.providers.digest.redaction import redact


__all__ = ["ELLIPSIS", "clean", "one_line", "shorten"]


ELLIPSIS = "…"
"""What stands where text was cut off."""

_UNPRINTABLE = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """Return *text* without secrets and without characters that UTF-8 or a model cannot take."""
    return redact(_UNPRINTABLE.sub(" ", text))


def one_line(text: str) -> str:
    """Return *text* with every run of white space, line breaks included, as one space."""
    return " ".join(text.split())


def shorten(text: str, *, limit: int) -> str:
    """
    Return the beginning of *text*, at most *limit* characters, never cut inside an ASCII word.

    So no identifier of the text comes out as another, shorter one. The result is empty where its
    first word alone is longer.
    """
    if len(text) <= limit:
        return text
    end = max(limit - 2, 0)
    while end and _is_inside_word(text, end):
        end -= 1
    kept = text[:end].rstrip().removesuffix(ELLIPSIS).rstrip()
    return f"{kept} {ELLIPSIS}" if kept else ""


def _is_inside_word(text: str, index: int) -> bool:
    before, after = text[index - 1], text[index]
    return before.isascii() and after.isascii() and not (before.isspace() or after.isspace())
