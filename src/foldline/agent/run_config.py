"""
What one run may change.
"""

from foldline.reduction.config import RunOverrides


__all__ = ["AgentRunConfig"]


class AgentRunConfig(RunOverrides, frozen=True, kw_only=True):
    """
    What one run changes; it lasts for that run and leaves the configuration as it is.
    """
