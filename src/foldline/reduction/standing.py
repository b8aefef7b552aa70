"""Which of the reductions that are known stands for a history."""

from typing import Literal, TypeAlias

import msgspec

from foldline.history.history import History
from foldline.history.units import CountingUnit
from foldline.reduction.state import HistoryReductionState, hash_of, linked, same_hash


__all__ = ["EarlierReduction", "in_force", "known_of", "knows_failure", "use_of"]


EarlierReduction: TypeAlias = Literal[
    "none", "used", "older_used", "other_messages", "other_unit", "other_configuration"
]
"""
What became of the reduction that was there before the call.

`none`: there was none, or the run did not ask for it. `used`: it is in force, or a fold went on from
it. `older_used`: it does not fit, but an older one that it knows does. All others: neither fits, and
this is what the newest differs in: it stands for other messages, or was made with another unit, or
with another configuration, as another prompt or summarizer.
"""


def in_force(
    history: History,
    state: HistoryReductionState | None,
    *,
    unit: CountingUnit,
    config_fingerprint: str,
) -> HistoryReductionState | None:
    """
    Return *state*, or the longest earlier reduction it knows, that stands for *history*.

    A digest that does not fit, a shorter history, another *unit* or another fingerprint is a miss
    and never an error. An earlier reduction goes on knowing the others that stand for *history*,
    those of another configuration too, so that nothing is lost when that one comes back.
    """
    if state is None:
        return None
    if _is_usable(history, state, unit, config_fingerprint):
        return _pinned(history, state)
    for candidate in _longest_first(state):
        if _is_usable(history, candidate, unit, config_fingerprint):
            others = known_of(history, state, but=candidate)
            return _pinned(history, candidate.behind(others))
    return None


def known_of(
    history: History,
    state: HistoryReductionState | None,
    *,
    but: HistoryReductionState | None = None,
) -> HistoryReductionState | None:
    """
    Return *state* and what it knows, without whatever does not stand for *history*, and *but* one.

    What reaches no further than a part of *history* that is not in memory is kept unseen.
    """
    if state is None:
        return None
    return linked(
        one
        for one in state.chain()
        if (one.summarized_up_to_index < history.start or _fits(history, one))
        and (but is None or not _is_same(one, but))
    )


def use_of(
    history: History,
    given: HistoryReductionState | None,
    standing: HistoryReductionState | None,
    *,
    unit: CountingUnit,
) -> EarlierReduction:
    """Return what became of *given*, where *standing* or nothing is in force for *history*."""
    if given is not None and given.summarized_up_to_index == 0:
        # It only notes failures.
        given = given.previous
    if given is None:
        return "none"
    if standing is not None:
        return "used" if _is_same(given, standing) else "older_used"
    if not _fits(history, given):
        return "other_messages"
    if given.counting_unit != unit:
        return "other_unit"
    return "other_configuration"


def knows_failure(history: History, state: HistoryReductionState) -> bool:
    """Whether the failures that *state* has noted are those of *history*."""
    index = state.failed_index
    is_known = 0 < index <= len(history) and index >= history.start
    return is_known and same_hash(state.failed_hash, hash_of(history, index))


def _pinned(history: History, state: HistoryReductionState) -> HistoryReductionState:
    """
    Return *state* with a message pinned, if no user has spoken behind its cut in this *history*.

    A fold pins what it has to. But the history may have been rewound since, or be another branch
    that grew from the same prefix: then the last user message may lie before the cut.
    """
    if state.pinned_index is not None:
        return state
    user = history.last_user()
    if user is None or user >= state.summarized_up_to_index:
        return state
    return msgspec.structs.replace(state, pinned_index=user)


def _longest_first(state: HistoryReductionState) -> list[HistoryReductionState]:
    """Return *state* and all earlier reductions it knows, the longest first."""
    return sorted(state.earlier(), key=lambda known: -known.summarized_up_to_index)


def _is_same(one: HistoryReductionState, other: HistoryReductionState) -> bool:
    """Whether both stand for the same prefix and were made in the same way."""
    return (
        one.message_hash == other.message_hash
        and one.config_fingerprint == other.config_fingerprint
        and one.counting_unit == other.counting_unit
    )


def _is_usable(
    history: History, state: HistoryReductionState, unit: CountingUnit, config_fingerprint: str
) -> bool:
    return (
        state.config_fingerprint == config_fingerprint
        and state.counting_unit == unit
        and _fits(history, state)
    )


def _fits(history: History, state: HistoryReductionState) -> bool:
    index, pinned, length = state.summarized_up_to_index, state.pinned_index, len(history)
    return (
        0 < index <= length
        and (index < length or history.last_user() is not None)
        and index >= history.start
        and (pinned is None or 0 <= pinned < index)
        and same_hash(state.message_hash, hash_of(history, index))
    )
