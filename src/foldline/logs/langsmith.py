"""
Runs of LangSmith: one, a list of them, or one a line, in any order.

The runs that are model calls are read, in the order of their times, as a log of requests (see
`logs.growth`); an export without any has the runs whose inputs hold messages. These are LangChain's,
the AI SDK's or a vendor's. The id of a session is that of the thread in the run's metadata, else of the trace:
a run's own `session_id` is its project. A bulk export has inputs and outputs as JSON text.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.responses import read_response
from foldline.history.formats.wire import (
    Object,
    as_object,
    at,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.messages import Message
from foldline.logs.ai_sdk import is_ai_sdk, messages_from_ai_sdk
from foldline.logs.chat_jsonl import chat_messages
from foldline.logs.document import Document, Record
from foldline.logs.growth import Recording, joined
from foldline.logs.importer import CONVERSATION, Importer, Session, decoded, read_all, read_each
from foldline.logs.langchain import is_langchain, message_from_langchain, reported_usage
from foldline.logs.vendors import answer_format


def _matches(document: Document) -> bool:
    fields = maybe_object(document.first)
    inputs = decoded(fields.get("inputs"))
    return isinstance(inputs, dict) and ("run_type" in fields or "messages" in inputs)


def _read(document: Document) -> tuple[Session, ...]:
    whole = [replace(one, value=_run(maybe_object(one.value))) for one in document.records]
    runs = [record for record in whole if given_messages(record.value)]
    calls = [one for one in runs if maybe_object(one.value).get("run_type") == "llm"] or runs
    calls.sort(key=lambda one: first_text(maybe_object(one.value), "start_time"))
    return joined(read_each(calls, run_recording, "the run"))


def _run(fields: Object) -> Object:
    return {**fields, **{key: decoded(fields.get(key)) for key in ("inputs", "outputs", "extra")}}


def given_messages(run: Object) -> list[Any]:
    """Return the messages that *run* was given; LangChain puts them into a list of lists."""
    inputs = maybe_object(run.get("inputs"))
    given = maybe_list(inputs.get("messages") or inputs.get("input"))
    return given[0] if given and isinstance(given[0], list) else given


def run_recording(run: Object) -> Recording:
    """Return what *run* was given and answered."""
    extra = maybe_object(run.get("extra"))
    metadata = maybe_object(extra.get("metadata") or run.get("metadata"))
    sent = _messages(given_messages(run))
    if system := maybe_text(maybe_object(run.get("inputs")).get("system")):
        sent = (Message.system(system), *sent)
    outputs = maybe_object(run.get("outputs"))
    with at("outputs"):
        answer = _answer(outputs)
    usage = reported_usage(maybe_object(outputs.get("usage_metadata")))
    if answer and usage and not answer[-1].usage:
        answer = (*answer[:-1], replace(answer[-1], usage=usage))
    if [one.parts for one in answer[: len(sent)]] == [one.parts for one in sent]:
        # A graph answers with all of its messages.
        answer = answer[len(sent) :]
    session = Session(
        id=first_text(metadata, *CONVERSATION) or first_text(run, "trace_id", "id"),
        messages=(*sent, *answer),
    )
    return Recording(session=session, sent=len(sent))


def _messages(items: Iterable[Any]) -> tuple[Message, ...]:
    records = [Record(f"message {number}", item) for number, item in enumerate(items)]
    if any(is_ai_sdk(one.value) for one in records):
        return tuple(read_all(records, messages_from_ai_sdk, "the message"))
    if any(is_langchain(one.value) for one in records):
        return tuple(filter(None, read_each(records, message_from_langchain, "the message")))
    return chat_messages(records)


def _answer(outputs: Object) -> tuple[Message, ...]:
    if generations := maybe_list(outputs.get("generations")):
        first = generations[0][0] if isinstance(generations[0], list) else generations[0]
        outputs = as_object(first, "the generation")
    held = (maybe_object(outputs.get(key)) for key in ("message", "output"))
    outputs = next(filter(None, held), outputs)
    if is_langchain(outputs) or (outputs.get("role") and outputs.get("type") != "message"):
        return _messages([outputs])
    if isinstance(outputs.get("messages"), list):
        return _messages(outputs["messages"])
    if native := answer_format(outputs):
        return read_response(outputs, native)
    text = first_text(outputs, "text", "output")
    return (Message.assistant(text),) if text else ()


LANGSMITH = Importer(
    name="langsmith",
    description="runs of LangSmith (one, a JSON list or JSON lines)",
    matches=_matches,
    read=_read,
)
"""The importer of LangSmith's runs."""
