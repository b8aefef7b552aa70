"""
Making a new reduction.

What replaces the messages that are folded away is nothing, one summary, or layers of summaries.
With either kind of summary each newly aged message is given to a summarizer once. A rolling summary
is written from the summary before it and the newly aged messages. A layer is written from the newly
aged messages alone; the layers before it stay byte-identical until there are `MERGE_WIDTH` of one
level at the end, which are merged into one of the next level. So a message passes through a number
of summaries that grows with the logarithm of the history's length. Layers are also merged as soon
as they take more than their share of the ceiling.

A span that is longer than a summarizer can read is given to it piece by piece, each piece together
with the summary of the pieces before.
"""

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.signed import is_signed, only_sealed
from foldline.history.tokens import TokenCounter
from foldline.reduction.active import known_of
from foldline.reduction.budget import LEAST_BUDGET, Budget
from foldline.reduction.case import leaving_tokens
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, config_of_run
from foldline.reduction.event import Reason
from foldline.reduction.fitting import clipped, squeezed
from foldline.reduction.quotes import Pins, Quote, QuoteKind, kept_whole, pins_after, quoted, within
from foldline.reduction.request import DEFAULT_PROMPT, Flow, SummaryRequest
from foldline.reduction.shortening import clip_text, fitting
from foldline.reduction.state import HistoryReductionState, SummaryLayer, hash_of, join_layers
from foldline.reduction.verdict import Verdict
from foldline.reduction.view import view_tokens
from foldline.reduction.writing import Writing, added, write


__all__ = [
    "MERGE_WIDTH",
    "FoldOptions",
    "FoldResult",
    "fold",
]


MERGE_WIDTH = 6
"""How many layers of one level are merged into one of the next."""

_LEAST_GROUP = 2
# Which quotes are left out together, one step after the other.
_GIVING_WAY: tuple[tuple[QuoteKind, ...], ...] = (
    ("user",),
    ("user", "tool"),
    ("user", "tool", "first"),
    ("user", "tool", "first", "pin"),
)


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


class FoldResult(Struct, frozen=True, kw_only=True):
    """The new reduction, or None if the fold failed, so that the active one stays; and why."""

    state: HistoryReductionState | None
    reason: Reason
    writing: Writing
    left_out: tuple[str, ...] = ()
    """What should have stayed word for word and did not fit."""


class _Task(Struct, frozen=True, kw_only=True):
    history: History
    base: HistoryReductionState | None
    cut: int
    prompt: str
    focus: str
    options: FoldOptions

    quoted: int = 0
    """The tokens of the messages that the fold quotes: what replaces them has that much less room."""

    @property
    def start(self) -> int:
        return 0 if self.base is None else self.base.summarized_up_to_index

    def written(
        self, request: SummaryRequest, *, room: int, source: int, before: int = 0
    ) -> Flow[Writing]:
        return write(
            request,
            count=self.history.counter.count,
            summarizers=self.options.summarizers,
            room=room,
            source=source,
            before=before,
            by_code=self.options.by_code,
        )

    @property
    def pinned(self) -> int | None:
        user = self.history.last_user()
        return user if user is not None and user < self.cut else None


class _Draft(Struct, frozen=True, kw_only=True):
    """What replaces the messages: nothing, a summary, or layers."""

    summary: str = ""
    tokens: int = 0
    layers: tuple[SummaryLayer, ...] = ()
    # Whether the layers before are no longer part of these.
    is_merged: bool = False
    writing: Writing = Writing()


def fold(
    history: History,
    verdict: Verdict,
    config: HistoryReductionConfig,
    options: FoldOptions,
    *,
    given: HistoryReductionState | None = None,
    overrides: AgentRunConfig | None = None,
) -> Flow[FoldResult]:
    """
    Make the reduction that *verdict* asks for.

    A fold fails, and the active reduction stays, if no summarizer gives a usable text. A text that
    would not make the view smaller is not usable.

    Args:
        history: The full history.
        verdict: A verdict that folds, made from the same history and configuration.
        config: How to reduce.
        options: The time, the fingerprint and what summarizers there are.
        given: The state that the verdict was made from. What it carries that fits *history* is
            carried on, also if it was made with another configuration.
        overrides: What this run changes; the reduction is recorded as one of *config* all the same.
    """
    how = config_of_run(config, overrides)
    task = _task_of(history, verdict, how, overrides, options)
    # What is summarized stays so, if this fold writes nothing.
    base, draft = verdict.state, _kept(verdict.state, Writing())
    if how.strategy == "summarizing" and verdict.cut > task.start:
        task = replace(task, quoted=_newly_quoted(task, config))
        draft = yield from (_roll if config.use_single_summary else _add_layer)(task)
        if draft.writing.text is None:
            if verdict.reason is not Reason.CEILING_REACHED:
                failed = Reason.SUMMARIZERS_FAILED
                return FoldResult(state=None, reason=failed, writing=draft.writing)
            # The request has to fit all the same: what is there is shortened.
            task, draft = replace(task, cut=task.start), _kept(base, draft.writing)
    writing = draft.writing
    by_fallback = 0 < options.summarizers - 1 == writing.summarizer
    made = _fitted(task, config, _reduction(task, config, draft, verdict))
    if given is base:
        made = replace(made, thinking_from=_thinking_from(history, base, made))
    return FoldResult(
        state=_carried(task, made, given, draft),
        reason=Reason.FOLDED_BY_FALLBACK if by_fallback else verdict.reason,
        writing=writing,
        left_out=tuple(_left_out(task, made)),
    )


def _task_of(
    history: History,
    verdict: Verdict,
    how: HistoryReductionConfig,
    run: AgentRunConfig | None,
    options: FoldOptions,
) -> _Task:
    return _Task(
        history=history,
        base=verdict.state,
        cut=verdict.cut,
        prompt=how.custom_summarization_prompt or DEFAULT_PROMPT,
        focus="" if run is None else run.history_reduction_focus,
        options=options,
    )


def _reduction(
    task: _Task, config: HistoryReductionConfig, draft: _Draft, verdict: Verdict
) -> HistoryReductionState:
    history, cut, limits = task.history, task.cut, config.limits
    pinned = task.pinned
    sealed, sealed_at = _sealed(task)
    return HistoryReductionState(
        summarized_up_to_index=cut,
        message_count_at_reduction=history.count(config.unit),
        summary_content=draft.summary,
        created_at=task.options.created_at,
        message_hash=hash_of(history, cut),
        target_count=0 if limits is None else limits.target,
        reduction_threshold=0 if limits is None else limits.threshold,
        counting_unit=config.unit,
        layers=draft.layers,
        pinned_index=pinned,
        summary_tokens=draft.tokens,
        config_fingerprint=task.options.config_fingerprint,
        history_length=len(history),
        quotes=_quotes(task, config),
        shortened=fitting(history, verdict.shortened, cut=cut, pinned=pinned),
        sealed_item=sealed,
        sealed_index=sealed_at,
    )


def _sealed(task: _Task) -> tuple[Message | None, int | None]:
    """Return the newest compaction before the cut that only its vendor can read, and its index."""
    for at in range(task.cut - 1, task.start - 1, -1):
        found = only_sealed(task.history[at])
        if found is not None:
            return found, at
    base = task.base
    return (None, None) if base is None else (base.sealed_item, base.sealed_index)


def _quotes(task: _Task, config: HistoryReductionConfig) -> tuple[Quote, ...]:
    base, pinned, budget = task.base, task.pinned, task.options.budget
    # The user message that the last view showed in front is quoted once another one is there.
    passed = None if base is None or base.pinned_index == pinned else base.pinned_index
    aged = [*([] if passed is None else [passed]), *range(task.start, task.cut)]
    quotes = quoted(
        task.history,
        () if base is None else base.quotes,
        aged=[at for at in aged if at != pinned],
        cut=task.cut,
        pins=task.options.pins,
        config=config,
        budget=budget,
    )
    return within(quotes, budget.beside, "user")


def _newly_quoted(task: _Task, config: HistoryReductionConfig) -> int:
    known = () if task.base is None else task.base.quotes
    return sum(one.tokens for one in _quotes(task, config) if one not in known)


def _fitted(
    task: _Task, config: HistoryReductionConfig, made: HistoryReductionState
) -> HistoryReductionState:
    """Return *made* with more shortened, and less quoted, until its view fits."""
    history, budget = task.history, task.options.budget
    whole = kept_whole(history, task.cut, task.options.pins)
    if config.largest_message is not None:
        largest, seen = int(budget.limit * config.largest_message), range(task.cut, len(history))
        indexes = [at for at in seen if at not in whole]
        entries = clipped(history, made.shortened, indexes=indexes, limit=largest, budget=budget)
        made = replace(made, shortened=entries)
    if view_tokens(history, made) > budget.full:
        entries = squeezed(
            history,
            made.shortened,
            cut=task.cut,
            pinned=made.pinned_index,
            excess=view_tokens(history, made) - budget.relieved,
            whole=whole,
            config=config,
            budget=budget,
        )
        made = replace(made, shortened=entries)
    # Quotes of users make no view larger than it was.
    most = view_tokens(history, task.base) - 1 if task.cut > task.start else budget.fitted
    for kinds in _GIVING_WAY:
        excess = view_tokens(history, made) - min(most, budget.fitted)
        most = budget.fitted
        if excess > 0:
            held = sum(one.tokens for one in made.quotes if one.kind in kinds)
            made = replace(made, quotes=within(made.quotes, held - excess, *kinds))
    excess = view_tokens(history, made) - budget.fitted
    return made if excess <= 0 else _with_less(made, excess, history.counter)


def _with_less(
    made: HistoryReductionState, excess: int, counter: TokenCounter
) -> HistoryReductionState:
    """Return *made* with a summary that is *excess* tokens shorter, as far as there is one."""
    limit = max(0, made.summary_tokens - excess)
    text = clip_text(made.summary_content, limit=limit, counter=counter, note="\n[…]\n")
    tokens, layers = counter.count(text), made.layers
    if layers:
        layers = (replace(layers[-1], summary=text, start=layers[0].start, tokens=tokens),)
    return replace(made, summary_content=text, summary_tokens=tokens, layers=layers)


def _thinking_from(
    history: History, base: HistoryReductionState | None, made: HistoryReductionState
) -> int | None:
    """Return the first message whose bound thinking stays if *made* takes the place of *base*."""
    before = () if base is None else base.shortened
    if _front(base) != _front(made):
        return None
    changed = min((one.index for one in {*before} ^ {*made.shortened}), default=len(history))
    if any(is_signed(history[at]) for at in range(changed, len(history))):
        return None
    if base is None:
        return 0
    return base.history_length if base.thinking_from is None else base.thinking_from


def _front(state: HistoryReductionState | None) -> object:
    """Return what a view has before the messages after the cut."""
    if state is None:
        return 0, None, ()
    parts = tuple(message.parts for message in state.front_messages())
    return state.summarized_up_to_index, state.pinned_index, parts


def _kept(base: HistoryReductionState | None, writing: Writing) -> _Draft:
    """Return what *base* has in place of its messages."""
    if base is None:
        return _Draft(writing=writing)
    return _Draft(
        summary=base.summary_content,
        tokens=base.summary_tokens,
        layers=base.layers,
        is_merged=True,
        writing=writing,
    )


def _is_short(quote: Quote) -> bool:
    # Long user messages are quoted as their head and tail anyway.
    return not quote.is_whole and (quote.kind == "pin" or not quote.text)


def _left_out(task: _Task, made: HistoryReductionState) -> Iterator[str]:
    """Give what the view of *made* does not show word for word, and that of its base did."""
    quotes, shortened = ((), ()) if task.base is None else (task.base.quotes, task.base.shortened)
    known = {one.index for one in quotes if _is_short(one)}
    for quote in made.quotes:
        if _is_short(quote) and quote.index not in known:
            kind = {"first": "first request", "pin": "pinned"}.get(quote.kind, quote.role)
            yield f"message {quote.index} ({kind})"
    known = {one.index for one in shortened}
    pins = pins_after(task.history, task.cut, task.options.pins)
    for at in sorted(kept_whole(task.history, task.cut, task.options.pins)):
        if at not in known and any(one.index == at for one in made.shortened):
            yield f"message {at} ({'pinned' if at in pins else 'user'})"


def _carried(
    task: _Task,
    made: HistoryReductionState,
    given: HistoryReductionState | None,
    draft: _Draft,
) -> HistoryReductionState:
    """Return *made*, sealed and numbered, with the earlier reductions that it carries."""
    base, is_continued = task.base, bool(draft.layers) and not draft.is_merged
    if base is not None and base.sealed_index != made.sealed_index:
        is_continued = False
    # What did not fit is named once; a record that listed it all would grow with the history.
    quotes = tuple(one for one in made.quotes if one.text or one.kind in {"pin", "first"})
    known = known_of(task.history, given) if base is None else [*base.chain()]
    made = replace(made, quotes=quotes)
    made = replace(made, number=1 + max((one.number for one in known), default=0)).sealed()
    if base is not None and is_continued and base.summarized_up_to_index < task.cut:
        # Its layers are the first ones of the new reduction.
        del known[0]
    return made.carrying(known)


def _roll(task: _Task) -> Flow[_Draft]:
    base = task.base
    before = (
        Writing()
        if base is None
        else Writing(text=base.summary_content, tokens=base.summary_tokens)
    )
    writing = yield from _write_span(task, before)
    return _Draft(summary=writing.text or "", tokens=writing.tokens, writing=writing)


def _add_layer(task: _Task) -> Flow[_Draft]:
    writing = yield from _write_span(task, Writing())
    if writing.text is None:
        return _Draft(writing=writing)
    layer = SummaryLayer(
        summary=writing.text,
        start=task.start,
        end=task.cut,
        message_hash=hash_of(task.history, task.cut),
        tokens=writing.tokens,
    )
    before = () if task.base is None else task.base.layers
    layers, total = yield from _merge(task, (*before, layer), writing)
    return _Draft(
        summary=join_layers(layers),
        tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        is_merged=len(layers) <= len(before),
        # A merge that failed is tried again by the next fold: the layers cover everything.
        writing=replace(total, text=writing.text),
    )


def _write_span(task: _Task, earlier: Writing) -> Flow[Writing]:
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


def _piece_end(task: _Task, start: int, earlier: int) -> int:
    """Return how far a summarizer can read from *start*, beside the earlier summary and prompt."""
    if task.options.window is None:
        return task.cut
    left = task.options.window - earlier - task.history.counter.count(task.prompt)
    return min(task.cut, task.history.index_within(start, max(0, left)))


def _merge(
    task: _Task, layers: tuple[SummaryLayer, ...], total: Writing
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
