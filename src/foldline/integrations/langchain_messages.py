"""The messages of LangChain and LangGraph."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from foldline.guests import summary_text, with_thinking
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.wire import listed_blocks, maybe_object, object_from_json
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart
from foldline.logs.langchain import message_from_langchain, own_block


_THINKING = ("thinking", "redacted_thinking", "reasoning")
_CLASSES: Mapping[str, type[BaseMessage]] = MappingProxyType(
    {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage, "tool": ToolMessage}
)


class LangChainCodec:
    """Reads and writes `BaseMessage`."""

    def read(self, item: BaseMessage, /) -> Sequence[Message]:
        """Return what *item* says; a `RemoveMessage` says nothing."""
        message = message_from_langchain(vars(item))
        if message is None:
            return ()
        return (with_thinking(message, filter(None, map(_signed, _blocks(item)))),)

    def write(self, message: Message, source: BaseMessage | None, /) -> BaseMessage:
        """Return *message*; an answer keeps its thinking, and a result says whether it failed."""
        if message.is_summary:
            return AIMessage(summary_text(message))
        built = OPENAI_CHAT.build(message) or [{"content": ""}]
        fields: dict[str, Any] = {"content": built[0]["content"] or ""}
        kind: Any = _CLASSES[message.role]
        if kind is ToolMessage:
            fields["tool_call_id"] = message.tool_call_responses[0].id
        elif kind is AIMessage:
            fields["tool_calls"] = [
                {"id": one.id, "name": one.name, "args": object_from_json(one.arguments)}
                for one in message.tool_calls
            ]
        thought = [one.content for one in message.parts if isinstance(one, ReasoningPart)]
        if thought:
            own = [] if source is None else _blocks(source)
            kept = [one for one in own if own_block(one).get("type") in _THINKING]
            made = [{"type": "reasoning", "reasoning": text} for text in thought]
            fields["content"] = [*(kept or made), *listed_blocks(fields["content"])]
        if source is None or not isinstance(source, kind):
            return kind(**fields, name=message.name)
        if kind is AIMessage:
            # The vendor's own form of the calls would be taken for further ones.
            fields |= {"additional_kwargs": {}, "invalid_tool_calls": []}
        # What is validated is set: a call is a dictionary with a type of its own.
        valid = _CLASSES[message.role](**fields, name=source.name)
        return source.model_copy(update={name: getattr(valid, name) for name in fields})

    def part(self, item: BaseMessage, _: Sequence[int], /) -> BaseMessage:
        """Return *item*, which is one message."""
        return item


def reported_usage(messages: Sequence[BaseMessage]) -> int | None:
    """Return the tokens of the request that the newest answer reports, if it does."""
    answers = [one for one in messages if isinstance(one, AIMessage)]
    usage = answers[-1].usage_metadata if answers else None
    return None if usage is None else usage["input_tokens"]


def _signed(block: dict[str, Any]) -> dict[str, Any] | None:
    """Return *block* as Anthropic writes signed thinking, if it is that; it may be of version "v1"."""
    own = own_block(block)
    if own.get("signature") or own.get("type") == "redacted_thinking":
        return own
    signature = maybe_object(own.get("extras")).get("signature")
    if own.get("type") != "reasoning" or not signature:
        return None
    return {"type": "thinking", "thinking": own.get("reasoning"), "signature": signature}


def _blocks(item: BaseMessage) -> list[dict[str, Any]]:
    content: Any = item.content
    return [one for one in listed_blocks(content) if isinstance(one, dict)]
