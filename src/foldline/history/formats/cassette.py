"""
Recorded HTTP exchanges with vendors, as VCR and its relatives write them (YAML or JSON).

Every exchange whose request carries a conversation is a session: the messages of the request,
then the vendor's answer where it can be read, streamed ones put together. What else was exchanged
(lists of models, embeddings) holds no conversation; the last session's notes count it.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.document import Document, Record
from foldline.history.formats.fields import (
    Object,
    at,
    maybe_object,
    maybe_text,
)
from foldline.history.formats.importer import Importer, Session, left_out
from foldline.history.formats.request import read_request
from foldline.history.formats.responses import joined_stream, read_response
from foldline.history.formats.wire import as_list, as_object
from foldline.history.formats.wire_logs import is_body, wire_format
from foldline.history.messages import Message, NativeFormat


__all__ = ["CASSETTE"]


_PATHS = {
    "/chat/completions": NativeFormat.OPENAI_CHAT,
    "/responses": NativeFormat.OPENAI_RESPONSES,
    "/responses/compact": NativeFormat.OPENAI_RESPONSES,
    "/messages": NativeFormat.ANTHROPIC,
}
_OK = 300
"""The first status that is no success."""


def _matches(document: Document) -> bool:
    return isinstance(maybe_object(document.first).get("interactions"), list)


def _read(document: Document) -> tuple[Session, ...]:
    found = [session for record in document.records for session in _exchanges(record)]
    sessions = [session for session in found if session is not None]
    if sessions:
        skipped = Counter(exchange=found.count(None)) if None in found else Counter[str]()
        last = sessions.pop()
        sessions.append(replace(last, notes=(*last.notes, *left_out(skipped))))
    return tuple(sessions)


def _exchanges(record: Record) -> Iterator[Session | None]:
    with at(record.place):
        cassette = as_object(record.value, "the cassette")
        exchanges = as_list(cassette.get("interactions"), "interactions")
        for number, item in enumerate(exchanges):
            with at(f"exchange {number}"):
                yield _session(as_object(item, "the exchange"), number)


def _session(exchange: Object, number: int) -> Session | None:
    request = maybe_object(exchange.get("request"))
    body = _body(request)
    native = _format(maybe_text(request.get("uri")), body)
    if native is None or not is_body(body):
        return None
    said = read_request(body, native).messages
    answer, notes = _answer(maybe_object(exchange.get("response")), native)
    return Session(
        id=f"exchange-{number}",
        format=CASSETTE.name,
        messages=(*said, *answer),
        notes=notes,
    )


def _format(uri: str, body: Any) -> NativeFormat | None:
    path = uri.partition("?")[0].rstrip("/")
    found = [native for end, native in _PATHS.items() if path.endswith(end)]
    return found[0] if found else wire_format(Document(records=(Record("", body),)))


def _answer(response: Object, native: NativeFormat) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    status = maybe_object(response.get("status")).get("code")
    if isinstance(status, int) and status >= _OK:
        return (), (f"the vendor answered with the status {status} and no message",)
    try:
        body = _body(response)
        if isinstance(body, str):
            body = joined_stream(body, native)
        return read_response(body, native), ()
    except FormatError:
        return (), ("the vendor's answer could not be read and was left out",)


def _body(side: Object) -> Any:
    """Return the body of a request or a response: parsed if it is JSON, else its text."""
    if "parsed_body" in side:
        return side["parsed_body"]
    body = side.get("body")
    body = maybe_object(body).get("string", body)
    text = body.decode(errors="replace") if isinstance(body, bytes) else maybe_text(body)
    try:
        return decode_json(text)
    except FormatError:
        return text


CASSETTE = Importer(
    name="cassette",
    description="recorded HTTP exchanges with OpenAI or Anthropic (VCR cassette, YAML or JSON)",
    matches=_matches,
    read=_read,
)
"""The importer of recorded exchanges."""
