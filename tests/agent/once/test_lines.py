"""Those who wait for a thread in one process are a line, and nobody waits without an end."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from foldline import Agent, Conversation, MemoryStore
from foldline.agent import admission
from foldline.errors import TurnRunningError
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from tests.agent.once.gated import ON_EVERY_STORE, GatedModel
from tests.threads.clock import Clock


ASKED = [f"question {number}" for number in range(6)]


@ON_EVERY_STORE
@pytest.mark.parametrize("shares", [True, False])
async def test_messages_are_answered_as_they_came(store: ThreadStore, *, shares: bool) -> None:
    """Who types ahead gets the answers in order, through one object of the thread or several."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        one = await store.thread("t")
        for text in ASKED:
            thread = one if shares else await store.thread("t")
            group.create_task(agent.run(text, thread=thread))
            await asyncio.sleep(0)
        await model.asked.wait()
        model.gate.set()

    assert model.questions == ASKED


@pytest.mark.parametrize("steps", range(4))
async def test_who_comes_late_does_not_push_in(steps: int) -> None:
    """A message that comes while another one begins is answered after those who wait already."""
    agent = Agent(ScriptedModel(repeat="fine"))
    async with MemoryStore() as store:
        threads = [await store.thread("t") for _ in ASKED]
        running = [
            asyncio.create_task(agent.run(text, thread=thread))
            for text, thread in zip(ASKED, threads, strict=True)
        ]
        await running[0]
        for _ in range(steps):
            await asyncio.sleep(0)
        running.append(asyncio.create_task(agent.run("late", thread=await store.thread("t"))))
        await asyncio.wait(running)
        said = await (await store.thread("t")).get_messages()

    assert [one.text for one in said if one.role == "user"] == [*ASKED, "late"]


async def test_who_gives_up_leaves_the_line(store: ThreadStore) -> None:
    """A cancelled one holds nobody up."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        running = [
            group.create_task(agent.run(text, thread=await store.thread("t"))) for text in ASKED[:3]
        ]
        await model.asked.wait()
        running[1].cancel()
        model.gate.set()

    assert model.questions == [ASKED[0], ASKED[2]]


async def test_a_long_line_is_not_woken_by_each_turn() -> None:
    """Of many with an id who wait in line, the next one looks at the store when a turn ends."""

    class Counting(MemoryStorage):
        looks = 0

        async def load(self, key: ThreadKey) -> StoredThread | None:
            self.looks += 1
            return await super().load(key)

    storage, agent = Counting(), Agent(ScriptedModel(repeat="fine", delay=0))
    async with ThreadStore(storage) as store:
        threads = [await store.thread("t") for _ in range(100)]
        turns = [
            agent.run("hello", thread=thread, turn_id=f"click {number}")
            for number, thread in enumerate(threads)
        ]
        results = await asyncio.gather(*turns)

    assert {one.text for one in results} == {"fine"}
    assert storage.looks < 10 * len(turns)


async def test_a_conversation_answers_as_it_is_asked() -> None:
    """The messages of one conversation are answered in order."""
    model = GatedModel()
    conversation = Conversation([Agent(model, name="one")])
    async with asyncio.TaskGroup() as group:
        for text in ASKED:
            group.create_task(conversation.send(text))
            await asyncio.sleep(0)
        await model.asked.wait()
        model.gate.set()

    assert model.questions == ASKED


async def _run_by_another_task(agent: Agent, store: ThreadStore) -> None:
    """Run a turn as an actor does that was there before the turn whose tool asks it."""
    await agent.run("inside", thread=await store.thread("t"))


async def test_a_tool_that_waits_for_its_own_turn_gets_an_error() -> None:
    """A turn that a tool runs through another task is refused once it has waited for long enough."""
    asked: asyncio.Queue[asyncio.Future[str]] = asyncio.Queue()

    async def act() -> None:
        answer = await asked.get()
        with pytest.raises(TurnRunningError, match="turn_wait"):
            await _run_by_another_task(agent, store)
        answer.set_result("refused")

    async def ask() -> str:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        await asked.put(answer)
        return await answer

    store = MemoryStore(turn_wait=0.01)
    agent = Agent(ScriptedModel([calls(("ask", {})), "fine"]), tools=[ask])
    async with store, asyncio.TaskGroup() as group:
        group.create_task(act())
        result = await agent.run("hello", thread=await store.thread("t"))

    assert result.text == "fine"
    assert [one.role for one in result.messages] == ["user", "assistant", "tool", "assistant"]


async def _run(agent: Agent, store: ThreadStore) -> object:
    return await agent.run("two", thread=await store.thread("t"))


async def _send(agent: Agent, store: ThreadStore) -> object:
    return await Conversation([agent], thread=await store.thread("t")).send("two")


@pytest.mark.parametrize("wait", [_run, _send])
async def test_a_wait_has_an_end(
    wait: Callable[[Agent, ThreadStore], Coroutine[object, object, object]],
) -> None:
    """A message is refused after `turn_wait` seconds, and nothing of it is stored."""
    model = GatedModel()
    agent = Agent(model)
    async with MemoryStore(turn_wait=0.01) as store, asyncio.TaskGroup() as group:
        thread = await store.thread("t")
        first = group.create_task(agent.run("one", thread=thread))
        await model.asked.wait()
        with pytest.raises(TurnRunningError, match="'t'"):
            await wait(agent, store)
        model.gate.set()
        await first

    assert [one.text for one in await thread.get_messages()] == ["one", "answer to one"]


@pytest.mark.parametrize(("quiet", "lines"), [(0.0, 1), (60.0, 0)])
async def test_a_long_wait_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, quiet: float, lines: int
) -> None:
    """Who waits for another worker for long logs one warning; a short wait says nothing."""
    monkeypatch.setattr(admission, "_QUIET", quiet)
    model = GatedModel()
    agent = Agent(model)
    # By its clock no lease runs out, however slow the machine is.
    store = MemoryStore(turn_lease=0.4, clock=Clock())
    async with store, asyncio.TaskGroup() as group:
        group.create_task(agent.run("one", thread=await store.thread("t")))
        await model.asked.wait()
        thread = await store.thread("t")
        group.create_task(agent.run("two", thread=thread))
        for _ in range(3):
            # Long enough for a look in memory.
            for _ in range(100):
                await asyncio.sleep(0)
            thread.context.waiters.wake(thread.key)
        model.gate.set()

    said = [one for one in caplog.records if "another worker has a turn" in one.message]
    assert [one.levelname for one in said] == ["WARNING"] * lines
    assert not any("at most 0 s" in one.message for one in said)
