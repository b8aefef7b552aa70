"""
Events of OpenHands since its version 1, which its SDK writes a file each.

Source: `openhands.sdk.event`. An event has a `kind`. Each action is a message of the model, with its call; an
observation, a rejection or an error of the agent answers the call that it names.
What skills and rules add to a message of the user, and what the environment says, is printed.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from foldline.history.formats.wire import (
    Object,
    as_text,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    media_from_url,
)
from foldline.history.messages import Message
from foldline.history.parts import (
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallResponsePart,
)
from foldline.logs.bodies import chat_call
from foldline.logs.importer import Reading, printed_message


_ANSWERS = ("rejection_reason", "error")


def is_event(event: Object) -> bool:
    """Whether *event* is one of version 1."""
    return {"kind", "source", "timestamp"} <= event.keys() and "role" not in event


def take_event(run: Reading, event: Object) -> None:
    """Add to *run* what *event* says."""
    run.say(_messages(run, event), event.get("timestamp"))


def _messages(run: Reading, event: Object) -> Iterator[Message]:
    kind = as_text(event.get("kind"), "kind")
    added = "\n\n".join(_texts(event.get("extended_content")))
    match kind:
        case "SystemPromptEvent":
            texts = (_texts([event.get(key)]) for key in ("system_prompt", "dynamic_context"))
            yield Message.system("\n\n".join(chain.from_iterable(texts)))
        case "MessageEvent":
            yield _message(event, maybe_object(event.get("llm_message")))
            if added:
                yield printed_message(added, name="openhands")
        case "ActionEvent":
            yield _answer(event, event, event.get("thought"), [event.get("tool_call")])
        case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent":
            yield _observation(event, added)
        case "Condensation":
            run.compact({"summary": maybe_text(event.get("summary"))})
        case _:
            run.skipped[kind] += 1


def _message(event: Object, said: Object) -> Message:
    parts = tuple(_parts(said.get("content")))
    if event.get("source") == "agent":
        return _answer(event, said, said.get("content"), maybe_list(said.get("tool_calls")))
    if event.get("source") == "user":
        return Message(role="user", parts=parts)
    return printed_message(parts, name=first_text(event, "source"))


def _answer(event: Object, said: Object, content: object, calls: Iterable[object]) -> Message:
    blocks = map(maybe_object, maybe_list(said.get("thinking_blocks")))
    thoughts = [
        first_text(said, "reasoning_content"),
        *(first_text(one, "thinking") for one in blocks),
    ]
    reasoning = (ReasoningPart(thought) for thought in dict.fromkeys(filter(None, thoughts)))
    # Before its version 1.1 the SDK wrote calls as OpenAI Chat does.
    parts = (*reasoning, *_parts(content), *map(chat_call, calls))
    return Message(role="assistant", parts=parts, id=first_text(event, "llm_response_id") or None)


def _observation(event: Object, added: str) -> Message:
    seen = maybe_object(event.get("observation"))
    said = first_text(event, *_ANSWERS) or first_text(seen, "output", "message")
    parts: list[ResponseContent] = [*_parts(seen.get("content"))]
    if not parts or added:
        parts += [TextPart(text) for text in (said, added) if text]
    texts = [part.content for part in parts if isinstance(part, TextPart)]
    response = "\n\n".join(texts) if len(texts) == len(parts) else tuple(parts)
    name = first_text(event, "tool_name")
    call = as_text(event.get("tool_call_id"), "tool_call_id")
    return Message(role="tool", parts=(ToolCallResponsePart(call, response),), name=name or None)


def _parts(content: object) -> Iterator[ResponseContent]:
    for block in map(maybe_object, maybe_list(content)):
        if text := maybe_text(block.get("text")):
            yield TextPart(text)
        for url in maybe_list(block.get("image_urls")):
            yield media_from_url(maybe_text(url), "image")


def _texts(content: object) -> list[str]:
    return [part.content for part in _parts(content) if isinstance(part, TextPart)]
