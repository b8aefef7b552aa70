"""Conversations, agents and stores without an event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from inspect import CORO_CLOSED, getcoroutinestate
from pathlib import Path

import pytest

from foldline.agent.agent import Agent
from foldline.conversation.conversation import Conversation, call_sync
from foldline.conversation.orchestrator import RoundRobin
from foldline.errors import BlockingCallError, ConfigError, StoreError
from foldline.history.messages import Message
from foldline.testing.model import ScriptedModel
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.conversation.stories import agent_named, texts


def test_a_blocking_program_keeps_a_conversation(tmp_path: Path) -> None:
    """It opens a store, gets a thread, talks, and reads everything, with no `async` in it."""
    store = SQLiteStore(tmp_path / "chat.db")
    call_sync(store.open)
    try:
        thread = call_sync(store.thread, "a", tenant="acme")
        assert agent_named("helper").run_sync("hi", thread=thread).text == "helper here"
        conversation = Conversation(agent_named("helper"), thread=thread)
        assert conversation.send_sync("again").turn_number == 2
        said = texts(call_sync(thread.get_messages))
    finally:
        call_sync(store.close)

    assert said == ["hi", "helper here", "again", "helper here"]


def test_several_threads_share_a_store(tmp_path: Path) -> None:
    """Sixteen conversations in eight threads share one store, and none mixes."""
    store = SQLiteStore(tmp_path / "chat.db")
    agents = [
        Agent(ScriptedModel(repeat=lambda r: f"a: {r.messages[-1].text}", delay=0), name="a"),
        Agent(ScriptedModel(repeat=lambda r: f"b: {r.messages[-1].text}", delay=0), name="b"),
    ]
    orchestrator = RoundRobin()

    def talk(number: int) -> list[str]:
        thread = call_sync(store.thread, f"t{number}")
        conversation = Conversation(agents, orchestrator=orchestrator, thread=thread)
        for turn in range(3):
            conversation.send_sync(f"{number}.{turn}")
        return texts(call_sync(conversation.messages))

    call_sync(store.open)
    try:
        with ThreadPoolExecutor(8) as pool:
            told = list(pool.map(talk, range(16)))
    finally:
        call_sync(store.close)

    assert told == [
        [
            text
            for turn, name in enumerate("aba")
            for text in (f"{number}.{turn}", f"{name}: {number}.{turn}")
        ]
        for number in range(16)
    ]


async def test_inside_a_loop_it_is_refused_with_a_way_out() -> None:
    """Where a loop is running, a turn that would block it is an error that says how it can."""
    conversation, agent = Conversation(agent_named("a")), agent_named("b")
    thread = await MemoryStore().thread("t")
    for refused in (
        lambda: conversation.send_sync("hi"),
        lambda: agent.run_sync("x", thread=thread),
    ):
        with pytest.raises(
            BlockingCallError, match=r"await the method .*`call_sync\(method, …\)`$"
        ):
            refused()

    assert call_sync(conversation.send, "hi").text == "a here"
    assert call_sync(agent.run, "hi", thread=thread).text == "b here"
    assert thread.count == 2


async def test_a_hook_that_cannot_await_uses_a_store(tmp_path: Path) -> None:
    """A store that was opened in a running loop is used and closed from there without awaiting."""
    store = await SQLiteStore(tmp_path / "chat.db").open()
    thread = call_sync(store.thread, "a")
    call_sync(thread.add_message, Message.user("hi"))
    await thread.add_message(Message.assistant("hello"))

    assert texts(call_sync(thread.get_messages)) == ["hi", "hello"]
    call_sync(store.close)


async def test_work_of_the_blocked_loop_is_no_deadlock() -> None:
    """While a task of the loop uses a thread object, a call that would wait for it is refused."""
    entered, leave = asyncio.Event(), asyncio.Event()

    class Slow(MemoryStorage):
        is_slow = False

        async def load(self, key: ThreadKey) -> StoredThread | None:
            if self.is_slow:
                entered.set()
                await leave.wait()
            return await super().load(key)

    storage = Slow()
    thread = await ThreadStore(storage).thread("t")
    storage.is_slow = True
    task = asyncio.create_task(thread.refresh())
    await entered.wait()
    with pytest.raises(StoreError, match="used in two event loops"):
        call_sync(thread.add_message, Message.user("hi"))
    leave.set()
    await task
    assert call_sync(thread.pop) is None


def test_a_tool_of_a_blocking_call_does_not_wait_for_itself() -> None:
    """A blocking call inside the loop that runs blocking calls is refused, whichever it is."""
    store, agent = MemoryStore(), agent_named("a")

    async def hook() -> list[str]:
        told: list[str] = []
        for call in (lambda: call_sync(store.thread, "a"), lambda: agent.run_sync("hi")):
            with pytest.raises(BlockingCallError) as caught:
                call()
            told.append(str(caught.value))
        return told

    told = call_sync(hook)
    assert set(told) == {"a blocking call was made in the loop that runs blocking calls: await it"}


def test_a_coroutine_is_not_called() -> None:
    """A call instead of a function is refused with an example, and is closed."""
    store = MemoryStore()
    given = store.thread("a")

    with pytest.raises(ConfigError, match=r"^call_sync takes a function and its arguments: call_"):
        call_sync(given)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType, reportCallIssue]
    assert getcoroutinestate(given) == CORO_CLOSED
