"""Figures as they are written."""

import pytest

from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.columns import COLUMNS, Row, below_best, describe, rows
from foldline.replay.comparison import USUAL, compare
from foldline.replay.numbers import short_number
from foldline.replay.record import Totals
from tests.replay.tapes import chat_tape


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (999.4, "999"),
        (1000, "1.00k"),
        (12_345, "12.3k"),
        (999_499, "999k"),
        (999_999, "1.00M"),
        (106_000_000, "106M"),
        (2_500_000_000, "2.50G"),
    ],
)
def test_short_numbers_have_three_digits(number: float, text: str) -> None:
    """A large number is written with three digits and its unit."""
    assert short_number(number) == text


@pytest.mark.parametrize(
    ("title", "totals", "shown"),
    [
        ("prefix kept", Totals(kept_tokens=99_999, prior_tokens=100_000), "99.9 %"),
        ("prefix kept", Totals(kept_tokens=5, prior_tokens=5), "100 %"),
        ("bill, $", Totals(cost=1_234.5), "1,234.50"),
        ("bill, $", Totals(cost=0.01234), "0.0123"),
        ("best, $", Totals(), "-"),
        ("invalid", Totals(), "-"),
        ("invalid", Totals(invalid_requests=0), "0"),
    ],
)
def test_a_figure_claims_nothing_else(title: str, totals: Totals, shown: str) -> None:
    """A share is never rounded up to all, and what was not checked is not shown as none."""
    assert {one.title: one for one in COLUMNS}[title].show(totals) == shown


def test_a_bill_below_the_best_is_named() -> None:
    """Only one that is really below: sums of the same bills differ in their last digits."""
    bills = {"below": (0.9, 1.0), "same": (0.3, 0.1 + 0.2), "unknown": (None, None)}
    table = [
        Row(name=name, is_baseline=False, description="", totals=Totals(cost=cost, optimum=best))
        for name, (cost, best) in bills.items()
    ]

    assert below_best(table) == ("below",)


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            HistoryReductionConfig(trigger="balance", counting_unit="messages", target_count=10),
            "one rolling summary, 10 messages kept, up to 64,000 tokens",
        ),
        (
            HistoryReductionConfig(trigger="balance", target_token_budget=4_000),
            "one rolling summary, 4,000 tokens kept, up to 64,000 tokens",
        ),
        (
            HistoryReductionConfig(target_count=10),
            "one rolling summary, up to 10 + 5 exchanges or 64,000 tokens",
        ),
        (HistoryReductionConfig(trigger="balance"), "one rolling summary, up to 64,000 tokens"),
    ],
)
def test_a_threshold_without_effect_is_not_described(
    config: HistoryReductionConfig, text: str
) -> None:
    """With a balance the target says what a fold keeps, and the threshold says nothing."""
    assert describe(compare(chat_tape(1), {"one": config}, check=False).reports[-1]) == text


def test_rows_add_sessions_up() -> None:
    """The figures of one configuration over two sessions are sums, but for the highest ones."""
    sessions = [compare(chat_tape(turns), USUAL, check=False).reports for turns in (32, 34)]

    table = {row.name: row for row in rows(sessions)}

    one, other = (next(r for r in reports if r.name == "rolling") for reports in sessions)
    both = table["rolling"].totals
    assert both.calls == one.totals.calls + other.totals.calls == 66
    assert both.sent_tokens == one.totals.sent_tokens + other.totals.sent_tokens
    assert both.peak_tokens == max(one.totals.peak_tokens, other.totals.peak_tokens)
    assert both.most_reads == 1
    assert table["no reduction"].is_baseline
    assert table["no reduction"].totals.invalid_requests is None
    assert len({row.description for row in table.values()}) == len(table)
