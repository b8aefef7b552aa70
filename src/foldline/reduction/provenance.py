"""Whether the names in a text come from what it was made of."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec.structs import astuple

from foldline.history.parts import BlobPart, Part
from foldline.reduction.request import SummaryRequest


__all__ = ["REDACTED", "Source"]


REDACTED = "[redacted {}]"
"""What replaces a secret in a text, with the kind of the secret in it."""

# Only shapes that nobody writes without having read them. They are ASCII, because in text without
# spaces, such as Chinese, words touch them; and none is tried twice in one run of characters.
_ADDRESS = re.compile(
    r"https?://(?:www\.)?([\w.~:/?#@!$&+=%-]++)",
    re.ASCII | re.IGNORECASE,
)
_MAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]++@(?:[\w-]++\.)+[a-z]{2,}",
    re.ASCII | re.IGNORECASE,
)
_UUID = re.compile(r"[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}", re.ASCII | re.IGNORECASE)
_CODE = re.compile(r"[A-Za-z0-9]{6,}")  # checked by `_is_code`
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[\da-f]{16,}", re.ASCII | re.IGNORECASE).fullmatch
_TURN = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_LEAST_DIGITS = 3
_LEAST_LETTERS = 2
_LEAST_TURNS = 3
# Capitals alone, such as ZFA04Y, look like a code sooner.
_CAPITAL_DIGITS = 2
_CAPITAL_TURNS = 2
# Times, durations and sizes, which anybody may write in a new way: 20261121T120000Z, 1d12h30m, PT1H30M,
# 10x20x30cm, 1920x1080p60.
_MEASURE = re.compile(
    r"(?:\d+(?:ms|min|sec|[dhmstwyz]))+\d*"
    r"|p(?:\d+[dmwy])*(?:t(?:\d+[hms])+)?"
    r"|\d+(?:x\d+)+[a-z]{0,3}\d*",
    re.ASCII | re.IGNORECASE,
).fullmatch
# What ends a sentence, or marks a word, and is no part of an address.
_EDGES = "_.:/?#!&+=-~*"
_OWN_HOST = re.compile(r"(?:localhost|127\.0\.0\.1)(?::\d+)?(?![^/?#])")

_MARKER = re.compile(re.escape(REDACTED).replace(r"\{\}", r"[a-z ]{1,40}"))
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
_CONTROLS = "bfnrt"
# JSON is escaped again if it is a value in JSON.
_MOST_ESCAPED = 3
# The one character of addresses that HTML writes otherwise.
_AND = "&amp;"
_SPLIT_CODE = re.compile(r"(?<=[a-z0-9])[ -](?=[a-z0-9])")


class Source:
    """What a text was made of."""

    def __init__(self, request: SummaryRequest) -> None:
        """Read what *request* gives to read."""
        self._request = request

    def invented(self, statement: str) -> bool:
        """Whether *statement* has a name or an address that was never said."""
        return bool(_invented(_names(_without_secrets(statement)), self._request))


def _without_secrets(text: str) -> str:
    # What touches a marker was cut through: no source has such a name.
    if not _MARKER.search(text):
        return text
    return " ".join(word for word in _MARKER.sub("\0", text).split() if "\0" not in word)


def _names(text: str) -> set[str]:
    text = text.replace(_AND, "&")
    names: set[str] = set()
    # Most texts have few shapes; a search for what each of them contains costs next to nothing.
    for shape, sign in ((_ADDRESS, "://"), (_MAIL, "@")):
        if sign in text:
            names.update(found.strip(_EDGES).casefold() for found in shape.findall(text))
            text = shape.sub(" ", text)
    uuids = _UUID.findall(text) if "-" in text else []
    names.update(found.casefold() for found in uuids)
    runs = set(_CODE.findall(_UUID.sub(" ", text) if uuids else text))
    names.update(found.casefold() for found in runs if not found.isalpha() and _is_code(found))
    return {name for name in names if name and not _OWN_HOST.match(name)}


def _is_code(run: str) -> bool:
    """Whether letters and digits take turns in *run*: in AB12CD34, but not in sha256 or 1000px."""
    digits = sum(character.isdigit() for character in run)
    if digits > len(run) - _LEAST_LETTERS or _MEASURE(run):
        return False
    turns = len(_TURN.findall(run))
    if run.isupper() and digits >= _CAPITAL_DIGITS and turns >= _CAPITAL_TURNS:
        return True
    return bool(_HASH(run)) or (digits >= _LEAST_DIGITS and turns >= _LEAST_TURNS)


def _invented(names: Iterable[str], request: SummaryRequest) -> int:
    names = tuple(names)
    if not names:
        return 0
    # Folded and joined once: names and source may both be long.
    source = _read("\n".join(_source_texts(request)).casefold())
    missing = [name for name in names if name not in source]
    if not missing:
        return 0
    # A code that is said in groups may be written in one piece, and a UUID the other way too.
    joined = _SPLIT_CODE.sub("", source)
    pieces = (name.replace("-", "") if _UUID.fullmatch(name) else name for name in missing)
    return sum(name not in joined for name in pieces)


def _read(text: str) -> str:
    """
    Return *text* and after it the same without escapes, even if it is not whole JSON.

    What HTML escapes is repeated at the end.
    """
    readings = [text]
    while "\\" in readings[-1] and len(readings) <= _MOST_ESCAPED:
        readings.append(_ESCAPE.sub(_unescaped, readings[-1]))
    if any(_AND in reading for reading in readings):
        readings.append(readings[-1].replace(_AND, "&"))
    return "\n".join(readings)


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16)).casefold()
    return "\n" if match[2] in _CONTROLS else match[2]


def _source_texts(request: SummaryRequest) -> Iterator[str]:
    # What the instruction names was not invented either.
    yield request.prompt
    yield request.focus
    yield from request.earlier
    for message in request.messages:
        yield message.name or ""
        for part in message.parts:
            yield from _part_texts(part)


def _part_texts(part: Part) -> Iterator[str]:
    # Binary content has no text to take a name from.
    if not isinstance(part, BlobPart):
        for value in astuple(part):
            if isinstance(value, str):
                yield value
            else:
                yield from chain.from_iterable(map(_part_texts, value))
