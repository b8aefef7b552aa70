"""A reader who leaves ends the turn: what was streamed is its answer."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import pytest

from foldline import Agent
from foldline.events import TextDeltaEvent
from foldline.history.messages import PARTIAL_KEY
from foldline.testing.model import ScriptedModel
from foldline.threads.loop_state import STOPPED
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from tests.agent.once.gated import ON_EVERY_STORE, GatedModel


async def close(agent: Agent, thread: ConversationThread) -> None:
    async with aclosing(agent.run_stream("hello", thread=thread, turn_id="id")) as stream:
        async for event in stream:
            if isinstance(event, TextDeltaEvent):
                return


async def cancel(agent: Agent, thread: ConversationThread) -> None:
    seen = asyncio.Event()

    async def read() -> None:
        async for event in agent.run_stream("hello", thread=thread, turn_id="id"):
            if isinstance(event, TextDeltaEvent):
                seen.set()

    reader = asyncio.create_task(read())
    await seen.wait()
    reader.cancel()
    await asyncio.wait([reader])


async def drop(agent: Agent, thread: ConversationThread) -> None:
    async def texts() -> AsyncGenerator[str, None]:
        async for event in agent.run_stream("hello", thread=thread, turn_id="id"):
            if isinstance(event, TextDeltaEvent):
                yield event.text

    # As a web framework does when a tab is closed.
    async with aclosing(texts()) as read:
        await anext(read)


@ON_EVERY_STORE
@pytest.mark.parametrize("leave", [close, cancel, drop])
async def test_a_closed_tab_leaves_what_it_has_read(
    store: ThreadStore, leave: Callable[[Agent, ConversationThread], Awaitable[None]]
) -> None:
    """The partial answer is in the history, marked; it is the answer of the turn, and all goes on."""
    model = GatedModel()
    agent = Agent(model)
    async with store:
        await leave(agent, await store.thread("t"))
        fresh = await store.thread("t")
        again = await agent.run("hello", thread=fresh, turn_id="id")
        following = await Agent(ScriptedModel(["fine"])).run("go on", thread=fresh)
        said = await fresh.get_messages()

    assert [one.text for one in said] == ["hello", "half of ", "go on", "fine"]
    assert [bool((one.metadata or {}).get(PARTIAL_KEY)) for one in said] == [
        False,
        True,
        False,
        False,
    ]
    assert (again.text, again.termination_reason, again.is_complete) == ("half of ", STOPPED, False)
    assert following.is_complete
    assert len(model.requests) == 1


async def test_who_leaves_before_the_first_word_may_come_back(store: ThreadStore) -> None:
    """If nothing was streamed the same turn is answered later, and any other message at once."""
    model = GatedModel(first="")
    agent = Agent(model)
    async with store:
        thread = await store.thread("t")
        async with aclosing(agent.run_stream("hello", thread=thread, turn_id="id")) as stream:
            await anext(stream)
        fresh = await store.thread("t")
        assert fresh.lease is None
        model.gate.set()
        result = await agent.run("hello", thread=fresh, turn_id="id")

    assert result.text == "answer to hello"
    assert [one.role for one in result.messages] == ["user", "assistant"]


async def test_a_cancelled_run_that_nobody_reads_stays_open(store: ThreadStore) -> None:
    """A turn that is not streamed has shown nothing, so it is resumed."""
    model = GatedModel()
    agent = Agent(model)
    async with store:
        thread = await store.thread("t")
        running = asyncio.create_task(agent.run("hello", thread=thread))
        await model.asked.wait()
        running.cancel()
        await asyncio.wait([running])
        model.gate.set()
        result = await agent.run(thread=await store.thread("t"))

    assert result.text == "answer to hello"
