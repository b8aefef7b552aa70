"""
Observations of Langfuse: one, a list of them, one a line, or those of traces.

The generations are read, in the order of their times, as a log of requests (see `logs.growth`), each
as a run of LangSmith that was given the same. The id of a session is Langfuse's own, else the trace.
Its newer answers and its exports to a storage have inputs and outputs as JSON text, and the exports write
the names of fields with underscores.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.wire import (
    Object,
    first_text,
    is_list,
    maybe_count,
    maybe_list,
    maybe_object,
)
from foldline.logs.document import Document, Record
from foldline.logs.growth import joined
from foldline.logs.importer import Importer, Session, decoded, read_each
from foldline.logs.langsmith import given_messages, run_recording


_FIELDS = frozenset({"traceId", "type", "startTime", "input", "output"})
_NAMES = {
    "trace_id": "traceId",
    "start_time": "startTime",
    "session_id": "sessionId",
    "usage_details": "usageDetails",
}


def _matches(document: Document) -> bool:
    return any(True for _ in _observations(replace(document, records=document.records[:1])))


def _observations(document: Document) -> Iterator[Record]:
    for record in document.records:
        fields = maybe_object(record.value)
        trace = {_NAMES.get(key, key): value for key, value in fields.items()}
        named = {key: trace[key] for key in ("sessionId",) if trace.get(key)}
        listed = maybe_list(trace.get("observations") or trace.get("data"))
        inside = (
            Record(f"{record.place}: observation {number}", {**maybe_object(one), **named})
            for number, one in enumerate(listed)
        )
        whole = (replace(record, value=trace), *inside)
        yield from (one for one in whole if one.value.keys() >= _FIELDS)


def _read(document: Document) -> tuple[Session, ...]:
    calls = [
        replace(one, value=run)
        for one in _observations(document)
        if one.value["type"] == "GENERATION" and given_messages(run := _run(one.value))
    ]
    calls.sort(key=lambda one: first_text(one.value, "start_time"))
    return joined(read_each(calls, run_recording, "the generation"))


def _run(generation: Object) -> Object:
    given, answer = decoded(generation["input"]), decoded(generation["output"])
    usage = _usage(maybe_object(generation.get("usageDetails")))
    return {
        "trace_id": first_text(generation, "sessionId", "traceId"),
        "start_time": generation["startTime"],
        "inputs": {"messages": given} if isinstance(given, list) else given,
        "outputs": {**_outputs(answer), "usage_metadata": usage},
    }


def _outputs(answer: Any) -> Object:
    if answer and is_list(answer) and all("toolCallId" in maybe_object(one) for one in answer):
        # So does the AI SDK write an answer that only calls.
        calls = [{**one, "type": "tool-call"} for one in answer]
        return {"messages": [{"role": "assistant", "content": calls}]}
    if is_list(answer):
        # Blocks of Anthropic come without their message.
        is_said = all("role" in maybe_object(one) for one in answer)
        return {"messages" if is_said else "content": answer}
    return {"text": answer} if isinstance(answer, str) else maybe_object(answer)


def _usage(counts: Object) -> Object:
    """Return *counts*, none of which is in another but for the total, as LangChain has them."""
    parts = {key: maybe_count(count) for key, count in counts.items() if key != "total"}
    output, written = (
        _sum(parts, "output", "completion", "reasoning"),
        _sum(parts, "creation", "write"),
    )
    return {
        "input_tokens": sum(parts.values()) - output,
        "output_tokens": output,
        "input_token_details": {
            "cache_read": _sum(parts, "cache") - written,
            "cache_creation": written,
        },
        "output_token_details": {"reasoning": _sum(parts, "reasoning")},
    }


def _sum(parts: dict[str, int], *signs: str) -> int:
    return sum(count for key, count in parts.items() if any(sign in key for sign in signs))


LANGFUSE = Importer(
    name="langfuse",
    description="observations of Langfuse (one a line, a list, or those of a trace)",
    matches=_matches,
    read=_read,
)
"""The importer of Langfuse's observations."""
