"""Text cleaned for one line of a digest, and cut between words."""

import re

from foldline.providers.digest.redaction import redact


__all__ = ["ELLIPSIS", "MOST_READ", "attribute", "bare", "clean", "ends", "one_line", "shorten"]


ELLIPSIS = "…"
"""What marks where text was cut off."""

MOST_READ = 100_000
"""How many characters of one text a digest reads; of a longer one, its beginning and its end."""

_SAYS = ": "
_HEAD = MOST_READ * 2 // 3
_TAIL = MOST_READ - _HEAD
_EDGES = " \n\t\"',;"
# A private key whose beginning was left out.
_KEY_REST = re.compile(
    r"(?s:(?!-----BEGIN ).)*?-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
).match
_UNPRINTABLE = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1f\x7f]")


def clean(text: str) -> str:
    """Return *text* without secrets and without characters that UTF-8 or a model cannot take."""
    return redact(_UNPRINTABLE.sub(" ", text))


def ends(text: str) -> str:
    """
    Return *text*, or the beginning and the end of one that is longer than `MOST_READ`.

    It is cut between words, so that no half of a secret or of an identifier remains.
    """
    if len(text) <= MOST_READ:
        return text
    head, tail = text[:_HEAD], text[-_TAIL:]
    head = head[: 1 + max(map(head.rfind, _EDGES))] or head
    tail = tail[min((place for place in map(tail.find, _EDGES) if place >= 0), default=0) :]
    key = _KEY_REST(tail)
    return f"{head}\n{tail[key.end() :] if key else tail}"


def one_line(text: str) -> str:
    """Return *text* with every run of white space, line breaks included, as one space."""
    return " ".join(text.split())


def shorten(text: str, *, limit: int) -> str:
    """
    Return the beginning of *text*, at most *limit* characters, never cut inside an ASCII word.

    So no identifier comes out as another, shorter one. The result is empty if its first word alone
    is longer.
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


def attribute(role: str, text: str) -> str:
    """Return *text* after who said it."""
    return f"{role}{_SAYS}{text}"


def bare(text: str) -> str:
    """Return *text* without who said it."""
    return text.partition(_SAYS)[2] or text
