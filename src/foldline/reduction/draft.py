"""
What replaces the messages that are folded away: nothing, one summary, or layers of summaries.

With either kind of summary each newly aged message is given to a summarizer once. A rolling summary
is written from the summary before it and the newly aged messages. A layer is written from the newly
aged messages alone; the layers before it stay byte-identical until there are `MERGE_WIDTH` of one
level at the end, which are merged into one of the next level. So a message passes through a number
of summaries that grows with the logarithm of the history's length. Layers are also merged as soon
as they take more than their share of the ceiling.

A span that is longer than a summarizer can read is given to it piece by piece, each piece together
with the summary of the pieces before.
"""

from datetime import datetime
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.reduction.budget import LEAST_BUDGET, Budget
from foldline.reduction.case import leaving_tokens
from foldline.reduction.quotes import Pins
from foldline.reduction.request import Flow, SummaryRequest
from foldline.reduction.state import HistoryReductionState, SummaryLayer, hash_of, join_layers
from foldline.reduction.writing import Writing, added, write


__all__ = ["MERGE_WIDTH", "Draft", "FoldOptions", "FoldTask", "add_layer", "roll", "unchanged"]


MERGE_WIDTH = 6
"""How many layers of one level are merged into one of the next."""

_LEAST_GROUP = 2


class FoldOptions(Struct, frozen=True, kw_only=True):
    """
    What a fold needs besides the history, its verdict and its configuration.

    There are so many *summarizers* to ask, one after the other. The view has to fit *budget*. One
    summary is asked to keep to *summary_budget* tokens. A summarizer is given at most *window*
    tokens to read at once. *pins* are the pinned messages before the cut; None if only those marked
    as pinned are. *by_code* are the places of the summarizers that are code.
    """

    created_at: datetime
    config_fingerprint: str
    summarizers: int
    budget: Budget
    summary_budget: int
    window: int | None = None
    pins: Pins | None = None
    by_code: frozenset[int] = frozenset()


class FoldTask(Struct, frozen=True, kw_only=True):
    """One fold: from the reduction before it up to the new cut."""

    history: History
    base: HistoryReductionState | None
    cut: int
    prompt: str
    focus: str
    options: FoldOptions

    quoted: int = 0
    """The tokens of the messages that the fold quotes: what replaces them has that much less room."""

    shown: tuple[str, ...] = ()
    """The texts that the view shows word for word beside the summary."""

    @property
    def start(self) -> int:
        """Where the messages begin that are folded away now."""
        return 0 if self.base is None else self.base.summarized_up_to_index

    def written(
        self, request: SummaryRequest, *, room: int, source: int, before: int = 0
    ) -> Flow[Writing]:
        """Ask the summarizers of this fold for one text; see `write`."""
        return write(
            replace(request, shown=self.shown),
            count=self.history.counter.count,
            summarizers=self.options.summarizers,
            room=room,
            source=source,
            before=before,
            by_code=self.options.by_code,
        )

    @property
    def pinned(self) -> int | None:
        """The last user message, if the cut passes it."""
        user = self.history.last_user()
        return user if user is not None and user < self.cut else None


class Draft(Struct, frozen=True, kw_only=True):
    """What replaces the messages: nothing, a summary, or layers."""

    summary: str = ""
    tokens: int = 0
    layers: tuple[SummaryLayer, ...] = ()
    # Whether the layers before are no longer part of these.
    is_merged: bool = False
    writing: Writing = Writing()


def unchanged(base: HistoryReductionState | None, writing: Writing) -> Draft:
    """Return what *base* has in place of its messages."""
    if base is None:
        return Draft(writing=writing)
    return Draft(
        summary=base.summary_content,
        tokens=base.summary_tokens,
        layers=base.layers,
        is_merged=True,
        writing=writing,
    )


def roll(task: FoldTask) -> Flow[Draft]:
    """Write the one summary of everything before the cut."""
    base = task.base
    before = (
        Writing()
        if base is None
        else Writing(text=base.summary_content, tokens=base.summary_tokens)
    )
    writing = yield from _write_span(task, before)
    return Draft(summary=writing.text or "", tokens=writing.tokens, writing=writing)


def add_layer(task: FoldTask) -> Flow[Draft]:
    """Write a layer of what is new, and merge the layers that are due."""
    writing = yield from _write_span(task, Writing())
    if writing.text is None:
        return Draft(writing=writing)
    layer = SummaryLayer(
        summary=writing.text,
        start=task.start,
        end=task.cut,
        message_hash=hash_of(task.history, task.cut),
        tokens=writing.tokens,
    )
    before = () if task.base is None else task.base.layers
    layers, total = yield from _merge(task, (*before, layer), writing)
    return Draft(
        summary=join_layers(layers),
        tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        is_merged=len(layers) <= len(before),
        # A merge that failed is tried again by the next fold: the layers cover everything.
        writing=replace(total, text=writing.text),
    )


def _write_span(task: FoldTask, earlier: Writing) -> Flow[Writing]:
    total, start = Writing(), task.start
    shortened = () if task.base is None else task.base.shortened
    room = leaving_tokens(task.history, start, task.cut, shortened) + earlier.tokens
    room = max(room - task.quoted, min(room, LEAST_BUDGET))
    while start < task.cut:
        stop = _piece_end(task, start, earlier.tokens)
        request = SummaryRequest(
            messages=tuple(task.history[start:stop]),
            earlier=(earlier.text,) if earlier.text else (),
            prompt=task.prompt,
            focus=task.focus,
            budget=task.options.summary_budget,
        )
        source = task.history.tokens(start, stop) + earlier.tokens
        earlier = yield from task.written(
            request, room=min(source, room), source=source, before=earlier.tokens
        )
        total = added(total, earlier)
        if earlier.text is None:
            return total
        start = stop
    return total


def _piece_end(task: FoldTask, start: int, earlier: int) -> int:
    """Return how far a summarizer can read from *start*, beside the earlier summary and prompt."""
    if task.options.window is None:
        return task.cut
    left = task.options.window - earlier - task.history.counter.count(task.prompt)
    return min(task.cut, task.history.index_within(start, max(0, left)))


def _merge(
    task: FoldTask, layers: tuple[SummaryLayer, ...], total: Writing
) -> Flow[tuple[tuple[SummaryLayer, ...], Writing]]:
    while True:
        group = _group(layers, task.options.budget.beside)
        if len(group) < _LEAST_GROUP:
            return layers, total
        request = SummaryRequest(
            messages=(),
            earlier=tuple(layer.summary for layer in group),
            prompt=task.prompt,
            focus=task.focus,
            budget=task.options.summary_budget,
        )
        source = sum(layer.tokens for layer in group)
        writing = yield from task.written(request, room=source, source=source)
        total = replace(added(total, writing), summarizer=total.summarizer)
        if writing.text is None:
            return layers, total
        merged = replace(
            group[-1],
            summary=writing.text,
            start=group[0].start,
            tokens=writing.tokens,
            level=group[-1].level + 1,
        )
        at = layers.index(group[0])
        layers = (*layers[:at], merged, *layers[at + len(group) :])


def _group(layers: tuple[SummaryLayer, ...], room: int) -> tuple[SummaryLayer, ...]:
    """Return the layers to merge: so many of the last level, or several if no *room* is left."""
    levels = [tuple(run) for _, run in groupby(layers, key=lambda layer: layer.level)]
    if sum(layer.tokens for layer in layers) > room:
        # Not always the newest layers: one of them would be written again at every fold.
        several = (run for run in reversed(levels) if len(run) >= _LEAST_GROUP)
        return next(several, layers[-_LEAST_GROUP:])
    return levels[-1][-MERGE_WIDTH:] if len(levels[-1]) >= MERGE_WIDTH else ()
