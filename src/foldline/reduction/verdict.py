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
| `cannot` | the full history | nothing |

A cut is looked for if the table gives another answer with one than without one, so a `hit` costs
the same at any length.
"""

from collections.abc import Set as AbstractSet
from typing import Literal, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec import Struct

from foldline.history.boundaries import safe_cut
from foldline.history.history import CountingUnit, History
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.event import EarlierReduction, Reason
from foldline.reduction.state import HistoryReductionState, hash_of, same_hash


__all__ = [
    "LEAST_FOLD",
    "VERDICTS",
    "Fact",
    "Row",
    "Verdict",
    "VerdictKind",
    "active_reduction",
    "decide",
    "known_of",
    "leaving_tokens",
    "outcome_of",
]


LEAST_FOLD = 24
"""How many tokens must leave the view before a summarizer is asked to replace them."""

VerdictKind: TypeAlias = Literal["skip", "hit", "fold", "halt", "cannot"]
"""What to do before a model call."""

Fact: TypeAlias = Literal[
    "enabled", "skipped", "empty", "forced", "due", "cached", "cuttable", "breaker"
]
"""
What a row of the table may ask for.

`enabled`: reduction is on. `skipped`: the run wants the full history. `empty`: there are no
messages. `forced`: the run wants a fold. `due`: the trigger calls for a fold. `cached`: there is an
active reduction. `cuttable`: there is a safe cut beyond it. `breaker`: a new fold ends the turn.
"""


_FACTS = get_args(Fact)
# Verdicts are taken before every model call, so facts are bits there.
_ENABLED, _SKIPPED, _EMPTY, _FORCED, _DUE, _CACHED, _CUTTABLE, _BREAKER = (
    1 << place for place in range(len(_FACTS))
)


class Row(NamedTuple):
    """One row of the table: a verdict and its reason, if some facts hold and others do not."""

    kind: VerdictKind
    reason: Reason
    holds: AbstractSet[Fact] = frozenset()
    lacks: AbstractSet[Fact] = frozenset()


VERDICTS: tuple[Row, ...] = (
    Row("skip", Reason.DISABLED, lacks={"enabled"}),
    Row("skip", Reason.SKIPPED_BY_RUN, {"skipped"}),
    Row("skip", Reason.NO_MESSAGES, {"empty"}),
    Row("halt", Reason.FORCED, {"forced", "cuttable", "breaker"}),
    Row("fold", Reason.FORCED, {"forced", "cuttable"}),
    Row("hit", Reason.NO_SAFE_CUT, {"due", "cached"}, lacks={"cuttable"}),
    Row("cannot", Reason.NO_SAFE_CUT, {"due"}, lacks={"cuttable"}),
    Row("hit", Reason.NOTHING_TO_CUT, {"forced", "cached"}),
    Row("cannot", Reason.NOTHING_TO_CUT, {"forced"}),
    Row("halt", Reason.THRESHOLD_EXCEEDED, {"due", "breaker"}),
    Row("fold", Reason.THRESHOLD_EXCEEDED, {"due"}),
    Row("hit", Reason.REDUCTION_VALID, {"cached"}),
    Row("skip", Reason.BELOW_THRESHOLD),
)
"""The table, first match first."""


def _row(bits: int) -> Row:
    facts = {fact for place, fact in enumerate(_FACTS) if bits >> place & 1}
    return next(row for row in VERDICTS if row.holds <= facts and not row.lacks & facts)


# The table is searched once for each set of facts, not before every model call.
_ROWS = tuple(map(_row, range(1 << len(_FACTS))))


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

    @property
    def folds(self) -> bool:
        """Whether a new reduction is to be made."""
        return self.kind in {"fold", "halt"}


_NO_OVERRIDES = AgentRunConfig()


def decide(
    history: History,
    config: HistoryReductionConfig,
    state: HistoryReductionState | None = None,
    *,
    config_fingerprint: str,
    overrides: AgentRunConfig | None = None,
) -> Verdict:
    """
    Return the verdict for *history*, without any call and without changing anything.

    Args:
        history: The full history.
        config: How and when to reduce.
        state: The reduction of the previous call, if there was one.
        config_fingerprint: What shapes summaries now; a reduction made otherwise is not used.
        overrides: What this run changes.
    """
    run = overrides or _NO_OVERRIDES
    length = len(history)
    facts = _facts_of_run(config, run) | (0 if length else _EMPTY)
    if facts & (_ENABLED | _SKIPPED | _EMPTY) != _ENABLED:
        row = _ROWS[facts]
        return Verdict(kind=row.kind, reason=row.reason, messages=length)
    active = active_reduction(
        history, state, unit=config.counting_unit, config_fingerprint=config_fingerprint
    )
    cut = 0
    if active is not None:
        facts |= _CACHED
        cut = active.summarized_up_to_index
    units = history.count(config.counting_unit, cut)
    if units > config.limits.ceiling:
        facts |= _DUE
    row = _ROWS[facts]
    if row is not _ROWS[facts | _CUTTABLE]:
        wished = _wished_cut(history, config, cut)
        if wished is not None:
            row, cut = _ROWS[facts | _CUTTABLE], wished
    return Verdict(
        kind=row.kind, reason=row.reason, state=active, cut=cut, units=units, messages=length
    )


def _facts_of_run(config: HistoryReductionConfig, run: AgentRunConfig) -> int:
    behavior = run.history_reduction_behavior_override or config.behavior
    return (
        _ENABLED * config.enabled
        | _SKIPPED * run.skip_history_reduction
        | _FORCED * run.trigger_history_reduction
        | _BREAKER * (behavior == "circuit_breaker")
    )


def _wished_cut(history: History, config: HistoryReductionConfig, above: int) -> int | None:
    """
    Return the cut to fold up to, if there is a safe one and enough would leave the view.

    The last user message stays in the view wherever the cut is, so it does not count.
    """
    limits = config.limits
    cut = safe_cut(
        history,
        unit=config.counting_unit,
        keep=limits.target,
        slack=limits.threshold,
        above=above,
    )
    if cut is None:
        return None
    least = LEAST_FOLD if config.strategy == "summarizing" else 1
    return cut if leaving_tokens(history, above, cut) >= least else None


def leaving_tokens(history: History, above: int, cut: int) -> int:
    """Return the tokens that leave the view when its cut moves from *above* to *cut*."""
    user = history.last_user()
    stays = history.tokens(user, user + 1) if user is not None and above <= user < cut else 0
    return history.tokens(above, cut) - stays


def active_reduction(
    history: History,
    state: HistoryReductionState | None,
    *,
    unit: CountingUnit,
    config_fingerprint: str,
) -> HistoryReductionState | None:
    """
    Return *state*, or the longest earlier reduction it carries, that fits *history*.

    A digest that does not fit, a shorter history, a damaged summary, another *unit* or another
    fingerprint is a miss and never an error. An earlier reduction keeps carrying the others that
    fit *history*, those of another configuration too, so that nothing is lost when that one comes
    back.
    """
    if state is None:
        return None

    def is_usable(one: HistoryReductionState) -> bool:
        return (
            one.config_fingerprint == config_fingerprint
            and one.counting_unit == unit
            and _fits(history, one)
        )

    if is_usable(state):
        return _pinned(history, state)
    longest_first = sorted(state.earlier(), key=lambda one: -one.summarized_up_to_index)
    found = next(filter(is_usable, longest_first), None)
    if found is None:
        return None
    others = [one for one in known_of(history, state) if not one.is_like(found)]
    return _pinned(history, found.carrying(others))


def known_of(history: History, state: HistoryReductionState | None) -> list[HistoryReductionState]:
    """
    Return *state* and what it carries, the newest first, without what does not fit *history*.

    What reaches no further than a part of *history* that is not in memory is kept unchecked.
    """
    return [
        one
        for one in (() if state is None else state.chain())
        if one.summarized_up_to_index < history.start or _fits(history, one)
    ]


def outcome_of(
    history: History,
    given: HistoryReductionState,
    active: HistoryReductionState | None,
    *,
    unit: CountingUnit,
) -> EarlierReduction:
    """Return the outcome for *given*, if *active* or nothing is the active reduction."""
    if active is not None:
        return "used" if given.is_like(active) else "older_used"
    if not _fits(history, given):
        return "other_messages"
    return "other_unit" if given.counting_unit != unit else "other_configuration"


def _pinned(history: History, state: HistoryReductionState) -> HistoryReductionState:
    """
    Return *state* with a message pinned, if no user has spoken after its cut in this *history*.

    A fold pins what it has to. But the history may have been rewound since, or be another branch
    that grew from the same prefix: then the last user message may be before the cut.
    """
    if state.pinned_index is not None:
        return state
    user = history.last_user()
    if user is None or user >= state.summarized_up_to_index:
        return state
    return msgspec.structs.replace(state, pinned_index=user).sealed()


def _fits(history: History, state: HistoryReductionState) -> bool:
    index, pinned, length = state.summarized_up_to_index, state.pinned_index, len(history)
    return (
        0 < index <= length
        and (index < length or history.last_user() is not None)
        and index >= history.start
        and (pinned is None or 0 <= pinned < index)
        and same_hash(state.message_hash, hash_of(history, index))
        and state.is_whole
    )
