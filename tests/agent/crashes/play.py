"""Playing a scene in one life, from wherever the store stands, to its end or that of the life."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import Any

from foldline.agent.agent import Agent
from foldline.agent.background import BackgroundFold
from foldline.agent.events import AgentEvent, CheckpointEvent
from foldline.errors import ToolDecisionError
from foldline.reduction.event import CIRCUIT_BREAKER_TERMINATION
from foldline.threads.storage import ThreadStorage
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from tests.agent.crashes.book import Book
from tests.agent.crashes.life import Killed, Life, MortalStorage
from tests.agent.crashes.scene import Scene, agent_of, label_of, old_messages, what_of


NAME = "talk"
"""The thread of every scene."""

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""What every clock shows."""

DECIDED = "the owner says that it was done"
"""What becomes of a call that waits for a decision."""

Told = Callable[[str], None]
"""Is told the number of messages each time that a step is acknowledged."""


def store_on(scene: Scene, storage: ThreadStorage) -> ThreadStore:
    """Return a store of *scene* on *storage*, not opened yet."""
    return ThreadStore(storage, checkpoints=scene.checkpoints, clock=lambda: NOW)


def _silent(count: str) -> None:
    pass


async def live(scene: Scene, storage: ThreadStorage, life: Life, book: Book) -> bool:
    """Play *scene* in *life*; return whether it came to its end."""
    asyncio.get_running_loop().set_exception_handler(_heard)
    try:
        await play(scene, store_on(scene, MortalStorage(storage, life)), life, book)
    except Killed:
        return False
    finally:
        await tool_threads_ended()
    return not life.is_over


def _heard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # Of a fold in the background that ended with its process nobody has to hear.
    if not isinstance(context.get("exception"), Killed):
        loop.default_exception_handler(context)


async def tool_threads_ended() -> None:
    """Wait for blocking tools, which run on to their end where their agent is gone."""
    for thread in threading.enumerate():
        if thread.name.startswith("tool "):
            thread.join()


async def play(
    scene: Scene, store: ThreadStore, life: Life, book: Book, *, told: Told = _silent
) -> None:
    """Play *scene* on *store*, which is opened and closed."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(store)
        ahead = BackgroundFold() if scene.folds_ahead else None
        if ahead is not None:
            await stack.enter_async_context(ahead)
        thread = await store.thread(NAME)
        if scene.old and not thread.count:
            await thread.add_messages(old_messages(scene))
            told(str(thread.count))
        await note_what_is_found(thread, book)
        await go_on(scene, agent_of(scene, life, book, ahead=ahead), thread, told=told)


async def note_what_is_found(thread: ConversationThread, book: Book) -> None:
    """Write down what a process finds stored when it begins."""
    book.write("life", "begins")
    known = {
        call.id: what_of(call) for one in await thread.get_messages() for call in one.tool_calls
    }
    for run in thread.pending_tools:
        book.write("open" if run.result is None else "finished", known[run.call_id], run.policy)
    for reduction in await thread.reductions():
        last = (await thread.get_range(0, reduction.summarized_up_to_index))[-1]
        book.write("found", label_of(last.text))


async def go_on(
    scene: Scene, agent: Agent, thread: ConversationThread, *, told: Told = _silent
) -> None:
    """Do what is left to do of *scene*, turn by turn."""
    while await _step(scene, agent, thread, told):
        pass


async def _step(scene: Scene, agent: Agent, thread: ConversationThread, told: Told) -> bool:
    """Make the next turn, or go on with the last one; return False where there is nothing to do."""
    messages = await thread.get_messages()
    asked = [one for one in messages if one.role == "user"][scene.old :]
    state = thread.execution_state
    is_halted = state is not None and state.termination_reason == CIRCUIT_BREAKER_TERMINATION
    question: str | None = None
    if state is None or (not state.is_open and not is_halted):
        if len(asked) == len(scene.questions):
            return False
        question = scene.questions[len(asked)]
    try:
        await _turn(scene, agent, thread, question, told)
    except ToolDecisionError as error:
        for call_id in error.call_ids:
            await thread.answer_tool(call_id, DECIDED)
    return True


async def _turn(
    scene: Scene, agent: Agent, thread: ConversationThread, question: str | None, told: Told
) -> None:
    if not scene.streams:
        result = await agent.run(question, thread=thread, on_conflict="error", on_open="error")
        _hear_all(result.events, told)
        return
    async with agent.run_stream(
        question, thread=thread, on_conflict="error", on_open="error"
    ) as stream:
        async for event in stream:
            _hear_all([event], told)


def _hear_all(events: Sequence[AgentEvent], told: Told) -> None:
    for event in events:
        if isinstance(event, CheckpointEvent) and event.operation == "saved":
            told(str(event.message_count))
