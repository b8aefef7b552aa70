"""What a caller without a type checker may get wrong, said in one line."""

from functools import partial
from inspect import iscoroutinefunction, isfunction, ismethod, unwrap
from types import UnionType
from typing import cast

from foldline.agent.cache import ReductionCache
from foldline.checks import expect
from foldline.errors import ConfigError
from foldline.history.tokens import TokenCounter
from foldline.providers.model import ChatModel
from foldline.providers.summarizer import Summarizer
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState


__all__ = [
    "check_cache",
    "check_config",
    "check_counter",
    "check_model",
    "check_overrides",
    "check_parts",
    "check_state",
    "summarizer_chain",
]


def check_config(config: object) -> None:
    """
    See that *config* is a configuration.

    Raises:
        ConfigError: It is something else, as a dictionary.
    """
    if not isinstance(config, HistoryReductionConfig):
        message = f"config is a {type(config).__name__}: see config_from_mapping"
        raise ConfigError(message)


def check_state(state: object) -> None:
    """
    See that *state* is a reduction, or None.

    Raises:
        ConfigError: It is something else, as the JSON of one.
    """
    if state is not None and not isinstance(state, HistoryReductionState):
        message = f"state is a {type(state).__name__}: see HistoryReductionState.from_json"
        raise ConfigError(message)


def check_overrides(overrides: object) -> None:
    """
    See that *overrides* is what one run changes, or None.

    Raises:
        ConfigError: It is something else, as a dictionary.
    """
    if overrides is not None and not isinstance(overrides, AgentRunConfig):
        message = f"overrides is a {type(overrides).__name__}: allowed is an AgentRunConfig"
        raise ConfigError(message)


def check_cache(cache: object) -> None:
    """
    See that *cache* holds reductions, or is None.

    Raises:
        ConfigError: It is something else, as a dictionary.
    """
    if cache is not None and not isinstance(cache, ReductionCache):
        message = f"cache is a {type(cache).__name__}: allowed is a ReductionCache"
        raise ConfigError(message)


def check_counter(counter: object) -> None:
    """
    See that *counter* counts tokens, or is None.

    Raises:
        ConfigError: It has no method `count`.
    """
    if counter is not None and not isinstance(counter, TokenCounter):
        message = f"counter is a {type(counter).__name__}: it needs a method count(text)"
        raise ConfigError(message)


def check_parts(**parts: tuple[object, type | UnionType]) -> None:
    """
    See that each argument is of its kind, both given under its name.

    Raises:
        ConfigError: One is not.
    """
    for name, (given, kind) in parts.items():
        expect(name, given, kind)


def check_model(model: ChatModel) -> ChatModel:
    """
    Return *model*, which can be awaited.

    Raises:
        ConfigError: Its `respond` is not async.
    """
    if _is_blocking(model.respond):
        message = f"{type(model).__name__}.respond is not async: respond must be async"
        raise ConfigError(message)
    return model


def summarizer_chain(given: object, config: HistoryReductionConfig) -> tuple[Summarizer, ...]:
    """
    Return the summarizers of *given*, one or several.

    Raises:
        ConfigError: Something in it is no summarizer, or *config* names a model and there is none.
    """
    if not isinstance(given, (list, tuple)):
        return (_summarizer(given, "summarizer is"),)
    chain = [_summarizer(one, "summarizer holds") for one in cast("list[object]", given)]
    if config.summarizer_provider is not None and not chain:
        message = "summarizer_provider is set: pass the summarizer that it stands for"
        raise ConfigError(message)
    return tuple(chain)


def _summarizer(given: object, place: str) -> Summarizer:
    if isinstance(given, type):
        message = f"{place} the class {given.__name__}: pass an instance of it"
        raise ConfigError(message)
    kind = type(given).__name__
    if not isinstance(given, Summarizer):
        message = f"{place} a {kind}: it needs a name and async summarize()"
        raise ConfigError(message)
    name = cast("object", given.name)
    if not isinstance(name, str):
        message = f"the name of the {kind} is a {type(name).__name__}: allowed is a text"
        raise ConfigError(message)
    if _is_blocking(given.summarize):
        message = f"{kind}.summarize is not async: summarize must be async"
        raise ConfigError(message)
    return given


def _is_blocking(method: object) -> bool:
    """Whether *method* cannot be awaited, as far as can be told without calling it."""
    if not callable(method):
        return True
    while isinstance(method, partial):
        method = cast("partial[object]", method).func
    if not isfunction(method) and not ismethod(method):
        # An object that is called, as a wrapper: its class may tell.
        return False
    return not iscoroutinefunction(unwrap(method))
