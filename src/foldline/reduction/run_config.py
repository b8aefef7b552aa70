"""What one run may change."""

from typing import get_args

from msgspec import Struct

from foldline.checks import expect, expect_choice
from foldline.reduction.config import ReductionBehavior


__all__ = ["AgentRunConfig"]


class AgentRunConfig(Struct, frozen=True, kw_only=True):
    """
    What one run changes; it lasts for that run and has no effect while reduction is disabled.

    Raises:
        ConfigError: A value is not allowed; the message names the field, the value and what is.
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
            field = "history_reduction_behavior_override"
            expect_choice(field, behavior, get_args(ReductionBehavior))
