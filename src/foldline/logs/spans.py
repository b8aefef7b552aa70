"""
Spans of OpenTelemetry as they are exported: by an SDK, one a line, or as OTLP, by a collector.

What is read of them are the attributes, and only of those spans that hold messages.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from foldline.history.formats.wire import Object, maybe_list, maybe_object, maybe_text
from foldline.logs.document import Document, Record
from foldline.logs.vendors import OTEL_MESSAGES


__all__ = ["span_records"]


_DIGITS = 20


def span_records(document: Document) -> tuple[Record, ...]:
    """Return the attributes of each span in *document* that holds messages, in the order written."""
    return tuple(
        Record(record.place, attributes)
        for record in document.records
        for attributes in _attributes(maybe_object(record.value))
        if not attributes.keys().isdisjoint(OTEL_MESSAGES)
    )


def _attributes(fields: Object) -> Iterator[Object]:
    yield maybe_object(fields.get("attributes"))
    scopes = chain.from_iterable(
        _objects(one, "scopeSpans") for one in _objects(fields, "resourceSpans")
    )
    for span in chain.from_iterable(_objects(scope, "spans") for scope in scopes):
        yield {
            maybe_text(pair.get("key")): _value(maybe_object(pair.get("value")))
            for pair in _objects(span, "attributes")
        }


def _value(value: Object) -> Any:
    # OTLP writes a whole number as text.
    number = str(value.get("intValue", ""))
    return int(number) if number.isdecimal() and len(number) < _DIGITS else value.get("stringValue")


def _objects(fields: Object, key: str) -> Iterator[Any]:
    return map(maybe_object, maybe_list(fields.get(key)))
