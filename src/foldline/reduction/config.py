"""How and when a history is reduced."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from foldline.checks import expect, expect_choice, expect_share, expect_whole
from foldline.errors import ConfigError
from foldline.history.codec import canonical_json
from foldline.history.history import CountingUnit


__all__ = [
    "CHOICES",
    "DEFAULT_SUMMARIZATION_THRESHOLD",
    "FINGERPRINT_VERSION",
    "AgentRunConfig",
    "HistoryReductionConfig",
    "Limits",
    "ProviderConfig",
    "ReductionBehavior",
    "ReductionStrategy",
    "Retention",
    "Trigger",
    "fingerprint",
]


ReductionStrategy: TypeAlias = Literal["message_counting", "summarizing"]
"""`message_counting` drops old messages from the view; `summarizing` replaces them by a summary."""

ReductionBehavior: TypeAlias = Literal["continue", "circuit_breaker"]
"""What happens after a new fold: the turn continues, or ends before the model is called."""

Trigger: TypeAlias = Literal["count"]
"""What calls for a fold. `count`: more than target + threshold units after the cut."""

Retention: TypeAlias = Literal["full", "reduced"]
"""
What happens to the folded messages of a thread.

`full`: they stay in its working history. `reduced`: they move to the archive, and come back when
the reduction is undone. Neither loses a message.
"""

DEFAULT_SUMMARIZATION_THRESHOLD = 5
"""The threshold that None means."""

FINGERPRINT_VERSION = 1
"""Raised when summaries are made in another way, which makes older ones a miss."""


class ProviderConfig(Struct, frozen=True, kw_only=True):
    """Which model answers, and where it runs."""

    provider_key: str
    """The vendor, such as `openai` or `anthropic`."""

    model_name: str
    """The vendor's name of the model."""

    api_key: str | None = None
    """The key, if the environment has none; never shown and never hashed."""

    base_url: str | None = None
    """The address of a compatible server; None is the vendor's own."""

    def __post_init__(self) -> None:
        expect("provider_key", self.provider_key, str)
        expect("model_name", self.model_name, str)
        expect("api_key", self.api_key, str | None)
        expect("base_url", self.base_url, str | None)

    def __repr__(self) -> str:
        secret = None if self.api_key is None else "***"
        return (
            f"ProviderConfig(provider_key={self.provider_key!r}, model_name={self.model_name!r}, "
            f"api_key={secret!r}, base_url={self.base_url!r})"
        )


class Limits(Struct, frozen=True):
    """How much a fold keeps, and how much more may gather before one, in the same unit."""

    target: int
    threshold: int

    @property
    def ceiling(self) -> int:
        """The most that may gather; anything above it folds."""
        return self.target + self.threshold


class HistoryReductionConfig(Struct, frozen=True, kw_only=True):
    """
    How and when a history is reduced. Nothing is reduced until `enabled` is true.

    A fold happens when there are more than target + threshold units after the current cut, and
    keeps the newest target units.

    Raises:
        ConfigError: A value is invalid; the message names the field, the value and what is valid.
    """

    enabled: bool = False
    """Whether the history is reduced at all."""

    strategy: ReductionStrategy = "message_counting"
    """What replaces the messages that are folded away."""

    behavior: ReductionBehavior = "continue"
    """Whether a turn continues after a new fold, or ends so that somebody can look."""

    counting_unit: CountingUnit = "exchanges"
    """The unit of target and threshold."""

    target_count: int = 20
    """How many messages or exchanges a fold keeps."""

    summarization_threshold: int | None = DEFAULT_SUMMARIZATION_THRESHOLD
    """How many more may gather before a fold, with either strategy; None means 5."""

    custom_summarization_prompt: str | None = None
    """The instruction for the summarizer; empty or None is the built-in one."""

    summarizer_provider: ProviderConfig | None = None
    """The model that writes summaries; None is the model of the agent. A reducer takes no model by
    name: it is given its summarizer."""

    use_single_summary: bool = True
    """One rolling summary, or layers that each summarize a span of their own."""

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

    trigger: Trigger = "count"
    """What calls for a fold."""

    retention: Retention = "full"
    """What happens to the folded messages of a thread; without a thread it has no effect."""

    def __post_init__(self) -> None:
        expect("enabled", self.enabled, bool)
        expect("use_single_summary", self.use_single_summary, bool)
        expect("custom_summarization_prompt", self.custom_summarization_prompt, str | None)
        expect("summarizer_provider", self.summarizer_provider, ProviderConfig | None)
        for name, choices in CHOICES.items():
            expect_choice(name, getattr(self, name), choices)
        expect_whole("target_count", self.target_count, 1)
        expect_whole("summarization_threshold", self.summarization_threshold, 0, optional=True)
        expect_whole("target_token_budget", self.target_token_budget, 1)
        expect_whole("token_budget_threshold", self.token_budget_threshold, 0)
        expect_whole("max_token_budget", self.max_token_budget, 1, optional=True)
        expect_whole("context_window_size", self.context_window_size, 1, optional=True)
        expect_share("token_budget_preserve_percentage", self.token_budget_preserve_percentage)
        if self.token_budget_trigger_percentage is not None:
            expect_share("token_budget_trigger_percentage", self.token_budget_trigger_percentage)
        self._check_budgets()

    def _check_budgets(self) -> None:
        counts_tokens = self.counting_unit == "tokens"
        share, keeps = self.token_budget_trigger_percentage, self.token_budget_preserve_percentage
        target, most = self.target_token_budget, self.max_token_budget
        message = ""
        if share is not None and self.context_window_size is not None:
            if keeps > share:
                message = (
                    f"token_budget_preserve_percentage={keeps} must be at most "
                    f"token_budget_trigger_percentage={share}"
                )
        elif counts_tokens and share is not None:
            message = "token_budget_trigger_percentage needs context_window_size"
        elif counts_tokens and most is not None and most < target:
            message = f"max_token_budget={most} must be at least target_token_budget={target}"
        if message:
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


CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        name: choices
        for name, kind in HistoryReductionConfig.__annotations__.items()
        if (choices := get_args(kind)) and isinstance(choices[0], str)
    }
)
"""The fields of a `HistoryReductionConfig` that take one of several names, with those names."""


class AgentRunConfig(Struct, frozen=True, kw_only=True):
    """
    Overrides for one run; they have no effect while reduction is disabled.

    Raises:
        ConfigError: A value is invalid; the message names the field, the value and what is valid.
    """

    skip_history_reduction: bool = False
    """Send the full history; wins over everything else."""

    trigger_history_reduction: bool = False
    """Fold now whatever the counts, unless there is nothing worth cutting."""

    history_reduction_behavior_override: ReductionBehavior | None = None
    """The behavior of this run; None is the configured one."""

    def __post_init__(self) -> None:
        expect("skip_history_reduction", self.skip_history_reduction, bool)
        expect("trigger_history_reduction", self.trigger_history_reduction, bool)
        behavior = self.history_reduction_behavior_override
        if behavior is not None:
            expect_choice("history_reduction_behavior_override", behavior, CHOICES["behavior"])


def fingerprint(config: HistoryReductionConfig, summarizers: Sequence[str] = ()) -> str:
    """
    Return 16 digits that two configurations must share so that one may use the reductions of the other.

    Strategy and unit always count; prompt, layering, provider and the names of the *summarizers*
    count if summaries are written. Target and threshold do not: the current ones decide.
    """
    shape: tuple[object, ...] = (FINGERPRINT_VERSION, config.strategy, config.counting_unit)
    if config.strategy == "summarizing":
        provider = config.summarizer_provider
        shape += (
            config.use_single_summary,
            config.custom_summarization_prompt or "",
            (provider.provider_key, provider.model_name) if provider else (),
            tuple(summarizers),
        )
    return sha256(canonical_json(shape)).hexdigest()[:16]
