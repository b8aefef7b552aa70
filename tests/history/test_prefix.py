"""A history whose beginning is not in memory, against the one that is whole."""

from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import MessagesNotLoadedError
from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.prefix import Prefix
from foldline.history.units import CountingUnit
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import decide
from foldline.reduction.view import view_of, view_tokens
from tests.histories import COUNTING_UNITS, damaged_history, legal_history
from tests.history.words import is_safe_cut


NOW = datetime(2026, 11, 21, tzinfo=UTC)
ROUNDS = 100


def _reducer(unit: CountingUnit) -> HistoryReducer:
    numbers: dict[str, Any] = {"target_count": 3, "summarization_threshold": 1}
    if unit == "tokens":
        numbers = {"target_token_budget": 200, "token_budget_threshold": 60}
    config = HistoryReductionConfig(strategy="message_counting", counting_unit=unit, **numbers)
    return HistoryReducer(config, clock=lambda: NOW)


REDUCERS = {unit: _reducer(unit) for unit in COUNTING_UNITS}


def _system_at(full: History) -> tuple[int, ...]:
    """Return how many messages that are not system messages stand before each system message."""
    places = (at for at, message in enumerate(full.everything()) if message.role == "system")
    return tuple(at - earlier for earlier, at in enumerate(places))


def _window(full: History, cut: int, *, pinned: int | None = None) -> History:
    """Return *full* as it is known when the first *cut* messages are not in memory."""
    visible = list(full)
    users = [at for at in range(cut) if visible[at].role == "user"]
    user = pinned
    if user is None and users and not any(one.role == "user" for one in visible[cut:]):
        user = users[-1]
    prefix = Prefix(
        length=cut,
        digest=full.digest(cut),
        tokens=full.tokens(0, cut),
        users=len(users),
        last_user=user,
        user=None if user is None else visible[user],
        user_tokens=0 if user is None else full.tokens(user, user + 1),
        tokens_before_user=0 if user is None else full.tokens(0, user),
        system=full.system,
        system_at=_system_at(full),
        system_tokens=full.system_tokens,
    )
    return History(visible[cut:], prefix=prefix)


def _state(full: History, cut: int, unit: CountingUnit) -> HistoryReductionState:
    return HistoryReductionState.create(
        full,
        "summary",
        cut,
        target_count=3,
        reduction_threshold=1,
        message_count_at_reduction=len(full),
        created_at=NOW,
        counting_unit=unit,
        config_fingerprint=REDUCERS[unit].config_fingerprint,
    )


def _drawn(random: Random) -> tuple[History, int]:
    while True:
        draw = random.choice((legal_history, damaged_history))
        full = History(draw(random, exchanges=random.choice((1, 3, 8))))
        cuts = [at for at in range(1, len(full)) if is_safe_cut(full, at)]
        if cuts:
            return full, random.choice(cuts)


@pytest.mark.parametrize("unit", COUNTING_UNITS)
def test_what_is_forgotten_changes_no_answer(unit: CountingUnit) -> None:
    """A history that has forgotten its beginning, once or twice, folds and shows like the whole one."""
    random = Random(unit)
    for _ in range(ROUNDS):
        full, cut = _drawn(random)
        earlier = random.choice([at for at in range(cut + 1) if at == cut or is_safe_cut(full, at)])
        state, reducer = _state(full, cut, unit), REDUCERS[unit]

        known = full.after(earlier).after(cut)

        assert (len(known), known.total, known.start) == (len(full), full.total, cut)
        assert (known.digest(), known.tokens()) == (full.digest(), full.tokens())
        assert (known.system, known.system_tokens) == (full.system, full.system_tokens)
        assert (known.last_user(), known.count(unit)) == (full.last_user(), full.count(unit))
        assert decide(
            known, reducer.config, state, config_fingerprint=reducer.config_fingerprint
        ) == (decide(full, reducer.config, state, config_fingerprint=reducer.config_fingerprint))
        assert view_of(known, state) == view_of(full, state)
        for one in (known, full):
            one.extend([Message.user("And now?"), Message.assistant("Nothing.")])
        assert known.digest() == full.digest()
        with pytest.raises(IndexError):
            full.after(len(full) + 1)


@pytest.mark.parametrize("unit", COUNTING_UNITS)
def test_a_window_answers_like_the_whole(unit: CountingUnit) -> None:
    """From the cut on, digests, tokens, counts and cuts are those of the whole history."""
    random = Random(unit)
    for _ in range(ROUNDS):
        full, cut = _drawn(random)
        window = _window(full, cut)

        assert (len(window), window.total, window.start) == (len(full), full.total, cut)
        assert (window.digest(), window.tokens()) == (full.digest(), full.tokens())
        assert (window.system, window.system_tokens) == (full.system, full.system_tokens)
        assert window.last_user() == full.last_user()
        assert window.count(unit) == full.count(unit)
        for start in range(cut, len(full) + 1):
            assert window.digest(start) == full.digest(start)
            assert window.tokens(start) == full.tokens(start)
            assert window.count(unit, start) == full.count(unit, start)
            assert window.index_within(start, 50) == full.index_within(start, 50)
            assert window[start:] == full[start:]
        for size in (0, 1, 2, 5, 40, 10**6):
            assert window.index_keeping(unit, size) == max(cut, full.index_keeping(unit, size))
            cuts = [
                safe_cut(one, unit=unit, keep=size, slack=1, above=cut) for one in (window, full)
            ]
            assert cuts[0] == cuts[1]


@pytest.mark.parametrize("unit", COUNTING_UNITS)
def test_a_window_is_reduced_like_the_whole(unit: CountingUnit) -> None:
    """As it grows, verdict, view, tokens and next fold are the same, the pinned message too."""
    random, reducer = Random(f"fold {unit}"), REDUCERS[unit]
    folds = 0
    for _ in range(ROUNDS // 3):
        full, cut = _drawn(random)
        user = full.last_user()
        state = _state(full, cut, unit)
        window = _window(full, cut, pinned=user if user is not None and user < cut else None)
        for _ in range(3):
            more = legal_history(random, exchanges=2)
            full.extend(more)
            window.extend(more)
            made = reducer.config_fingerprint
            verdict = decide(window, reducer.config, state, config_fingerprint=made)
            assert verdict == decide(full, reducer.config, state, config_fingerprint=made)
            if verdict.state is not None:
                assert view_of(window, verdict.state) == view_of(full, verdict.state)
                assert view_tokens(window, verdict.state) == view_tokens(full, verdict.state)
                seen = reducer.reduce_sync(window, state=state)
                wanted = reducer.reduce_sync(full, state=state)
                assert (seen.messages, seen.state) == (wanted.messages, wanted.state)
                folds += verdict.folds

    assert folds > 8


def test_a_message_in_front_is_an_error_that_tells_how_to_read_it() -> None:
    """Whatever asks for a message or a prefix that is not in memory gets an error that names where memory begins."""
    full = History([Message.user(str(at)) for at in range(6)])
    window = _window(full, 4)

    for ask in (
        lambda: window[3],
        lambda: window[2:],
        lambda: list(window),
        lambda: window.digest(3),
        lambda: window.tokens(2),
        window.everything,
    ):
        with pytest.raises(MessagesNotLoadedError, match=r"begins at 4.*get_messages"):
            ask()


def test_a_prefix_that_is_not_there_is_an_index_error() -> None:
    """Indexes outside of the whole history are index errors, as in the whole."""
    window = _window(History([Message.user(str(at)) for at in range(6)]), 4)

    for index in (-1, 7):
        with pytest.raises(IndexError, match=f"no prefix of {index} messages in a history of 6"):
            window.digest(index)
    with pytest.raises(IndexError):
        window[6]


def test_the_last_user_of_the_prefix_is_at_hand() -> None:
    """Where no user speaks behind the cut, the last one before it can be read, with its tokens."""
    full = History([Message.user("a"), Message.user("bb"), *[Message.assistant("c")] * 3])
    window = _window(full, 3)

    assert (window[1], window.last_user()) == (full[1], 1)
    assert window.tokens(1, 2) == full.tokens(1, 2)
    assert window.tokens(0, 1) == full.tokens(0, 1)
    assert [window.exchanges(at) for at in (0, 1, 2, 3, 5)] == [
        full.exchanges(at) for at in (0, 1, 2, 3, 5)
    ]


def test_nothing_behind_the_prefix_is_a_history_too() -> None:
    """A window may be empty: it has the digest and the counts of its prefix, and grows."""
    full = History([Message.user("a"), Message.assistant("b")])
    window = _window(full, 2)

    assert (len(window), window.digest(), window.tokens()) == (2, full.digest(), full.tokens())
    assert [window.index_keeping(unit, 1) for unit in COUNTING_UNITS] == [1, 1, 1]
    window.append(Message.user("c"))
    full.append(Message.user("c"))
    assert (window.digest(), window[2]) == (full.digest(), full[2])
