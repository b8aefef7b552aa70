"""When a fold is due by counts alone, for each kind of configuration."""

import pytest

from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.fold_rule import FoldRule, rule_of


@pytest.mark.parametrize(
    ("config", "by_price", "wanted"),
    [
        (HistoryReductionConfig(enabled=False), False, FoldRule()),
        (HistoryReductionConfig(), False, FoldRule(unit="tokens", view=56_320)),
        (
            HistoryReductionConfig(target_count=20, summarization_threshold=5),
            False,
            FoldRule(unit="exchanges", most=25, view=56_320),
        ),
        (
            HistoryReductionConfig(target_token_budget=1_000, token_budget_threshold=500),
            False,
            FoldRule(unit="tokens", most=1_500, view=56_320),
        ),
        (HistoryReductionConfig(), True, FoldRule(unit="tokens", most=16_000, view=56_320)),
        (
            HistoryReductionConfig(target_count=20, trigger="balance"),
            True,
            FoldRule(unit="exchanges", most=20, view=56_320),
        ),
        (
            HistoryReductionConfig(target_count=20, trigger="balance"),
            False,
            FoldRule(unit="exchanges", view=56_320),
        ),
    ],
)
def test_a_configuration_has_a_rule(
    config: HistoryReductionConfig, by_price: bool, wanted: FoldRule
) -> None:
    """Counts fold above target and threshold, prices perhaps above the target, all at the ceiling."""
    assert rule_of(config, budget_of(config), by_price=by_price) == wanted
