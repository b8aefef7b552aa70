"""
What replaces the messages that are folded away: nothing, one summary, or layers of summaries.

With either kind of summary each newly aged message is given to a summarizer once. A rolling summary
is written from the summary before it and the newly aged messages. A layer is written from the newly
aged messages alone; the layers before it stay byte-identical until there are `MERGE_WIDTH` of one
level at the end, which are merged into one of the next level. So a message passes through a number
of summaries that grows with the logarithm of the history's length.

A span that is longer than a summarizer can read is given to it piece by piece, each piece together
with the summary of the pieces before.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from foldline.reduction.request import Flow, SummaryRequest
from foldline.reduction.state import SummaryLayer, hash_of, join_layers
from foldline.reduction.writing import Task, Writing, write


__all__ = ["MERGE_WIDTH", "STRATEGIES", "Draft"]


MERGE_WIDTH = 6
"""How many layers of one level are merged into one of the next."""


class Draft(Struct, frozen=True, kw_only=True):
    """What replaces the messages."""

    written: bool = True
    """Whether there is a draft at all; False if every summarizer failed."""

    summary: str = ""
    """The summary; empty if messages are dropped."""

    tokens: int = 0
    """Its estimated tokens."""

    layers: tuple[SummaryLayer, ...] = ()
    """The summaries one by one, if there are layers."""

    merged: bool = False
    """Whether layers were merged, so that the layers before are no longer part of these."""

    writing: Writing = Writing()
    """What it cost, the text of the last call, and the summarizer that wrote it."""


def _drop(task: Task) -> Flow[Draft]:
    """Return an empty draft: no summarizer is asked."""
    del task
    return Draft()
    yield


def _roll(task: Task) -> Flow[Draft]:
    """Write one summary of the active summary and the newly aged messages."""
    base = task.base
    before = (
        None if base is None else Writing(text=base.summary_content, tokens=base.summary_tokens)
    )
    writing = yield from _write_span(task, before)
    if writing.text is None:
        return Draft(written=False, writing=writing)
    return Draft(summary=writing.text, tokens=writing.tokens, writing=writing)


def _add_layer(task: Task) -> Flow[Draft]:
    """Write one summary of the newly aged messages alone, after the active layers."""
    writing = yield from _write_span(task, None)
    if writing.text is None:
        return Draft(written=False, writing=writing)
    layer = SummaryLayer(
        summary=writing.text,
        start=task.start,
        end=task.cut,
        message_hash=hash_of(task.history, task.cut),
        tokens=writing.tokens,
    )
    before = () if task.base is None else task.base.layers
    layers = (*before, layer)
    merged, writing = yield from _merge(task, layers, writing)
    return Draft(
        summary=join_layers(merged),
        tokens=sum(layer.tokens for layer in merged),
        layers=merged,
        merged=len(merged) < len(layers),
        writing=writing,
    )


STRATEGIES: Mapping[tuple[str, bool], Callable[[Task], Flow[Draft]]] = MappingProxyType(
    {
        ("message_counting", True): _drop,
        ("message_counting", False): _drop,
        ("summarizing", True): _roll,
        ("summarizing", False): _add_layer,
    }
)
"""The strategies by name and by whether there is a single summary."""


def _write_span(task: Task, before: Writing | None) -> Flow[Writing]:
    """Write one text of *before* and the newly aged messages, piece by piece."""
    total, start = Writing(), task.start
    earlier = before or Writing()
    room = task.leaving + earlier.tokens
    while start < task.cut:
        stop = _piece_end(task, start, earlier.tokens)
        request = SummaryRequest(
            messages=tuple(task.history[start:stop]),
            earlier=(earlier.text,) if earlier.text else (),
            prompt=task.prompt,
            budget=task.summary_budget,
        )
        source = task.history.tokens(start, stop) + earlier.tokens
        earlier = yield from write(
            task, request, room=min(source, room), source=source, before=earlier.tokens
        )
        total = _added(total, earlier)
        if earlier.text is None:
            return total
        start = stop
    return total


def _piece_end(task: Task, start: int, earlier: int) -> int:
    """
    Return how far a summarizer can read from *start* on, beside the summary before and the prompt.
    """
    if task.window is None:
        return task.cut
    left = task.window - earlier - task.history.counter.count(task.prompt)
    return min(task.cut, task.history.index_within(start, max(0, left)))


def _merge(
    task: Task, layers: tuple[SummaryLayer, ...], total: Writing
) -> Flow[tuple[tuple[SummaryLayer, ...], Writing]]:
    while True:
        level = layers[-1].level
        group = layers[-MERGE_WIDTH:]
        if len(group) < MERGE_WIDTH or any(layer.level != level for layer in group):
            return layers, total
        request = SummaryRequest(
            messages=(),
            earlier=tuple(layer.summary for layer in group),
            prompt=task.prompt,
            budget=task.summary_budget,
        )
        source = sum(layer.tokens for layer in group)
        writing = yield from write(task, request, room=source, source=source)
        total = msgspec.structs.replace(_added(total, writing), summarizer=total.summarizer)
        if writing.text is None:
            # The layers cover everything as they are; the next fold tries again.
            return layers, total
        layers = (*layers[:-MERGE_WIDTH], _merged_layer(group, writing))


def _merged_layer(group: tuple[SummaryLayer, ...], writing: Writing) -> SummaryLayer:
    return msgspec.structs.replace(
        group[-1],
        summary=writing.text or "",
        start=group[0].start,
        tokens=writing.tokens,
        level=group[-1].level + 1,
    )


def _added(total: Writing, writing: Writing) -> Writing:
    one, other = total.summarizer, writing.summarizer
    return msgspec.structs.replace(
        writing,
        calls=total.calls + writing.calls,
        tokens_read=total.tokens_read + writing.tokens_read,
        failures=total.failures + writing.failures,
        summarizer=other if one is None or other is None else max(one, other),
    )
