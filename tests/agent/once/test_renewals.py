"""While a model or a tool takes long, the lease of a turn is renewed, or taken again."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foldline import Agent
from foldline.agent.hold import Hold
from foldline.errors import ThreadConflictError, TurnRunningError
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.lease import NOBODY, Lease
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from tests.agent.once.gated import ON_EVERY_STORE, GatedModel
from tests.passing import let_pass


class Beating(MemoryStorage):
    """A storage that says when a lease is renewed; none runs out, however slow the machine is."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0.0)
        self.held: list[Lease] = []
        self.beat = asyncio.Event()

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Renew, and note it."""
        self.held.append(lease)
        self.beat.set()
        return await super().hold(key, lease)


async def test_a_slow_model_keeps_its_lease() -> None:
    """While a model is asked the lease is renewed, and at the end the last commit gives it back."""
    storage, model = Beating(), GatedModel()
    store, agent = ThreadStore(storage, turn_lease=0.06), Agent(model)
    async with store, asyncio.TaskGroup() as group:
        thread = await store.thread("t")
        first = group.create_task(agent.run("hello", thread=thread))
        for _ in range(3):
            await storage.beat.wait()
            storage.beat.clear()
        model.gate.set()
        await first
        beats = len(storage.held)
        fresh = await store.thread("t")

    assert beats >= 3
    assert {one.seconds for one in storage.held} == {0.06}
    assert fresh.lease is None


async def _other_tasks() -> None:
    """Let other tasks make a commit in memory, if they want to."""
    for _ in range(100):
        await asyncio.sleep(0)


class Stalled(Beating):
    """A storage whose leases run out before one is renewed first, since everything stood still."""

    def __init__(self) -> None:
        super().__init__()
        self.stands = True
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.now = 0.0
        self._clock = lambda: self.now
        self.taken: list[str] = []
        self.refused = asyncio.Event()

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Come too late the first time, after what others have done."""
        is_late, self.stands = self.stands, False
        if is_late:
            self.now += 2 * lease.seconds
            if self.meanwhile is not None:
                await self.meanwhile()
        return await super().hold(key, lease)

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Note who takes a lease, and what is refused."""
        try:
            await super().commit(key, change)
        except ThreadConflictError:
            self.refused.set()
            raise
        if change.lease is not None:
            self.taken.append(change.lease.holder)


@ON_EVERY_STORE
async def test_who_stood_still_takes_its_lease_again(store: ThreadStore) -> None:
    """A lease that ran out in a model call, and that nobody else took, keeps a second click out."""
    model = GatedModel()
    agent = Agent(model)
    async with store, asyncio.TaskGroup() as group:
        first = group.create_task(agent.run("hello", thread=await store.thread("t"), turn_id="id"))
        await model.asked.wait()
        thread = await store.thread("t")
        assert thread.lease is not None
        # What a stall leaves: the time of the lease is over, and a sign of life is due.
        assert await thread.hold(Lease(thread.lease.holder, NOBODY.seconds))
        let_pass(store.context.turn_lease)
        async with asyncio.timeout(30):
            while (again := await store.thread("t")).lease is None:
                await _other_tasks()
        with pytest.raises(TurnRunningError):
            await agent.run("hello", thread=again, turn_id="id", on_conflict="error")
        model.gate.set()
        await first
        left = (await store.thread("t")).lease

    assert (len(model.requests), left) == (1, None)


async def test_who_stood_still_takes_no_lease_from_others() -> None:
    """If another worker has taken the turn over meanwhile, and ended it, the lease stays given back."""
    storage, slow, other = Stalled(), GatedModel(), Agent(ScriptedModel(["fine"]))
    store = ThreadStore(storage, turn_lease=0.06)

    async def take_over() -> None:
        await other.run("hello", thread=await store.thread("t"), turn_id="id")
        # Somebody looks at the thread through the object of the turn.
        await thread.refresh()

    async with store, asyncio.TaskGroup() as group:
        thread = await store.thread("t")
        storage.meanwhile = take_over
        first = group.create_task(Agent(slow).run("hello", thread=thread, turn_id="id"))
        # The second sign of life comes after all that the first one led to.
        for _ in range(2):
            await storage.beat.wait()
            storage.beat.clear()
        await _other_tasks()
        left = (await store.thread("t")).lease
        slow.gate.set()
        result = await first

    assert (result.text, left, len(storage.taken)) == ("fine", None, 3)


async def test_a_lease_that_was_given_back_is_not_taken_again() -> None:
    """Between the commit that ends a turn and the end of its context nobody has the thread."""
    storage = Beating()
    async with ThreadStore(storage, turn_lease=0.06) as store:
        thread = await store.thread("t")
        async with Hold(thread, "holder") as hold:
            for lease in (hold.lease, hold.last_lease):
                await thread.commit(Change(lease=lease))
                hold.renewed(lease)
            await storage.beat.wait()
            await _other_tasks()
            left = (await store.thread("t")).lease

    assert left is None


async def test_a_late_sign_of_life_is_not_the_last() -> None:
    """If others have written by then, the next commit of the turn takes its lease, and it is renewed."""
    storage, model = Stalled(), GatedModel()

    async def wait() -> str:
        await storage.refused.wait()
        storage.beat.clear()
        return "late"

    async def name() -> None:
        await (await store.thread("t")).set_metadata(display_name="A name")

    storage.meanwhile = name
    asks = ScriptedModel([calls(("wait", {})), model.respond])
    store, agent = ThreadStore(storage, turn_lease=0.06), Agent(asks, tools=[wait])
    async with store, asyncio.TaskGroup() as group:
        first = group.create_task(agent.run("hello", thread=await store.thread("t")))
        await model.asked.wait()
        await storage.beat.wait()
        model.gate.set()
        await first

    assert len(storage.held) >= 2
