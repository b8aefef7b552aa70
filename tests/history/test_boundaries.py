"""Where a history is cut: the theory of operation as a table, then against every index."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.boundaries import safe_cut
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.units import CountingUnit
from tests.histories import COUNTING_UNITS
from tests.history.words import is_one_answer, is_safe_cut, message_of, pairs_of


SIGNS = "s u u a t c1 c2 c1+c2 c1+c1 r1 r2 r1+r2 u+r1 r1+c2"
WORDS = st.lists(st.sampled_from(SIGNS.split()), max_size=14)


def _history(words: str | Sequence[str]) -> History:
    return History(map(message_of, words.split() if isinstance(words, str) else words))


def _is_safe(history: History, index: int) -> bool:
    """Say of one index, from the start, whether a cut there tears something apart."""
    pairs, waiting = pairs_of(history)
    users = [at for at, message in enumerate(history) if message.role == "user"]
    newest = users[-1] if users else 0
    return not (
        any(call < index <= answer for call, answer in pairs)
        or any(newest <= call < index for call in waiting)
        or (0 < index < len(history) and is_one_answer(history[index - 1], history[index]))
    )


def _expected(
    history: History, unit: CountingUnit, keep: int, slack: int, above: int
) -> int | None:
    wished = history.index_keeping(unit, keep)
    safe = [index for index in range(above + 1, wished + 1) if _is_safe(history, index)]
    opening = [index for index in safe if history[index].role == "user"]
    if unit == "exchanges":
        return max(opening, default=None)
    nearest = max(safe, default=None)
    earliest = history.index_keeping(unit, keep + slack)
    return max((index for index in opening if index >= earliest), default=nearest)


@pytest.mark.parametrize(
    ("words", "keep", "expected"),
    [
        pytest.param("u a u a u a", 2, 4, id="nothing in the way: the newest two stay"),
        pytest.param("s u s a s u a s", 2, 2, id="system messages are not counted"),
        pytest.param("u c1 r1 a", 2, 1, id="a result stays with its call"),
        pytest.param("u a u c1+c2 r1 r2 a", 2, 3, id="parallel calls are one group"),
        pytest.param("u a u c1+c2 r2 r1 a", 2, 3, id="whatever the order of their results"),
        pytest.param("u a c1 r1 c2 r2 a", 3, 4, id="two calls in a row are two groups"),
        pytest.param("u a u c1 u a r1 a", 3, 3, id="a late result reaches over a user message"),
        pytest.param("u c1 r9 c2 r1 r2", 1, 1, id="groups that overlap are one"),
        pytest.param("u a c1 r1 u c1 r1 a", 2, 5, id="an id used twice pairs with the newest call"),
        pytest.param("u a u c1", 1, 3, id="a call that waits may open the view"),
        pytest.param("u c1+c2 r1 a", 1, 1, id="but nothing is cut above it"),
        pytest.param("u c1 u a u a", 3, 3, id="a call that an older exchange left was given up"),
        pytest.param("u r1 a u a", 3, 2, id="a result of nothing binds nothing"),
        pytest.param("u a r9 t a u", 2, 3, id="reasoning stays with what it led to"),
        pytest.param("u t t a c1 r1 u", 2, 1, id="and so does all of one answer"),
        pytest.param("u a u t c1 r1 a", 2, 3, id="reasoning, then a call"),
        pytest.param("u a t u a", 2, 3, id="an answer is whole before the user speaks"),
        pytest.param("u a u a", 4, None, id="all that there is stays: nothing to cut"),
        pytest.param("u a", 9, None, id="less than that: nothing to cut"),
        pytest.param("", 1, None, id="no messages: nothing to cut"),
        pytest.param("c1 a a r1 a", 2, None, id="one group from the start: nothing to cut"),
        pytest.param("u a u a", 0, 3, id="the newest message always stays"),
    ],
)
def test_a_cut_tears_nothing_apart(words: str, keep: int, expected: int | None) -> None:
    """From the wished index a cut moves backward to the first place where nothing is torn."""
    assert safe_cut(_history(words), unit="messages", keep=keep) == expected


@pytest.mark.parametrize(
    ("slack", "expected"),
    [
        pytest.param(0, 6, id="no slack: the first safe index"),
        pytest.param(2, 6, id="too little slack to reach a user message"),
        pytest.param(3, 3, id="the user message just within it"),
        pytest.param(9, 3, id="more slack does not reach for an older one"),
    ],
)
def test_slack_looks_for_a_user_message(slack: int, expected: int) -> None:
    """A view that opens with a question is worth the slack, and no more than the slack."""
    history = _history("u a a u c1 r1 c2 r2 a")

    assert safe_cut(history, unit="messages", keep=3, slack=slack) == expected


@pytest.mark.parametrize(
    ("words", "keep", "expected"),
    [
        pytest.param("u a u a u a", 2, 2, id="whole exchanges stay"),
        pytest.param("u a u a u", 1, 4, id="the one that was just opened counts"),
        pytest.param("a u a u a", 1, 3, id="what precedes the first user is of the first"),
        pytest.param("a u a u a", 2, None, id="so two exchanges are all of it"),
        pytest.param("u a u c1 u r1 a", 1, 2, id="a late result keeps one exchange more"),
        pytest.param("u a c1 u a u r1", 1, None, id="or all of them"),
        pytest.param("u c1 r1 c2 r2 c3 r3", 1, None, id="one giant exchange is never cut"),
        pytest.param("a a a", 1, None, id="no user: one exchange"),
        pytest.param("u a u a", 0, 2, id="the newest exchange always stays"),
    ],
)
def test_exchanges_are_cut_at_user_messages(words: str, keep: int, expected: int | None) -> None:
    """With exchanges as the unit a cut lies just before a user message, or nowhere."""
    assert safe_cut(_history(words), unit="exchanges", keep=keep, slack=3) == expected


def test_a_giant_exchange_can_be_cut_in_other_units() -> None:
    """With messages or tokens as the unit, one exchange of many calls is cut between its groups."""
    history = _history("u c1 r1 c2 r2 c3 r3")
    two = history.tokens(5)

    assert safe_cut(history, unit="messages", keep=3) == 3
    assert safe_cut(history, unit="tokens", keep=two) == 5
    assert safe_cut(history, unit="tokens", keep=two - 1) == 5


def test_a_giant_group_is_never_cut() -> None:
    """A group of calls and results that fills the history leaves no place to cut, in any unit."""
    history = _history(["+".join(f"c{n}" for n in range(50)), *(f"r{n}" for n in range(50))])

    assert [safe_cut(history, unit=unit, keep=5) for unit in COUNTING_UNITS] == [None] * 3


@given(
    WORDS,
    st.sampled_from(COUNTING_UNITS),
    st.integers(0, 12),
    st.integers(0, 12),
    st.integers(0, 4),
)
def test_every_cut_is_the_best_of_all_indexes(
    words: list[str], unit: CountingUnit, keep: int, slack: int, above: int
) -> None:
    """No index that was not tried is better: all of them are looked at here."""
    history = _history(words)
    scale = 6 if unit == "tokens" else 1
    cut = safe_cut(history, unit=unit, keep=keep * scale, slack=slack * scale, above=above)

    assert cut == _expected(history, unit, keep * scale, slack * scale, above)


@given(WORDS)
def test_safety_is_judged_alike_at_every_index(words: list[str]) -> None:
    """`is_safe_cut` agrees with the rules at every index, and knows no index outside."""
    history = _history(words)
    indexes = range(-2, len(history) + 3)
    inside = range(len(history) + 1)

    assert [is_safe_cut(history, index) for index in indexes] == [
        index in inside and _is_safe(history, index) for index in indexes
    ]


@given(WORDS, st.integers(1, 6))
def test_what_is_appended_never_tears_an_older_cut_by_itself(words: list[str], keep: int) -> None:
    """A cut stays safe while the user and the assistant go on talking."""
    history = _history(words)
    cut = safe_cut(history, unit="messages", keep=keep)

    history.extend([Message.user("next"), Message.assistant("done")])

    assert cut is None or is_safe_cut(history, cut)
