"""What the model is sent: system messages, summary, pinned message, and the rest."""

from collections.abc import Iterator, Sequence

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.history.signed import is_signed, without_signed
from foldline.reduction.shortening import fitting, shown
from foldline.reduction.state import HistoryReductionState


__all__ = ["view_of", "view_tokens"]


def view_of(history: History, state: HistoryReductionState | None = None) -> list[Message]:
    """
    Return the view of *history* through *state*.

    All system messages come first, in order; then the summary with its quotes, the pinned message,
    and all messages after the cut: shortened as the record says, without reasoning that a vendor
    binds to what came before another view, and repaired if they are damaged. Without a reduction
    the view is all messages in their own order, repaired.

    *state* has to be the active reduction of *history*: it is not checked here.
    """
    if state is None:
        everything = history.everything()
        return list(repair(everything)) if history.has_tools(0) else everything
    start, pin = state.summarized_up_to_index, state.pinned_index
    rest: Sequence[Message] = list(_rest(history, state))
    if history.has_tools(start if pin is None else pin):
        rest = repair(rest)
    return [*history.system, *state.front_messages(), *rest]


def _rest(history: History, state: HistoryReductionState) -> Iterator[Message]:
    cut, pin = state.summarized_up_to_index, state.pinned_index
    entries = {one.index: one for one in fitting(history, state.shortened, cut=cut, pinned=pin)}
    indexes = range(cut, len(history)) if pin is None else (pin, *range(cut, len(history)))
    bound = state.history_length
    for index in indexes:
        message: Message | None = history[index]
        assert message is not None
        if index < bound and is_signed(message):
            message = without_signed(message)
        if message is not None:
            entry = entries.get(index)
            yield message if entry is None else shown(message, entry)


def view_tokens(history: History, state: HistoryReductionState | None = None) -> int:
    """Return the estimated tokens of the view of *history* through *state*."""
    if state is None:
        return history.system_tokens + history.tokens()
    cut, pin = state.summarized_up_to_index, state.pinned_index
    total = history.system_tokens + state.front_tokens + history.tokens(cut)
    if pin is not None:
        total += history.tokens(pin, pin + 1)
    for one in fitting(history, state.shortened, cut=cut, pinned=pin):
        total += one.tokens - history.tokens(one.index, one.index + 1)
    return total
