"""
Observations of Langfuse: one, a list of them, one a line, or those of traces.

The generations are read, in the order of their times, as a log of requests (see `logs.growth`), each
as a run of LangSmith that was given the same. The id of a session is Langfuse's own, else the trace.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.wire import Object, first_text, maybe_list, maybe_object
from foldline.logs.document import Document, Record
from foldline.logs.growth import joined
from foldline.logs.importer import Importer, Session, read_each
from foldline.logs.langsmith import given_messages, run_recording


__all__ = ["LANGFUSE"]


_FIELDS = frozenset({"traceId", "type", "startTime", "input", "output"})


def _matches(document: Document) -> bool:
    return any(True for _ in _observations(replace(document, records=document.records[:1])))


def _observations(document: Document) -> Iterator[Record]:
    for record in document.records:
        trace = maybe_object(record.value)
        named = {key: trace[key] for key in ("sessionId",) if trace.get(key)}
        listed = maybe_list(trace.get("observations") or trace.get("data"))
        inside = (
            Record(f"{record.place}: observation {number}", {**maybe_object(one), **named})
            for number, one in enumerate(listed)
        )
        yield from (one for one in (record, *inside) if maybe_object(one.value).keys() >= _FIELDS)


def _read(document: Document) -> tuple[Session, ...]:
    calls = [
        replace(one, value=run)
        for one in _observations(document)
        if one.value["type"] == "GENERATION" and given_messages(run := _run(one.value))
    ]
    calls.sort(key=lambda one: first_text(one.value, "start_time"))
    return joined(read_each(calls, partial(run_recording, format=LANGFUSE.name), "the generation"))


def _run(generation: Object) -> Object:
    given, answer = generation["input"], generation["output"]
    return {
        "trace_id": first_text(generation, "sessionId", "traceId"),
        "start_time": generation["startTime"],
        "inputs": {"messages": given} if isinstance(given, list) else given,
        "outputs": _outputs(answer),
    }


def _outputs(answer: Any) -> Any:
    if isinstance(answer, list):
        return {"messages": answer}
    return {"text": answer} if isinstance(answer, str) else answer


LANGFUSE = Importer(
    name="langfuse",
    description="observations of Langfuse (one a line, a list, or those of a trace)",
    matches=_matches,
    read=_read,
)
"""The importer of Langfuse's observations."""
