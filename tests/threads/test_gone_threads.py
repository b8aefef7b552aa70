"""Objects of threads that somebody else has deleted, made again, let expire or cleared."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta, tzinfo

import pytest

from foldline.errors import FoldlineError, ThreadConflictError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import open_state, reduction_of
from tests.threads.clock import DAY, Clock
from tests.threads.watched import Watched


MESSAGES = [Message.user(f"message {number}") for number in range(5)]
LATE = [Message.user("late")]


async def made(store: ThreadStore, name: str) -> ConversationThread:
    """Return a thread with five messages, a reduction, a checkpoint, and an open run that waits."""
    thread = await store.thread(name)
    await thread.set_metadata({"secret": "kept"}, display_name="Name")
    await thread.add_messages(MESSAGES)
    await thread.save_reduction(reduction_of(MESSAGES, 1, f"one of {name}"))
    await thread.commit(
        Change(execution=open_state(thread, "note"), tools=[ToolRun(call_id="c", name="n")])
    )
    return thread


async def delete(store: ThreadStore, clock: Clock, name: str) -> None:
    clock.now += DAY
    await store.delete(name)


async def make_anew(store: ThreadStore, clock: Clock, name: str) -> None:
    await delete(store, clock, name)
    await made(store, name)


async def make_another(store: ThreadStore, clock: Clock, name: str) -> None:
    await delete(store, clock, name)
    await store.thread(name)


async def expire(store: ThreadStore, clock: Clock, name: str) -> None:
    thread = await store.find(name)
    assert thread is not None
    await thread.set_expiry(clock.now + DAY)
    clock.now += DAY


async def purge(store: ThreadStore, clock: Clock, name: str) -> None:
    await expire(store, clock, name)
    assert await store.purge_expired() == 1


async def clear(store: ThreadStore, _: Clock, name: str) -> None:
    thread = await store.find(name)
    assert thread is not None
    await thread.clear()


Way = Callable[[ThreadStore, Clock, str], Awaitable[None]]

WAYS: dict[Way, type[FoldlineError]] = {
    delete: ThreadNotFoundError,
    make_anew: ThreadNotFoundError,
    make_another: ThreadNotFoundError,
    expire: ThreadNotFoundError,
    purge: ThreadNotFoundError,
    clear: ThreadConflictError,
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
async def test_what_is_gone_is_not_forked(any_store: ThreadStore, clock: Clock, way: Way) -> None:
    """
    An object of a deleted, expired or cleared thread forks nothing, though a fork keeps the rows.
    """
    old = await made(any_store, "t")
    forks = [await old.fork("first"), await old.fork("second", at=3)]
    await way(any_store, clock, "t")

    for at in (0, 3, None):
        with pytest.raises(WAYS[way], match="'t'"):
            await old.fork("late", at=at)
    assert await any_store.find("late") is None
    assert [await fork.get_messages() for fork in forks] == [MESSAGES, MESSAGES[:3]]


async def test_a_fork_of_what_is_gone_can_be_forked(any_store: ThreadStore, clock: Clock) -> None:
    """A fork whose source was deleted or cleared is forked again, at any message."""
    for way in (delete, clear):
        thread = await made(any_store, way.__name__)
        fork = await thread.fork(f"{way.__name__}-fork", at=3)
        await way(any_store, clock, thread.id)
        for at in (0, 2, 3):
            further = await fork.fork(f"{way.__name__}-{at}", at=at)

            assert await further.get_messages() == MESSAGES[:at]


Write = Callable[[ConversationThread], Awaitable[object]]

WRITES: dict[str, Write] = {
    "abandon_run": lambda thread: thread.abandon_run(),
    "add_messages": lambda thread: thread.add_messages(LATE),
    "answer_tool": lambda thread: thread.answer_tool("c", "it ran"),
    "append": lambda thread: thread.append(LATE),
    "clear": lambda thread: thread.clear(),
    "commit": lambda thread: thread.commit(Change(messages=LATE, expected=thread.head.revision)),
    "edit": lambda thread: thread.edit(1, LATE[0]),
    "pin": lambda thread: thread.pin(0),
    "prune": lambda thread: thread.commit(Change(drop=[("checkpoint", "1")], keeps=())),
    "pop": lambda thread: thread.pop(),
    "replace": lambda thread: thread.replace(LATE),
    "rewind": lambda thread: thread.rewind(2),
    "save_reduction": lambda thread: thread.save_reduction(reduction_of(MESSAGES, 2, "two")),
    "set_expiry": lambda thread: thread.set_expiry(thread.created_at + 9 * DAY),
    "set_metadata": lambda thread: thread.set_metadata({"late": True}),
    "undo_reduction": lambda thread: thread.undo_reduction(),
}


@pytest.mark.parametrize(
    "way", [delete, make_anew, pytest.param(make_another, marks=pytest.mark.slow)]
)
async def test_a_write_to_what_is_gone_changes_nothing(
    any_store: ThreadStore, clock: Clock, way: Way
) -> None:
    """
    No object of a deleted thread writes into the one made again, at the same revision or another.
    """
    for name, write in WRITES.items():
        old = await made(any_store, name)
        await way(any_store, clock, name)
        found = await any_store.find(name)
        before = None if found is None else await found.to_snapshot()
        # The second attempt finds the object where the first has left it.
        for _ in range(2):
            with pytest.raises(ThreadNotFoundError, match=f"'{name}'"):
                await write(old)
        found = await any_store.find(name)

        assert (None if found is None else await found.to_snapshot()) == before


async def test_a_refresh_goes_on_with_the_thread_made_anew(
    any_store: ThreadStore, clock: Clock
) -> None:
    """An object of a deleted thread that is refreshed shows the one made again, and writes to it."""
    old = await made(any_store, "t")
    await make_another(any_store, clock, "t")
    await old.refresh()
    await old.append(LATE)
    found = await any_store.find("t")

    assert found is not None
    assert await old.get_messages() == await found.get_messages() == LATE


async def test_an_append_goes_on_behind_what_was_cleared(
    any_store: ThreadStore, clock: Clock
) -> None:
    """
    A thread that was cleared is the same one, so that an append lands behind what is said since.
    """
    old = await made(any_store, "t")
    clock.now += timedelta(hours=1)
    await clear(any_store, clock, "t")
    await old.append(LATE)

    assert await old.get_messages() == LATE


@pytest.mark.parametrize("name", ["append", "save_reduction"])
async def test_a_write_is_not_repeated_in_a_thread_made_anew(name: str) -> None:
    """
    Where a thread goes between a conflict and the look at it, the write is not made in the new one.
    """
    clock, storage = Clock(), Watched()
    store = ThreadStore(storage, clock=clock)
    old = await made(store, "t")
    other = await store.find("t")
    assert other is not None
    await other.set_metadata({"note": "a commit that both go on behind"})
    # The first read finds the conflict, the second one what to go on behind.
    storage.loads, storage.act = 2, lambda: make_anew(store, clock, "t")
    for _ in range(2):
        with pytest.raises(ThreadNotFoundError, match="'t'"):
            await WRITES[name](old)
    found = await store.find("t")

    assert found is not None
    assert await found.get_messages() == MESSAGES
    assert len(await found.reductions()) == 1


class Twice(tzinfo):
    """A zone in the hour that comes twice."""

    def utcoffset(self, moment: datetime | None) -> timedelta:
        return timedelta(hours=1 if moment is not None and moment.fold else 2)

    def dst(self, moment: datetime | None) -> timedelta:
        return self.utcoffset(moment) - timedelta(hours=1)

    def tzname(self, moment: datetime | None) -> str:
        return "twice"

    def fromutc(self, moment: datetime) -> datetime:
        return moment + timedelta(hours=2)


async def test_a_thread_is_the_same_in_an_hour_that_comes_twice() -> None:
    """A clock may tell local time, of which Python calls nothing equal in that hour: nobody is gone."""
    moment = datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
    store = MemoryStore(clock=lambda: moment.astimezone(Twice()))
    thread = await store.thread("t")
    other = await store.find("t")
    assert other is not None
    await other.add_message(Message.user("other"))
    await thread.append(LATE)
    assert thread.count == 2
