"""How much one request may hold."""

from typing import Any

import pytest

from foldline.history.formats.renderings.sending import CONTINUES_NOTE, OPENING_NOTE
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.budget import Budget, budget_of, token_ratio
from foldline.reduction.config import HistoryReductionConfig


def budget(*, window: int | None = None, ratio: float = 1.0, **fields: Any) -> Budget:
    return budget_of(HistoryReductionConfig(**fields), window=window, ratio=ratio)


@pytest.mark.parametrize(
    ("window", "ceiling"), [(4_000, 2_800), (32_000, 22_400), (200_000, 64_000), (None, 64_000)]
)
def test_the_ceiling_is_a_share_of_the_window(window: int | None, ceiling: int) -> None:
    """It is 0.7 of the window and at most 64,000; a model that is not known has 128,000."""
    assert budget(window=window).ceiling == ceiling


@pytest.mark.parametrize(
    ("fields", "ceiling"),
    [
        ({"ceiling": 0.5}, 5_000),
        ({"ceiling": 3_000}, 3_000),
        ({"ceiling": 1.0}, 8_750),
        ({"ceiling": 20_000, "reserve": 0}, 10_000),
        ({"reserve": 6_000}, 4_000),
        ({"context_window_size": 1_000}, 700),
    ],
)
def test_a_configuration_names_its_ceiling(fields: dict[str, Any], ceiling: int) -> None:
    """Tokens or a share of the window, and the reserve for the answer stays free beside it."""
    assert budget(window=10_000, **fields).ceiling == ceiling


def test_a_refusal_lowers_the_window() -> None:
    """What the vendor's refusals have shown wins if it is less than what is known of the model."""
    config = HistoryReductionConfig()

    assert budget_of(config, window=128_000, learned=10_000).ceiling == 7_000
    assert budget_of(config, window=10_000, learned=128_000).ceiling == 7_000


def test_everything_counts() -> None:
    """Instructions and tools leave less to the view, and a vendor that counts more leaves less."""
    found = budget_of(
        HistoryReductionConfig(),
        window=10_000,
        instructions=500,
        tools=1_000,
        system=100,
        ratio=1.25,
    )

    assert (found.limit, found.room) == (5_600, 4_100)
    assert found.relieved < found.full < found.fitted < found.room
    assert found.full == int(5_600 * 0.88) - 1_500
    assert (found.keep, found.beside) == (1_000, 500)
    assert found.counted(found.room) == found.ceiling


@pytest.mark.parametrize(
    ("window", "summary", "beside"), [(100, 32, 32), (8_000, 700, 700), (None, 1_500, 8_000)]
)
def test_a_summary_has_a_share(window: int | None, summary: int, beside: int) -> None:
    """A summary has an eighth of the ceiling and at most 1,500; quotes have an eighth."""
    found = budget(window=window)

    assert (found.summary, found.beside) == (summary, beside)


@pytest.mark.parametrize(
    ("reported", "estimated", "ratio"),
    [
        (0, 5_000, 1.0),
        (5_000, 0, 1.0),
        (-5, 5_000, 1.0),
        # A quarter of the ceiling and more: exactly what was counted.
        (7_500, 5_000, 1.5),
        (16_000, 20_000, 0.8),
        # Far below it: fixed costs are no property of the model.
        (30, 10, 1_030 / 1_010),
        (3_900, 3_400, 4_500 / 4_000),
        (500_000, 5_000, 4.0),
        (1, 50_000, 0.5),
    ],
)
def test_usage_corrects_the_estimate(reported: int, estimated: int, ratio: float) -> None:
    """A request that counts shows what the vendor counts for an estimated token."""
    found = token_ratio(reported=reported, estimated=estimated, ceiling=16_000)

    assert found == pytest.approx(ratio)


def test_the_notes_of_the_user_between_fit_beside_a_view() -> None:
    """They are in no estimate: what a fold leaves free has room for both, in any model's window."""
    counter = TokenEstimator()
    notes = sum(
        count_message(Message.user(note), counter) for note in (OPENING_NOTE, CONTINUES_NOTE)
    )

    found = budget(window=4_000, ratio=4.0)
    assert found.full < found.fitted <= found.room - notes
