"""Which reduction fits a history: the one that was kept, or an earlier one that it carries."""

import msgspec

from foldline.history.history import History
from foldline.history.signed import checks_prefix
from foldline.history.units import CountingUnit
from foldline.reduction.event import EarlierReduction
from foldline.reduction.state import HistoryReductionState


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

    made = unit, config_fingerprint
    if _is_usable(history, state, made):
        return _pinned(history, state)
    longest_first = sorted(state.earlier(), key=lambda one: -one.summarized_up_to_index)
    found = next((one for one in longest_first if _is_usable(history, one, made)), None)
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


def rebound(
    history: History,
    given: HistoryReductionState | None,
    active: HistoryReductionState,
    model: str | None,
) -> HistoryReductionState:
    """
    Return *active* without the thinking in *history* that *model* may have bound to another view.

    It may have if another reduction was *given*, or if the record does not say how long the history
    was when it was made.
    """
    is_noted = active.history_length or active.thinking_from is not None
    if (active is given and is_noted) or not history.has_reasoning(active.summarized_up_to_index):
        return active
    first = thinking_kept_from(history, active.summarized_up_to_index, model)
    return msgspec.structs.replace(active, thinking_from=first).sealed()


def thinking_kept_from(history: History, cut: int, model: str | None) -> int:
    """
    Return the first message whose thinking *model* is sent, though the view before it has changed.

    A model that checks the prefix gets none, and one that does not gets all. Of one that is unknown,
    the answer with the last tool calls keeps it: models that do not check it refuse a call without.
    """
    end = len(history)
    if not history.has_reasoning(cut) or (checks := checks_prefix(model)):
        return end
    if checks is False:
        return 0
    while end > cut and history[end - 1].role != "assistant":
        end -= 1
    first = end
    while first > cut and history[first - 1].role == "assistant":
        first -= 1
    answer = history[first:end]
    is_told = any("model" in (one.metadata or ()) for one in answer)
    is_called = any(one.tool_calls for one in answer)
    return first if is_called and not is_told else len(history)


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


def _is_usable(history: History, one: HistoryReductionState, made: tuple[str, str]) -> bool:
    """Whether *one* fits *history* and was *made* in this unit and with this fingerprint."""
    if (one.counting_unit, one.config_fingerprint) != made or not _fits(history, one):
        return False
    pins = one.shown_pins
    return not pins or all(at >= history.start or at in history.known for at in pins)


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
        (0 < index <= length or (index == 0 and bool(state.shortened)))
        and (index < length or history.last_user() is not None)
        and index >= history.start
        and (pinned is None or 0 <= pinned < index)
        # Whatever version made it; see `same_hash`.
        and state.message_hash.partition(":")[2] == history.digest(index).hex()
        and state.is_whole
    )
