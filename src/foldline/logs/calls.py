"""
Calls of a model in the records of other programs.

They are HAR files, the invocation log of Amazon Bedrock, exports of Helicone, and spans that have an attribute
for each field. Each call becomes a record of a proxy, a `request` beside its `response`. A request of Converse or
Gemini, in a proxy's record too, becomes one that has its answer as its last message.
"""

from collections.abc import Iterator
from typing import Any

from foldline.history.formats.wire import Object, maybe_list, maybe_object
from foldline.logs.converse import is_turn
from foldline.logs.document import Document, Record
from foldline.logs.flat_spans import flat_exchanges
from foldline.logs.importer import decoded


_LISTS = {"messages", "input", "contents"}


def call_records(document: Document) -> tuple[Record, ...]:
    """Return the calls that *document* holds, in the order written."""
    return tuple(
        Record(f"{record.place}: call {number}", call)
        for record in document.records
        for number, call in enumerate(_calls(maybe_object(record.value)))
    )


def _calls(fields: Object) -> Iterator[Object]:
    for body, answer in _exchanges(fields):
        if _LISTS & maybe_object(body).keys():
            yield _call(body, answer)


def _exchanges(fields: Object) -> Iterator[tuple[Any, Any]]:
    yield _at(fields, "input", "inputBodyJson"), _at(fields, "output", "outputBodyJson")
    yield _at(fields, "request_body"), _at(fields, "response_body")
    request, response = _at(fields, "request"), _at(fields, "response")
    yield _at(fields, "request", "body") or request, _at(fields, "response", "body") or response
    yield from flat_exchanges(fields)
    for entry in map(maybe_object, maybe_list(_at(fields, "log", "entries"))):
        yield _at(entry, "request", "postData", "text"), _at(entry, "response", "content", "text")


def _at(fields: Object, *keys: str) -> Any:
    value: Any = fields
    for key in keys:
        value = maybe_object(value).get(key)
    return decoded(value)


def _call(body: Object, answer: Any) -> Object:
    messages, contents = maybe_list(body.get("messages")), maybe_list(body.get("contents"))
    if contents:
        candidates = maybe_list(maybe_object(answer).get("candidates"))
        said = [content for one in candidates[:1] if (content := _at(one, "content"))]
        return {**body, "contents": contents + said}
    if not messages or not is_turn(messages[0]):
        return {"request": body, "response": answer}
    said = _at(maybe_object(answer), "output", "message")
    return {**body, "messages": [*messages, said] if said else messages}
