"""
What to do before a model call.

Theory of operation
-------------------

A verdict is read off a table. First the facts are found: is reduction enabled, has the run asked
for something, is there a reduction whose digest fits (the longest one, if the newest does not),
has more than target + threshold gathered behind its cut, is there a safe cut beyond it, and has
folding failed too often of late. The rows of `VERDICTS` are tried from the top; the first
one whose facts all hold decides. A row names the facts that must hold and those that must not.

| verdict | what the model is sent | what else happens |
|---|---|---|
| `skip` | the full history | nothing |
| `hit` | the view of the reduction in force, the same bytes as before | nothing |
| `fold` | the view of a new reduction | the strategy runs |
| `halt` | nothing: the turn ends | the strategy runs |
| `cannot` | the full history | nothing |

The cut is looked for only where a fold is asked for, so a `hit` costs the same at any length.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias, get_args

from msgspec import Struct

from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.reduction.config import HistoryReductionConfig, Limits
from foldline.reduction.reason import Reason
from foldline.reduction.run_config import AgentRunConfig
from foldline.reduction.standing import in_force, knows_failure
from foldline.reduction.state import HistoryReductionState


__all__ = [
    "LEAST_FOLD",
    "MAX_ATTEMPTS",
    "VERDICTS",
    "Fact",
    "Row",
    "Verdict",
    "VerdictKind",
    "decide",
    "leaving_tokens",
]


MAX_ATTEMPTS = 3
"""How often a fold may fail before it waits for more to gather."""

LEAST_FOLD = 24
"""How many tokens must leave the view before a summarizer is asked to write in their place."""

VerdictKind: TypeAlias = Literal["skip", "hit", "fold", "halt", "cannot"]
"""What to do before a model call."""

Fact: TypeAlias = Literal[
    "enabled", "skipped", "empty", "forced", "over", "cached", "cuttable", "exhausted", "breaker"
]
"""
What a row of the table may ask for.

`enabled`: reduction is on. `skipped`: the run wants the full history. `empty`: there are no
messages. `forced`: the run wants a fold. `over`: more than target + threshold has gathered behind
the cut in force. `cached`: there is a reduction in force. `cuttable`: there is a safe cut beyond
it. `exhausted`: folding failed too often, and little has gathered since. `breaker`: a new fold ends the turn.
"""


_BITS: Mapping[Fact, int] = MappingProxyType(
    {fact: 1 << place for place, fact in enumerate(get_args(Fact))}
)
# Verdicts are taken before every model call: facts are bits so that a row is one comparison.
_ENABLED, _SKIPPED, _EMPTY = _BITS["enabled"], _BITS["skipped"], _BITS["empty"]
_FORCED, _OVER, _CACHED = _BITS["forced"], _BITS["over"], _BITS["cached"]
_CUTTABLE, _EXHAUSTED, _BREAKER = _BITS["cuttable"], _BITS["exhausted"], _BITS["breaker"]


class Row(NamedTuple):
    """One row of the table."""

    kind: VerdictKind
    """The verdict where the row matches."""

    reason: Reason
    """Its reason."""

    holds: frozenset[Fact]
    """The facts that must hold."""

    lacks: frozenset[Fact]
    """The facts that must not."""

    mask: int
    """The bits of both."""

    wanted: int
    """The bits of those that must hold."""


def _row(kind: VerdictKind, reason: Reason, holds: set[Fact], lacks: set[Fact]) -> Row:
    wanted = sum(_BITS[fact] for fact in holds)
    mask = wanted + sum(_BITS[fact] for fact in lacks)
    return Row(kind, reason, frozenset(holds), frozenset(lacks), mask, wanted)


VERDICTS: tuple[Row, ...] = (
    _row("skip", Reason.DISABLED, set(), {"enabled"}),
    _row("skip", Reason.SKIPPED_BY_RUN, {"skipped"}, set()),
    _row("skip", Reason.NO_MESSAGES, {"empty"}, set()),
    _row("halt", Reason.FORCED, {"forced", "cuttable", "breaker"}, set()),
    _row("fold", Reason.FORCED, {"forced", "cuttable"}, set()),
    _row("hit", Reason.NO_SAFE_CUT, {"over", "cached"}, {"cuttable"}),
    _row("cannot", Reason.NO_SAFE_CUT, {"over"}, {"cuttable"}),
    _row("hit", Reason.NOTHING_TO_CUT, {"forced", "cached"}, set()),
    _row("cannot", Reason.NOTHING_TO_CUT, {"forced"}, set()),
    _row("hit", Reason.ATTEMPTS_EXHAUSTED, {"over", "exhausted", "cached"}, set()),
    _row("cannot", Reason.ATTEMPTS_EXHAUSTED, {"over", "exhausted"}, set()),
    _row("halt", Reason.THRESHOLD_EXCEEDED, {"over", "breaker"}, set()),
    _row("fold", Reason.THRESHOLD_EXCEEDED, {"over"}, set()),
    _row("hit", Reason.REDUCTION_VALID, {"cached"}, set()),
    _row("skip", Reason.BELOW_THRESHOLD, set(), set()),
)
"""The table, first match first."""

# A verdict is taken before every model call, so the table is searched once for each set of facts.
_ROWS = tuple(
    next(row for row in VERDICTS if facts & row.mask == row.wanted)
    for facts in range(1 << len(_BITS))
)


class Verdict(Struct, frozen=True, kw_only=True):
    """The decision before a model call."""

    kind: VerdictKind
    """What to do."""

    reason: Reason
    """Why."""

    state: HistoryReductionState | None = None
    """The reduction in force, of which a fold starts; None where there is none."""

    cut: int = 0
    """The cut of the view: that of the fold to make, or of the reduction in force."""

    units: int = 0
    """How much has gathered behind the cut in force, in the configured unit."""

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
        history: All that was said.
        config: How and when to reduce.
        state: The reduction of the call before, where there was one.
        config_fingerprint: What shapes summaries now; a reduction made otherwise is not used.
        overrides: What this run changes.
    """
    run = overrides or _NO_OVERRIDES
    facts, length = 0, len(history)
    if config.enabled:
        facts |= _ENABLED
    if run.skip_history_reduction:
        facts |= _SKIPPED
    if not length:
        facts |= _EMPTY
    if facts != _ENABLED:
        row = _ROWS[facts]
        return Verdict(kind=row.kind, reason=row.reason, messages=length)
    standing = in_force(
        history, state, unit=config.counting_unit, config_fingerprint=config_fingerprint
    )
    return _decide_counted(history, config, run, state, standing)


def _decide_counted(
    history: History,
    config: HistoryReductionConfig,
    run: AgentRunConfig,
    state: HistoryReductionState | None,
    standing: HistoryReductionState | None,
) -> Verdict:
    facts, cut = _ENABLED, 0
    if standing is not None:
        facts |= _CACHED
        cut = standing.summarized_up_to_index
    limits = config.limits
    units = history.count(config.counting_unit, cut)
    if units > limits.ceiling:
        facts |= _OVER
    if run.trigger_history_reduction:
        facts |= _FORCED
    wished = None
    if facts & (_OVER | _FORCED):
        wished = _wished_cut(history, config, limits, cut)
        facts |= _facts_of_cut(history, wished, state, config, run, units)
    row = _ROWS[facts]
    kind = row.kind
    if wished is not None and kind in {"fold", "halt"}:
        cut = wished
    return Verdict(
        kind=kind, reason=row.reason, state=standing, cut=cut, units=units, messages=len(history)
    )


def _wished_cut(
    history: History, config: HistoryReductionConfig, limits: Limits, above: int
) -> int | None:
    """
    Return the cut to fold up to, if there is a safe one and enough would leave the view.

    The last user message stays in the view wherever the cut is, so that it does not count.
    """
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


def _facts_of_cut(
    history: History,
    cut: int | None,
    state: HistoryReductionState | None,
    config: HistoryReductionConfig,
    run: AgentRunConfig,
    units: int,
) -> int:
    if cut is None:
        return 0
    facts = _CUTTABLE
    if state is not None and _is_exhausted(history, state, config, units):
        facts |= _EXHAUSTED
    if (run.history_reduction_behavior_override or config.behavior) == "circuit_breaker":
        facts |= _BREAKER
    return facts


def _is_exhausted(
    history: History, state: HistoryReductionState, config: HistoryReductionConfig, units: int
) -> bool:
    """Whether folding failed so often that it waits until as much has gathered as between folds."""
    return (
        state.failed_attempts >= MAX_ATTEMPTS
        and units <= state.failed_units + config.limits.threshold
        and knows_failure(history, state)
    )
