"""Agents that answer in turn."""

from pathlib import Path

from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestrator import RoundRobin
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.conversation.stories import agent_named, folding, said, texts


AGENTS = [agent_named("a"), agent_named("b"), agent_named("c")]


async def test_the_turn_survives_a_restart(tmp_path: Path) -> None:
    """Another process with other objects goes on where the thread stands."""
    selected: list[str] = []
    for n in range(5):
        async with SQLiteStore(tmp_path / "chat.db") as store:
            thread = await store.thread("t")
            conversation = Conversation(AGENTS, orchestrator=RoundRobin(), thread=thread)
            selected.append((await conversation.send(f"{n}")).selected_agent)

    assert selected == ["a", "b", "c", "a", "b"]


async def test_the_turn_survives_folds() -> None:
    """The number of the exchange counts what a reduction stands for, archived or not."""
    agents = [folding("a", retention="reduced"), folding("b", retention="reduced")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    assert [(await conversation.send(text)).selected_agent for text in said(9)] == [*"ababababa"]
    assert conversation.thread is not None
    assert conversation.thread.head.archived > 0


async def test_a_rewind_and_a_fork_find_the_same_agent() -> None:
    """After a rewind, or on a fork, the agent whose turn it was answers."""
    async with MemoryStore() as store:
        thread = await store.thread("t")
        conversation = Conversation(AGENTS, orchestrator=RoundRobin(), thread=thread)
        for n in range(2):
            await conversation.send(f"{n}")
        other = await thread.fork("other", at=2)
        fork = Conversation(AGENTS, orchestrator=RoundRobin(), thread=other)
        await thread.rewind(2)
        assert (await conversation.send("again")).selected_agent == "b"
        assert (await fork.send("elsewhere")).selected_agent == "b"
        assert texts(await fork.messages()) == ["0", "a here", "elsewhere", "b here"]
