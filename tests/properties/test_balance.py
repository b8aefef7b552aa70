"""The balance rule against every plan that could have been made in hindsight."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.balance import FoldCosts
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import MILLION, Prices
from foldline.reduction.verdict import decide
from tests.history.words import WordCount
from tests.reduction.records import record


KEPT = 2
CONFIG = HistoryReductionConfig(
    strategy="message_counting",
    trigger="balance",
    counting_unit="messages",
    target_count=KEPT,
    quote_user_messages=0,
    clear_tool_results=False,
    largest_message=None,
)
# Without a cache what stays costs the same either way, so that a fold has one price.
PRICES = Prices(input=1, output=0)


def growing(sizes: Sequence[int]) -> list[History]:
    """Return the history before each call; before the call at *i* the user says *sizes[i]* words."""
    said: list[Message] = []
    found = []
    for size in sizes:
        said.append(Message.user("word " * size))
        found.append(History(said, counter=WordCount()))
        said.append(Message.assistant("ok"))
    return found


def droppable(history: History, since: int) -> int:
    """Return what a call carries that a fold could have dropped, if the cut is at *since*."""
    cut = len(history) - KEPT
    return history.tokens(since, cut) if cut > since else 0


def by_rule(calls: Sequence[History], price: float) -> float:
    """Return what the rule pays in tokens, for holding and for folds of *price*."""
    costs = FoldCosts(prices=PRICES, loss_cost=price / MILLION)
    state, paid, cut = None, 0.0, 0
    for history in calls:
        verdict = decide(history, CONFIG, state, config_fingerprint="", costs=costs)
        if verdict.folds:
            cut, paid = verdict.cut, paid + price
            state = record(history, cut, length=len(history), summary="")
        paid += droppable(history, cut)
    return paid


def in_hindsight(calls: Sequence[History], price: float) -> float:
    """Return the least that any choice of folds pays."""
    # What is still to be paid from each call on, for every cut that there may be before it.
    best: dict[int, float] = {}
    ends = [0, *(max(0, len(history) - KEPT) for history in calls)]
    for history in reversed(calls):
        own = max(0, len(history) - KEPT)
        folded = price + best.get(own, 0.0)
        best = {
            cut: min(droppable(history, cut) + best.get(cut, 0.0), folded)
            for cut in ends
            if cut <= own
        }
    return best[0]


@pytest.mark.parametrize("price", [3, 40, 200])
def test_every_short_instance(price: int) -> None:
    """On all conversations of ten calls of two sizes the rule pays at most twice the least."""
    for sizes in product((1, 30), repeat=10):
        calls = growing(sizes)
        assert by_rule(calls, price) <= 2 * in_hindsight(calls, price) + 1e-6, sizes


@given(st.lists(st.integers(1, 400), min_size=1, max_size=40), st.integers(1, 5_000))
def test_any_instance(sizes: list[int], price: int) -> None:
    """On longer conversations, with bursts, it holds too."""
    calls = growing(sizes)

    assert by_rule(calls, price) <= 2 * in_hindsight(calls, price) + 1e-6


def test_the_rule_folds_before_the_call_that_would_reach_the_price() -> None:
    """Without that look-ahead one burst would cost more than twice the least."""
    calls = growing([100, 100, 100, 1])

    assert by_rule(calls, 250) < 3 * 100 + 250 + 100
    assert in_hindsight(calls, 250) <= by_rule(calls, 250)
