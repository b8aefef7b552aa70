"""What the model is sent: system messages, summary, pinned message, and the rest."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.repair import repair
from foldline.history.signed import only_sealed, without_signed
from foldline.history.tokens import count_message
from foldline.reduction.budget import Budget
from foldline.reduction.shortening import Shortened, fitting, shown
from foldline.reduction.state import HistoryReductionState


def view_of(history: History, state: HistoryReductionState | None = None) -> list[Message]:
    """
    Return the view of *history* through *state*.

    The system messages before the cut come first, in order; then pinned messages with files, the
    summary with its quotes, the pinned message, and all messages after the cut: shortened as the
    record says, without reasoning that a vendor may bind to what came before another view (the record
    says from where it stays), and repaired if they are damaged. Without a reduction the view is all
    messages in their own order, repaired.

    *state* has to be the active reduction of *history*: it is not checked here.
    """
    if state is None:
        everything = history.everything()
        return list(repair(everything)) if history.is_damaged(0) else everything
    start, pin = state.summarized_up_to_index, state.pinned_index
    newer = history.system_after(start)
    rest: Sequence[Message] = _rest(history, state, newer)
    pinned = None if pin is None else history[pin]
    if history.is_damaged(start) or (pinned and (pinned.tool_calls or pinned.tool_call_responses)):
        rest = repair(rest)
    older = history.system
    if newer:
        older = older[: -len(newer)]
    return [*older, *state.front_messages(history), *rest]


def _rest(
    history: History, state: HistoryReductionState, newer: Sequence[tuple[int, Message]]
) -> list[Message]:
    """Return what comes after the summary, with the *newer* system messages at their places."""
    cut, pin = state.summarized_up_to_index, state.pinned_index
    said: Callable[[int, int], list[Message]] = lambda start, stop: history[start:stop]  # noqa: E731
    if state.shortened or history.has_reasoning(cut if pin is None else pin):
        entries = {one.index: one for one in fitting(history, state.shortened, cut=cut, pinned=pin)}
        said = partial(_changed, history, state, entries)
    elif pin is None and not newer:
        return history[cut:]
    rest = [] if pin is None else said(pin, pin + 1)
    start = cut
    for at, message in newer:
        rest += (*said(start, at), message)
        start = at
    return rest + said(start, len(history))


def _changed(
    history: History,
    state: HistoryReductionState,
    entries: Mapping[int, Shortened],
    start: int,
    stop: int,
) -> list[Message]:
    """Return the messages from *start* to *stop*, shortened, and without what another view bound."""
    length, first = state.history_length, state.thinking_from
    bound_until = length if first is None else first
    # Only what was there before the record may be bound to another prefix, or be shortened.
    last = max(start, min(stop, max(length, bound_until)))
    made: list[Message] = []
    for index, said in enumerate(history[start:last], start):
        left = without_signed(said) if index < bound_until else said
        if left is not None:
            made.append(shown(left, entries[index]) if index in entries else left)
    return made + history[last:stop]


def view_tokens(history: History, state: HistoryReductionState | None = None) -> int:
    """Return the estimated tokens of the view of *history* through *state*."""
    if state is None:
        return history.system_tokens + history.tokens()
    cut, pin = state.summarized_up_to_index, state.pinned_index
    total = history.system_tokens + state.shown_tokens + history.tokens(cut)
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
