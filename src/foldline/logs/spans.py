"""
Spans of OpenTelemetry as they are exported: by an SDK, one a line, or as OTLP, by a collector.

What is read of them are the attributes, and only of those spans that hold messages, in an event perhaps; log
records are read in the same way.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from foldline.history.formats.wire import Object, maybe_list, maybe_object, maybe_text
from foldline.logs.document import Document, Record
from foldline.logs.vendors import OTEL_MESSAGES


_DIGITS = 20
_PLAIN = ("stringValue", "boolValue", "doubleValue")
_AGENTS = frozenset({"create_agent", "invoke_agent", "invoke_workflow"})
_PATHS = (("resourceSpans", "scopeSpans", "spans"), ("resourceLogs", "scopeLogs", "logRecords"))


def span_records(document: Document) -> tuple[Record, ...]:
    """Return the attributes of each span in *document* that holds messages, in the order written."""
    found = [
        Record(record.place, attributes)
        for record in document.records
        for attributes in span_attributes(maybe_object(record.value))
        if _holds_messages(attributes)
    ]
    # The span of an agent repeats what those of its calls hold.
    calls = [one for one in found if one.value.get("gen_ai.operation.name") not in _AGENTS]
    return tuple(calls or found)


def _holds_messages(attributes: Object) -> bool:
    return not attributes.keys().isdisjoint(OTEL_MESSAGES)


def span_attributes(fields: Object) -> Iterator[Object]:
    """Yield the attributes of the spans in *fields*, or of the span that it is."""
    nested = (_inside(fields, names) for names in _PATHS)
    for span in chain([fields], *nested):
        own = _pairs(span.get("attributes"))
        yield own
        for event in _objects(span, "events"):
            if _holds_messages(beside := _pairs(event.get("attributes"))):
                yield {**own, **beside}


def _inside(fields: Object, names: Iterable[str]) -> list[Object]:
    found = [fields]
    for name in names:
        found = [*chain.from_iterable(_objects(one, name) for one in found)]
    return found


def _pairs(attributes: Any) -> Object:
    """Return *attributes* of a name each, as an SDK or OTLP writes them."""
    pairs = map(maybe_object, maybe_list(attributes))
    named = {maybe_text(one.get("key")): _value(maybe_object(one.get("value"))) for one in pairs}
    return named or maybe_object(attributes)


def _value(value: Object) -> Any:
    if "arrayValue" in value:
        return [*map(_value, _objects(maybe_object(value["arrayValue"]), "values"))]
    if "kvlistValue" in value:
        return _pairs(maybe_object(value["kvlistValue"]).get("values"))
    # OTLP writes a whole number as text.
    number = str(value.get("intValue", ""))
    if number.isdecimal() and len(number) < _DIGITS:
        return int(number)
    return next((value[key] for key in _PLAIN if key in value), None)


def _objects(fields: Object, key: str) -> Iterator[Object]:
    return map(maybe_object, maybe_list(fields.get(key)))
