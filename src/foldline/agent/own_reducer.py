"""A caller's own reducer in an agent, in the place of ours."""

from collections.abc import Sequence
from time import perf_counter
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.errors import ConfigError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import Budget
from foldline.reduction.event import Reason
from foldline.reduction.view import view_tokens


@runtime_checkable
class ChatReducer(Protocol):
    """Protocol for a caller's own reducer; the documented original calls it `IChatReducer`."""

    async def reduce(self, messages: list[Message], /) -> Sequence[Message]:
        """
        Return what the model is sent in place of *messages*, the full history of a thread.

        It is asked before every model call. A tool call or result without the other is left out of
        the request, or completed, and a view that is too large for the model is folded with the
        offline digest. What it raises ends the turn, which stays open.
        """
        ...


async def own_view(own: ChatReducer, history: History, budget: Budget) -> ReducedHistory[Message]:
    """Return the view that *own* makes of *history*; what is too large for *budget* is folded."""
    started, everything = perf_counter(), history.everything()
    made = await own.reduce(list(everything))
    where = f"{type(own).__name__}.reduce()"
    expect(where, made, list | tuple)
    for place, one in enumerate(made):
        expect(f"{where}[{place}]", one, Message)
    if not any(one.role != "system" for one in made):
        raise ConfigError(f"{where} must return a message that is not a system message, got none")
    # With our defaults and the offline digest, it is made valid, and so that it fits. Its notes name
    # no index: those of what was returned are not those of the thread.
    budget = replace(budget, recall=None)
    reduced = await HistoryReducer().reduce_within(budget, History(made, counter=history.counter))
    view, shown = reduced.messages, reduced.event
    kept = set(map(id, view))
    event = replace(
        shown,
        status="skipped" if view == everything else "performed",
        reason=Reason.OWN_REDUCER,
        original_count=history.total,
        removed_count=sum(id(one) not in kept for one in everything),
        original_tokens=view_tokens(history),
        summary=next((one.text for one in view if one.is_summary), None),
        duration=perf_counter() - started,
    )
    return replace(reduced, state=None, event=event)
