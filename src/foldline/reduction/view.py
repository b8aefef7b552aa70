"""
What the model is sent: system messages, summary, pinned message, and the rest.
"""

from collections.abc import Sequence

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.reduction.state import HistoryReductionState


__all__ = ["view_of", "view_tokens"]


def view_of(history: History, state: HistoryReductionState | None = None) -> list[Message]:
    """
    Return the view of *history* through *state*.

    Every system message stands in front, in order; then the summary, the pinned message, and all
    messages behind the cut, mended where they are damaged.

    The caller vouches that *state* stands for *history*.
    """
    start = 0
    front: list[Message] = []
    if state is not None:
        start, front = state.summarized_up_to_index, state.summary_messages()
    rest: Sequence[Message] = history[start:]
    if state is not None and state.pinned_index is not None:
        start = state.pinned_index
        rest = [history[start], *rest]
    if history.has_tools(start):
        rest = repair(rest)
    return [*history.system, *front, *rest]


def view_tokens(history: History, state: HistoryReductionState | None = None) -> int:
    """
    Return the estimated tokens of the view of *history* through *state*.
    """
    if state is None:
        return history.system_tokens + history.tokens()
    pinned = state.pinned_index
    return (
        history.system_tokens
        + state.summary_tokens
        + (0 if pinned is None else history.tokens(pinned, pinned + 1))
        + history.tokens(state.summarized_up_to_index)
    )
