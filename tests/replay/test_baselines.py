"""What it costs without foldline, and where that is best."""

import pytest
from msgspec.structs import replace

from foldline.history.messages import Message, Usage
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.bill import Terms, priced
from foldline.replay.columns import describe, rows
from foldline.replay.comparison import as_recorded, compare, needs_no_folding, no_reduction
from foldline.replay.tape import Tape
from tests.replay.tapes import chat_tape, tool_tape


CONFIGS = {
    "often": HistoryReductionConfig(target_count=1, summarization_threshold=0),
    "default": HistoryReductionConfig(),
}
PRICES = Prices(input=1, output=5, cached_read=0.1, minimum_prefix=0)
TERMS = Terms(prices=PRICES, summarizer=PRICES)


def test_no_reduction_sends_everything() -> None:
    """Every request is the whole history, and the next one begins with it."""
    report = no_reduction(tool_tape(10))

    totals, calls = report.totals, report.calls
    assert all(call.view_tokens == call.full_tokens for call in calls)
    assert (totals.prefix_share, totals.prefix_breaks, totals.folds) == (1.0, 0, 0)
    assert totals.fresh_tokens == totals.peak_tokens


def _reported(usages: list[Usage | None]) -> Tape:
    messages = [
        message
        for usage in usages
        for message in (Message.user("ask"), replace(Message.assistant("say"), usage=usage))
    ]
    return Tape(Session(format="test", messages=tuple(messages)))


def test_what_the_vendor_reported_is_a_row() -> None:
    """Sizes, cached tokens and the bill are the vendor's own, and breaks are seen."""
    usages: list[Usage | None] = [
        Usage(input_tokens=100, output_tokens=10),
        Usage(input_tokens=200, output_tokens=20, cache_read_tokens=100),
        Usage(input_tokens=300, output_tokens=30, cache_read_tokens=50),
    ]

    report = as_recorded(_reported(usages))

    assert report is not None
    assert [call.view_tokens for call in report.calls] == [100, 200, 300]
    assert [call.prefix_broke for call in report.calls] == [False, False, True]
    bill = priced(report, TERMS).totals.cost
    assert bill == pytest.approx((600 - 150 + 15 + 5 * 60) / 1e6)


@pytest.mark.parametrize(
    ("reads", "writes", "cost"),
    [(0, 0, 2_000), (800, 0, 0.1 * 800 + 1_200), (800, 1_000, 0.1 * 800 + 1.25 * 1_000 + 200)],
    ids=["no cache", "reads alone", "reads and writes"],
)
@pytest.mark.parametrize("overhead", [0, 500])
def test_what_was_recorded_is_charged_by_its_own_counts(
    reads: int, writes: int, cost: float, overhead: int
) -> None:
    """Reads and writes of the cache at their prices, the rest as plain input, nothing beside it."""
    usage = Usage(input_tokens=2_000, cache_read_tokens=reads, cache_write_tokens=writes)
    report = as_recorded(_reported([usage] * 3))
    prices = replace(PRICES, cache_write=1.25)

    assert report is not None
    bill = priced(report, Terms(prices=prices, summarizer=prices, overhead=overhead)).totals.cost
    assert bill == pytest.approx(3 * cost / 1e6)


@pytest.mark.parametrize(("missing", "known"), [(1, True), (2, False)])
def test_a_recording_with_gaps_has_no_such_row(missing: int, known: bool) -> None:
    """A tenth of the calls may lack their usage, not more; that none names cached tokens is said."""
    tape = _reported([Usage(input_tokens=10)] * (10 - missing) + [None] * missing)

    report = as_recorded(tape)
    assert (report is not None) is known
    assert report is None or "names no cached tokens: all are charged" in describe(report)
    assert report is None or "with instructions and tools, which no other row has" in describe(
        report
    )
    assert len(compare(tape, CONFIGS).reports) == 3 + known


@pytest.mark.parametrize(("cached", "is_needless"), [(0.1, True), (None, False)])
def test_folding_is_needless_where_cached_reads_are_cheap(
    cached: float | None, is_needless: bool
) -> None:
    """A fold too many costs more than the whole history, unless nothing is cached."""
    prices = replace(PRICES, cached_read=cached)
    terms = Terms(prices=prices, summarizer=Prices(input=0.1, output=0.5))
    configs = {"some": HistoryReductionConfig(target_count=5, summarization_threshold=5)}

    reports = compare(chat_tape(40), configs, check=False, terms=terms).reports

    assert needs_no_folding(reports) is is_needless


def test_what_cannot_be_sent_is_no_way_out() -> None:
    """Requests beyond the window are counted, the row says so, and folding is not needless."""
    terms = Terms(prices=PRICES, summarizer=PRICES)
    configs = {"some": HistoryReductionConfig(context_window_size=3_000)}

    reports = compare(chat_tape(40), configs, check=False, terms=terms).reports
    full, some = rows([reports, reports])

    assert full.totals.window == some.totals.window == 3_000
    assert full.totals.too_large == 2 * sum(one.view_tokens > 3_000 for one in reports[0].calls) > 0
    assert some.totals.too_large == 0
    assert "of 80 calls do not fit a window of 3,000 tokens: it cannot be sent" in full.description
    assert "window" not in some.description
    assert not needs_no_folding(reports)


def test_without_prices_nothing_is_said_of_bills() -> None:
    """Bills and optima are unknown, and whether folding pays is too."""
    reports = compare(chat_tape(6), CONFIGS, check=False).reports

    assert {(one.totals.cost, one.totals.optimum) for one in reports} == {(None, None)}
    assert not needs_no_folding(reports)


def test_the_best_bill_pays_for_answers_too() -> None:
    """Reported answers are in the bill and in the best one, so that the two compare."""
    usages = (Usage(input_tokens=100), Usage(input_tokens=100, output_tokens=1_000))
    without, with_them = (
        compare(_reported([usage] * 4), CONFIGS, check=False, terms=TERMS).reports[-1].totals
        for usage in usages
    )

    assert (with_them.cost or 0) - (without.cost or 0) == pytest.approx(0.02)
    assert (with_them.optimum or 0) - (without.optimum or 0) == pytest.approx(0.02)


def test_every_bill_is_beside_the_best_one() -> None:
    """A configuration is compared with the best times of folds for the window that it keeps."""
    full, often, _ = compare(chat_tape(30), CONFIGS, check=False, terms=TERMS).reports

    assert full.totals.optimum is None
    assert often.totals.cost is not None
    assert often.totals.optimum is not None
    assert often.totals.optimum < often.totals.cost
