"""
Signs of one vendor in what is named as another's.

Converters take what they do not know along unread, as vendors add fields all the time. So a call
or a result of another vendor would be kept, but count as no call and no result.
"""

from collections.abc import Iterator
from typing import Any

from foldline.errors import FormatError
from foldline.history.formats.fields import Object, maybe_list, maybe_object, maybe_text
from foldline.history.messages import NativeFormat
from foldline.logs.document import Document, Record


__all__ = ["check_vendor"]


_ANTHROPIC_BLOCKS = frozenset({"tool_use", "tool_result"})
_CHAT_KEYS = ("tool_calls", "tool_call_id", "function_call")
_CHAT_ROLES = frozenset({"tool", "function"})
_RESPONSES_TYPES = frozenset({"function_call", "function_call_output"})
_VENDORS = (NativeFormat.OPENAI_CHAT, NativeFormat.OPENAI_RESPONSES, NativeFormat.ANTHROPIC)


def check_vendor(document: Document, format: str) -> None:
    """
    See that no message of *document* is another vendor's than that of *format*.

    Raises:
        FormatError: One is; the message names it, what gives it away, and what to do.
    """
    if format not in [vendor.value for vendor in _VENDORS]:
        return
    items = (item for record in document.records for item in _items(record))
    for place, item in items:
        vendor, sign = next((one for one in _signs(item) if one[0].value != format), (None, ""))
        if vendor is not None:
            message = (
                f"{place}: {sign} is {vendor.value}, not {format}: leave out --format, or give "
                f"--format {vendor.value}"
            )
            raise FormatError(message)


def _items(record: Record) -> Iterator[tuple[str, Object]]:
    fields = maybe_object(record.value)
    body = maybe_object(fields.get("request")) or fields
    body = maybe_object(body.get("body")) or body
    listed = maybe_list(record.value) or maybe_list(body.get("messages") or body.get("input"))
    if not listed:
        yield record.place, fields
    for number, item in enumerate(listed):
        yield f"{record.place}: message {number}", maybe_object(item)


def _signs(item: Object) -> Iterator[tuple[NativeFormat, str]]:
    if maybe_text(item.get("type")) in _RESPONSES_TYPES:
        yield NativeFormat.OPENAI_RESPONSES, f"an item {item['type']}"
    if maybe_text(item.get("role")) in _CHAT_ROLES:
        yield NativeFormat.OPENAI_CHAT, f"the role {item['role']}"
    for key in _CHAT_KEYS:
        if item.get(key):
            yield NativeFormat.OPENAI_CHAT, key
    for block in map(_kind, maybe_list(item.get("content"))):
        if block in _ANTHROPIC_BLOCKS:
            yield NativeFormat.ANTHROPIC, f"a block {block}"


def _kind(block: Any) -> str:
    return maybe_text(maybe_object(block).get("type"))
