"""
The identifiers of what was said, and whether a text has one.

An identifier is a run of letters, digits and `. / @ # : + -` that has a digit and four characters, or
a `/`, `@`, `.` or `_` inside, or is three to eight capitals, or is in camel case. A text has it if it
stands there as a whole word, so that `user_1` is not in `user_12`.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeAlias, cast

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.reader import text_of


Pattern: TypeAlias = Callable[[str], Iterator[str]]
"""What finds the identifiers of a text, in order."""

_RUN = re.compile(r"[A-Za-z0-9_][\w./@#:+-]{2,}")
_INSIDE = re.compile(r"\w[/@._-]*[/@._]\w")
_CODE = re.compile(r"[A-Z]{3,8}")
_CAMEL = re.compile(r"[a-z][A-Z]")
_DIGIT = re.compile(r"\d")
_PIECE = re.compile(r"[^\s\"'`,;()\[\]{}<>=|\\]+")
_SIGN = re.compile(r"[\d@_/#]")
_DIRECTORY = re.compile(r"(?m)^- (\S*/): (.+)$")
_EDGE = ".:/+-#"
_LEAST, _LONGEST = 4, 400
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def identifiers(text: str) -> Iterator[str]:
    """Return the identifiers of *text*, in order, each as often as it occurs."""
    return filter(None, map(_identifier, _RUN.findall(text)))


@lru_cache(maxsize=1 << 16)
def _identifier(run: str) -> str:
    """Return the identifier that *run* is; empty if it is another word."""
    value = run.rstrip(_EDGE)
    if len(value) >= _LEAST and _DIGIT.search(value):
        return value
    is_one = _INSIDE.search(value) or _CODE.fullmatch(value) or _CAMEL.search(value)
    return value if is_one else ""


def generic(text: str) -> Iterator[str]:
    """Yield what a plain ledger keeps: each run of characters with a digit, `@`, `_`, `/` or `#`."""
    for run in _PIECE.findall(text):
        value = run.strip(".:!?")
        if _SIGN.search(value):
            yield value


def wants(message: Message, pattern: Pattern = identifiers) -> tuple[str, ...]:
    """Return the identifiers in the calls of *message*, none from texts of over 400 characters."""
    texts = (leaf for call in message.tool_calls for leaf in _leaves(call_arguments(call)))
    found = (value for text in texts if len(text) <= _LONGEST for value in pattern(text))
    return tuple(dict.fromkeys(found))


def call_arguments(call: ToolCallPart) -> dict[str, object]:
    """Return the arguments of *call* by name; one without a name if they are no JSON object."""
    try:
        given: object = decode_json(call.arguments)
    except FormatError:
        given = call.arguments
    return cast("dict[str, object]", given) if isinstance(given, dict) else {"": given}


def _leaves(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, object]", value).values():
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _leaves(inner)


def said(message: Message) -> str:
    """Return all that stands in *message*; arguments of calls as their texts, without escapes."""
    calls = message.tool_calls
    if not calls:
        return text_of(message)
    texts = [message.text]
    for call in calls:
        texts += [call.name, *_leaves(call_arguments(call))]
    return "\n".join(texts)


def has_word(text: str, value: str) -> bool:
    """Whether *value* stands in *text* as a whole word."""
    return last_word(text, value, len(text)) >= 0


def last_word(text: str, value: str, end: int) -> int:
    """Return where *value* stands last as a whole word in the first *end* characters of *text*, or -1."""
    end = min(end, len(text))
    at = text.rfind(value, 0, end)
    while at >= 0:
        after = at + len(value)
        if (at == 0 or text[at - 1] not in _WORD) and (after >= end or text[after] not in _WORD):
            return at
        at = text.rfind(value, 0, after - 1)
    return -1


def spelled_out(text: str) -> str:
    """Return *text* with the directories that a digest writes once put before each of their files."""

    def spell(match: re.Match[str]) -> str:
        return ", ".join(match[1] + name for name in match[2].split(", "))

    return _DIRECTORY.sub(spell, text)
