"""
Event logs of OpenHands.

One run is a list of events: alone in a file, one a line, as `items` of an answer of its server, or as
`history` of a result record with `instance_id`, one record a line. Those of its SDK (version 1, with a `kind`)
are read by `logs.openhands_events`. Before it, an event is an action or an observation. Where the model called
tools, the log keeps its own response with the action: that response becomes the assistant message,
once, however many actions it led to. Logs from before tool calls get a call made of the action. An
observation answers the call that its metadata or its `cause` names; one without a call was printed
by the environment. Times without a zone are read as UTC.
"""

from collections.abc import Iterable
from functools import partial
from itertools import chain

from foldline.history.formats.responses import read_response
from foldline.history.formats.wire import (
    Object,
    first_text,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    media_from_url,
)
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import TextPart, ToolCallPart
from foldline.logs.document import Document, Record
from foldline.logs.importer import (
    Importer,
    Reading,
    Session,
    by_lists,
    first_item,
    printed_message,
    read_each,
)
from foldline.logs.openhands_events import is_event, take_event


_LISTS = ("history", "items")
_SILENT = frozenset({"null", "recall", "condensation", "change_agent_state", "agent_state_changed"})
"""Events that steer the program and say nothing to the model."""

_CONTEXT = ("repo_instructions", "additional_agent_instructions")


class _Run(Reading):
    def __init__(self, id: str) -> None:
        super().__init__(id)
        # The ids of the model's responses that were read.
        self.responses: set[str] = set()
        # The ids of the calls that were made of actions.
        self.calls: set[str] = set()


def _matches(document: Document) -> bool:
    event = maybe_object(first_item(document, *_LISTS))
    if is_event(event):
        return True
    kinds = {"action", "observation"} & event.keys()
    return bool(kinds) and "source" in event and "role" not in event


def _session(held: Object, events: Iterable[Record]) -> Session:
    run = _Run(first_text(held, "instance_id"))
    read_each(events, partial(_take, run), "the event")
    return run.session()


def _take(run: _Run, event: Object) -> None:
    if is_event(event):
        take_event(run, event)
        return
    run.say(_messages(event, run), event.get("timestamp"))


def _messages(event: Object, run: _Run) -> tuple[Message, ...]:
    if "observation" in event:
        return _observed(event, run)
    response = maybe_object(maybe_object(event.get("tool_call_metadata")).get("model_response"))
    if response:
        key = maybe_text(response.get("id")) or json_text(response.get("choices"))
        if key in run.responses:
            return ()
        run.responses.add(key)
        return read_response(response, NativeFormat.OPENAI_CHAT)
    kind = first_text(event, "action")
    if not kind or kind in _SILENT:
        run.skipped[kind or "unknown"] += 1
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
    # The model was given no tools.
    thought = maybe_text(arguments.get("thought"))
    id = f"action-{first_text(event, 'id')}"
    run.calls.add(id)
    given = {key: value for key, value in arguments.items() if key != "thought"}
    return Message.assistant(thought, tool_calls=[ToolCallPart(id, kind, json_text(given))])


def _observed(event: Object, run: _Run) -> tuple[Message, ...]:
    kind = first_text(event, "observation")
    extras = maybe_object(event.get("extras"))
    # The knowledge that it brought into the prompt is said, too.
    knowledge = map(maybe_object, maybe_list(extras.get("microagent_knowledge")))
    texts = chain(
        [maybe_text(event.get("content"))],
        (maybe_text(extras.get(key)) for key in _CONTEXT),
        (maybe_text(entry.get("content")) for entry in knowledge),
    )
    text = "\n\n".join(filter(None, texts))
    metadata = maybe_object(event.get("tool_call_metadata"))
    caused = f"action-{first_text(event, 'cause')}"
    call = maybe_text(metadata.get("tool_call_id")) or caused
    if call != caused or call in run.calls:
        name = maybe_text(metadata.get("function_name")) or kind
        return (Message.tool(call, text, name=name),)
    if not text:
        run.skipped[kind] += 1
        return ()
    return (printed_message(text, name=first_text(event, "source")),)


OPENHANDS = Importer(
    name="openhands",
    description="event log of OpenHands (a list of events, or result records with one each)",
    matches=_matches,
    read=by_lists(_session, *_LISTS, item="event"),
)
"""The importer of OpenHands' event logs."""
