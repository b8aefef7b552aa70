"""What the model is sent: system messages, summary, pinned message, and the rest."""

from collections.abc import Sequence

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.reduction.state import HistoryReductionState


__all__ = ["view_of", "view_tokens"]


def view_of(history: History, state: HistoryReductionState | None = None) -> list[Message]:
    """
    Return the view of *history* through *state*.

    All system messages come first, in order; then the summary, the pinned message, and all messages
    after the cut, repaired if they are damaged. Without a reduction the view is all messages in
    their own order, repaired.

    *state* has to be the active reduction of *history*: it is not checked here.
    """
    if state is None:
        everything = history.everything()
        return list(repair(everything)) if history.has_tools(0) else everything
    start, pin = state.summarized_up_to_index, state.pinned_index
    rest: Sequence[Message] = history[start:]
    if pin is not None:
        start, rest = pin, [history[pin], *rest]
    if history.has_tools(start):
        rest = repair(rest)
    view = [*history.system, *state.summary_messages()]
    view += rest
    return view


def view_tokens(history: History, state: HistoryReductionState | None = None) -> int:
    """Return the estimated tokens of the view of *history* through *state*."""
    if state is None:
        return history.system_tokens + history.tokens()
    pin = state.pinned_index
    return (
        history.system_tokens
        + state.summary_tokens
        + (0 if pin is None else history.tokens(pin, pin + 1))
        + history.tokens(state.summarized_up_to_index)
    )
