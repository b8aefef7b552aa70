"""Conversations, agents and stores without an event loop."""

from concurrent.futures import ThreadPoolExecutor
from inspect import CORO_CLOSED, getcoroutinestate
from pathlib import Path

import pytest

from foldline.agent.agent import Agent
from foldline.conversation.conversation import Conversation, call_sync
from foldline.conversation.orchestrator import RoundRobin
from foldline.errors import BlockingCallError, ConfigError
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.memory import MemoryStore
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


async def test_inside_a_loop_it_is_refused() -> None:
    """Where a loop is running, blocking it is an error that says so."""
    conversation = Conversation(agent_named("a"))
    with pytest.raises(BlockingCallError):
        conversation.send_sync("hi")
    with pytest.raises(BlockingCallError):
        call_sync(conversation.messages)


def test_a_coroutine_is_not_called() -> None:
    """A call instead of a function is refused with an example, and is closed."""
    store = MemoryStore()
    given = store.thread("a")

    with pytest.raises(ConfigError, match=r"^call_sync takes a function and its arguments: call_"):
        call_sync(given)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType, reportCallIssue]
    assert getcoroutinestate(given) == CORO_CLOSED
