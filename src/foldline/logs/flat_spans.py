"""
Spans that have an attribute for each field of a message, as OpenLLMetry and OpenInference write them.

`gen_ai.prompt.0.content` is a field of the first message of the one, `llm.input_messages.0.message.content` of
the other. Both are read as a call of OpenAI Chat, whatever the vendor.
"""

from collections.abc import Iterator
from typing import Any

from foldline.history.formats.wire import Object, first_text, maybe_object
from foldline.logs.importer import decoded
from foldline.logs.spans import span_attributes


_DIALECTS = (
    ("gen_ai.prompt.", "gen_ai.completion."),
    ("llm.input_messages.", "llm.output_messages."),
)
_COUNTS = {
    "prompt_tokens": (
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.prompt_tokens",
        "llm.token_count.prompt",
    ),
    "completion_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
    ),
    "cached_tokens": (
        "gen_ai.usage.cache_read_input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
}


def flat_exchanges(fields: Object) -> Iterator[tuple[Object, Object]]:
    """Yield the request and the response of each such span in *fields*."""
    for attributes in span_attributes(fields):
        for asked, answered in _DIALECTS:
            if sent := _messages(attributes, asked):
                said = ({"message": one} for one in _messages(attributes, answered)[:1])
                yield {"messages": sent}, {"choices": [*said], "usage": _usage(attributes)}


def _usage(attributes: Object) -> Object:
    counts = {
        name: next((attributes[key] for key in keys if key in attributes), 0)
        for name, keys in _COUNTS.items()
    }
    return {**counts, "prompt_tokens_details": {"cached_tokens": counts["cached_tokens"]}}


def _messages(attributes: Object, prefix: str) -> list[Object]:
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            *path, last = key.removeprefix(prefix).split(".")
            node = tree
            for step in path:
                node = maybe_object(node.setdefault(step, {}))
            node[last] = value
    return [_message(maybe_object(one.get("message")) or one) for one in _numbered(tree)]


def _numbered(fields: Any) -> list[Object]:
    """Return the values of *fields* whose names are numbers, in their order."""
    named = maybe_object(fields)
    return [maybe_object(named[key]) for key in sorted(filter(str.isdecimal, named), key=int)]


def _message(fields: Object) -> Object:
    blocks = (maybe_object(one.get("message_content")) for one in _numbered(fields.get("contents")))
    texts = [first_text(one, "text") for one in blocks]
    message: Object = {
        "role": fields.get("role"),
        "content": decoded(fields.get("content")) or "\n".join(texts) or None,
    }
    if calls := [_call(one) for one in _numbered(fields.get("tool_calls"))]:
        message["tool_calls"] = calls
    if id := first_text(fields, "tool_call_id"):
        message["tool_call_id"] = id
    return message


def _call(fields: Object) -> Object:
    call = maybe_object(fields.get("tool_call")) or fields
    made = maybe_object(call.get("function")) or call
    function = {"name": made.get("name"), "arguments": first_text(made, "arguments")}
    return {"id": first_text(call, "id"), "type": "function", "function": function}
