"""What a judge of requests reports."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from itertools import chain
from typing import Any

from msgspec import Struct


class Rule(Enum):
    """The rules that vendors enforce with an error."""

    EMPTY = "empty"
    """A request needs at least one message."""

    SHAPE = "shape"
    """A field is missing or is not of its type."""

    ROLE = "role"
    """The role is not one of the vendor's."""

    CONTENT = "content"
    """The content is missing, empty or blank where it must not be."""

    CONTENT_TYPE = "content_type"
    """The content is of a kind that the role cannot have."""

    ENCODING = "encoding"
    """The item cannot be written as JSON in UTF-8: a lone surrogate, `NaN` or an infinity."""

    FIRST_ROLE = "first_role"
    """The first message has to be the user's."""

    CALL_ID = "call_id"
    """The id of a call is missing, too long or holds a character that is not allowed."""

    CALL_NAME = "call_name"
    """The name of a tool or speaker is missing, too long or holds a forbidden character."""

    ARGUMENTS = "arguments"
    """The arguments of a call are not of the vendor's type."""

    DUPLICATE_ID = "duplicate_id"
    """An id is given twice."""

    UNANSWERED = "unanswered"
    """A call has no result where the vendor looks for it."""

    ORPHAN = "orphan"
    """A result answers no call where the vendor looks for it."""

    RESULT_ORDER = "result_order"
    """Results come before everything else in their message."""

    REASONING = "reasoning"
    """Reasoning is alone or without its signature."""

    COMPACTION = "compaction"
    """A sealed compaction is there, verbatim, once, and first where the vendor wants it first."""

    TRAILING_SPACE = "trailing_space"
    """A closing assistant message must not end in white space."""

    CACHE_MARKS = "cache_marks"
    """A request may carry four cache marks."""


class Violation(Struct, frozen=True):
    """One broken rule."""

    index: int
    """The place of the item; -1 for the request as a whole."""

    rule: Rule
    """The rule that is broken."""

    text: str
    """What is wrong, naming fields only, never content."""


_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_PLAIN = frozenset({bool, type(None)})
_MOST_BITS = 64
_written = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def is_name(value: Any, *, limit: int) -> bool:
    """Whether *value* is 1 to *limit* letters, digits, `_` and `-`."""
    return isinstance(value, str) and len(value) <= limit and _NAME.fullmatch(value) is not None


def check_sendable(index: int, item: Any) -> Iterator[Violation]:
    """Report whether *item* can be written as JSON in UTF-8."""
    try:
        # What is nested too deep for this may still be written.
        with suppress(RecursionError):
            if _is_plain(item):
                return
        _written(item).encode()
    except (TypeError, ValueError, RecursionError):
        yield Violation(index, Rule.ENCODING, "the item cannot be written as JSON in UTF-8")


def _is_plain(value: Any) -> bool:
    """Whether *value* is what every encoder writes; to write it takes four times as long."""
    kind = type(value)
    if kind is dict:
        inner: Iterable[Any] = chain(value, value.values())
    elif kind is list:
        inner = value
    elif kind is str:
        # What UTF-8 cannot hold raises here as it would when it is written.
        return value.isascii() or bool(value.encode())
    else:
        # Python writes no number of thousands of digits.
        return kind in _PLAIN or (kind is int and value.bit_length() <= _MOST_BITS)
    for one in inner:
        # Most of what is inside are such texts.
        if type(one) is str and one.isascii():
            continue
        if not _is_plain(one):
            return False
    return True
