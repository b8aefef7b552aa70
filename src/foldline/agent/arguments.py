"""
What a caller without a type checker may get wrong, said in one line.
"""

from typing import cast

from foldline.errors import ConfigError
from foldline.history.tokens import TokenCounter
from foldline.providers.summarizer import Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState


__all__ = [
    "check_config",
    "check_counter",
    "check_state",
    "check_timeout",
    "check_whole",
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


def check_counter(counter: object) -> None:
    """
    See that *counter* counts tokens, or is None.

    Raises:
        ConfigError: It has no method `count`.
    """
    if counter is not None and not isinstance(counter, TokenCounter):
        message = f"counter is a {type(counter).__name__}: it needs a method count(text)"
        raise ConfigError(message)


def check_whole(name: str, value: object, *, optional: bool = False) -> None:
    """
    See that *value* is a whole number above zero, or None where that is *optional*.

    Raises:
        ConfigError: It is not; the message says *name* and *value*.
    """
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        message = f"{name}={value!r}: allowed is a whole number from 1 up"
        raise ConfigError(message)


def check_timeout(timeout: float) -> None:
    """
    See that *timeout* is a number of seconds above zero.

    Raises:
        ConfigError: It is not, as `nan`.
    """
    if not timeout > 0:
        message = f"timeout={timeout!r}: allowed is a number of seconds above 0"
        raise ConfigError(message)


def summarizer_chain(given: object, config: HistoryReductionConfig) -> tuple[Summarizer, ...]:
    """
    Return the summarizers of *given*, one or several.

    Raises:
        ConfigError: Something in it is no summarizer, or *config* names a model and there is none.
    """
    if isinstance(given, Summarizer):
        return (given,)
    if not isinstance(given, (list, tuple)):
        message = f"summarizer is a {type(given).__name__}: it needs a name and async summarize()"
        raise ConfigError(message)
    chain: list[Summarizer] = []
    for one in cast("list[object]", given):
        if not isinstance(one, Summarizer):
            message = f"summarizer holds a {type(one).__name__}: it needs a name and summarize()"
            raise ConfigError(message)
        chain.append(one)
    if config.summarizer_provider is not None and not chain:
        message = "summarizer_provider is set: pass the summarizer that it stands for"
        raise ConfigError(message)
    return tuple(chain)
