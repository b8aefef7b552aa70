"""
A view as OpenAI Responses input items.

Source of the rules: OpenAI Responses API reference, and the errors that the API answers.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from foldline.history.formats.openai_responses import items_from_message
from foldline.history.formats.renderings.sending import (
    OPENING_NOTE,
    CallIds,
    Original,
    own_item,
    scrubbed,
    summary_text,
    tool_name,
)
from foldline.history.messages import Message, NativeFormat


__all__ = ["render_openai_responses"]


_CALL_ID = ".{1,64}"
_NAME_LIMIT = 64
_PREFIXES = {"message": "msg", "function_call": "fc"}
_SAID_BY_OTHERS = frozenset({"user", "system", "developer"})


def render_openai_responses(
    view: Iterable[Message], *, original: Original | None = None
) -> list[dict[str, Any]]:
    """
    Write *view*, in which every call is answered directly behind it, as the vendor accepts it.

    An item that *original* gives is used as it is unless something in it has to change. What the
    model said just behind a summary loses its item ids, since the vendor would look for the
    reasoning that stood before it. The rendering of a longer view begins with that of a shorter
    one; that of an empty view is a short user note, since no request may be empty.
    """
    ids = CallIds(_CALL_ID)
    items: list[dict[str, Any]] = []
    is_cut_off = True
    for message in view:
        for item in _items(message, original):
            kind = _kind(item)
            is_cut_off = is_cut_off and kind != "reasoning" and not _is_input(item)
            items.append(_valid(item, kind, ids, keep_id=not is_cut_off))
        is_cut_off = is_cut_off or message.is_summary
    return _followed(items) or [{"role": "user", "content": OPENING_NOTE}]


def _items(message: Message, original: Original | None) -> list[dict[str, Any]]:
    if message.is_summary:
        return [scrubbed({"role": "assistant", "content": summary_text(message)})]
    item = own_item(message, NativeFormat.OPENAI_RESPONSES, original)
    if item is not None:
        return [item]
    items = items_from_message(structs.replace(message, native=None))
    if not items and message.role in {"user", "system"}:
        items = [{"role": message.role, "content": ""}]
    return [scrubbed(built) for built in items]


def _kind(item: dict[str, Any]) -> str:
    kind = item.get("type") or "message"
    assert isinstance(kind, str)
    return kind


def _is_input(item: dict[str, Any]) -> bool:
    """
    Whether *item* comes from the model's surroundings: a person, a rule, a tool.
    """
    return _kind(item).endswith("_output") or item.get("role") in _SAID_BY_OTHERS


def _valid(item: dict[str, Any], kind: str, ids: CallIds, *, keep_id: bool) -> dict[str, Any]:
    changed = dict(item)
    prefix = _PREFIXES.get(kind)
    if prefix is not None and "id" in item:
        own = item["id"]
        if not keep_id or not isinstance(own, str) or not own.startswith(prefix):
            del changed["id"]
    if kind == "message" and not item.get("content"):
        changed["content"] = ""
    if kind == "function_call":
        changed["name"] = tool_name(item["name"], limit=_NAME_LIMIT)
    if isinstance(item.get("call_id"), str):
        give = ids.answer if kind.endswith("_output") else ids.call
        changed["call_id"] = give(item["call_id"])
    return item if changed == item else changed


def _followed(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    Leave out reasoning that nothing of the model follows: the vendor refuses it alone.
    """
    kept: list[dict[str, Any]] = []
    follows = False
    for item in reversed(items):
        if _kind(item) != "reasoning":
            follows = not _is_input(item)
        if follows or _kind(item) != "reasoning":
            kept.append(item)
    kept.reverse()
    return kept
