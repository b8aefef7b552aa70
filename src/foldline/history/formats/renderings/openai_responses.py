"""
A view as OpenAI Responses input items.

Source of the rules: OpenAI Responses API reference, and the errors that the API answers.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.renderings.sending import (
    OPENING_NOTE,
    CallIds,
    Original,
    object_text,
    sent_items,
    tool_name,
)
from foldline.history.formats.wire import checked_messages
from foldline.history.messages import Message


_CALL_ID = ".{1,64}"
_NAME_LIMIT = 64
_PREFIXES = {"message": "msg", "function_call": "fc", "custom_tool_call": "ctc"}
_CALLS = {
    "tool_search_output": "tool_search_call",
    "mcp_approval_response": "mcp_approval_request",
}
_SAID_BY_OTHERS = frozenset({"user", "system", "developer"})


def render_openai_responses(
    view: Iterable[Message], *, original: Original | None = None
) -> list[dict[str, Any]]:
    """
    Write *view*, in which every call is directly followed by its result, as the vendor accepts it.

    An item that *original* gives is used as it is unless something in it has to change. The
    rendering of a longer view begins with that of a shorter one; that of an empty view is a short
    user note, since no request may be empty.

    An item id tells the vendor to look for the reasoning that the item was made of, and nothing in
    a view says whether there was any in front of it. So the model's items keep their ids only
    after reasoning in their own run, which an input or a summary ends; without one they are sent
    as text and calls are that never had any, which the vendor always takes.
    """
    ids = CallIds(_CALL_ID)
    items: list[dict[str, Any]] = []
    own_ids: set[str] = set()
    is_proven = False
    for message in checked_messages(view, OPENAI_RESPONSES.format):
        for item in sent_items(message, OPENAI_RESPONSES, original):
            kind, is_new = _kind(item), _is_new(item, own_ids)
            if kind == "reasoning" and not is_new:
                continue
            is_input = _is_input(item)
            is_proven = kind == "reasoning" or (is_proven and not is_input)
            items.append(_valid(item, kind, ids, keep_id=is_new and (is_proven or is_input)))
        is_proven = is_proven and not message.is_summary
    return _followed(_paired(items)) or [{"role": "user", "content": OPENING_NOTE}]


def _kind(item: dict[str, Any]) -> str:
    kind = item.get("type") or "message"
    assert isinstance(kind, str)
    return kind


def _is_input(item: dict[str, Any]) -> bool:
    """Whether *item* comes from the model's surroundings: a person, a rule, a tool."""
    kind = _kind(item)
    if kind.endswith("_output") or kind == "mcp_approval_response":
        return True
    return item.get("role") in _SAID_BY_OTHERS


def _is_new(item: dict[str, Any], own_ids: set[str]) -> bool:
    """Whether no item before *item* has its id; takes the id."""
    own = item.get("id")
    if not isinstance(own, str):
        return True
    is_new = own not in own_ids
    own_ids.add(own)
    return is_new


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
        changed["arguments"] = object_text(item["arguments"])
    if isinstance(item.get("call_id"), str):
        give = ids.answer if kind.endswith("_output") else ids.call
        changed["call_id"] = give(item["call_id"])
    return item if changed == item else changed


def _paired(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write a call and its output as those of a function, unless both are of one kind."""
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        key = OPENAI_RESPONSES.id_key(item)
        if key is not None:
            places.setdefault(str(item[key]), []).append(place)
    for pair in places.values():
        kinds = [_kind(items[place]) for place in pair]
        if len({_CALLS.get(kind) or kind.removesuffix("_output") for kind in kinds}) > 1:
            for place in pair:
                said = replace(OPENAI_RESPONSES.message(items[place]), native=None)
                (items[place],) = OPENAI_RESPONSES.build(said)
    return items


def _followed(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out reasoning that nothing of the model follows: the vendor refuses it alone."""
    kept: list[dict[str, Any]] = []
    follows = False
    for item in reversed(items):
        if _kind(item) != "reasoning":
            follows = not _is_input(item)
        if follows or _kind(item) != "reasoning":
            kept.append(item)
    kept.reverse()
    return kept
