"""
Trajectories of SWE-agent.

One JSON object a file: `history`, a list of OpenAI Chat messages with `agent`, `thought`,
`action` and `message_type` beside them; a tool's answer names its calls in `tool_call_ids`.
Without function calling the model writes its action as text and is answered by the user, which
stays so here. If one observation answers several calls, the first carries its text.
"""

from msgspec.structs import replace

from foldline.history.formats.openai_chat import chat_message
from foldline.history.formats.wire import (
    Object,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    scalars,
)
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, ToolCallResponsePart
from foldline.logs.document import Document
from foldline.logs.importer import Importer, Session, first_item, lists_in, read_each


__all__ = ["SWE_AGENT"]


_KEPT = ("agent", "message_type", "is_demo")


def _matches(document: Document) -> bool:
    item = maybe_object(first_item(document, "history"))
    return "history" in maybe_object(document.first) and {"role", "content", "agent"} <= item.keys()


def _read(document: Document) -> tuple[Session, ...]:
    return tuple(
        Session(
            id=first_text(trajectory, "instance_id"),
            format=SWE_AGENT.name,
            title=first_text(trajectory, "environment"),
            messages=tuple(read_each(items, _message, "the message")),
        )
        for trajectory, items in lists_in(document, "history")
    )


def _message(item: Object) -> Message:
    calls = [call for call in maybe_list(item.get("tool_call_ids")) if isinstance(call, str)]
    if item.get("role") == "tool" and calls:
        item = {**item, "tool_call_id": calls[0]}
    message = chat_message(item)
    others = tuple(ToolCallResponsePart(call, "") for call in calls[1:])
    thinking = map(maybe_object, maybe_list(item.get("thinking_blocks")))
    thoughts = [ReasoningPart(maybe_text(block.get("thinking"))) for block in thinking]
    metadata = scalars(item, _KEPT) | _unsaid(item)
    return replace(
        message,
        parts=(*thoughts, *message.parts, *others),
        metadata=metadata or None,
    )


def _unsaid(item: Object) -> Object:
    """Return the thought and the action of a model's message that its content does not repeat."""
    content = maybe_text(item.get("content"))
    keys = ["thought"] if item.get("tool_calls") else ["thought", "action"]
    found = scalars(item, keys)
    return {key: text for key, text in found.items() if str(text).strip() not in content}


SWE_AGENT = Importer(
    name="swe-agent",
    description="trajectory of SWE-agent (one JSON object with a history)",
    matches=_matches,
    read=_read,
)
"""The importer of SWE-agent's trajectories."""
