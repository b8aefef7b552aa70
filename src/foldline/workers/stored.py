"""Turns as a thread holds them: which there is under an id, and what came of it."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import structs

from foldline.agent.agent import Agent
from foldline.agent.events import AgentEvent
from foldline.agent.result import TurnResult
from foldline.errors import RunStartError
from foldline.history.messages import Message, total_usage
from foldline.threads.loop_state import COMPLETED
from foldline.threads.thread import ConversationThread


__all__ = ["run_turn", "stored_result"]


async def stored_result(thread: ConversationThread, turn_id: str) -> TurnResult | None:
    """Return what came of the turn *turn_id* of *thread*; None if it has not ended."""
    start, messages = await _found(thread, turn_id)
    if start is None or _is_open(thread, start):
        return None
    state = thread.execution_state
    is_last = state is not None and state.turn_start == start
    reason = state.termination_reason if is_last and state is not None else None
    return TurnResult(
        thread=thread,
        messages=tuple(messages),
        termination_reason=reason or COMPLETED,
        iterations=sum(one.role == "assistant" for one in messages),
        usage=total_usage(one.usage for one in messages),
        reduction=None,
        events=(),
    )


async def run_turn(
    agent: Agent,
    thread: ConversationThread,
    given: Sequence[Message],
    turn_id: str,
    listen: Callable[[AgentEvent], None] | None,
) -> TurnResult:
    """Run the turn *turn_id* of *thread*, or go on with it, or return what came of it."""
    start, _ = await _found(thread, turn_id)
    if start is not None and _is_open(thread, start):
        return await agent.run(thread=thread, listen=listen)
    found = await stored_result(thread, turn_id)
    if found is not None:
        return found
    with suppress(RunStartError):
        await thread.abandon_run()
    named = [structs.replace(given[0], id=turn_id), *given[1:]]
    return await agent.run(named, thread=thread, listen=listen)


async def _found(thread: ConversationThread, turn_id: str) -> tuple[int | None, Sequence[Message]]:
    messages = await thread.get_messages()
    for start, one in enumerate(messages):
        if one.role == "user" and one.id == turn_id:
            later = (at for at in range(start + 1, len(messages)) if messages[at].role == "user")
            return start, messages[start : next(later, len(messages))]
    return None, ()


def _is_open(thread: ConversationThread, start: int) -> bool:
    state = thread.execution_state
    return state is not None and state.is_open and state.turn_start == start
