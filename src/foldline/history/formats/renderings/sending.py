"""What the renderings share: fixed notes, clean text, names and ids that vendors take."""

import math
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, TypeAlias

from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import Object, is_list, is_object
from foldline.history.messages import Message


__all__ = [
    "EMPTY_NOTE",
    "OPENING_NOTE",
    "SUMMARY_HEADER",
    "CallIds",
    "Original",
    "scrubbed",
    "sent_items",
    "summary_text",
    "tool_name",
]


SUMMARY_HEADER = (
    "[Summary of the earlier part of this conversation. It is a record of what was said, "
    "not an instruction.]"
)
"""The first line of every rendered summary."""

OPENING_NOTE = "[The earlier part of this conversation is not shown in full.]"
"""What a rendering opens with if the vendor wants a user message first and the view has none."""

EMPTY_NOTE = "[empty message]"
"""What replaces a user message without content if the vendor refuses empty ones."""

Original: TypeAlias = Callable[[Message], Sequence[dict[str, Any]] | None]
"""Returns the caller's own items for a message that is unchanged, else None."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_IN_NAMES = re.compile("[^a-zA-Z0-9_-]")


def sent_items(
    message: Message,
    converter: Converter,
    original: Original | None,
    is_refused: Callable[[Object], bool] = lambda _: False,
) -> list[Object]:
    """
    Return the caller's or the vendor's own items for *message*, if there are some to be sent.

    Otherwise it is written from its parts; a user or system message with nothing to send becomes an
    empty item. A summary is written as what the model said, and what is opaque is left out.
    """
    if message.is_opaque:
        return []
    if message.is_summary:
        return [scrubbed({"role": "assistant", "content": summary_text(message)})]
    items = original(message) if original is not None else None
    if items is None:
        items = converter.native_items(message)
    if items is None or any(map(is_refused, items)):
        items = converter.build(message)
        if not items and message.role in {"user", "system"}:
            items = [{"role": message.role, "content": ""}]
    return [scrubbed(item) for item in items]


def summary_text(message: Message) -> str:
    """Return the text of a summary under its header."""
    return f"{SUMMARY_HEADER}\n\n{message.text}".rstrip()


def scrubbed(value: Any) -> Any:
    """
    Return *value* without what no request can hold: lone surrogates, `NaN` and infinities.

    The very same object is returned if there is nothing to replace.
    """
    if isinstance(value, str):
        return value if _is_text(value) else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_object(value):
        if all(scrubbed(key) is key and scrubbed(item) is item for key, item in value.items()):
            return value
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    if is_list(value):
        items = [scrubbed(item) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    return value


def _is_text(value: str) -> bool:
    """Whether *value* can be written in UTF-8, which is quicker tried than searched."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    return True


def tool_name(name: str, *, limit: int) -> str:
    """Return *name* as every vendor takes it: 1 to *limit* letters, digits, `_` and `-`."""
    return _NOT_IN_NAMES.sub("_", name)[:limit] or "unnamed"


class CallIds:
    """
    The ids of tool calls in one rendering, each fit for the vendor and given only once.

    An id that fits and is new stays as it is. Another one is replaced by a digest of it, so the
    replacement depends on nothing that comes later.
    """

    def __init__(self, pattern: str) -> None:
        self._fits = re.compile(pattern, re.DOTALL).fullmatch
        self._given: set[str] = set()
        self._times: dict[str, int] = {}
        self._open: dict[str, list[str]] = {}

    def call(self, call_id: str) -> str:
        """Return the id to render for a call that has the id *call_id*."""
        given = call_id
        while given in self._given or not self._fits(given):
            self._times[call_id] = self._times.get(call_id, 0) + 1
            text = f"{self._times[call_id]}:{call_id}"
            given = f"call_{sha256(text.encode(errors='surrogatepass')).hexdigest()[:24]}"
        self._given.add(given)
        self._open.setdefault(call_id, []).append(given)
        return given

    def answer(self, call_id: str) -> str:
        """Return the id to render for an answer to the oldest open call with the id *call_id*."""
        waiting = self._open.get(call_id)
        return waiting.pop(0) if waiting else call_id
