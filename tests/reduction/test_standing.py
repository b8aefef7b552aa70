"""Which of the known reductions stands for a history."""

from datetime import UTC, datetime

import msgspec

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.prefix import Prefix
from foldline.reduction.state import HistoryReductionState, hash_of, linked
from foldline.reduction.verdict import in_force, known_of, use_of


NOW = datetime(2026, 11, 21, tzinfo=UTC)


def talk(count: int) -> History:
    return History(Message.user(f"m{n}") for n in range(count))


def state_of(history: History, index: int, **fields: object) -> HistoryReductionState:
    state = HistoryReductionState(
        summarized_up_to_index=index,
        message_count_at_reduction=len(history),
        summary_content=f"up to {index}",
        created_at=NOW,
        message_hash=hash_of(history, index),
        target_count=1,
        reduction_threshold=1,
        config_fingerprint="a",
    )
    return msgspec.structs.replace(state, **fields)


def standing(
    history: History, state: HistoryReductionState | None, fingerprint: str = "a"
) -> HistoryReductionState | None:
    return in_force(history, state, unit="messages", config_fingerprint=fingerprint)


def cuts(state: HistoryReductionState | None) -> list[tuple[str, int]]:
    chain = () if state is None else state.chain()
    return [(one.config_fingerprint, one.summarized_up_to_index) for one in chain]


def test_each_candidate_is_judged_by_itself() -> None:
    """Unit and fingerprint are those of each earlier reduction, not of the newest alone."""
    history = talk(9)
    tokens = state_of(history, 7, counting_unit="tokens", config_fingerprint="b")
    state = linked([tokens, state_of(history, 5, config_fingerprint="c"), state_of(history, 3)])

    assert cuts(standing(history, state)) == [("a", 3), ("b", 7), ("c", 5)]
    assert cuts(standing(history, state, "c")) == [("c", 5), ("b", 7), ("a", 3)]
    assert standing(history, state, "b") is None


def test_what_fits_is_returned_as_it_is() -> None:
    """The newest reduction, where it is in force, is the very object, whatever it knows."""
    history = talk(9)
    state = state_of(history, 7).behind(state_of(history, 5, message_hash="other"))

    assert standing(history, state) is state
    assert standing(history, None) is None


def test_only_what_stands_for_the_history_is_kept() -> None:
    """What was made of other messages is left out, wherever in the chain it is."""
    history = talk(9)
    other = state_of(history, 6, message_hash="other")
    state = linked([other, state_of(history, 5), other, state_of(history, 3)])

    assert cuts(known_of(history, state)) == [("a", 5), ("a", 3)]
    assert known_of(history, other) is None
    assert known_of(history, None) is None
    assert linked([]) is None


def test_what_is_not_in_memory_is_kept_unseen() -> None:
    """An earlier reduction whose prefix cannot be compared may still be one; it is not used."""
    whole = talk(9)
    prefix = Prefix(length=4, digest=whole.digest(4), tokens=whole.tokens(0, 4), users=4)
    part = History(whole[4:], prefix=prefix)
    state = linked([state_of(whole, 6, message_hash="other"), state_of(whole, 2)])

    assert cuts(known_of(part, state)) == [("a", 2)]
    assert standing(part, state) is None


def test_a_record_of_failures_is_no_earlier_reduction() -> None:
    """What became of the reduction behind it is told instead, where there is one."""
    history = talk(9)
    failed = state_of(history, 0)
    behind = failed.behind(state_of(history, 5))

    assert use_of(history, None, None, unit="messages") == "none"
    assert use_of(history, failed, None, unit="messages") == "none"
    assert use_of(history, behind, state_of(history, 5), unit="messages") == "used"
    assert use_of(history, behind, state_of(history, 3), unit="messages") == "older_used"
    assert use_of(history, behind, None, unit="tokens") == "other_unit"
    assert use_of(history, behind, None, unit="messages") == "other_configuration"
    assert use_of(talk(3), behind, None, unit="messages") == "other_messages"
