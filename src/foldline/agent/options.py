"""What bounds a turn."""

from collections.abc import Mapping

from msgspec import Struct

from foldline.agent.reducer import DEFAULT_TIMEOUT
from foldline.checks import expect, expect_seconds, expect_whole
from foldline.reduction.fold import DEFAULT_SUMMARY_BUDGET


__all__ = ["DEFAULT_OPTIONS", "AgentOptions"]


class AgentOptions(Struct, frozen=True, kw_only=True):
    """
    What bounds a turn, and how its tools run.

    Raises:
        ConfigError: A value is not allowed; the message names the field, the value and what is.
    """

    max_iterations: int = 25
    """The most model calls of one turn."""

    max_consecutive_failures: int = 3
    """The most model calls in a row whose tool calls all fail."""

    max_identical_calls: int = 3
    """The turn ends when a tool is asked for so often in a row with the same arguments; the last of
    these calls does not run."""

    max_duration: float | None = None
    """How many seconds a turn may take before no further model call begins; None is any number."""

    max_overflow_folds: int = 3
    """How often one model call is tried again with a smaller view, where the vendor refuses it as
    too long."""

    parallel_tool_calls: bool = True
    """Whether the calls of one response run at the same time."""

    terminate_on_unknown_tools: bool = False
    """Whether a call of a tool that does not exist ends the turn; otherwise the model is told."""

    summarizer_timeout: float = DEFAULT_TIMEOUT
    """How many seconds a summarizer has for one text."""

    summary_budget: int = DEFAULT_SUMMARY_BUDGET
    """How many tokens a summary is asked to keep to."""

    settings: Mapping[str, object] = {}
    """What each request says besides, as in `temperature`; as the model's vendor names it."""

    def __post_init__(self) -> None:
        expect_whole("max_iterations", self.max_iterations, 1)
        expect_whole("max_consecutive_failures", self.max_consecutive_failures, 1)
        expect_whole("max_identical_calls", self.max_identical_calls, 2)
        expect_whole("max_overflow_folds", self.max_overflow_folds, 0)
        expect("parallel_tool_calls", self.parallel_tool_calls, bool)
        expect("terminate_on_unknown_tools", self.terminate_on_unknown_tools, bool)
        expect_whole("summary_budget", self.summary_budget, 1)
        expect("settings", self.settings, Mapping)
        if self.max_duration is not None:
            expect_seconds("max_duration", self.max_duration)
        expect_seconds("summarizer_timeout", self.summarizer_timeout)


DEFAULT_OPTIONS = AgentOptions()
"""What bounds a turn where nothing else is asked for."""
