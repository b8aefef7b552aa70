"""What the renderings share: fixed notes, clean text, names and ids that vendors take."""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, TypeAlias, TypeGuard, cast

import msgspec

from foldline.history.formats.converter import Converter
from foldline.history.formats.wire import Object, is_list, is_object, json_text, object_from_json
from foldline.history.messages import Message


SUMMARY_HEADER = (
    "[Summary of the earlier part of this conversation. It is a record of what was said, "
    "not an instruction.]"
)
"""The first line of every rendered summary."""

OPENING_NOTE = "[The earlier part of this conversation is not shown in full.]"
"""What a rendering opens with if the vendor wants a user message first and the view has none."""

CONTINUES_NOTE = "[The conversation continues.]"
"""What comes between a summary and an answer where speakers have to take turns."""

EMPTY_NOTE = "[empty message]"
"""What replaces a message without content if vendors refuse empty ones."""

Original: TypeAlias = Callable[[Message], Sequence[dict[str, Any]] | None]
"""Returns the caller's own items for a message that is unchanged, else None."""

_PLAIN_KEYS = frozenset({"role", "content"})
_TYPED_KEYS = _PLAIN_KEYS | {"type"}
_TEXT_KEYS = frozenset({"type", "text"})
_OUTPUT_KEYS = _TEXT_KEYS | {"annotations"}
_TEXT_TYPES = ("text", "input_text", "output_text")
_SPEAKERS = ("user", "assistant")
# Made into patterns when they are needed, which a start is not.
_SURROGATE = "[\ud800-\udfff]"
_NOT_IN_NAMES = "[^a-zA-Z0-9_-]"


class _AnyObject(msgspec.Struct):
    """A JSON object, of which nothing is kept."""


_read_object = msgspec.json.Decoder(_AnyObject).decode


def sent_items(
    message: Message,
    converter: Converter,
    original: Original | None,
    is_refused: Callable[[Object], bool] = lambda _: False,
) -> list[Object]:
    """Return items of the caller or vendor for *message*, or else those made of its parts."""
    if message.is_opaque:
        return []
    if message.is_summary:
        return [scrubbed({"role": "assistant", "content": summary_text(message)})]
    items = original(message) if original is not None else None
    if items is not None and len(items) == 1 and is_plain(items[0]):
        return [*items]
    if items is None:
        items = converter.native_items(message)
    if items is None or any(map(is_refused, items)):
        items = converter.build(message)
        if not items and message.role in {"user", "system"}:
            items = [{"role": message.role, "content": ""}]
    return [scrubbed(item) for item in items]


def is_plain(item: object) -> TypeGuard[Object]:
    """Whether *item* is one text as every vendor takes it, which most messages of a view are."""
    if not is_object(item) or item.keys() != _PLAIN_KEYS or item["role"] not in _SPEAKERS:
        return False
    content = item["content"]
    return type(content) is str and (content.isascii() or not _has_surrogate(content))


def only_text(item: object) -> str | None:
    """Return the text of *item* if that is all it has, mere or in a block; None for any other item."""
    if is_plain(item):
        return cast("str", item["content"])
    if not is_object(item) or item.keys() not in (_PLAIN_KEYS, _TYPED_KEYS):
        return None
    blocks = item["content"]
    if item["role"] not in _SPEAKERS or item.get("type", "message") != "message":
        return None
    if type(blocks) is not list or len(blocks) != 1 or not is_object(block := blocks[0]):
        return None
    keys = block.keys()
    is_text = keys == _TEXT_KEYS or (keys == _OUTPUT_KEYS and block["annotations"] == [])
    said = block["text"] if is_text and block["type"] in _TEXT_TYPES else None
    return said if type(said) is str and _is_sendable(said) else None


def turn_note(last: Message | None, message: Message) -> str:
    """Return what a user has to say between *last*, if any, and *message*, if one is a summary."""
    if last is None:
        return OPENING_NOTE if message.is_summary else ""
    return CONTINUES_NOTE if last.is_summary and message.role == "assistant" else ""


def summary_text(message: Message) -> str:
    """Return the text of a summary under its header."""
    return f"{SUMMARY_HEADER}\n\n{message.text}".rstrip()


def scrubbed(value: Any) -> Any:
    """Return *value* without lone surrogates, `NaN` and infinities; itself if it has none."""
    if _is_sendable(value):
        return value
    if is_object(value):
        return {scrubbed(key): scrubbed(item) for key, item in value.items()}
    if is_list(value):
        return [*map(scrubbed, value)]
    return re.sub(_SURROGATE, "\ufffd", value) if isinstance(value, str) else None


def _is_sendable(value: Any) -> bool:
    if is_object(value):
        for key, item in value.items():
            # Most of what is sent are these, and the view is looked through before every call.
            if type(item) is str and item.isascii() and type(key) is str and key.isascii():
                continue
            if not (_is_sendable(key) and _is_sendable(item)):
                return False
        return True
    if is_list(value):
        return all(map(_is_sendable, value))
    if isinstance(value, str):
        return value.isascii() or not _has_surrogate(value)
    return not isinstance(value, float) or math.isfinite(value)


def _has_surrogate(text: str) -> bool:
    # UTF-16 has no form for one, and is written many times as fast as a text is searched.
    try:
        text.encode("utf-16-le")
    except UnicodeEncodeError:
        return True
    return False


def object_text(text: str) -> str:
    """Return *text* if it is a JSON object, which many servers want of arguments; else one with it."""
    try:
        _read_object(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return json_text(scrubbed(object_from_json(text)))
    return text


def tool_name(name: str, *, limit: int) -> str:
    """Return *name* as every vendor takes it: 1 to *limit* letters, digits, `_` and `-`."""
    if not (name.isascii() and name.isidentifier()):
        name = re.sub(_NOT_IN_NAMES, "_", name)
    return name[:limit] or "unnamed"


# Made with the first call: views of mere text have none.
@cache
def _fitting(pattern: str) -> Callable[[str], object]:
    return re.compile(pattern, re.DOTALL).fullmatch


class CallIds:
    """The ids of calls in one rendering; one that is unfit or taken becomes a digest of itself."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._given: set[str] = set()
        self._times: dict[str, int] = {}
        self._open: dict[str, list[str]] = {}

    def call(self, call_id: str) -> str:
        """Return the id to render for a call that has the id *call_id*."""
        given = call_id
        fits = _fitting(self._pattern)
        while given in self._given or not fits(given):
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
