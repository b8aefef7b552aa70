"""
Summarizing: one rolling summary, or layers that each stand for a span of their own.

Either way each newly aged message is given to a summarizer once. A rolling summary is written of
the summary before it and the newly aged messages. A layer is written of the newly aged messages
alone; the layers before it stay as they are, byte for byte, until `MERGE_WIDTH` of one level stand
at the end and are merged into one of the next level. So a message passes through a number of
summaries that grows with the logarithm of the history's length.

A span that is longer than a summarizer can read is given to it piece by piece, each piece together
with the summary of the pieces before.
"""

import msgspec

from foldline.reduction.flow import Flow
from foldline.reduction.request import SummaryRequest
from foldline.reduction.state import SummaryLayer, hash_of, join_layers
from foldline.reduction.strategies.draft import Draft, Task, Writing
from foldline.reduction.strategies.writing import write


__all__ = ["MERGE_WIDTH", "add_layer", "roll"]


MERGE_WIDTH = 6
"""How many layers of one level are merged into one of the next."""


def roll(task: Task) -> Flow[Draft]:
    """Write one summary of the summary in force and the newly aged messages."""
    base = task.base
    before = (
        None if base is None else Writing(text=base.summary_content, tokens=base.summary_tokens)
    )
    writing = yield from _write_span(task, before)
    if writing.text is None:
        return Draft(written=False, writing=writing)
    return Draft(summary=writing.text, tokens=writing.tokens, writing=writing)


def add_layer(task: Task) -> Flow[Draft]:
    """Write one summary of the newly aged messages alone, behind the layers in force."""
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
    Return how far a summarizer can read from *start* on, the summary before and the prompt too.
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
            # The layers stand for everything as they are; the next fold tries again.
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
    return msgspec.structs.replace(
        writing,
        calls=total.calls + writing.calls,
        tokens_read=total.tokens_read + writing.tokens_read,
        failures=total.failures + writing.failures,
        summarizer=_worse(total.summarizer, writing.summarizer),
    )


def _worse(one: int | None, other: int | None) -> int | None:
    return other if one is None or other is None else max(one, other)
