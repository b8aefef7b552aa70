"""A reduction with an item in front that only its vendor can read."""

from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.signed import only_sealed
from foldline.reduction.budget import Budget
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_tokens


__all__ = ["with_sealed"]


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
