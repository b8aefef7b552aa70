"""Of two who would run a turn on one thread, one waits before it pays for a model call."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

import pytest

from foldline import Agent, MemoryStore, Message
from foldline.agent.result import TurnResult
from foldline.agent.service import begun
from foldline.errors import ModelError, RunStartError, ThreadConflictError, TurnRunningError
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey
from foldline.threads.lease import Lease
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.thread import ConversationThread
from tests.agent.once.gated import ON_EVERY_STORE, GatedModel
from tests.threads.clock import Clock


async def texts(thread: ConversationThread) -> Sequence[str]:
    await thread.refresh()
    return [one.text for one in await thread.get_messages()]


@ON_EVERY_STORE
@pytest.mark.parametrize("shares", [True, False])
async def test_a_double_click_is_answered_once(store: ThreadStore, *, shares: bool) -> None:
    """Two runs of one turn at once ask the model once and both return its answer."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        one = await store.thread("t")
        first = group.create_task(agent.run("hello", thread=one, turn_id="id"))
        await model.asked.wait()
        two = one if shares else await store.thread("t")
        second = group.create_task(agent.run("hello", thread=two, turn_id="id"))
        await asyncio.sleep(0)
        model.gate.set()
        results = [await first, await second]

    assert [one.text for one in results] == ["answer to hello"] * 2
    assert len(model.requests) == 1


@ON_EVERY_STORE
async def test_both_may_begin_at_the_same_time(store: ThreadStore) -> None:
    """Of many that begin at once, before any of them has stored something, one asks the model."""
    model = ScriptedModel(repeat="fine")
    agent = Agent(model)
    async with store:
        threads = [await store.thread("t") for _ in range(20)]
        results = await asyncio.gather(
            *(agent.run("hello", thread=one, turn_id="id") for one in threads)
        )

    assert {one.text for one in results} == {"fine"}
    assert len(model.requests) == 1


@ON_EVERY_STORE
async def test_another_message_waits_for_its_turn(store: ThreadStore) -> None:
    """A second message asks no model before the first is answered, and is answered after it."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        first = group.create_task(agent.run("one", thread=await store.thread("t")))
        await model.asked.wait()
        other = await store.thread("t")
        second = group.create_task(agent.run("two", thread=other))
        await asyncio.sleep(0)
        assert model.questions == ["one"]
        model.gate.set()
        await asyncio.wait([first, second])
        said = await texts(other)

    assert said == ["one", "answer to one", "two", "answer to two"]


async def test_a_second_message_may_be_refused(store: ThreadStore) -> None:
    """With `error` it is refused at once, through any object of the thread, an earlier one too."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        early, thread = await store.thread("t"), await store.thread("t")
        first = group.create_task(agent.run("one", thread=thread))
        await model.asked.wait()
        for other in (early, thread, await store.thread("t")):
            with pytest.raises(TurnRunningError, match="'t'"):
                await agent.run("two", thread=other, on_conflict="error")
        model.gate.set()
        await first
        assert await texts(thread) == ["one", "answer to one"]


async def test_a_lease_without_a_run_counts(store: ThreadStore) -> None:
    """A conversation between two of its agents has the thread, though no run is open."""
    model = ScriptedModel(["fine"])
    async with store:
        lease = Lease("a conversation", 15.0)
        await (await store.thread("t")).commit(Change(messages=[Message.user("hi")], lease=lease))
        with pytest.raises(TurnRunningError):
            await Agent(model).run("hello", thread=await store.thread("t"), on_conflict="error")

    assert model.requests == []


async def test_who_resumes_gets_the_answer_of_who_runs(store: ThreadStore) -> None:
    """A run without a message waits for the one that runs, and returns its answer."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        first = group.create_task(agent.run("one", thread=await store.thread("t")))
        await model.asked.wait()
        second = group.create_task(agent.run(thread=await store.thread("t")))
        await asyncio.sleep(0)
        model.gate.set()
        results = [await first, await second]

    assert results[1].messages == results[0].messages
    assert len(model.requests) == 1


@pytest.mark.parametrize("is_running", [True, False])
async def test_who_resumes_too_late_gets_the_answer(
    store: ThreadStore, *, is_running: bool
) -> None:
    """Whose thread was read before another one answered gets that answer, and no error."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        thread = await store.thread("t")
        await thread.add_message(Message.user("one"))
        early = await store.thread("t")
        first = group.create_task(agent.run(thread=thread))
        await model.asked.wait()
        if is_running:
            await early.refresh()
        model.gate.set()
        await first
        result = await agent.run(thread=early)

    assert (result.text, len(model.requests)) == ("answer to one", 1)


async def test_a_message_after_the_answer_of_another_is_answered(store: ThreadStore) -> None:
    """What was said after that answer, and waits, is what a run without a message answers."""
    agent = Agent(ScriptedModel(["first", "second"]))
    async with store:
        early, thread = await store.thread("t"), await store.thread("t")
        await early.add_message(Message.user("one"))
        await agent.run(thread=(await store.thread("t")))
        await thread.refresh()
        await thread.add_message(Message.user("two"))
        result = await agent.run(thread=early)

    assert result.text == "second"


async def test_a_failed_turn_is_free_at_once(store: ThreadStore) -> None:
    """Who waits for a turn that fails takes it over without waiting for its lease."""
    model = ScriptedModel([ModelError("down"), "fine"])
    agent = Agent(model)
    async with store:
        with pytest.raises(ModelError):
            await agent.run("hello", thread=await store.thread("t"), turn_id="id")
        thread = await store.thread("t")
        assert thread.lease is None
        assert (await agent.run("hello", thread=thread, turn_id="id")).text == "fine"


async def _left_behind(store: ThreadStore) -> None:
    """Store what a worker does that begins a turn and is killed then."""
    thread = await store.thread("t")
    state = begun(thread, run_id="r", agent="agent")
    lease = Lease("dead", thread.context.turn_lease)
    await thread.commit(Change(messages=[Message.user("hello")], execution=state, lease=lease))


async def test_the_turn_of_a_dead_worker_is_taken_over(store: ThreadStore, clock: Clock) -> None:
    """Once its lease has run out another worker resumes it; before that, it is kept out."""
    model = ScriptedModel(repeat="fine")
    agent = Agent(model)
    async with store:
        await _left_behind(store)
        with pytest.raises(TurnRunningError):
            await agent.run(thread=await store.thread("t"), on_conflict="error")
        clock.now += timedelta(seconds=14.9)
        with pytest.raises(TurnRunningError):
            await agent.run(thread=await store.thread("t"), on_conflict="error")
        clock.now += timedelta(seconds=0.2)
        result = await agent.run(thread=await store.thread("t"), on_conflict="error")

    assert (result.text, len(model.requests)) == ("fine", 1)


async def test_who_waits_takes_over_a_dead_worker(store: ThreadStore, clock: Clock) -> None:
    """One that waits looks again by itself, and takes the turn over once its lease has run out."""
    agent = Agent(ScriptedModel(repeat="fine"))
    async with store, asyncio.TaskGroup() as group:
        await _left_behind(store)
        waiting = group.create_task(agent.run(thread=await store.thread("t")))
        await asyncio.sleep(0)
        assert not waiting.done()
        clock.now += timedelta(seconds=15.1)
        result = await waiting

    assert result.text == "fine"


async def test_a_worker_that_was_taken_over_writes_nothing(
    store: ThreadStore, clock: Clock
) -> None:
    """One that stood still for longer than its lease is refused, although its step has not changed."""
    gated = GatedModel()
    slow, other = Agent(gated), Agent(GatedModel())
    async with store:
        first = asyncio.create_task(slow.run("hello", thread=await store.thread("t")))
        await gated.asked.wait()
        clock.now += timedelta(seconds=16)
        thread = await store.thread("t")
        second = asyncio.create_task(other.run(thread=thread))
        assert isinstance(other.model, GatedModel)
        await other.model.asked.wait()
        gated.gate.set()
        with pytest.raises(ThreadConflictError):
            await first
        other.model.gate.set()
        await second
        assert await texts(thread) == ["hello", "answer to hello"]


async def overtaken(
    store: ThreadStore, clock: Clock, slow: GatedModel, other: GatedModel
) -> list["asyncio.Task[TurnResult]"]:
    """Return a run that waits for *slow* and one of the same turn that has taken it over."""
    runs: list[asyncio.Task[TurnResult]] = []
    for model in (slow, other):
        clock.now += timedelta(seconds=16)
        run = Agent(model).run("hello", thread=await store.thread("t"), turn_id="id")
        runs.append(asyncio.create_task(run))
        await model.asked.wait()
    return runs


async def test_who_was_taken_over_gets_the_answer(store: ThreadStore, clock: Clock) -> None:
    """If its turn has an id, a worker that stood still returns the answer of the one who took over."""
    slow, other = GatedModel(), GatedModel()
    async with store:
        first, second = await overtaken(store, clock, slow, other)
        slow.gate.set()
        await asyncio.sleep(0)
        other.gate.set()
        results = await asyncio.gather(first, second)
        said = await texts(await store.thread("t"))

    assert [one.text for one in results] == ["answer to hello"] * 2
    assert said == ["hello", "answer to hello"]


class Halting(MemoryStorage):
    """A storage where something happens before a document is read."""

    before: Callable[[], Awaitable[object]] | None = None

    async def document(self, key: ThreadKey, kind: DocumentKind, name: str) -> Document | None:
        """Do that first, once."""
        before, self.before = self.before, None
        if before is not None:
            await before()
        return await super().document(key, kind, name)


async def test_who_took_over_may_end_while_it_is_looked_for() -> None:
    """A turn that ends between two readings of who was taken over is found, and its answer returned."""
    slow, other, clock = GatedModel(), GatedModel(), Clock()
    storage = Halting(clock=lambda: clock().timestamp())
    async with ThreadStore(storage, clock=clock) as store:
        first, second = await overtaken(store, clock, slow, other)

        async def end() -> None:
            other.gate.set()
            await second

        storage.before = end
        slow.gate.set()
        result = await first

    assert result.text == "answer to hello"
    assert second.done()


async def test_a_tool_of_a_dead_worker_runs_once(store: ThreadStore, clock: Clock) -> None:
    """A tool that may run only once and was running is not run again by who takes over."""
    began, ran = asyncio.Event(), list[int]()

    async def pay(amount: int) -> str:
        ran.append(amount)
        began.set()
        await asyncio.Event().wait()
        return "paid"

    model = ScriptedModel([calls(("pay", {"amount": 1})), "it is unknown"])
    agent = Agent(model, tools=[pay])
    async with store:
        first = asyncio.create_task(agent.run("pay", thread=await store.thread("t")))
        await began.wait()
        clock.now += timedelta(seconds=16)
        result = await agent.run(thread=await store.thread("t"))
        first.cancel()
        await asyncio.wait([first])

    assert (result.text, ran) == ("it is unknown", [1])


def test_a_turn_of_a_closed_loop_is_over() -> None:
    """The same object of a thread runs turns in another loop once that of its turn was closed."""
    store, model = MemoryStore(turn_lease=0.01), GatedModel()
    loop = asyncio.new_event_loop()
    thread = loop.run_until_complete(store.thread("t"))

    async def begin() -> "asyncio.Task[object]":
        task: asyncio.Task[object] = asyncio.create_task(Agent(model).run("one", thread=thread))
        await model.asked.wait()
        return task

    left = loop.run_until_complete(begin())
    loop.close()
    result = asyncio.run(Agent(ScriptedModel(["fine"])).run("two", thread=thread))

    assert (result.text, left.done()) == ("fine", False)


async def test_a_turn_inside_a_turn_is_refused() -> None:
    """A tool cannot run a turn on the thread of its own turn, which would wait for itself."""
    async with MemoryStore() as store:
        thread = await store.thread("t")

        async def again() -> str:
            for one in (thread, await store.thread("t")):
                with pytest.raises(
                    RunStartError, match=r"inside it: .*`agent\.respond\(history\)`"
                ):
                    await agent.run("hello", thread=one)
            return "refused"

        agent = Agent(ScriptedModel([calls(("again", {})), "fine"]), tools=[again])
        result = await agent.run("hello", thread=thread)

    assert result.text == "fine"
    assert [one.role for one in result.messages] == ["user", "assistant", "tool", "assistant"]
