"""
Event logs of OpenHands.

One run is a list of events: alone in a file, one a line, or as `history` of a result record with
`instance_id`, one record a line. An event is an action or an observation. Where the model called
tools, the log keeps its own response with the action: that response becomes the assistant message,
once, however many actions it led to. Logs from before tool calls get a call made of the action. An
observation answers the call that its metadata or its `cause` names; one without a call was printed
by the environment. Times without a zone are read as UTC.
"""

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.chat_items import chat_message
from foldline.history.formats.fields import (
    Object,
    at,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.formats.usage import openai_usage
from foldline.history.formats.wire import as_list, as_object, json_text, media_from_url
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart
from foldline.logs.document import Document
from foldline.logs.importer import Importer, Session, left_out, printed_message


__all__ = ["OPENHANDS"]


_SILENT = frozenset({"null", "recall", "condensation", "change_agent_state", "agent_state_changed"})
"""Events that steer the program and say nothing to the model."""

_CONTEXT = ("repo_instructions", "additional_agent_instructions")


@dataclass
class _Run:
    """What was read of one run so far."""

    messages: list[Message] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    responses: set[str] = field(default_factory=set)
    """The model's responses that have their message, by their ids."""

    calls: dict[int, str] = field(default_factory=dict)
    """The call that was made of each action, by the id of the event."""


def _matches(document: Document) -> bool:
    first = document.first
    events = maybe_list(first) or maybe_list(maybe_object(first).get("history")) or [first]
    return _is_event(events[0])


def _is_event(value: Any) -> bool:
    event = maybe_object(value)
    kinds = {"action", "observation"} & event.keys()
    return bool(kinds) and "source" in event and "role" not in event


def _read(document: Document) -> tuple[Session, ...]:
    if _is_event(document.first):
        return (_session("", [(record.place, record.value) for record in document.records]),)
    sessions: list[Session] = []
    for record in document.records:
        run: Object = {"history": record.value}
        with at(record.place):
            if not isinstance(record.value, list):
                run = as_object(record.value, "the run")
            history = as_list(run.get("history"), "history")
            events = [(f"event {number}", event) for number, event in enumerate(history)]
            sessions.append(_session(first_text(run, "instance_id"), events))
    return tuple(sessions)


def _session(id: str, events: list[tuple[str, Any]]) -> Session:
    run = _Run()
    for place, value in events:
        with at(place):
            event = as_object(value, "the event")
            created_at = maybe_time(event.get("timestamp"))
            for message in _messages(event, run):
                run.messages.append(replace(message, created_at=created_at))
    return Session(
        id=id,
        format=OPENHANDS.name,
        messages=tuple(run.messages),
        notes=left_out(run.skipped),
    )


def _messages(event: Object, run: _Run) -> tuple[Message, ...]:
    if "observation" in event:
        return _observed(event, run)
    response = _response(event)
    if response:
        return _responded(response, run)
    kind = first_text(event, "action")
    if kind in _SILENT:
        run.skipped[kind] += 1
        return ()
    return (_acted(event, kind, run),)


def _acted(event: Object, kind: str, run: _Run) -> Message:
    arguments = maybe_object(event.get("args"))
    content = first_text(arguments, "content") or maybe_text(event.get("message"))
    if kind == "system":
        return Message.system(content)
    if event.get("source") != "agent":
        urls = [url for url in maybe_list(arguments.get("image_urls")) if isinstance(url, str)]
        images = (media_from_url(url, "image") for url in urls)
        return Message(role="user", parts=(TextPart(content), *images))
    if kind == "message":
        return Message.assistant(content)
    return _called(event, kind, arguments, run)


def _response(event: Object) -> Object:
    return maybe_object(maybe_object(event.get("tool_call_metadata")).get("model_response"))


def _responded(response: Object, run: _Run) -> tuple[Message, ...]:
    choices = maybe_list(response.get("choices"))
    said = maybe_object(choices[0] if choices else None).get("message")
    id = maybe_text(response.get("id"))
    key = id or json_text(said)
    if key in run.responses:
        return ()
    run.responses.add(key)
    message = chat_message(as_object(said, "the message of the model's response"))
    return (
        replace(
            message,
            id=id or None,
            metadata=scalars(response, ("model",)) or None,
            usage=openai_usage(maybe_object(response.get("usage"))),
        ),
    )


def _called(event: Object, kind: str, arguments: Object, run: _Run) -> Message:
    """Make the call that an action of a model without tool calls stands for."""
    thought = maybe_text(arguments.get("thought"))
    number = event.get("id")
    id = f"action-{number}"
    if isinstance(number, int):
        run.calls[number] = id
    given = {key: value for key, value in arguments.items() if key != "thought"}
    return Message.assistant(thought, tool_calls=[ToolCallPart(id, kind, json_text(given))])


def _observed(event: Object, run: _Run) -> tuple[Message, ...]:
    kind = first_text(event, "observation")
    text = _text(event)
    metadata = maybe_object(event.get("tool_call_metadata"))
    call = maybe_text(metadata.get("tool_call_id")) or _caused(event, run)
    if call:
        name = maybe_text(metadata.get("function_name")) or kind
        return (Message.tool(call, text, name=name),)
    if not text:
        run.skipped[kind] += 1
        return ()
    return (printed_message(text, name=first_text(event, "source")),)


def _caused(event: Object, run: _Run) -> str:
    cause = event.get("cause")
    return run.calls.get(cause, "") if isinstance(cause, int) else ""


def _text(event: Object) -> str:
    """Return what an observation says, the knowledge that it brought into the prompt included."""
    extras = maybe_object(event.get("extras"))
    knowledge = map(maybe_object, maybe_list(extras.get("microagent_knowledge")))
    texts = chain(
        [maybe_text(event.get("content"))],
        (maybe_text(extras.get(key)) for key in _CONTEXT),
        (maybe_text(entry.get("content")) for entry in knowledge),
    )
    return "\n\n".join(filter(None, texts))


OPENHANDS = Importer(
    name="openhands",
    description="event log of OpenHands (a list of events, or result records with one each)",
    matches=_matches,
    read=_read,
)
"""The importer of OpenHands' event logs."""
