"""Numbers of things, in words."""

from foldline.reduction.state import HistoryReductionState


__all__ = ["counted", "folded_in"]


def counted(number: int, noun: str) -> str:
    """Return *number* and *noun*, which is in the plural where there is not exactly one."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def folded_in(reduction: HistoryReductionState | None) -> int:
    """Return how many messages *reduction* stands for; 0 without one."""
    return 0 if reduction is None else reduction.summarized_up_to_index
