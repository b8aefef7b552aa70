"""What the model is sent: system messages, summary, pinned message, and the rest."""

from collections.abc import Sequence

from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.history.signed import only_sealed, without_signed
from foldline.history.tokens import count_message
from foldline.reduction.budget import Budget
from foldline.reduction.shortening import fitting, shown
from foldline.reduction.state import HistoryReductionState


__all__ = ["view_of", "view_tokens", "with_sealed"]


def view_of(history: History, state: HistoryReductionState | None = None) -> list[Message]:
    """
    Return the view of *history* through *state*.

    All system messages come first, in order; then the summary with its quotes, the pinned message,
    and all messages after the cut: shortened as the record says, without reasoning that a vendor
    may bind to what came before another view (the record says from where it stays), and repaired if
    they are damaged. Without a reduction the view is all messages in their own order, repaired.

    *state* has to be the active reduction of *history*: it is not checked here.
    """
    if state is None:
        everything = history.everything()
        return list(repair(everything)) if history.is_damaged(0) else everything
    start, pin = state.summarized_up_to_index, state.pinned_index
    rest: Sequence[Message] = _rest(history, state)
    pinned = None if pin is None else history[pin]
    if history.is_damaged(start) or (pinned and (pinned.tool_calls or pinned.tool_call_responses)):
        rest = repair(rest)
    return [*history.system, *state.front_messages(), *rest]


def _rest(history: History, state: HistoryReductionState) -> list[Message]:
    cut, pin = state.summarized_up_to_index, state.pinned_index
    if not state.shortened and not history.has_reasoning(cut if pin is None else pin):
        return history[cut:] if pin is None else [history[pin], *history[cut:]]
    front = () if pin is None else (pin,)
    entries = {one.index: one for one in fitting(history, state.shortened, cut=cut, pinned=pin)}
    rest: list[Message] = []
    length, first = state.history_length, state.thinking_from
    bound_until = length if first is None else first
    length = max(length, bound_until)
    # Only what was there before the record may be bound to another prefix, or be shortened.
    for index in (*front, *range(cut, min(length, len(history)))):
        message: Message | None = history[index]
        if index < bound_until:
            message = without_signed(history[index])
        if message is not None:
            rest.append(shown(message, entries[index]) if index in entries else message)
    return rest + history[max(cut, length) :]


def view_tokens(history: History, state: HistoryReductionState | None = None) -> int:
    """Return the estimated tokens of the view of *history* through *state*."""
    if state is None:
        return history.system_tokens + history.tokens()
    cut, pin = state.summarized_up_to_index, state.pinned_index
    total = history.system_tokens + state.front_tokens + history.tokens(cut)
    if pin is not None:
        total += history.tokens(pin, pin + 1)
    if state.sealed_item is not None:
        total += count_message(state.sealed_item, history.counter)
    for one in state.shortened and fitting(history, state.shortened, cut=cut, pinned=pin):
        total += one.tokens - history.tokens(one.index, one.index + 1)
    return total


def with_sealed(
    history: History,
    made: HistoryReductionState,
    sealed: Message,
    *,
    base: HistoryReductionState | None,
    budget: Budget,
) -> HistoryReductionState:
    """
    Return *made* with *sealed* in front of its summary; *made* itself if that does not help.

    Args:
        history: The full history.
        made: A reduction with one summary, of all messages that *sealed* represents.
        sealed: What a vendor has made of these messages.
        base: The reduction that was active before.
        budget: What the view has to fit; it has to become smaller, too.
    """
    item = only_sealed(sealed)
    if item is None:
        return made
    taken = replace(made, sealed_item=item, sealed_index=made.summarized_up_to_index - 1)
    most = min(budget.fitted, view_tokens(history, base) - 1)
    return taken.sealed() if view_tokens(history, taken) <= most else made
