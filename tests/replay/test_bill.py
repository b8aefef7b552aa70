"""What replays cost, and the least that they could."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from msgspec.structs import replace

from foldline.history.messages import Message, Usage
from foldline.history.parts import ToolCallPart
from foldline.logs.importer import Session
from foldline.reduction.balance import INSTRUCTION_TOKENS
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices, PriceTier
from foldline.replay.bill import Terms, priced
from foldline.replay.comparison import compare, no_reduction
from foldline.replay.optimum import optimal_bill, optimal_calls
from foldline.replay.player import play
from foldline.replay.record import ReplayReport
from foldline.replay.tape import Tape
from tests.replay.tapes import chat_tape, tool_tape


PRICES = Prices(input=1, output=5, cached_read=0.1, cache_write=1.25, minimum_prefix=0)
TWO = HistoryReductionConfig(counting_unit="messages", target_count=2, summarization_threshold=2)
# Dearer for large requests.
LARGE = replace(PRICES, tiers=(PriceTier(above=4_500, input=2, output=6, cached_read=0.2),))
STARTED = datetime(2026, 1, 1, tzinfo=UTC)


def _dollars(tokens: float) -> object:
    return pytest.approx(tokens / 1e6)


def _asked(report: ReplayReport, terms: Terms) -> list[float]:
    """Return what each call of *report* costs at *terms* without its answer."""
    return [(call.cost or 0.0) - terms.answer(call) for call in priced(report, terms).calls]


def _timed(gaps: list[int], *, usage: Usage | None = None, words: int = 50) -> Tape:
    """Return a session of one question a gap, asked so many seconds after the answer before."""
    messages, now = [], STARTED
    for gap in gaps:
        now += timedelta(seconds=gap)
        asked = replace(Message.user("word " * words), created_at=now)
        answer = replace(Message.assistant("word " * 30), created_at=now, usage=usage)
        messages += [asked, answer]
    return Tape(Session(format="test", messages=tuple(messages)))


def _loop(steps: int) -> Tape:
    """Return a session of one question and so many tool calls, with new instructions in the middle."""
    messages = [Message.system("Be brief."), Message.user("word " * 50)]
    for step in range(steps):
        call = ToolCallPart(f"call-{step}", "look_up", "{}")
        messages += [Message.assistant("", tool_calls=[call]), Message.tool(call.id, "word " * 40)]
        if step == steps // 2:
            messages.append(Message.system("Be very brief."))
    return Tape(Session(format="test", messages=tuple(messages)))


def test_the_prefix_is_read_at_the_cached_price() -> None:
    """Without reduction each request is what the one before had, read, and the rest, written."""
    terms = Terms(prices=PRICES)
    report = priced(no_reduction(chat_tape(5)), terms)

    sizes = [call.view_tokens for call in report.calls]
    pairs = zip([0, *sizes], sizes, strict=False)
    assert _asked(report, terms) == [
        _dollars(before * 0.1 + (now - before) * 1.25) for before, now in pairs
    ]
    assert report.totals.cost == pytest.approx(sum(call.cost or 0 for call in report.calls))


def test_instructions_and_tools_are_part_of_the_prefix() -> None:
    """The first call writes them, and each later one reads them."""
    terms = Terms(prices=PRICES, overhead=1_000)
    report = no_reduction(chat_tape(2))

    first, last = (call.view_tokens for call in report.calls)
    assert _asked(report, terms) == [
        _dollars((1_000 + first) * 1.25),
        _dollars((1_000 + first) * 0.1 + (last - first) * 1.25),
    ]


@pytest.mark.parametrize(("gap", "is_cold"), [(299, False), (301, True)])
def test_an_expired_cache_serves_nothing(gap: int, is_cold: bool) -> None:
    """A call after the lifetime, by the times of the recording, writes its whole request."""
    terms = Terms(prices=PRICES)
    report = no_reduction(_timed([0, gap]))

    first, last = (call.view_tokens for call in report.calls)
    warm = first * 0.1 + (last - first) * 1.25
    assert _asked(report, terms)[-1] == _dollars(last * 1.25 if is_cold else warm)


def test_reported_answers_are_paid() -> None:
    """The answer of a call costs what the vendor counted for it."""
    free, paid = (
        priced(no_reduction(_timed([0], usage=usage)), Terms(prices=PRICES)).totals.cost or 0
        for usage in (Usage(), Usage(output_tokens=100))
    )

    assert paid - free == _dollars(500)


def test_answers_that_nobody_counted_are_paid_by_estimate() -> None:
    """Under every configuration and in the best bill, as if the vendor had reported the estimate."""
    terms = Terms(prices=PRICES, summarizer=PRICES)
    tape = _timed([0, 1, 1, 1, 1])
    reported = _timed([0, 1, 1, 1, 1], usage=Usage(output_tokens=tape.answer_tokens(0)))
    bills, same = (
        [
            (one.totals.cost, one.totals.optimum)
            for one in compare(each, {"two": TWO}, check=False, terms=terms).reports
        ]
        for each in (tape, reported)
    )

    assert tape.answer_tokens(0) > 20
    assert bills == same


@pytest.mark.parametrize(
    ("terms", "cost"),
    [
        (Terms(prices=PRICES), 0),
        (Terms(prices=PRICES, summarizer=PRICES, rides=False), 4_600 + 500),
        (Terms(prices=PRICES, summarizer=PRICES, overhead=1_000), 600 + 600 + 500),
        (Terms(prices=PRICES, summarizer=Prices(input=0.1, output=0.5)), 460 + 50),
        (Terms(prices=PRICES, summarizer=LARGE, rides=False), 2 * 4_600 + 600),
        (Terms(prices=LARGE, summarizer=PRICES), 0.2 * 6_000 + 2 * 600 + 600),
        (Terms(prices=replace(PRICES, minimum_prefix=7_000), summarizer=PRICES), 4_600 + 500),
    ],
)
def test_a_summary_is_asked_for_where_it_is_cheaper(terms: Terms, cost: float) -> None:
    """The digest is free; else it is a request of its own or a ride on the cached prefix."""
    prior = 6_000 - terms.overhead
    assert terms.summary(read=4_000, written=100, prior=prior) == _dollars(cost)


def test_a_cold_cache_has_no_rides() -> None:
    """If nothing is cached, or several requests are needed, each is one of its own."""
    terms = Terms(prices=PRICES, summarizer=PRICES)

    assert terms.summary(read=400, written=100, prior=0) == _dollars(1_500)
    assert terms.summary(read=400, written=100, prior=100, calls=2) == _dollars(2_100)


def test_a_summary_cannot_ride_on_an_expired_prefix() -> None:
    """A fold at a cold call pays for a prompt of its own, where a warm one has the cached prefix."""
    dear = Terms(prices=PRICES, summarizer=replace(PRICES, input=100, cache_write=None))
    for gap, is_cold in ((1, False), (301, True)):
        tape = _timed([0, 1, gap])
        report = priced(play(tape, TWO, name="two", check=False).report, dear)

        fold = report.calls[-1].fold
        assert fold is not None
        assert ((fold.cost or 0) * 1e6 > INSTRUCTION_TOKENS * 100) is is_cold


def test_a_fold_pays_for_its_summary() -> None:
    """The record of a fold has its price, which is part of what its call costs."""
    replay = play(chat_tape(8), TWO, name="two", check=False)

    free = priced(replay.report, Terms(prices=PRICES))
    paid = priced(replay.report, Terms(prices=PRICES, summarizer=PRICES, rides=False))

    folds = [call.fold for call in paid.calls if call.fold is not None]
    assert folds
    assert all(
        fold.cost == _dollars(fold.tokens_read + INSTRUCTION_TOKENS + 5 * fold.tokens_written)
        and fold.tokens_written > 0
        for fold in folds
    )
    added = (paid.totals.cost or 0) - (free.totals.cost or 0)
    assert added == pytest.approx(sum(fold.cost or 0 for fold in folds))


def _cost_of(tape: Tape, terms: Terms, folds: tuple[int, ...], summary: int) -> float:
    """Return the bill if folds are made before just those calls, played one by one."""
    cost, prior, system = 0.0, 0, 0
    cut = front = gone = 0
    for at, call in enumerate(optimal_calls(tape, TWO, terms)):
        if at in folds:
            if call.cut <= cut:
                return float("inf")
            read = call.dropped - gone + (summary if cut else 0)
            warm = 0 if call.is_cold else prior
            cost += terms.summary(read=read, written=summary, prior=warm)
            cut, gone, front = call.cut, call.dropped, summary + call.pinned
            prior = min(prior, system)
        view = call.system + front + call.said - gone
        kept = prior if call.system == system else min(prior, system)
        cost += terms.request(view, kept=kept, is_cold=call.is_cold)
        prior, system = view, call.system
    return cost


@pytest.mark.parametrize(
    "terms",
    [
        Terms(prices=PRICES),
        Terms(prices=PRICES, summarizer=PRICES),
        Terms(prices=PRICES, summarizer=PRICES, rides=False),
        Terms(prices=PRICES, summarizer=Prices(input=0.01, output=0.1), overhead=3_000),
        Terms(prices=Prices(input=1, output=5, minimum_prefix=300), summarizer=PRICES),
        Terms(
            prices=replace(PRICES, tiers=(PriceTier(above=700, input=9, output=9),)),
            summarizer=PRICES,
        ),
    ],
)
@pytest.mark.parametrize(
    "tape",
    [_timed([1] * 10), _timed([1, 1, 900, 1, 1, 1, 400, 1, 1], words=1_000), _loop(8)],
    ids=["warm", "cold", "loop"],
)
def test_the_optimum_is_that_of_all_plans(terms: Terms, tape: Tape) -> None:
    """No other set of calls to fold before is cheaper, and the plan costs what it says."""
    found = optimal_bill(tape, TWO, terms, summary_tokens=40)

    numbers = range(len(tape.calls))
    plans = [plan for size in range(len(tape.calls) + 1) for plan in combinations(numbers, size)]
    bills = {plan: _cost_of(tape, terms, plan, 40) for plan in plans}
    assert found.cost == pytest.approx(min(bills.values()))
    assert bills[tuple(number - 1 for number in found.folds)] == pytest.approx(found.cost)
    assert found.never == pytest.approx(bills[()])
    assert optimal_bill(tape, TWO, terms, summary_tokens=40, near=1) == found


@pytest.mark.parametrize("near", [1, 3, 9])
def test_a_bill_that_is_found_first_changes_no_optimum(near: int) -> None:
    """Of many calls what costs more than folds near each other is not looked at, and nothing else."""
    tape, terms = tool_tape(60), Terms(prices=PRICES, summarizer=PRICES)
    known = optimal_bill(tape, TWO, terms, near=len(tape.calls))

    found = optimal_bill(tape, TWO, terms, near=near)

    assert len(tape.calls) > 4 * near
    assert known.folds
    assert found == known


def test_never_is_what_no_reduction_costs() -> None:
    """The plan without folds has the bill of the baseline, and the optimum is below it."""
    changed, prices = _loop(20), Terms(prices=PRICES)
    never = optimal_bill(changed, TWO, prices).never
    assert never == pytest.approx(sum(_asked(no_reduction(changed), prices)))

    tape, terms = tool_tape(40), Terms(prices=PRICES, summarizer=PRICES)

    found = optimal_bill(tape, TWO, terms)

    assert found.never == pytest.approx(sum(_asked(no_reduction(tape), terms)))
    assert found.folds
    assert found.cost < found.never


def test_dropping_needs_no_summary() -> None:
    """A strategy that only drops messages is cheaper than one that pays for a summary."""
    tape, terms = tool_tape(40), Terms(prices=PRICES, summarizer=PRICES)
    drops = replace(TWO, strategy="message_counting", quote_user_messages=0)

    assert optimal_bill(tape, drops, terms).cost < optimal_bill(tape, TWO, terms).cost


def test_an_empty_session_costs_nothing() -> None:
    """Without a call there is nothing to pay."""
    found = optimal_bill(Tape(Session(format="test", messages=())), TWO, Terms(prices=PRICES))

    assert (found.cost, found.folds, found.never) == (0.0, (), 0.0)
