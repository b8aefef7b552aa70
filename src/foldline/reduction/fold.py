"""
Making a new reduction.

What replaces the messages that are folded away is nothing, one summary, or layers of summaries.
With either kind of summary each newly aged message is given to a summarizer once. A rolling summary
is written from the summary before it and the newly aged messages. A layer is written from the newly
aged messages alone; the layers before it stay byte-identical until there are `MERGE_WIDTH` of one
level at the end, which are merged into one of the next level. So a message passes through a number
of summaries that grows with the logarithm of the history's length.

A span that is longer than a summarizer can read is given to it piece by piece, each piece together
with the summary of the pieces before.
"""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.contract import cleaned, defects
from foldline.reduction.event import Reason
from foldline.reduction.request import DEFAULT_PROMPT, Flow, SummaryFailure, SummaryRequest
from foldline.reduction.state import HistoryReductionState, SummaryLayer, hash_of, join_layers
from foldline.reduction.verdict import Verdict, known_of, leaving_tokens


__all__ = [
    "ATTEMPTS",
    "DEFAULT_SUMMARY_BUDGET",
    "MERGE_WIDTH",
    "FoldOptions",
    "FoldResult",
    "Writing",
    "budget_for",
    "fold",
]


DEFAULT_SUMMARY_BUDGET = 1500
"""The tokens that a summary has to keep to by default."""

ATTEMPTS = 2
"""How often one summarizer is asked for one text."""

MERGE_WIDTH = 6
"""How many layers of one level are merged into one of the next."""

_LEAST_BUDGET = 64


class FoldOptions(Struct, frozen=True, kw_only=True):
    """
    What a fold needs besides the history, its verdict and its configuration.

    There are so many *summarizers* to ask, one after the other. One summary is asked to keep to
    *summary_budget* tokens. A summarizer is given at most *window* tokens to read at once.
    """

    created_at: datetime
    config_fingerprint: str
    summarizers: int
    summary_budget: int = DEFAULT_SUMMARY_BUDGET
    window: int | None = None


class Writing(Struct, frozen=True, kw_only=True):
    """The text that was asked for, None if every summarizer failed, and what it cost."""

    text: str | None = None
    tokens: int = 0

    summarizer: int | None = None
    """The place in the chain of the summarizer that wrote it."""

    calls: int = 0
    """How often a summarizer was asked."""

    tokens_read: int = 0
    """The tokens that were given to read, over all calls."""

    failures: tuple[str, ...] = ()
    """What went wrong before: kinds of errors, and defects of texts."""


class FoldResult(Struct, frozen=True, kw_only=True):
    """The new reduction, or None if the fold failed, so that the active one stays; and why."""

    state: HistoryReductionState | None
    reason: Reason
    writing: Writing


class _Task(Struct, frozen=True, kw_only=True):
    history: History
    base: HistoryReductionState | None
    cut: int
    prompt: str
    options: FoldOptions

    @property
    def start(self) -> int:
        return 0 if self.base is None else self.base.summarized_up_to_index


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
    """
    task = _Task(
        history=history,
        base=verdict.state,
        cut=verdict.cut,
        prompt=config.custom_summarization_prompt or DEFAULT_PROMPT,
        options=options,
    )
    draft = _Draft()
    if config.strategy == "summarizing":
        draft = yield from (_roll if config.use_single_summary else _add_layer)(task)
        if draft.writing.text is None:
            return FoldResult(state=None, reason=Reason.SUMMARIZERS_FAILED, writing=draft.writing)
    writing = draft.writing
    by_fallback = 0 < options.summarizers - 1 == writing.summarizer
    return FoldResult(
        state=_reduction(task, config, draft, given),
        reason=Reason.FOLDED_BY_FALLBACK if by_fallback else verdict.reason,
        writing=writing,
    )


def _reduction(
    task: _Task,
    config: HistoryReductionConfig,
    draft: _Draft,
    given: HistoryReductionState | None,
) -> HistoryReductionState:
    history, base, cut = task.history, task.base, task.cut
    user = history.last_user()
    known = known_of(history, given) if base is None else [*base.chain()]
    made = HistoryReductionState(
        summarized_up_to_index=cut,
        message_count_at_reduction=history.count(config.counting_unit),
        summary_content=draft.summary,
        created_at=task.options.created_at,
        message_hash=hash_of(history, cut),
        target_count=config.limits.target,
        reduction_threshold=config.limits.threshold,
        counting_unit=config.counting_unit,
        layers=draft.layers,
        pinned_index=user if user is not None and user < cut else None,
        summary_tokens=draft.tokens,
        config_fingerprint=task.options.config_fingerprint,
        number=1 + max((one.number for one in known), default=0),
    ).sealed()
    if base is not None and draft.layers and not draft.is_merged:
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
    room = leaving_tokens(task.history, start, task.cut) + earlier.tokens
    while start < task.cut:
        stop = _piece_end(task, start, earlier.tokens)
        request = SummaryRequest(
            messages=tuple(task.history[start:stop]),
            earlier=(earlier.text,) if earlier.text else (),
            prompt=task.prompt,
            budget=task.options.summary_budget,
        )
        source = task.history.tokens(start, stop) + earlier.tokens
        earlier = yield from _write(
            task, request, room=min(source, room), source=source, before=earlier.tokens
        )
        total = _added(total, earlier)
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
        level = layers[-1].level
        group = layers[-MERGE_WIDTH:]
        if len(group) < MERGE_WIDTH or any(layer.level != level for layer in group):
            return layers, total
        request = SummaryRequest(
            messages=(),
            earlier=tuple(layer.summary for layer in group),
            prompt=task.prompt,
            budget=task.options.summary_budget,
        )
        source = sum(layer.tokens for layer in group)
        writing = yield from _write(task, request, room=source, source=source)
        total = replace(_added(total, writing), summarizer=total.summarizer)
        if writing.text is None:
            return layers, total
        merged = replace(
            group[-1],
            summary=writing.text,
            start=group[0].start,
            tokens=writing.tokens,
            level=level + 1,
        )
        layers = (*layers[:-MERGE_WIDTH], merged)


def _added(total: Writing, writing: Writing) -> Writing:
    one, other = total.summarizer, writing.summarizer
    return replace(
        writing,
        calls=total.calls + writing.calls,
        tokens_read=total.tokens_read + writing.tokens_read,
        failures=total.failures + writing.failures,
        summarizer=other if one is None or other is None else max(one, other),
    )


def budget_for(room: int, most: int, *, before: int = 0) -> int:
    """
    Return the tokens that a summary in place of *room* tokens may have.

    It may keep all of the summary *before* it and three quarters of what is new, so that a rolling
    summary does not shrink to the size of one span; never more than *most*, and always less than
    *room*.
    """
    wished = max(before + (room - before) * 3 // 4, _LEAST_BUDGET)
    return max(1, min(most, wished, room - 1))


def _write(
    task: _Task, request: SummaryRequest, *, room: int, source: int, before: int = 0
) -> Flow[Writing]:
    """
    Ask the summarizers in turn until one gives a text that keeps the contract.

    The second request to a summarizer lists what was wrong with its first text, or what it should do
    better if it gave none.

    Args:
        task: The fold that the text is for.
        request: What to ask.
        room: The tokens that the text replaces; it has to be smaller.
        before: Those of them that are a summary already.
        source: The tokens of everything that *request* gives to read.
    """
    request = replace(request, budget=budget_for(room, request.budget, before=before))
    calls = attempt = 0
    failures: tuple[str, ...] = ()
    while attempt < task.options.summarizers * ATTEMPTS:
        summarizer, repeated = divmod(attempt, ATTEMPTS)
        known = request.defects if repeated else ()
        request = replace(request, summarizer=summarizer, defects=known)
        reply = yield request
        if isinstance(reply, SummaryFailure) and not reply.was_asked:
            failures += (reply.reason,)
            attempt = (summarizer + 1) * ATTEMPTS
            continue
        attempt, calls = attempt + 1, calls + 1
        if isinstance(reply, SummaryFailure):
            failures += (reply.defect or reply.reason,)
            faults = (reply.defect,) if reply.defect else known
        else:
            text = cleaned(reply)
            tokens = task.history.counter.count(text)
            faults = defects(text, request, tokens=tokens, room=room)
            if not faults:
                return Writing(
                    text=text,
                    tokens=tokens,
                    summarizer=summarizer,
                    calls=calls,
                    tokens_read=calls * source,
                    failures=failures,
                )
            failures += faults
        request = replace(request, defects=faults)
    return Writing(calls=calls, tokens_read=calls * source, failures=failures)
