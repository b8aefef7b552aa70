"""
A view as OpenAI Chat Completions messages.

Source of the rules: OpenAI Chat Completions API reference, and the errors that the API answers; that
speakers take turns is a rule of the chat templates of Mistral, Gemma and others, which servers with
the same interface apply (vLLM issue 6862, hermes-agent issue 74086).
"""

import re
from collections.abc import Iterable
from typing import Any

from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.renderings.sending import (
    EMPTY_NOTE,
    OPENING_NOTE,
    CallIds,
    Original,
    object_text,
    sent_items,
    tool_name,
    turn_note,
)
from foldline.history.formats.wire import (
    checked_messages,
    is_object,
    json_text,
    listed_blocks,
    maybe_object,
    object_from_json,
)
from foldline.history.messages import Message


_CALL_ID = ".{1,40}"
_NAME_LIMIT = 64
_SPEAKER = r"[^\s<|\\/>]{1,64}"
_KINDS = ("function", "custom")
_SPEAKERS = ("user", "assistant", "system", "developer")
_PLAIN_SIZE = 2
# What an answer may have without a content.
_INSTEAD = ("tool_calls", "audio", "refusal")
_NOT_VOID = frozenset({"tool_calls", "function_call", "name"})


def render_openai_chat(
    view: Iterable[Message], *, original: Original | None = None
) -> list[dict[str, Any]]:
    """
    Write *view*, in which every call is directly followed by its result, as the vendor accepts it.

    An item that *original* gives is used as it is unless something in it has to change. The
    rendering of a longer view begins with that of a shorter one; that of an empty view is a short
    user note, since no request may be empty. Such a note comes before a summary that would be the
    first to speak, and between one and what the assistant says, since servers may want speakers to
    take turns.
    """
    ids = CallIds(_CALL_ID)
    items: list[dict[str, Any]] = []
    last: Message | None = None
    for message in checked_messages(view, OPENAI_CHAT.format):
        made = sent_items(message, OPENAI_CHAT, original, _is_legacy)
        if made and message.role != "system":
            if note := turn_note(last, message):
                items.append({"role": "user", "content": note})
            last = message
        for item in made:
            _append(items, _valid(item, ids, is_own=original is not None))
    return items or [{"role": "user", "content": OPENING_NOTE}]


def _is_legacy(item: dict[str, Any]) -> bool:
    """Whether *item* calls or answers without an id, as the API did before it had tools."""
    if item["role"] == "tool":
        return item.get("tool_call_id") is None
    return item["role"] == "function" or item.get("function_call") is not None


def _append(items: list[dict[str, Any]], item: dict[str, Any]) -> None:
    """Append *item*; calls made in several messages in a row become those of one message."""
    last = items[-1] if items else {}
    if item["role"] != "assistant" or "tool_calls" not in last:
        items.append(item if _says_something(item) else {**item, "content": EMPTY_NOTE})
        return
    merged = {**last, **item}
    merged["content"] = _joined(last.get("content"), item.get("content"))
    merged["tool_calls"] = [*last["tool_calls"], *item.get("tool_calls", ())]
    items[-1] = merged


def _joined(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second
    return [*listed_blocks(first), *listed_blocks(second)]


def _valid(item: dict[str, Any], ids: CallIds, *, is_own: bool) -> dict[str, Any]:
    if (
        item["role"] in _SPEAKERS
        and len(item) == _PLAIN_SIZE
        and isinstance(item.get("content"), str)
    ):
        return item
    changed = {key: value for key, value in item.items() if value or key not in _NOT_VOID}
    if "name" in changed and not re.fullmatch(_SPEAKER, changed["name"]):
        del changed["name"]
    content = changed.get("content")
    if not content and (content is not None or not any(map(changed.get, _INSTEAD))):
        changed["content"] = ""
    if "tool_calls" in changed and item["role"] == "assistant":
        changed["tool_calls"] = [
            _valid_call(call, ids, is_own=is_own) for call in changed["tool_calls"]
        ]
    if item["role"] == "tool":
        changed["tool_call_id"] = ids.answer(changed["tool_call_id"])
    return item if changed == item else changed


def _says_something(item: dict[str, Any]) -> bool:
    """Whether *item* says something: Kimi and others refuse an answer that was cut off before it did."""
    if item["role"] != "assistant" or any(map(item.get, _INSTEAD)):
        return True
    content = item.get("content")
    if isinstance(content, str):
        return bool(content) and not content.isspace()
    return any(
        one.get("type") != "text" or str(one.get("text")).strip() for one in listed_blocks(content)
    )


def _valid_call(call: dict[str, Any], ids: CallIds, *, is_own: bool) -> dict[str, Any]:
    kind = call.get("type") or "function"
    function = None if kind in _KINDS else _as_function(call, kind)
    if function is not None:
        call, kind = function, "function"
    changed = {**call, "id": ids.call(call.get("id") or ""), "type": kind}
    tool = call.get(kind)
    if is_object(tool):
        tool = {**tool, "name": tool_name(tool.get("name") or "", limit=_NAME_LIMIT)}
        stays = is_own and has_object(call)
        if kind == "function" and not stays:
            given = tool.get("arguments") or {}
            tool["arguments"] = object_text(given if isinstance(given, str) else json_text(given))
        changed[kind] = tool
    return changed


def has_object(call: dict[str, Any]) -> bool:
    """Whether *call* is one of Ollama's own interface: it has no type, and takes an object alone."""
    return "type" not in call and is_object(maybe_object(call.get("function")).get("arguments"))


def with_objects(item: dict[str, Any]) -> dict[str, Any]:
    """Return *item* with an object for the arguments of each call, as Ollama's own interface takes it."""
    calls = item.get("tool_calls")
    return item if not calls else {**item, "tool_calls": [*map(_in_object, calls)]}


def _in_object(call: dict[str, Any]) -> dict[str, Any]:
    function = maybe_object(call.get("function"))
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        return call
    return {**call, "function": {**function, "arguments": object_from_json(arguments)}}


def _as_function(call: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """Return *call*, of an unknown *kind*, as a function's; None without name or arguments."""
    for tool in (call.get("function"), call.get(kind), call):
        if is_object(tool) and isinstance(tool.get("name"), str) and "arguments" in tool:
            function = {"name": tool["name"], "arguments": tool["arguments"]}
            return {"id": call.get("id"), "type": "function", "function": function}
    return None
