"""How and when a history is reduced."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Self, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

from foldline.checks import (
    expect,
    expect_amount,
    expect_choice,
    expect_share,
    expect_size,
    expect_whole,
)
from foldline.errors import ConfigError
from foldline.history.units import CountingUnit
from foldline.reduction.prices import Prices
from foldline.reduction.provider import ProviderConfig


ReductionStrategy: TypeAlias = Literal["summarizing", "clearing", "message_counting"]
"""
What a fold does with old messages.

`summarizing` replaces them by a summary. `message_counting` drops them from the view. `clearing`
replaces old tool results by short notes, and drops messages if that is not enough.
"""

ToolRule: TypeAlias = Literal["keep", "clear", "never_summarize"]
"""
What happens to the results of a tool.

`keep`: they are not cleared while they are in the view. `clear`: they are cleared by every fold and
batch, except in the newest exchange. `never_summarize`: they are not cleared, and are quoted word
for word beside the summary when they are folded away.
"""

ReductionBehavior: TypeAlias = Literal["continue", "circuit_breaker"]
"""What happens after a new fold: the turn continues, or ends before the model is called."""

Trigger: TypeAlias = Literal["count", "balance"]
"""
What calls for a fold below the ceiling.

`count`: more than target + threshold units after the cut. `balance`: holding old messages has cost as
much as a fold would; it needs the prices of the model.
"""

Retention: TypeAlias = Literal["full", "reduced"]
"""
What happens to the folded messages of a thread.

`full`: they stay in its working history. `reduced`: they move to the archive, and come back when
the reduction is undone. Neither loses a message.
"""

Redaction: TypeAlias = Literal["summarizers", "always"]
"""
What is taken out of a text before a summarizer reads it: secrets of known shapes.

`summarizers`: out of every transcript, which any vendor may get. A summary that is asked for on top of
the request in the cache goes as that request did, to the vendor that has it. `always`: there is
no such summary, each is asked for with a transcript.
"""

DEFAULT_TARGET_COUNT = 20
"""The target of a configuration that counts messages or exchanges and names none."""

DEFAULT_SUMMARIZATION_THRESHOLD = 5
"""The threshold of a configuration that counts messages or exchanges and names none."""

_DOCUMENTED_TOKENS = (4000, 1000)
_LEAST_CEILING = 16
_PRESERVED = 0.3


class Limits(Struct, frozen=True):
    """How much a fold keeps, and how much more may gather before one, in the same unit."""

    target: int
    threshold: int

    @property
    def ceiling(self) -> int:
        """The most that may gather; anything above it folds."""
        return self.target + self.threshold


# With a dictionary, so that what every call asks is worked out once.
class HistoryReductionConfig(Struct, frozen=True, kw_only=True, dict=True):
    """
    How and when a history is reduced; without arguments every request fits the model's window.

    A fold happens before a request reaches its ceiling, and sooner if it pays; it keeps a quarter of it, and
    after a large paste some of what came before that.
    With a target and a threshold it happens when more than both have gathered after the current cut.

    Raises:
        ConfigError: A value is invalid, or has no effect beside the others; the message names the
            field, the value and what is expected.
    """

    enabled: bool = True
    """Whether the history is reduced at all."""

    strategy: ReductionStrategy = "summarizing"
    """What a fold does with old messages."""

    behavior: ReductionBehavior = "continue"
    """Whether a turn continues after a new fold, or ends so that somebody can look."""

    counting_unit: CountingUnit | None = None
    """The unit of target and threshold; None is exchanges if a count is given, else tokens."""

    target_count: int | None = None
    """How many messages or exchanges a fold keeps; None is 20."""

    summarization_threshold: int | None = None
    """How many more messages or exchanges may gather before a fold; None is 5."""

    custom_summarization_prompt: str | None = None
    """The instruction for the summarizer; empty or None is the built-in one."""

    summarizer_provider: ProviderConfig | None = None
    """The model that writes summaries; None is the model of the agent. A reducer takes no model by
    name: it is given its summarizer."""

    use_single_summary: bool = True
    """One rolling summary, or layers that each summarize a span of their own."""

    max_token_budget: int | None = None
    """With tokens as the unit: the most that may gather, whatever else would allow more."""

    target_token_budget: int | None = None
    """With tokens as the unit: how many a fold keeps; None is a quarter of the ceiling."""

    token_budget_threshold: int | None = None
    """With tokens as the unit and a target: how many more may gather before a fold; None is 1000."""

    token_budget_trigger_percentage: float | None = None
    """With tokens as the unit and a window: the share of the window above which a fold happens."""

    token_budget_preserve_percentage: float = _PRESERVED
    """With a trigger percentage: the share of the window that a fold keeps."""

    context_window_size: int | None = None
    """The model's window in tokens; None is what is known of the model, else 128,000, which is logged
    as a warning for a model that is named."""

    ceiling: float | None = None
    """The most tokens of a whole request, or, up to 1.0, its share of the window; None is 0.7 of the
    window and at most 64,000."""

    reserve: int | None = None
    """How many tokens of the window stay free for the answer; None is an eighth, at most 8,000."""

    quote_user_messages: int = 600
    """User messages that are folded away stay word for word up to so many tokens, as quotes beside
    the summary; longer ones as their head and tail. What only asks gives way first, then what was
    pasted, rules last. 0 quotes none but pinned messages."""

    largest_message: float | None = 0.25
    """The share of the ceiling above which a tool result or an answer is shown as its head and tail;
    None shows it whole as long as the request fits, as what users say and pins always are."""

    clear_tool_results: bool = True
    """Whether old tool results are cleared to short notes before a fold that the ceiling asks for."""

    tool_rules: Mapping[str, ToolRule] = {}
    """What happens to the results of single tools, by their names."""

    trigger: Trigger | None = None
    """What calls for a fold below the ceiling; None is `balance` if the model's prices are known and
    no count, threshold or share is given, else `count`."""

    prices: Prices | None = None
    """What the model costs; None is what the book of models says."""

    loss_cost: float = 0.0
    """The damage that one fold does beside its price, in US dollars: the higher, the fewer folds."""

    redact: Redaction = "summarizers"
    """Where secrets are taken out before a summary is asked for."""

    retention: Retention = "full"
    """What happens to the folded messages of a thread; without a thread it has no effect."""

    def __post_init__(self) -> None:
        for name in ("enabled", "use_single_summary", "clear_tool_results"):
            expect(name, getattr(self, name), bool)
        expect("custom_summarization_prompt", self.custom_summarization_prompt, str | None)
        expect("summarizer_provider", self.summarizer_provider, ProviderConfig | None)
        for name, choices in CHOICES.items():
            if name not in _OPTIONAL_CHOICES or getattr(self, name) is not None:
                expect_choice(name, getattr(self, name), choices)
        for name, least in _WHOLE.items():
            expect_whole(name, getattr(self, name), least, optional=True)
        expect_whole("quote_user_messages", self.quote_user_messages, 0)
        for name in _SHARES:
            if getattr(self, name) is not None:
                expect_share(name, getattr(self, name))
        expect_size("ceiling", self.ceiling, _LEAST_CEILING)
        expect("prices", self.prices, Prices | None)
        expect_amount("loss_cost", self.loss_cost)
        expect("tool_rules", self.tool_rules, Mapping)
        for tool, rule in self.tool_rules.items():
            expect_choice(f"tool_rules[{tool!r}]", rule, get_args(ToolRule))
        self._check_budgets()
        if self.enabled:
            self._check_effects()

    @classmethod
    def documented(cls, **changes: object) -> Self:
        """
        Return the defaults of the documented original, with *changes*.

        Nothing is quoted, cleared or clipped as long as a request fits, and the ceiling is the
        window.
        """
        in_tokens = changes.get("counting_unit") == "tokens"
        by_share = changes.get("token_budget_trigger_percentage") is not None
        target, threshold = _DOCUMENTED_TOKENS if in_tokens and not by_share else (None, None)
        usual = cls(
            enabled=False,
            strategy="message_counting",
            counting_unit="exchanges",
            target_count=None if in_tokens else DEFAULT_TARGET_COUNT,
            summarization_threshold=None if in_tokens else DEFAULT_SUMMARIZATION_THRESHOLD,
            target_token_budget=target,
            token_budget_threshold=threshold,
            ceiling=1.0,
            quote_user_messages=0,
            largest_message=None,
            clear_tool_results=False,
            trigger="count",
        )
        return replace(usual, **changes)

    def _check_budgets(self) -> None:
        share, keeps = self.token_budget_trigger_percentage, self.token_budget_preserve_percentage
        target, most = self.target_token_budget, self.max_token_budget
        window, reserve = self.context_window_size, self.reserve
        message = ""
        ceiling = self.ceiling or 0
        if window is not None and ceiling > window:
            message = f"ceiling must be at most context_window_size={window}, got {ceiling!r}"
        elif window is not None and reserve is not None and reserve >= window:
            message = f"reserve must be below context_window_size={window}, got {reserve}"
        elif share is not None and self.context_window_size is None:
            message = "token_budget_trigger_percentage needs context_window_size"
        elif share is not None and keeps > share:
            message = (
                f"token_budget_preserve_percentage={keeps} must be at most "
                f"token_budget_trigger_percentage={share}"
            )
        elif most is not None and target is not None and most < target:
            message = f"max_token_budget={most} must be at least target_token_budget={target}"
        if message:
            raise ConfigError(message)

    def _check_effects(self) -> None:
        """Refuse a field that is set and has no effect beside the others."""
        in_tokens, share = self.unit == "tokens", self.token_budget_trigger_percentage
        by_share = in_tokens and share is not None
        is_open = in_tokens and self.target_token_budget is None
        unit, strategy = f"counting_unit={self.unit!r}", f"strategy={self.strategy!r}"
        percentage, drops = "token_budget_trigger_percentage", self.strategy == "message_counting"
        idle = (
            (not in_tokens, TOKEN_FIELDS, unit),
            (in_tokens, COUNT_FIELDS, unit),
            (by_share, BUDGET_FIELDS, percentage),
            (not by_share, ("token_budget_preserve_percentage",), f"no {percentage}"),
            (is_open, ("token_budget_threshold",), "no target_token_budget"),
            (self.strategy != "summarizing", SUMMARY_FIELDS, strategy),
            (self.strategy == "clearing", ("clear_tool_results",), strategy),
            (self.trigger == "balance", _THRESHOLDS, "trigger='balance'"),
            (self.counts, ("loss_cost",), "no trigger='balance'"),
            (drops and self.quote_user_messages != 0, ("quote_user_messages",), strategy),
        )
        for is_idle, names, reason in idle:
            for name in names if is_idle else ():
                if getattr(self, name) != _DEFAULTS[name]:
                    raise ConfigError(f"{name}={getattr(self, name)!r} has no effect with {reason}")
        for tool, rule in self.tool_rules.items():
            if rule == "never_summarize" and drops:
                raise ConfigError(f"tool_rules[{tool!r}]={rule!r} has no effect with {strategy}")

    @cached_property
    def unit(self) -> CountingUnit:
        """The unit of target and threshold."""
        if self.counting_unit is not None:
            return self.counting_unit
        counts = self.target_count is not None or self.summarization_threshold is not None
        return "exchanges" if counts else "tokens"

    @property
    def counts(self) -> bool:
        """Whether a target and a threshold decide below the ceiling, whatever the prices are."""
        return self.trigger == "count" or (self.trigger is None and self.limits is not None)

    @cached_property
    def limits(self) -> Limits | None:
        """The target and the threshold in the unit; None if the ceiling alone decides."""
        if self.unit == "tokens":
            return self._token_limits()
        target, threshold = self.target_count, self.summarization_threshold
        return Limits(
            DEFAULT_TARGET_COUNT if target is None else target,
            DEFAULT_SUMMARIZATION_THRESHOLD if threshold is None else threshold,
        )

    def _token_limits(self) -> Limits | None:
        window, share = self.context_window_size, self.token_budget_trigger_percentage
        most, target = self.max_token_budget, self.target_token_budget
        if window is not None and share is not None:
            ceiling = max(1, int(window * share))
            if most is not None:
                ceiling = min(ceiling, most)
            target = min(ceiling, max(1, int(window * self.token_budget_preserve_percentage)))
            return Limits(target, ceiling - target)
        if target is None:
            return None if most is None else Limits(max(1, most // 4), most - max(1, most // 4))
        threshold = self.token_budget_threshold
        threshold = _DOCUMENTED_TOKENS[1] if threshold is None else threshold
        return Limits(target, threshold if most is None else min(threshold, most - target))


COUNT_FIELDS = ("target_count", "summarization_threshold")
"""The target and the threshold where messages or exchanges are counted."""

BUDGET_FIELDS = ("target_token_budget", "token_budget_threshold")
"""The target and the threshold where tokens are."""

TOKEN_FIELDS = ("max_token_budget", *BUDGET_FIELDS, "token_budget_trigger_percentage")
"""What has an effect with tokens as the unit alone."""

SUMMARY_FIELDS = ("custom_summarization_prompt", "summarizer_provider", "use_single_summary")
"""What has an effect where summaries are written."""

_LIMIT_FIELDS = (*TOKEN_FIELDS, *COUNT_FIELDS, "token_budget_preserve_percentage")
_THRESHOLDS = ("summarization_threshold", *set(TOKEN_FIELDS) - {"target_token_budget"})
_OPTIONAL_CHOICES = frozenset({"counting_unit", "trigger"})
_SHARES = ("token_budget_trigger_percentage", "token_budget_preserve_percentage", "largest_message")
_WHOLE: Mapping[str, int] = {
    "target_count": 1,
    "summarization_threshold": 0,
    "target_token_budget": 1,
    "token_budget_threshold": 0,
    "max_token_budget": 1,
    "context_window_size": 1,
    "reserve": 0,
}
_FIELDS = HistoryReductionConfig.__struct_fields__
_DEFAULTS: Mapping[str, object] = dict(
    zip(_FIELDS, HistoryReductionConfig.__struct_defaults__, strict=True)
)

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        name: choices
        for name, kind in HistoryReductionConfig.__annotations__.items()
        if (choices := get_args(get_args(kind)[0] if name in _OPTIONAL_CHOICES else kind))
        and isinstance(choices[0], str)
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
    """Fold now whatever the counts, unless there is nothing worth cutting; if no more has gathered
    than the configured target, only the last exchange is kept."""

    history_reduction_behavior_override: ReductionBehavior | None = None
    """The behavior of this run; None is the configured one."""

    history_reduction_target_override: int | None = None
    """How many units a fold of this run keeps; None is the configured target."""

    history_reduction_unit_override: CountingUnit | None = None
    """The unit of the target and the threshold in this run; None is the configured one."""

    history_reduction_strategy_override: ReductionStrategy | None = None
    """What a fold of this run does with old messages; None is the configured strategy."""

    custom_summarization_prompt_override: str | None = None
    """The instruction for the summarizer in this run; None is the configured one."""

    history_reduction_focus: str = ""
    """What the summary of a fold in this run keeps before anything else, in plain words."""

    def __post_init__(self) -> None:
        expect("skip_history_reduction", self.skip_history_reduction, bool)
        expect("trigger_history_reduction", self.trigger_history_reduction, bool)
        for name, field in _CHOSEN.items():
            if getattr(self, name) is not None:
                expect_choice(name, getattr(self, name), CHOICES[field])
        target = self.history_reduction_target_override
        expect_whole("history_reduction_target_override", target, 1, optional=True)
        prompt = self.custom_summarization_prompt_override
        expect("custom_summarization_prompt_override", prompt, str | None)
        expect("history_reduction_focus", self.history_reduction_focus, str)


_CHOSEN: Mapping[str, str] = {
    "history_reduction_behavior_override": "behavior",
    "history_reduction_unit_override": "counting_unit",
    "history_reduction_strategy_override": "strategy",
}


def config_of_run(
    config: HistoryReductionConfig, run: AgentRunConfig | None
) -> HistoryReductionConfig:
    """
    Return *config* with what *run* overrides.

    What has no effect beside an override, such as a target in another unit, is left out.

    Raises:
        ConfigError: An override has no effect, such as a prompt without a summary.
    """
    if run is None:
        return config
    changes: dict[str, object] = {}
    strategy = run.history_reduction_strategy_override or config.strategy
    if strategy != config.strategy:
        changes |= {name: _DEFAULTS[name] for name in SUMMARY_FIELDS} | {"strategy": strategy}
    if strategy == "message_counting" and config.strategy != strategy:
        rules = {
            tool: rule for tool, rule in config.tool_rules.items() if rule != "never_summarize"
        }
        changes |= {"quote_user_messages": 0, "tool_rules": rules}
    if run.custom_summarization_prompt_override is not None:
        changes["custom_summarization_prompt"] = run.custom_summarization_prompt_override
    unit = run.history_reduction_unit_override or config.unit
    target = run.history_reduction_target_override
    if target is not None or unit != config.unit:
        changes |= {name: _DEFAULTS[name] for name in _LIMIT_FIELDS} | {"counting_unit": unit}
    if target is not None:
        known = config.limits if unit == config.unit else None
        # A fold that was asked for keeps no more than that, and waits for nothing.
        threshold = None if known is None or config.trigger == "balance" else known.threshold
        is_forced = run.trigger_history_reduction and config.trigger != "balance"
        limits = (target, 0 if is_forced else threshold)
        changes |= zip(BUDGET_FIELDS if unit == "tokens" else COUNT_FIELDS, limits, strict=True)
    return replace(config, **changes) if changes else config
