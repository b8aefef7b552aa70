"""
Sessions of GitHub Copilot CLI, `~/.copilot/session-state/*/events.jsonl`; chats of Copilot in VS Code too.

Source: the `session-events` of its SDK. Each line has a `type` and its `data`. What a skill or the program says in
the user's place is printed, and so is what a tool answered that the user ran; what an agent of the model did is
left out.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from foldline.history.formats.wire import (
    Object,
    as_text,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    scalars,
)
from foldline.history.messages import Message
from foldline.history.parts import Part, ReasoningPart, TextPart
from foldline.logs.bodies import call_of, response_of
from foldline.logs.document import Record
from foldline.logs.importer import Importer, Reading, Session, by_header, printed_message, read_each


_START = "session.start"


def _is_event(record: Record) -> bool:
    event = maybe_object(record.value)
    is_named = event.get("type") in (_START, "user.message", "assistant.message")
    return is_named and isinstance(event.get("data"), dict)


def _session(records: Sequence[Record]) -> Session:
    log = Reading()
    read_each(records, partial(_take, log), "the event")
    return log.session()


def _named(event: Object) -> str:
    data = maybe_object(event.get("data"))
    return first_text(data, "sessionId") if event.get("type") == _START else ""


def _take(log: Reading, event: Object) -> None:
    kind, data = as_text(event.get("type"), "type"), maybe_object(event.get("data"))
    log.id = log.id or _named(event)
    said = [] if event.get("agentId") or data.get("parentToolCallId") else [*_messages(kind, data)]
    if kind == "session.compaction_complete" and data.get("summaryContent"):
        log.compact({"summary": maybe_text(data["summaryContent"])})
    elif not said and kind != _START:
        log.skipped[kind] += 1
    log.say(said, event.get("timestamp"))


def _messages(kind: str, data: Object) -> Iterator[Message]:
    text, source = maybe_text(data.get("content")), first_text(data, "source") or "user"
    match kind:
        case "user.message" if source == "user":
            yield Message.user(text)
        case "user.message" | "system.notification":
            yield printed_message(text, name=COPILOT.name)
        case "system.message":
            yield Message.system(text)
        case "assistant.message" if parts := tuple(_parts(data, text)):
            metadata = scalars(data, ("model",)) or None
            yield Message(role="assistant", parts=parts, metadata=metadata)
        case "tool.execution_complete":
            yield _result(data)
        case _:
            pass


def _result(data: Object) -> Message:
    result, error = maybe_object(data.get("result")), maybe_object(data.get("error"))
    text = first_text(result, "content") or first_text(error, "message")
    if data.get("isUserRequested") is True:
        return printed_message(text, name=COPILOT.name)
    said = response_of([TextPart(text)], failed=data.get("success") is False)
    return Message.tool(as_text(data.get("toolCallId"), "toolCallId"), said)


def _parts(data: Object, text: str) -> Iterator[Part]:
    if thought := first_text(data, "reasoningText"):
        yield ReasoningPart(thought)
    if text:
        yield TextPart(text)
    for call in map(maybe_object, maybe_list(data.get("toolRequests"))):
        id, name = first_text(call, "toolCallId"), first_text(call, "name")
        yield call_of(id, name, call.get("arguments") or {})


COPILOT = Importer(
    name="copilot",
    description="session of GitHub Copilot CLI (JSON lines)",
    matches=lambda document: any(map(_is_event, document.records)),
    read=by_header(_session, _named),
)
"""The importer of Copilot CLI's sessions."""
