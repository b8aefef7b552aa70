"""The reductions in the answers of a guest: small, and the same when they are read."""

from msgspec.structs import replace

from foldline.guests import REDUCTION_KEY, AnsweredReductions
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.shortening import Shortened
from foldline.reduction.state import HistoryReductionState
from tests.reduction.records import record


def cleared(index: int) -> Shortened:
    note = f"[Result of look cleared: message {index}. {'x' * 200}]"
    return Shortened(index=index, digest=f"{index:064x}", tokens=40, note=note)


def states(count: int) -> list[HistoryReductionState]:
    """Return the reductions of a long loop: five batches clear ten results each, then it is folded."""
    history = History([Message.user(f"Room {at}") for at in range(count * 10)])
    made: list[HistoryReductionState] = []
    for at in range(count):
        cut = at // 6 * 60
        summary = f"They saw {cut} rooms.\n" + "\n".join(f"- room {one}" for one in range(cut))
        new = record(history, cut, length=at * 10, summary=summary)
        shortened = tuple(map(cleared, range(cut, at * 10)))
        sealed = replace(new, shortened=shortened, number=at + 1).sealed()
        made.append(sealed.carrying([*made[-1].chain()] if made else []))
    return made


def answered(made: list[HistoryReductionState]) -> list[dict[str, str]]:
    """Return what the answers keep that were asked for with *made*, one after the other."""
    stores: list[dict[str, str]] = []
    for one in made:
        stores.append(AnsweredReductions(stores).new(one))
    return stores


def test_answers_keep_what_is_new() -> None:
    """Every reduction is read as it was, also after a rewind, and each cleared result is kept once."""
    made = states(15)
    stores = answered(made)

    for at, one in enumerate(made):
        assert AnsweredReductions(stores[: at + 1]).state == one
    kept = "".join(one[REDUCTION_KEY] for one in stores)
    assert all(kept.count(cleared(at).note) == 1 for at in range(100) if at % 60 < 50)
    assert len(kept) < 0.4 * sum(len(one.to_json()) for one in made)


def test_what_is_kept_already_is_not_kept_again() -> None:
    """An answer without a new reduction keeps nothing, and neither does one without any."""
    made = states(3)
    stores = answered(made)

    assert AnsweredReductions([*stores, None, {}]).new(made[-1]) == {}
    assert AnsweredReductions(stores).new(None) == {}
    assert AnsweredReductions([None, {REDUCTION_KEY: ""}]).state is None


def test_whole_reductions_of_earlier_versions_are_read() -> None:
    """The next answer begins a series."""
    made = states(4)
    stores = [{REDUCTION_KEY: one.to_json().decode()} for one in made[:3]]
    assert AnsweredReductions(stores).state == made[2]

    stores.append(AnsweredReductions(stores).new(made[3]))
    assert AnsweredReductions(stores).state == made[3]
    stores.append(AnsweredReductions(stores).new(made[2]))
    assert AnsweredReductions(stores).state == made[2]
    assert len(stores[4][REDUCTION_KEY]) < 200


def test_where_an_answer_is_gone_the_newest_that_can_be_read_is_used() -> None:
    """What builds on it cannot be read; the next answer builds on what can."""
    made = states(6)
    stores = answered(made)
    del stores[3]

    assert AnsweredReductions(stores).state == made[2]
    stores.append(AnsweredReductions(stores).new(made[5]))
    assert AnsweredReductions(stores).state == made[5]
    assert AnsweredReductions(stores[3:5]).state is None


def test_few_answers_are_read_for_one() -> None:
    """Every hundredth begins a series of its own, with all that it needs."""
    made = [record(History([Message.user(f"Room {at}")]), 1, length=1) for at in range(202)]
    stores = answered(made)

    first = [at for at, one in enumerate(stores) if '"after"' not in one[REDUCTION_KEY]]
    assert first == [0, 100, 200]
    assert AnsweredReductions(stores[100:]).state == made[-1]
