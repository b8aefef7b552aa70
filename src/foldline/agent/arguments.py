"""What callers pass in, checked once: one line says what is wrong with it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from inspect import iscoroutinefunction, isfunction, ismethod, unwrap
from types import UnionType
from typing import TypedDict, cast

from msgspec import structs

from foldline.agent.cache import ReductionCache
from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import ConfigError
from foldline.history.messages import Message, NativeFormat
from foldline.history.tokens import TokenCounter
from foldline.providers.book import assumed_window, is_own, window_of_model
from foldline.providers.digest import is_digest
from foldline.providers.model import Summarizer
from foldline.providers.price_list import nearest_listed, prices_for, prices_of_model
from foldline.providers.vendors.spelling import check_spelling
from foldline.reduction.balance import FoldCosts
from foldline.reduction.budget import DEFAULT_WINDOW, FULL, Budget, budget_of
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState


_KEPT_PART = 4
# No model takes so little.
_LEAST_AIM = 1_000


class RequestOptions(TypedDict, total=False):
    """What `HistoryReducer.reduce` takes beside the messages."""

    state: HistoryReductionState | None
    overrides: AgentRunConfig | None
    format: NativeFormat | None
    scope: str
    usage: object
    instructions: str | Sequence[object] | None
    tools: Iterable[object] | None
    pins: Iterable[int | tuple[int, Message]] | None


def by_hand(
    overrides: AgentRunConfig | None,
    config: HistoryReductionConfig,
    *,
    focus: str = "",
    keep: int | None = None,
) -> AgentRunConfig:
    """Return *overrides* for a fold that somebody asks for; it never ends a turn."""
    given = AgentRunConfig() if overrides is None else overrides
    expect("overrides", given, AgentRunConfig)
    expect("focus", focus, str)
    expect_whole("keep", keep, 1, optional=True)
    unit = given.history_reduction_unit_override
    if keep is not None and unit is None and config.counting_unit is None and config.limits is None:
        unit = "exchanges"
    return structs.replace(
        given,
        trigger_history_reduction=True,
        history_reduction_behavior_override="continue",
        history_reduction_unit_override=unit,
        history_reduction_focus=focus or given.history_reduction_focus,
        history_reduction_target_override=(
            given.history_reduction_target_override if keep is None else keep
        ),
    )


class AfterRefusal(AgentRunConfig, frozen=True, kw_only=True):
    """Overrides for the call after a view of *sent* tokens that a vendor has refused."""

    sent: int

    def narrowed(self, budget: Budget) -> Budget:
        """
        Return *budget* with room for half of what was sent.

        It is an aim and no ceiling: what cannot be made so small is sent all the same, since nobody
        knows how much the vendor takes.
        """
        limit = min(budget.room, max(_LEAST_AIM, (self.sent + budget.system) // 2))
        full = int(limit * FULL)
        return structs.replace(budget, instructions=0, tools=0, limit=limit, full=full)


def by_refusal(sent: int) -> AgentRunConfig:
    """
    Return the overrides for the call after a view of *sent* tokens that a vendor has refused.

    The fold keeps a quarter of that, wherever the counts would cut: by them next to nothing would
    stay of a loop of tools after one question. What is larger alone is shortened.
    """
    return AfterRefusal(
        sent=sent,
        trigger_history_reduction=True,
        history_reduction_behavior_override="continue",
        history_reduction_unit_override="tokens",
        history_reduction_target_override=max(1, sent // _KEPT_PART),
    )


def fold_costs(
    config: HistoryReductionConfig, model: str | None, summarizers: Sequence[Summarizer]
) -> FoldCosts | None:
    """Return what decides when a fold pays; None if the counts decide, or no price is known."""
    prices = prices_for(config, model)
    if not config.enabled or prices is None or config.counts:
        return None
    writer = None
    is_free = not summarizers or is_digest(summarizers[0])
    if config.strategy == "summarizing" and not is_free:
        name: str | None = getattr(summarizers[0], "model_name", None)
        # What a custom summarizer asks is taken to be as dear as the model.
        writer = prices
        if name is not None and name != model:
            writer = prices_of_model(name) or prices
    return FoldCosts(prices=prices, summarizer=writer, loss_cost=config.loss_cost)


def summarizer_chain(given: object, config: HistoryReductionConfig) -> tuple[Summarizer, ...]:
    """Return the summarizers in *given*, one or several."""
    if not isinstance(given, list | tuple):
        return (_summarizer(given, "summarizer"),)
    items = enumerate(cast("list[object]", given))
    chain = [_summarizer(one, f"summarizer[{place}]") for place, one in items]
    if config.summarizer_provider is not None and not chain:
        raise ConfigError("summarizer_provider is set: pass the summarizer for it as `summarizer`")
    return tuple(chain)


def _summarizer(given: object, name: str) -> Summarizer:
    hint = "it needs a name and async summarize(); `summarizer_from` takes a function or a client"
    expect_async(name, given, Summarizer, "summarize", hint=hint)
    summarizer = cast("Summarizer", given)
    expect(f"{name}.name", summarizer.name, str)
    return summarizer


def expect_async(
    name: str, given: object, kind: type | UnionType, method: str, *, hint: str
) -> None:
    """Raise ConfigError if *given* is no instance of *kind*, or its *method* cannot be awaited."""
    if isinstance(given, type):
        raise ConfigError(f"{name} must be an instance, got the class {given.__name__}")
    expect(name, given, kind, hint=hint)
    if _is_blocking(getattr(given, method)):
        raise ConfigError(f"{type(given).__name__}.{method} must be async")


def _is_blocking(method: object) -> bool:
    """Whether *method* cannot be awaited, as far as one can see without calling it."""
    if not callable(method):
        return True
    while isinstance(method, partial):
        method = cast("partial[object]", method).func
    if not isfunction(method) and not ismethod(method):
        # A callable object, such as a wrapper, may return anything.
        return False
    return not iscoroutinefunction(unwrap(method))


def named_window(model: str | None, window: int | None) -> int | None:
    """Return *window*, or that of the *model* with this name; None if it is unknown."""
    if model is not None:
        check_spelling(model)
        window = window or window_of_model(model)
    return window


def assumption(
    config: HistoryReductionConfig,
    model: str | None,
    window: int | None,
    costs: FoldCosts | None,
    *,
    is_listed: bool = True,
    option: str = "window",
) -> str:
    """Return in one line what holds in place of what a caller may expect; empty if all is as given."""
    if not config.enabled:
        return ""
    unknown = _unknown(config, model, window, costs, is_listed=is_listed, option=option)
    budget = budget_of(config, window=window)
    too_high = ""
    if config.ceiling is not None and config.ceiling > budget.window:
        too_high = f"the ceiling is {budget.ceiling:,} tokens for a window of {budget.window:,}"
        too_high += f": set `{option}` if it is larger"
    return "; ".join(filter(None, (unknown, too_high, _unreached(config, budget))))


def _unreached(config: HistoryReductionConfig, budget: Budget) -> str:
    limits = config.limits if config.unit == "tokens" and config.trigger != "balance" else None
    if limits is None or limits.ceiling < budget.full:
        return ""
    return (
        f"a fold is asked for at {limits.ceiling:,} tokens, but requests are reduced near their "
        f"ceiling of {budget.ceiling:,} before that: raise `ceiling`, or lower target and threshold"
    )


def _unknown(
    config: HistoryReductionConfig,
    model: str | None,
    window: int | None,
    costs: FoldCosts | None,
    *,
    is_listed: bool,
    option: str,
) -> str:
    gaps: list[tuple[str, str, str]] = []
    if model is not None and not (window or config.context_window_size):
        assumed = assumed_window(model) or DEFAULT_WINDOW
        gaps.append(("the window", f"{assumed:,} tokens are assumed", f"`{option}`"))
    needs_prices = config.trigger == "balance" or (model is not None and not is_own(model))
    if costs is None and is_listed and needs_prices and not config.counts:
        gaps.append(("the prices", "the ceiling alone decides", "`prices`"))
    if not gaps:
        return ""
    what, instead, options = map(" and ".join, zip(*gaps, strict=True))
    verb = "is" if what == "the window" else "are"
    near = nearest_listed(model) if model else ""
    return (
        f"{what} of {model or 'the model'} {verb} unknown, so that {instead}: set {options}{near}"
    )


def check_reducer(config: object, model: object, counter: object, cache: object) -> None:
    """Check what a reducer is made of."""
    hint = "`config_from_mapping` makes one of a dictionary; the name of a model goes to `model=`"
    expect("config", config, HistoryReductionConfig, hint=hint)
    expect("model", model, str | None)
    expect("counter", counter, TokenCounter | None, hint="it needs a method count(text)")
    expect("cache", cache, ReductionCache | None)


def check_call(state: object, overrides: object, scope: object) -> None:
    """Refuse what a call of a reducer was given beside its messages if it is of another kind."""
    if state is not None:
        hint = "read JSON with HistoryReductionState.from_json"
        expect("state", state, HistoryReductionState, hint=hint)
    if overrides is not None:
        expect("overrides", overrides, AgentRunConfig)
    if scope != "":
        expect("scope", scope, str)


def check_sizes(sizes: Mapping[str, int | None], known_bytes: int, timeout: float) -> None:
    """Check the numbers that a reducer is given; those of *sizes* may be None."""
    for name, size in sizes.items():
        expect_whole(name, size, 1, optional=True)
    expect_seconds("timeout", timeout)
    expect_whole("known_bytes", known_bytes, 0)
