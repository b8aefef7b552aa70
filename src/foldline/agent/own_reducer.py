"""A caller's own reducer in an agent, in the place of ours."""

from collections.abc import Sequence
from time import perf_counter
from typing import Protocol, runtime_checkable

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.errors import ConfigError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.event import HistoryReductionEvent, Reason
from foldline.reduction.view import view_of, view_tokens


__all__ = ["ChatReducer", "own_view"]


@runtime_checkable
class ChatReducer(Protocol):
    """Protocol for a caller's own reducer; the documented original calls it `IChatReducer`."""

    async def reduce(self, messages: Sequence[Message], /) -> Sequence[Message]:
        """
        Return what the model is sent in place of *messages*, the full history of a thread.

        It is asked before every model call. A tool call or result without the other is left out of
        the request, or completed. What it raises ends the turn, which stays open.
        """
        ...


async def own_view(
    own: ChatReducer, history: History, reducer: HistoryReducer
) -> ReducedHistory[Message]:
    """Return the view that *own* makes of *history*; *reducer* is the disabled one beside it."""
    started, everything = perf_counter(), history.everything()
    made = await own.reduce(everything)
    where = f"{type(own).__name__}.reduce()"
    expect(where, made, list | tuple)
    for place, one in enumerate(made):
        expect(f"{where}[{place}]", one, Message)
    if not any(one.role != "system" for one in made):
        message = f"{where} must return a message that is not a system message, got none"
        raise ConfigError(message)
    shown = History(made, counter=history.counter)
    view, verdict = view_of(shown), reducer.plan(history)
    kept = set(map(id, view))
    event = HistoryReductionEvent(
        status="skipped" if view == everything else "performed",
        reason=Reason.OWN_REDUCER,
        strategy=reducer.config.strategy,
        counting_unit=reducer.config.unit,
        units=verdict.units,
        original_count=history.total,
        reduced_count=len(view),
        removed_count=sum(id(one) not in kept for one in everything),
        original_tokens=view_tokens(history),
        reduced_tokens=view_tokens(shown),
        request_tokens=view_tokens(shown),
        summary=next((one.text for one in view if one.is_summary), None),
        duration=perf_counter() - started,
    )
    return ReducedHistory(messages=view, state=None, event=event, verdict=verdict)
