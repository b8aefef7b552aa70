"""
Making a new reduction: what replaces the messages that are folded away, and what is quoted of them.

Its view fits the request, whatever a summarizer wrote.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.reminders import without_reminders
from foldline.history.signed import is_signed, only_sealed
from foldline.history.tokens import TokenCounter
from foldline.reduction.active import known_of, thinking_kept_from
from foldline.reduction.budget import LEAST_BUDGET
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, config_of_run
from foldline.reduction.draft import Draft, FoldOptions, FoldTask, filled, read, unchanged
from foldline.reduction.event import Reason
from foldline.reduction.fitting import clipped, squeezed
from foldline.reduction.quotes import Quote, QuoteKind, kept_whole, pins_after, quoted, within
from foldline.reduction.request import DEFAULT_PROMPT, Flow, aside
from foldline.reduction.shortening import clip_text, fitting
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.verdict import Verdict
from foldline.reduction.view import view_tokens
from foldline.reduction.writing import Writing


# What a summary has beside quotes that take all the room of what they stand for, or its part of that.
_LEAST_BESIDE = 2 * LEAST_BUDGET
_PART_BESIDE = 4
# What stands around the first quotes.
_FRAME = 64
# Which quotes are left out together, one step after the other.
_GIVING_WAY: tuple[tuple[QuoteKind, ...], ...] = (
    ("user",),
    ("user", "tool"),
    ("user", "tool", "first"),
    ("user", "tool", "first", "pin"),
)


class FoldResult(Struct, frozen=True, kw_only=True):
    """The new reduction, or None if the fold failed, so that the active one stays; and why."""

    state: HistoryReductionState | None
    reason: Reason
    writing: Writing
    left_out: tuple[str, ...] = ()
    """What should have stayed word for word and did not fit."""


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
    active, draft = verdict.state, unchanged(verdict.state)
    if how.strategy == "summarizing" and verdict.cut > task.start:
        # Each user message is looked at, however many there are.
        task = yield from aside(partial(_quoting, task, config))
        task, draft = yield from _drafted(task, config, verdict)
        if draft.end < task.cut:
            writing = replace(draft.writing, summarizer=None)
            if verdict.reason is not Reason.CEILING_REACHED:
                return FoldResult(state=None, reason=Reason.SUMMARIZERS_FAILED, writing=writing)
            # The request has to fit all the same: what is there is shortened.
            task = replace(task, cut=task.above, base=active, quotes=None)
            draft = replace(unchanged(active), writing=writing)
    made = _fitted(task, config, _reduction(task, config, draft, verdict))
    first = _thinking_from(history, active, made) if given is active else None
    kept = thinking_kept_from(history, made.summarized_up_to_index, options.model)
    if kept < len(history):
        first = kept if first is None else min(first, kept)
    made = replace(made, thinking_from=first)
    return FoldResult(
        state=_carried(task, made, given),
        reason=_reason(task, draft, verdict),
        writing=draft.writing,
        left_out=tuple(_left_out(task, made)),
    )


def _task_of(
    history: History,
    verdict: Verdict,
    how: HistoryReductionConfig,
    run: AgentRunConfig | None,
    options: FoldOptions,
) -> FoldTask:
    base = active = verdict.state
    reads = how.strategy == "summarizing" and not verdict.is_batch
    if reads and active is not None and (active.unread_from or 0) >= history.start:
        base = active.read_part
    return FoldTask(
        history=history,
        active=active,
        base=base,
        cut=verdict.cut,
        prompt=how.custom_summarization_prompt or DEFAULT_PROMPT,
        focus="" if run is None else run.history_reduction_focus,
        is_single=how.use_single_summary,
        options=options,
    )


def _drafted(
    task: FoldTask, config: HistoryReductionConfig, verdict: Verdict
) -> Flow[tuple[FoldTask, Draft]]:
    """Have everything read; if the summarizers stop before, end there, or fill in the rest."""
    draft = yield from read(task)
    if draft.end < task.cut:
        part = replace(task, cut=draft.end, quotes=None)
        if draft.end > task.above and (
            view_tokens(task.history, _reduction(part, config, draft, verdict))
            <= task.options.budget.full
        ):
            return part, draft
        draft = yield from filled(task, draft)
    return task, draft


def _reason(task: FoldTask, draft: Draft, verdict: Verdict) -> Reason:
    wrote, last = draft.writing.summarizer, task.options.summarizers - 1
    if 0 < last == wrote:
        return Reason.FOLDED_BY_FALLBACK
    is_whole = task.cut == verdict.cut and not any(one.is_stopgap for one in draft.layers)
    return verdict.reason if is_whole or wrote is None else Reason.READ_IN_PART


def _reduction(
    task: FoldTask, config: HistoryReductionConfig, draft: Draft, verdict: Verdict
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
        quotes=_quotes(task, config) if task.quotes is None else task.quotes,
        shortened=fitting(history, verdict.shortened, cut=cut, pinned=pinned),
        sealed_item=sealed,
        sealed_index=sealed_at,
    )


def _sealed(task: FoldTask) -> tuple[Message | None, int | None]:
    """Return the newest compaction before the cut that only its vendor can read, and its index."""
    for at in reversed(task.history.marked(task.start)):
        if at < task.cut and (found := only_sealed(task.history[at])) is not None:
            return found, at
    base = task.base
    return (None, None) if base is None else (base.sealed_item, base.sealed_index)


def _quotes(task: FoldTask, config: HistoryReductionConfig) -> tuple[Quote, ...]:
    base, pinned, budget = task.base, task.pinned, task.options.budget
    return quoted(
        task.history,
        () if base is None else base.quotes,
        # What the last view showed in front is quoted once another message is there.
        aged=[at for at in chain(_passed(task), range(task.start, task.cut)) if at != pinned],
        cut=task.cut,
        pins=task.options.pins,
        config=config,
        budget=budget,
        weigh=task.options.weigh,
    )


def _passed(task: FoldTask) -> list[int]:
    """Return the user message that the last view showed in front, if it is not read again."""
    passed = None if task.active is None else task.active.pinned_index
    return [] if passed is None or passed >= task.start else [passed]


def _quoting(task: FoldTask, config: HistoryReductionConfig) -> FoldTask:
    """Return *task* with what its view will show word for word."""
    quotes, pinned = _quotes(task, config), task.pinned
    known = () if task.active is None else task.active.quotes
    # What would give way for the view's size is read by the summarizer instead.
    new, room = sum(one.tokens for one in quotes if one not in known), task.replaced
    frame = 0 if known else _FRAME
    beside = max(min(room, LEAST_BUDGET), min(_LEAST_BESIDE, room // _PART_BESIDE)) + frame
    excess = new + beside - room if task.cut > task.above else 0
    quotes = _giving_way(quotes, excess, "user")
    shown = [one.text for one in quotes if one.text and one.is_whole]
    shown += [task.history[one.index].text for one in quotes if one.is_message]
    if pinned is not None:
        shown.append(task.history[pinned].text)
    before = [one.text for one in known if one.text and one.is_whole and one.role == "user"]
    before += [task.history[at].text for at in _passed(task)]
    added = sum(one.tokens for one in quotes if one not in known)
    return replace(
        task,
        quotes=quotes,
        quoted=added,
        frame=frame if added else 0,
        shown=tuple(shown),
        gone=tuple(text for text in before if text not in shown),
    )


def _fitted(
    task: FoldTask, config: HistoryReductionConfig, made: HistoryReductionState
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
    most = view_tokens(history, task.active) - 1 if task.cut > task.above else budget.fitted
    for kinds in _GIVING_WAY:
        excess = view_tokens(history, made) - min(most, budget.fitted)
        most = budget.fitted
        made = replace(made, quotes=_giving_way(made.quotes, excess, *kinds))
    excess = view_tokens(history, made) - budget.fitted
    return made if excess <= 0 else _with_less(made, excess, history.counter)


def _giving_way(quotes: tuple[Quote, ...], excess: int, *kinds: QuoteKind) -> tuple[Quote, ...]:
    """Return *quotes* with *excess* tokens less of *kinds*, as far as there are so many."""
    if excess <= 0:
        return quotes
    held = sum(one.tokens for one in quotes if one.kind in kinds)
    return within(quotes, held - excess, *kinds)


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
    return state.summarized_up_to_index, state.pinned_index, (*state.shown_pins, *parts)


def _is_short(quote: Quote) -> bool:
    # Long user messages are quoted as their head and tail anyway.
    return not quote.is_whole and (quote.kind == "pin" or not quote.text)


def _left_out(task: FoldTask, made: HistoryReductionState) -> Iterator[str]:
    """Give what the view of *made* does not show word for word, and that of its base did."""
    before = task.active
    quotes, shortened = ((), ()) if before is None else (before.quotes, before.shortened)
    known = {one.index for one in quotes if _is_short(one)}
    texts = {one.index: one.text for one in quotes}
    said = {one.text for one in made.quotes if one.text}
    for quote in made.quotes:
        if not _is_short(quote) or quote.index in known:
            continue
        text = texts.get(quote.index, "")
        if quote.index >= task.history.start:
            text = without_reminders(task.history[quote.index].text)
        # Of equal messages the newest is quoted.
        if text not in said or quote.kind == "pin":
            kind = {"first": "first request", "pin": "pinned"}.get(quote.kind, quote.role)
            yield f"message {quote.index} ({kind})"
    known = {one.index for one in shortened}
    pins = pins_after(task.history, task.cut, task.options.pins)
    whole = {*kept_whole(task.history, task.cut, task.options.pins), made.pinned_index}
    for one in made.shortened:
        if one.index in whole and one.index not in known:
            yield f"message {one.index} ({'pinned' if one.index in pins else 'user'})"


def _carried(
    task: FoldTask, made: HistoryReductionState, given: HistoryReductionState | None
) -> HistoryReductionState:
    """Return *made*, sealed and numbered, with the earlier reductions that it carries."""
    active = task.active
    # What did not fit is named once; a record that listed it all would grow with the history.
    quotes = tuple(one for one in made.quotes if one.text or one.kind in {"pin", "first"})
    known = known_of(task.history, given) if active is None else [*active.chain()]
    made = replace(made, quotes=quotes)
    made = replace(made, number=1 + max((one.number for one in known), default=0)).sealed()
    if active is not None and _continues(made, active):
        # Its layers are the first ones of the new reduction.
        del known[0]
    return made.carrying(known)


def _continues(made: HistoryReductionState, active: HistoryReductionState) -> bool:
    size = len(active.layers)
    return (
        0 < size < len(made.layers)
        and made.layers[:size] == active.layers
        and active.sealed_index == made.sealed_index
    )
