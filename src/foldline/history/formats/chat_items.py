"""
OpenAI Chat messages as logs hold them.

That is not how they were sent: keys are in any order, nulls and keys of the log's own between
them. They are put in the vendor's usual order of keys before they are read. Then the parts alone
can write them again, and no second copy is kept beside the parts.
"""

from typing import Any

from msgspec.structs import replace

from foldline.history.formats.fields import Object, maybe_object
from foldline.history.formats.openai_chat import message_from_openai_chat
from foldline.history.formats.wire import as_list
from foldline.history.messages import Message


__all__ = ["CHAT_FIELDS", "chat_message"]


CHAT_FIELDS = (
    "role",
    "tool_call_id",
    "name",
    "reasoning_content",
    "content",
    "refusal",
    "annotations",
    "audio",
    "tool_calls",
    "function_call",
)
"""The fields of a message, in the order in which they are read."""

_EMPTY: tuple[Any, ...] = (None, [])
_CALL_KEYS = frozenset({"id", "type", "function", "index"})


def chat_message(item: Object) -> Message:
    """
    Read what *item* says; keys that are no field of a message are left out.

    Raises:
        FormatError: *item* has the wrong shape.
    """
    sent = {
        key: item.get(key) for key in CHAT_FIELDS if key == "content" or item.get(key) not in _EMPTY
    }
    if "tool_calls" in sent:
        sent["tool_calls"] = [_call(call) for call in as_list(item["tool_calls"], "tool_calls")]
    message = message_from_openai_chat(sent)
    if message.role == "tool" and not message.tool_call_responses:
        # What answers no call was printed; the vendor would refuse the item as it is.
        return replace(message, native=None)
    return message


def _call(call: Any) -> Any:
    fields = maybe_object(call)
    function = maybe_object(fields.get("function"))
    if not fields.keys() <= _CALL_KEYS or function.keys() != {"name", "arguments"}:
        return call
    named = {"name": function["name"], "arguments": function["arguments"]}
    return {"id": fields.get("id"), "type": fields.get("type", "function"), "function": named}
