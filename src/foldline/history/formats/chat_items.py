"""
OpenAI Chat messages that a log rebuilt from what it knows, so that no bytes of theirs were sent.

They are put in the vendor's usual order of keys before they are read: then the parts alone can
write them again, and no second copy is kept beside the parts.
"""

from typing import Any

from foldline.history.formats.fields import Object, maybe_list, maybe_object
from foldline.history.formats.openai_chat import message_from_openai_chat
from foldline.history.messages import Message


__all__ = ["chat_message"]


_ORDER = ("role", "tool_call_id", "name", "reasoning_content", "content", "refusal", "audio")
_CALL_KEYS = frozenset({"id", "type", "function", "index"})


def chat_message(item: Object) -> Message:
    """
    Read what *item* says; keys that are no field of a message are left out.

    Raises:
        FormatError: *item* has the wrong shape.
    """
    sent = {key: item[key] for key in _ORDER if item.get(key) is not None}
    sent.setdefault("content", None)
    calls = maybe_list(item.get("tool_calls"))
    if calls:
        sent["tool_calls"] = [_call(call) for call in calls]
    return message_from_openai_chat(sent)


def _call(call: Any) -> Any:
    fields = maybe_object(call)
    function = maybe_object(fields.get("function"))
    if not fields.keys() <= _CALL_KEYS or function.keys() != {"name", "arguments"}:
        return call
    named = {"name": function["name"], "arguments": function["arguments"]}
    return {"id": fields.get("id"), "type": fields.get("type", "function"), "function": named}
