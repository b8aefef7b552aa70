"""
What to do before a model call.

Theory of operation
-------------------

A verdict is read off a table. First the facts are found: is reduction enabled, has the run asked
for something, is there an active reduction (the longest one whose digest fits), does the trigger
call for a fold, is there a safe cut beyond the active one. The rows of `VERDICTS` are tried from the
top; the first one whose facts all hold decides. A row names the facts that must hold and those that
must not.

| verdict | what the model is sent | what else happens |
|---|---|---|
| `skip` | the full history | nothing |
| `hit` | the view of the active reduction, the same bytes as before | nothing |
| `fold` | the view of a new reduction | the strategy runs |
| `halt` | nothing: the turn ends | the strategy runs |
| `cannot` | the full history, if that fits | nothing |

A cut is looked for if the table gives another answer with one than without one, so a `hit` costs
the same at any length where counts decide.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import compress
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.history.signed import is_signed
from foldline.history.units import CountingUnit
from foldline.reduction.active import active_reduction
from foldline.reduction.balance import FoldCosts, PricedFold, summary_size
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.case import Case, leaving_tokens
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, config_of_run
from foldline.reduction.event import Reason
from foldline.reduction.fitting import clearable, cleared, clipped, saved, squeezed
from foldline.reduction.quotes import Pins
from foldline.reduction.shortening import Shortened, fitting
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_tokens


LEAST_FOLD = 24
"""How many tokens must leave the view before a summarizer is asked to replace them."""

VerdictKind: TypeAlias = Literal["skip", "hit", "fold", "halt", "cannot"]
"""What to do before a model call."""

Fact: TypeAlias = Literal[
    "enabled", "skipped", "empty", "oversized", "forced", "full", "clearable", "clipped", "repinned", "due",
    "pays", "looping", "cached", "cuttable", "breaker", "unread",
]  # fmt: skip
"""
What a row of the table may ask for.

`enabled`: reduction is on. `skipped`: the run wants the full history. `empty`: there are no
messages. `oversized`: what no fold makes smaller is above the ceiling. `forced`: the run wants a fold. `full`: the request comes near its ceiling. `clearable`:
clearing alone is enough, or pays. `clipped`: a message is too large, or the view can be squeezed. `repinned`:
the pins have changed. `due`: target and threshold, or prices, call for a fold. `pays`: prices do. `looping`: an open tool loop
holds signed reasoning. `cached`: there is an active reduction. `cuttable`: there is a safe cut
beyond it. `breaker`: a new fold ends the turn. `unread`: for a part there is only a stopgap.
"""


class Row(Struct, frozen=True):
    """One row of the table: a verdict and its reason, if some facts hold and others do not."""

    kind: VerdictKind
    reason: Reason
    holds: AbstractSet[Fact] = frozenset()
    lacks: AbstractSet[Fact] = frozenset()


VERDICTS: tuple[Row, ...] = (
    Row("skip", Reason.DISABLED, lacks={"enabled"}),
    Row("skip", Reason.SKIPPED_BY_RUN, {"skipped"}),
    Row("skip", Reason.NO_MESSAGES, {"empty"}),
    Row("cannot", Reason.CANNOT_FIT, {"oversized"}),
    Row("halt", Reason.FORCED, {"forced", "cuttable", "breaker"}),
    Row("fold", Reason.FORCED, {"forced", "cuttable"}),
    Row("fold", Reason.CLEARED, {"clearable", "full"}),
    Row("fold", Reason.CLEARING_DUE, {"clearable", "due"}, lacks={"pays"}),
    Row("fold", Reason.CLEARING_PAYS, {"clearable"}),
    Row("halt", Reason.CEILING_REACHED, {"full", "cuttable", "breaker"}),
    Row("fold", Reason.CEILING_REACHED, {"full", "cuttable"}),
    Row("hit", Reason.OPEN_TOOL_LOOP, {"due", "looping", "cached"}, lacks={"full", "clipped"}),
    Row("skip", Reason.OPEN_TOOL_LOOP, {"due", "looping"}, lacks={"full", "clipped"}),
    Row("halt", Reason.FOLD_PAYS, {"pays", "cuttable", "breaker"}, lacks={"looping"}),
    Row("fold", Reason.FOLD_PAYS, {"pays", "cuttable"}, lacks={"looping"}),
    Row("halt", Reason.THRESHOLD_EXCEEDED, {"due", "cuttable", "breaker"}, lacks={"looping"}),
    Row("fold", Reason.THRESHOLD_EXCEEDED, {"due", "cuttable"}, lacks={"looping"}),
    Row("fold", Reason.READ_IN_PART, {"unread"}, lacks={"looping"}),
    Row("fold", Reason.CLIPPED, {"clipped"}),
    Row("fold", Reason.PINS_CHANGED, {"repinned"}),
    Row("hit", Reason.NO_SAFE_CUT, {"due", "cached"}, lacks={"pays"}),
    Row("cannot", Reason.NO_SAFE_CUT, {"due"}, lacks={"pays"}),
    Row("hit", Reason.NO_SAFE_CUT, {"full", "cached"}),
    Row("cannot", Reason.NO_SAFE_CUT, {"full"}),
    Row("hit", Reason.NOTHING_TO_CUT, {"forced", "cached"}),
    Row("cannot", Reason.NOTHING_TO_CUT, {"forced"}),
    Row("hit", Reason.REDUCTION_VALID, {"cached"}),
    Row("skip", Reason.BELOW_THRESHOLD),
)
"""The table, first match first."""


@cache
def _row(facts: frozenset[Fact]) -> Row:
    # The last one holds whatever the facts are.
    for row in VERDICTS[:-1]:
        if row.holds <= facts and not row.lacks & facts:
            return row
    return VERDICTS[-1]


class Verdict(Struct, frozen=True, kw_only=True):
    """The decision before a model call."""

    kind: VerdictKind
    """What to do."""

    reason: Reason
    """Why."""

    state: HistoryReductionState | None = None
    """The active reduction, from which a fold starts; None if there is none."""

    cut: int = 0
    """The cut of the view: that of the fold to make, or of the active reduction."""

    units: int = 0
    """How much has gathered after the active cut, in the configured unit."""

    messages: int = 0
    """How many messages the history has, system messages not included."""

    shortened: tuple[Shortened, ...] = ()
    """The messages that a batch shows clipped or cleared: a fold that leaves the cut where it is."""

    @property
    def folds(self) -> bool:
        """Whether a new reduction is to be made."""
        return self.kind in {"fold", "halt"}

    @property
    def is_batch(self) -> bool:
        """Whether the new reduction has the cut of the active one, and needs no summarizer."""
        return self.folds and self.reason in BATCHES


BATCHES = frozenset(
    {
        Reason.CLEARED,
        Reason.CLEARING_DUE,
        Reason.CLEARING_PAYS,
        Reason.CLIPPED,
        Reason.PINS_CHANGED,
    }
)
"""The reasons of a fold that leaves the cut where it is, and asks no summarizer."""

_NO_OVERRIDES = AgentRunConfig()
# What is asked first; with any but the first of them nothing else matters.
_FIRST: tuple[Fact, ...] = ("enabled", "skipped", "empty", "oversized")
_MORE = frozenset[Fact]({"due", "full"})
# A view that opens with a question reads better; by price alone the cut would be after it.
_NEGLIGIBLE = 0.02


def decide(
    history: History,
    config: HistoryReductionConfig,
    state: HistoryReductionState | None = None,
    *,
    config_fingerprint: str,
    overrides: AgentRunConfig | None = None,
    budget: Budget | None = None,
    pins: Pins | None = None,
    costs: FoldCosts | None = None,
) -> Verdict:
    """
    Return the verdict for *history*, without any call and without changing anything.

    Args:
        history: The full history.
        config: How and when to reduce.
        state: The reduction of the previous call, if there was one.
        config_fingerprint: What shapes summaries now; a reduction made otherwise is not used.
        overrides: What this run changes.
        budget: What the request may hold; by default that of *config* alone.
        pins: Every pinned message; None if only those marked as pinned are.
        costs: What calls and folds cost, and the time, if that decides and not the counts.
    """
    run, length, rules = overrides or _NO_OVERRIDES, len(history), history.system_tokens
    budget = budget or budget_of(config, system=rules)
    is_oversized = budget.counted(rules) > budget.ceiling
    holds = (config.enabled, run.skip_history_reduction, not length, is_oversized)
    if holds != (True, False, False, False):
        row = _row(frozenset(compress(_FIRST, holds)))
        return Verdict(kind=row.kind, reason=row.reason, messages=length)
    active = active_reduction(
        history, state, unit=config.unit, config_fingerprint=config_fingerprint
    )
    cut, pinned = 0, None
    if active is not None:
        cut, pinned = active.summarized_up_to_index, active.pinned_index
    case = Case(
        history=history,
        config=config_of_run(config, overrides),
        budget=budget,
        active=active,
        cut=cut,
        view=view_tokens(history, active),
        entries=fitting(history, active.shortened if active else (), cut=cut, pinned=pinned),
        pins=pins,
        costs=costs,
    )
    return _decided(case, run)


def _decided(case: Case, run: AgentRunConfig) -> Verdict:
    units = case.history.count(case.config.unit, case.cut)
    facts = _facts(case, run, units)
    shortened, cut = _shortened(case, facts), None
    if "forced" in facts or not (facts.isdisjoint(_MORE) or "clearable" in facts):
        cut = _wished_cut(case, is_full="full" in facts)
        if cut is None and "forced" in facts and run.history_reduction_target_override is None:
            cut = _worthwhile(case, "exchanges", 1)
    if cut is not None:
        facts.add("cuttable")
    elif "full" in facts and "clearable" not in facts:
        shortened = _squeezed(case, shortened, facts)
    row = _row(frozenset(facts))
    moves = cut is not None and row.kind in {"fold", "halt"} and row.reason not in BATCHES
    return Verdict(
        kind=row.kind,
        reason=row.reason,
        state=case.active,
        cut=cut if moves and cut is not None else case.cut,
        units=units,
        messages=len(case.history),
        shortened=shortened,
    )


def _facts(case: Case, run: AgentRunConfig, units: int) -> set[Fact]:
    facts = _standing(case)
    if run.trigger_history_reduction:
        facts.add("forced")
    behavior = run.history_reduction_behavior_override or case.config.behavior
    if behavior == "circuit_breaker":
        facts.add("breaker")
    if case.costs is None:
        limits = case.config.limits
        if limits is not None and units > limits.ceiling and case.config.trigger != "balance":
            facts.add("due")
    elif _pays(case, case.costs):
        facts |= {"due", "pays"}
    if ("due" in facts or "unread" in facts) and _is_looping(case.history, case.cut):
        facts.add("looping")
    if case.view > case.budget.full:
        facts.add("full")
    if _pins_changed(case):
        facts.add("repinned")
    return facts


def _standing(case: Case) -> set[Fact]:
    """Return the facts of the active reduction: also whether summarizers can go on with it."""
    if case.active is None:
        return {"enabled"}
    start = case.active.unread_from
    is_loaded = start is not None and start >= case.history.start
    if is_loaded and case.config.strategy == "summarizing":
        return {"enabled", "cached", "unread"}
    return {"enabled", "cached"}


def _pays(case: Case, costs: FoldCosts) -> bool:
    """Whether holding has cost as much by now as a fold, if something would leave the view."""
    history, budget = case.history, case.budget
    kept = case.kept
    if kept <= case.cut or case.config.strategy == "clearing":
        return False
    summary = quotes = 0
    if case.config.strategy == "summarizing":
        quotes = _quote_tokens(case, kept)
        summary = summary_size(case.active, budget) + quotes
    active = case.active
    before, shown = (0, 0) if active is None else (active.front_tokens, active.shown_tokens)
    fold = PricedFold(
        # A fold leaves pinned files where they are.
        fixed=budget.instructions + budget.tools + budget.system + shown - before,
        before=before,
        summary=summary,
        dropped=leaving_tokens(history, case.cut, kept, case.entries),
        kept=history.tokens(kept),
    )
    if fold.dropped <= summary:
        return False
    holding = case.holding
    # What is quoted stays, so holding it has cost nothing.
    held = holding.of_span(case.unit, case.target) * (1 - quotes / fold.dropped)
    return held > 0 and held >= fold.price(costs, is_cold=holding.is_cold)


def _quote_tokens(case: Case, kept: int) -> int:
    """Return about how many tokens of user messages a fold would quote more than there are now."""
    history, limit, active = case.history, case.config.quote_user_messages, case.active
    known = 0 if active is None else active.front_tokens - active.summary_tokens
    sizes = (history.tokens(at, at + 1) for at in history.users(case.cut) if at < kept)
    return min(max(0, case.budget.beside - known), sum(min(size, limit) for size in sizes))


def _is_looping(history: History, cut: int) -> bool:
    """Whether the newest exchange is a tool loop without an answer yet, with signed reasoning."""
    user = history.last_user()
    if user is None or history[len(history) - 1].role != "tool":
        return False
    first = max(user + 1, cut)
    return history.has_reasoning(first) and any(map(is_signed, history[first:]))


def _pins_changed(case: Case) -> bool:
    active = case.active
    if active is None or case.pins is None:
        return False
    pinned = {at for at, _ in case.pins if at < case.cut}
    quoted = {one.index for one in active.quotes if one.kind == "pin"}
    return pinned != quoted or case.base != case.entries


def _shortened(case: Case, facts: set[Fact]) -> tuple[Shortened, ...]:
    """Return what a batch would shorten, and add to *facts* whether it would."""
    history, config, budget, entries = case.history, case.config, case.budget, case.base
    largest = int(budget.limit * (config.largest_message or 1))
    # What was larger when the reduction was made has been looked at.
    seen = case.cut if case.active is None else max(case.cut, case.active.history_length)
    found = entries
    if config.largest_message is not None and history.largest(seen) > largest:
        new, whole = range(seen, len(history)), case.whole
        indexes = [at for at in new if at not in whole]
        found = clipped(history, entries, indexes=indexes, limit=largest, budget=budget)
    if found != entries:
        facts.add("clipped")
    is_due = "full" in facts or ("due" in facts and config.strategy == "clearing")
    if config.clear_tool_results and (is_due or (case.costs is not None and _may_clear(case))):
        return _cleared(case, found, facts, is_due=is_due)
    return found


def _cleared(
    case: Case, found: tuple[Shortened, ...], facts: set[Fact], *, is_due: bool
) -> tuple[Shortened, ...]:
    """Return *found* with old results cleared, where that is enough for what *is_due*, or pays."""
    history, config, budget = case.history, case.config, case.budget
    view = case.view - saved(history, found) + saved(history, case.entries)
    if is_due and not _is_enough(case, view - sum(history.tools(0, case.cut).values())):
        return found
    names = clearable(
        history, found, cut=case.cut, keep=budget.results, whole=case.whole, config=config
    )
    # Notes take a while to write, so it is asked first if they had no tokens.
    least = view - sum(history.tokens(at, at + 1) for at in names)
    if not (_is_enough(case, least) if is_due else _notes_may_pay(case, names)):
        return found
    short = cleared(history, found, names, budget)
    if is_due:
        is_enough = _is_enough(case, view + saved(history, found) - saved(history, short))
    else:
        is_enough = _clearing_pays(case, found, short, facts)
    if not is_enough:
        return found
    if short != found:
        facts.add("clearable")
    else:
        facts -= {"full", "due"}
    return short


def _may_clear(case: Case) -> bool:
    """Whether clearing may pay, as far as can be said without a look at the results."""
    holding, keep = case.holding, case.budget.results
    return holding.of_span("tokens", keep) >= holding.rewriting(keep)


def _notes_may_pay(case: Case, names: Iterable[int]) -> bool:
    """Whether clearing the messages at *names* would pay if notes had no tokens."""
    history, holding = case.history, case.holding
    sizes = {at: history.tokens(at, at + 1) for at in names}
    rest = history.tokens(min(sizes)) - sum(sizes.values()) if sizes else 0
    held = holding.of_results(sizes, case.budget.results)
    return held > 0 and held >= holding.rewriting(max(0, rest))


def _clearing_pays(
    case: Case, before: tuple[Shortened, ...], after: tuple[Shortened, ...], facts: set[Fact]
) -> bool:
    """
    Whether holding what a batch would clear has cost as much by now as the batch.

    A fold that pays as well comes first if most of what it drops is no result.
    """
    history, known = case.history, set(before)
    new = {one.index: one.tokens for one in after if one not in known}
    saving = saved(history, after) - saved(history, before)
    if saving < case.budget.beside:
        return False
    leaving = leaving_tokens(history, case.cut, case.kept, case.entries)
    if "pays" in facts and 2 * saving < leaving:
        return False
    rest = history.tokens(min(new)) - saving
    left = {at: history.tokens(at, at + 1) - size for at, size in new.items()}
    return case.holding.of_results(left, case.budget.results) >= case.holding.rewriting(rest)


def _squeezed(case: Case, found: tuple[Shortened, ...], facts: set[Fact]) -> tuple[Shortened, ...]:
    """Return *found* and more, so that a view without a safe cut fits all the same."""
    history, budget = case.history, case.budget
    view = case.view - saved(history, found) + saved(history, case.entries)
    if view > budget.full:
        short = squeezed(
            history,
            found,
            cut=case.cut,
            pinned=case.pinned,
            excess=view - budget.relieved,
            whole=case.whole,
            config=case.config,
            budget=budget,
        )
        # While the view still fits, a few tokens are not worth a new prefix.
        if view > budget.fitted or saved(history, short) - saved(history, found) >= budget.beside:
            found = short
    # A ceiling that has come down is above what the record has in front, too.
    view = case.view - saved(history, found) + saved(history, case.entries)
    if found != case.base or (case.active is not None and view > budget.room):
        facts.add("clipped")
    return found


def _is_enough(case: Case, after: int) -> bool:
    """Whether clearing alone makes the view small enough for the next calls."""
    if case.config.strategy == "clearing":
        return case.view - after >= case.budget.beside and after <= case.budget.full
    return after <= case.budget.relieved


def _wished_cut(case: Case, *, is_full: bool) -> int | None:
    """
    Return the cut to fold up to, if there is a safe one and enough would leave the view.

    The last user message stays in the view wherever the cut is, so it does not count. A request
    near its ceiling is cut so that a quarter stays, if its target and unit would keep more.
    """
    limits = case.config.limits
    if case.costs is not None and not is_full:
        return _paying_cut(case)
    if limits is not None:
        cut = _worthwhile(case, case.config.unit, limits.target, limits.threshold)
        left = 0 if cut is None else leaving_tokens(case.history, case.cut, cut, case.entries)
        if not is_full or case.view - left + case.budget.summary <= case.budget.full:
            return cut
    keep = case.keep if limits is None else case.budget.keep
    return _worthwhile(case, "tokens", keep, case.budget.keep // 4)


def _paying_cut(case: Case) -> int | None:
    """Return a cut just before a user message if keeping so much more costs next to nothing."""
    unit, keep = case.unit, case.paying_keep
    first = _worthwhile(case, unit, keep)
    opening = _worthwhile(case, unit, keep, keep // 4)
    if first is None or opening is None or opening == first:
        return first
    more, kept = case.history.tokens(opening, first), case.history.tokens(first)
    return opening if more <= kept * _NEGLIGIBLE else first


def _worthwhile(case: Case, unit: CountingUnit, keep: int, slack: int = 0) -> int | None:
    least = LEAST_FOLD if case.config.strategy == "summarizing" else 1
    cut = safe_cut(case.history, unit=unit, keep=keep, slack=slack, above=case.cut)
    if cut is None or leaving_tokens(case.history, case.cut, cut, case.entries) < least:
        return None
    return cut
