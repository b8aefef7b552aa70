"""How and when a history is reduced."""

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from foldline.checks import expect, expect_choice, expect_share, expect_whole
from foldline.errors import ConfigError
from foldline.history.units import COUNTING_UNITS, CountingUnit


__all__ = [
    "DEFAULT_SUMMARIZATION_THRESHOLD",
    "HistoryReductionConfig",
    "Limits",
    "ProviderConfig",
    "ReductionBehavior",
    "ReductionStrategy",
    "Retention",
]


ReductionStrategy: TypeAlias = Literal["message_counting", "summarizing"]
"""`message_counting` drops what is old from the view; `summarizing` puts a summary in its place."""

ReductionBehavior: TypeAlias = Literal["continue", "circuit_breaker"]
"""What follows a new fold: the turn goes on, or ends before the model is called."""

Retention: TypeAlias = Literal["full", "reduced"]
"""
What becomes of the folded messages of a thread.

`full`: they stay in its working history. `reduced`: they leave it for the archive, and come back
when the reduction is undone. Neither loses a message.
"""

DEFAULT_SUMMARIZATION_THRESHOLD = 5
"""The threshold that None stands for."""


class ProviderConfig(Struct, frozen=True, kw_only=True):
    """Which model answers, and where it lives."""

    provider_key: str
    """The vendor, as in `openai` or `anthropic`."""

    model_name: str
    """The vendor's name of the model."""

    api_key: str | None = None
    """The key, where the environment has none; never shown and never hashed."""

    base_url: str | None = None
    """The address of a compatible server; None is the vendor's own."""

    def __repr__(self) -> str:
        secret = None if self.api_key is None else "***"
        return (
            f"ProviderConfig(provider_key={self.provider_key!r}, model_name={self.model_name!r}, "
            f"api_key={secret!r}, base_url={self.base_url!r})"
        )


class Limits(Struct, frozen=True):
    """The two numbers that a unit is judged by."""

    target: int
    """How much a fold keeps."""

    threshold: int
    """How much more than the target may gather before a fold."""

    @property
    def ceiling(self) -> int:
        """The most that may gather; anything above it folds."""
        return self.target + self.threshold


class HistoryReductionConfig(Struct, frozen=True, kw_only=True):
    """
    How and when a history is reduced. Nothing is reduced until `enabled` is true.

    A fold happens when more than target + threshold units stand behind the current cut, and keeps
    the newest target units.

    Raises:
        ConfigError: A value is not allowed; the message names the field, the value and what is.
    """

    enabled: bool = False
    """Whether the history is reduced at all."""

    strategy: ReductionStrategy = "message_counting"
    """What takes the place of the messages that are folded away."""

    behavior: ReductionBehavior = "continue"
    """Whether a turn goes on after a new fold, or ends so that somebody can look."""

    counting_unit: CountingUnit = "exchanges"
    """The unit of target and threshold."""

    target_count: int = 20
    """How many messages or exchanges a fold keeps."""

    summarization_threshold: int | None = DEFAULT_SUMMARIZATION_THRESHOLD
    """How many more may gather before a fold, with either strategy; None stands for 5."""

    custom_summarization_prompt: str | None = None
    """The instruction for the summarizer; empty or None is the built-in one."""

    summarizer_provider: ProviderConfig | None = None
    """The model that writes summaries; None is the model of the agent. A reducer takes no model by
    name: it is given its summarizer."""

    use_single_summary: bool = True
    """One rolling summary, or layers that each stand for a span of their own."""

    max_token_budget: int | None = None
    """With tokens as the unit: the most that may gather, whatever else would allow more."""

    target_token_budget: int = 4000
    """With tokens as the unit: how many a fold keeps."""

    token_budget_threshold: int = 1000
    """With tokens as the unit: how many more may gather before a fold."""

    token_budget_trigger_percentage: float | None = None
    """With tokens as the unit and a window: the share of the window above which a fold happens."""

    token_budget_preserve_percentage: float = 0.3
    """With a trigger percentage: the share of the window that a fold keeps."""

    context_window_size: int | None = None
    """The model's window in tokens, which the two percentages are shares of."""

    trigger: Literal["count"] = "count"
    """What calls for a fold: the count in the unit."""

    retention: Retention = "full"
    """What becomes of the folded messages of a thread; to a history without one it is nothing."""

    def __post_init__(self) -> None:
        expect("enabled", self.enabled, bool)
        expect("use_single_summary", self.use_single_summary, bool)
        expect("custom_summarization_prompt", self.custom_summarization_prompt, str | None)
        expect("summarizer_provider", self.summarizer_provider, ProviderConfig | None)
        expect_choice("strategy", self.strategy, get_args(ReductionStrategy))
        expect_choice("behavior", self.behavior, get_args(ReductionBehavior))
        expect_choice("counting_unit", self.counting_unit, COUNTING_UNITS)
        expect_choice("trigger", self.trigger, ("count",))
        expect_choice("retention", self.retention, get_args(Retention))
        expect_whole("target_count", self.target_count, 1)
        expect_whole("summarization_threshold", self.summarization_threshold, 0, optional=True)
        expect_whole("target_token_budget", self.target_token_budget, 1)
        expect_whole("token_budget_threshold", self.token_budget_threshold, 0)
        expect_whole("max_token_budget", self.max_token_budget, 1, optional=True)
        expect_whole("context_window_size", self.context_window_size, 1, optional=True)
        self._check_shares()

    def _check_shares(self) -> None:
        trigger, preserve = (
            self.token_budget_trigger_percentage,
            self.token_budget_preserve_percentage,
        )
        if trigger is not None:
            expect_share("token_budget_trigger_percentage", trigger)
        expect_share("token_budget_preserve_percentage", preserve)
        share_given = trigger is not None and self.context_window_size is not None
        if trigger is None or self.context_window_size is None:
            if trigger is not None and self.counting_unit == "tokens":
                message = "token_budget_trigger_percentage needs context_window_size"
                raise ConfigError(message)
        elif preserve > trigger:
            message = (
                f"token_budget_preserve_percentage={preserve} is above "
                f"token_budget_trigger_percentage={trigger}: a fold must keep less than calls for it"
            )
            raise ConfigError(message)
        most = self.max_token_budget
        if self.counting_unit != "tokens" or most is None or share_given:
            return
        if most < self.target_token_budget:
            message = (
                f"max_token_budget={most} is below target_token_budget="
                f"{self.target_token_budget}: allowed is the target or more"
            )
            raise ConfigError(message)

    @property
    def limits(self) -> Limits:
        """The target and the threshold in the configured unit."""
        if self.counting_unit == "tokens":
            return self._token_limits()
        threshold = self.summarization_threshold
        return Limits(
            self.target_count,
            DEFAULT_SUMMARIZATION_THRESHOLD if threshold is None else threshold,
        )

    def _token_limits(self) -> Limits:
        window, share = self.context_window_size, self.token_budget_trigger_percentage
        if window is not None and share is not None:
            ceiling = max(1, int(window * share))
            if self.max_token_budget is not None:
                ceiling = min(ceiling, self.max_token_budget)
            target = max(1, int(window * self.token_budget_preserve_percentage))
            return Limits(min(target, ceiling), max(0, ceiling - target))
        target = self.target_token_budget
        threshold = self.token_budget_threshold
        if self.max_token_budget is not None:
            threshold = min(threshold, self.max_token_budget - target)
        return Limits(target, threshold)
