"""
Recorded conversations in the wire formats themselves, and in foldline's own.

A file holds request bodies (one document, or one a line: each is a session, or continues an
earlier one, see `logs.growth`), lists of messages (the same), or a message a line (one session,
or one for each conversation that the lines name). A proxy's lines may hold the body under
`request` and the answer under `response`.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_history, decode_json, decode_message
from foldline.history.formats import CONVERTERS
from foldline.history.formats.anthropic import from_anthropic
from foldline.history.formats.openai_responses import from_openai_responses
from foldline.history.formats.otel import from_otel
from foldline.history.formats.responses import joined_events, joined_stream, read_response
from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    as_text,
    at,
    first_text,
    is_list,
    json_text,
    maybe_count,
    maybe_object,
)
from foldline.history.messages import Message, NativeFormat, Usage
from foldline.logs.document import Document, Record
from foldline.logs.growth import Recording, joined
from foldline.logs.importer import Importer, Session, each_read, lists_in, read_all, read_each
from foldline.logs.vendors import (
    OTEL_MESSAGES,
    OTEL_SYSTEM,
    answer_format,
    as_sent,
    exchange,
    has_parts,
    record_format,
    wire_format,
)


_COUNTS = (
    ("gen_ai.usage.input_tokens", "input_tokens"),
    ("gen_ai.usage.output_tokens", "output_tokens"),
    ("gen_ai.usage.cache_read.input_tokens", "cache_read_tokens"),
    # Its name until 2026.
    ("gen_ai.usage.cache_creation.input_tokens", "cache_write_tokens"),
    ("gen_ai.usage.cache_write.input_tokens", "cache_write_tokens"),
    ("gen_ai.usage.reasoning.output_tokens", "reasoning_tokens"),
)
"""What a span counts, by its attribute."""


def read_request(body: Any, native: NativeFormat) -> tuple[Message, ...]:
    """Return the conversation in a request *body*, system instructions first; or raise FormatError."""
    fields = as_object(body, "the request body")
    if native is NativeFormat.OPENAI_RESPONSES:
        return _responses_request(fields)
    given = map(as_sent, as_list(fields.get("messages"), "messages"))
    messages = CONVERTERS[native].messages([*given])
    if native is NativeFormat.OPENAI_CHAT or fields.get("system") is None:
        return messages
    with at("system"):
        return (*from_anthropic([{"role": "system", "content": fields["system"]}]), *messages)


def _responses_request(body: Object) -> tuple[Message, ...]:
    instructions, given = body.get("instructions"), body.get("input", body.get("messages"))
    if isinstance(given, str):
        given = [{"role": "user", "content": given}]
    messages = from_openai_responses(() if given is None else given)
    if instructions is None:
        return messages
    return (Message.system(as_text(instructions, "instructions")), *messages)


def _matches(native: NativeFormat, document: Document) -> bool:
    return wire_format(document) is native


def _read(native: NativeFormat, document: Document) -> tuple[Session, ...]:
    first, keys = document.first, ("messages", "input", "request", OTEL_SYSTEM, *OTEL_MESSAGES)
    if isinstance(first, list) or not maybe_object(first).keys().isdisjoint(keys):
        return joined(_recording(native, record.place, record.value) for record in document.records)
    return tuple(
        Session(
            id=first_text(held, "id"), format=native.value, messages=tuple(_stream(native, records))
        )
        for held, records in lists_in(document)
    )


def _stream(native: NativeFormat, records: Iterable[Record]) -> Iterator[Message]:
    return read_all(records, lambda item: CONVERTERS[native].messages([item]), "the item")


def _recording(native: NativeFormat, place: str, value: Any) -> Recording:
    request, response = exchange(value)
    if request is not None:
        # One log may hold requests to several vendors.
        native = record_format(value) or native
    answer: tuple[Message, ...] = ()
    notes: tuple[str, ...] = ()
    with at(place):
        if isinstance(value, list):
            messages = CONVERTERS[native].messages(value)
        elif request is None and native is NativeFormat.OTEL:
            messages, answer = _spans(as_object(value, "the record"))
        else:
            messages = read_request(value if request is None else request, native)
    try:
        answer = answer or _answer(response, native)
    except FormatError:
        # Failed calls are logged, too; what they were asked is worth reading all the same.
        notes = (f"{place}: the response holds no answer that could be read; left out",)
    id = first_text(maybe_object(value), "id", "gen_ai.conversation.id")
    said = (*messages, *answer)
    session = Session(id=id, format=native.value, messages=said, notes=notes)
    return Recording(session=session, sent=len(messages))


def _answer(response: Any, native: NativeFormat) -> tuple[Message, ...]:
    if response is None:
        return ()
    if isinstance(response, str):
        response = joined_stream(response, native)
    elif is_list(response):
        response = joined_events([*map(maybe_object, response)], native)
    # Some programs write every answer as one vendor does.
    return read_response(response, answer_format(response) or native)


def _spans(fields: Object) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return what the attributes of a span say was sent, and what was answered."""
    system = _attribute(fields, OTEL_SYSTEM)
    items: list[Any] = [{"role": "system", "parts": system}] if system else []
    sent, answered = (_attribute(fields, key) for key in OTEL_MESSAGES)
    usage = Usage(**{name: maybe_count(fields.get(key)) for key, name in _COUNTS if key in fields})
    answer = from_otel(answered)
    if answer and usage.input_tokens:
        answer = (*answer[:-1], replace(answer[-1], usage=usage))
    return from_otel([*items, *sent]), answer


def _attribute(fields: Object, key: str) -> list[Any]:
    """Return the list under *key*, which may be JSON text."""
    value = fields.get(key, [])
    with at(key):
        return list(as_list(decode_json(value) if isinstance(value, str) else value, "the value"))


def _is_own(document: Document) -> bool:
    fields = maybe_object(document.first)
    if type(fields.get("format")) is int:
        return isinstance(fields.get("messages"), list)
    return "role" in fields and has_parts(fields)


def _own_message(fields: Object) -> Message:
    if "content" in fields and "parts" not in fields:
        raise FormatError("not a foldline message: it has content instead of parts")
    return decode_message(json_text(fields))


def _stream_own(records: Iterable[Record]) -> Iterator[Message]:
    return each_read(records, _own_message, "the record")


def _read_own(document: Document) -> tuple[Session, ...]:
    if "messages" in maybe_object(document.first):
        histories = read_each(
            document.records, lambda one: decode_history(json_text(one)), "the record"
        )
    else:
        histories = [tuple(_stream_own(document.records))]
    return tuple(Session(messages=messages) for messages in histories)


WIRE_FORMATS = tuple(
    Importer(
        name=native.value,
        description=description,
        matches=partial(_matches, native),
        read=partial(_read, native),
        stream=partial(_stream, native),
    )
    for native, description in (
        (NativeFormat.OPENAI_CHAT, "OpenAI Chat Completions request bodies or messages"),
        (NativeFormat.OPENAI_RESPONSES, "OpenAI Responses request bodies or input items"),
        (NativeFormat.ANTHROPIC, "Anthropic Messages request bodies or messages"),
        (
            NativeFormat.OTEL,
            "OpenTelemetry GenAI messages, or spans that hold them (OTLP, or one a line)",
        ),
    )
)
"""The importers of the vendors' wire formats, and of OpenTelemetry's."""

FOLDLINE = Importer(
    name="foldline",
    description="foldline's own history document, or its messages as JSON lines",
    matches=_is_own,
    read=_read_own,
    stream=_stream_own,
)
"""The importer of what `encode_history` and `encode_message` write."""
