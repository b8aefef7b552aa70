"""Threads that end by themselves."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from foldline.errors import StoreVersionError, ThreadExistsError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.head import decode_record, encode_head
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.canaries import NOW, open_state
from tests.threads.clock import DAY, Clock, Story


SECOND = timedelta(seconds=1)


class Late(MemoryStorage):
    """A memory in which somebody is faster than the first deletion."""

    def __init__(self) -> None:
        super().__init__()
        self.faster: Callable[[], Awaitable[object]] | None = None

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        faster, self.faster = self.faster, None
        if faster is not None:
            await faster()
        return await super().delete(key, expected=expected)


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Story], None]:
    @asynccontextmanager
    async def opened(clock: Clock) -> AsyncGenerator[ThreadStore]:
        path = tmp_path / "chat.db"
        store = (
            MemoryStore(clock=clock, checkpoints="full")
            if request.param == "memory"
            else SQLiteStore(path, clock=clock, checkpoints="full")
        )
        async with store:
            yield store

    async def run(story: Story) -> None:
        clock = Clock()
        async with opened(clock) as store:
            await story(store, clock)

    return lambda story: asyncio.run(run(story))


async def ids(store: ThreadStore) -> list[str]:
    return [thread.id async for thread in store.threads()]


async def make_newer(store: ThreadStore, name: str) -> None:
    """Have a thread look as a foldline that is yet to come writes it."""
    storage, vault = store.context.storage, store.context.vault
    key = ThreadKey("default", name)
    stored = await storage.load(key)
    assert stored is not None
    known = decode_record(stored, vault).head
    head = replace(known, format=known.format + 1, revision=known.revision + 1)
    change = Change(
        id=b"12345678",
        revision=known.revision,
        epoch=head.epoch,
        head=vault.close_up(encode_head(head), "head", key.tenant, key.id, str(head.revision)),
        active_at=head.last_activity.timestamp(),
        gone_at=None if head.expires_at is None else head.expires_at.timestamp(),
    )
    await storage.commit(key, change)


def test_a_thread_lives_until_its_last_moment(tell: Callable[[Story], None]) -> None:
    """It is found until the moment of its end, and not from that moment on."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)

        assert thread.head.expires_at == NOW + DAY

        clock.now = NOW + DAY - SECOND

        assert await store.find("brief") is not None
        assert await ids(store) == ["brief"]

        clock.now = NOW + DAY

        assert await ids(store) == []
        assert await store.find("brief") is None

    tell(story)


def test_an_expired_thread_is_found_by_nothing(tell: Callable[[Story], None]) -> None:
    """No list, load, history or moment gives a thread that has expired."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        checkpointer = ThreadCheckpointer(store)
        thread = await store.thread("brief", ttl=DAY)
        await checkpointer.save(thread, open_state(thread, "note"))
        newest = (await checkpointer.history("brief"))[0].id
        clock.now = NOW + DAY

        assert await checkpointer.list_ids() == []
        assert await checkpointer.history("brief") == []
        assert await checkpointer.load_at("brief", newest) is None
        assert await checkpointer.load("brief") is None
        assert await checkpointer.prune("brief") == 0

    tell(story)


def test_the_same_id_begins_anew(tell: Callable[[Story], None]) -> None:
    """Where a thread has expired the next one of that id is empty, and has no end of its own."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        old = await store.thread("brief", ttl=DAY)
        await old.add_message(Message.user("old"))
        clock.now = NOW + DAY
        new = await store.thread("brief")

        assert (new.count, new.created_at, new.head.expires_at) == (0, NOW + DAY, None)
        with pytest.raises(ThreadNotFoundError):
            await old.add_message(Message.user("late"))

    tell(story)


def test_a_ttl_is_for_threads_that_are_made(tell: Callable[[Story], None]) -> None:
    """Asking again with another ttl does not change when a thread ends."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        await store.thread("brief", ttl=DAY)
        again = await store.thread("brief", ttl=100 * DAY)

        assert again.head.expires_at == NOW + DAY

    tell(story)


def test_writing_does_not_prolong(tell: Callable[[Story], None]) -> None:
    """A thread ends when it was said to end, however busy it is."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)
        clock.now = NOW + DAY - SECOND
        await thread.add_message(Message.user("hello"))
        clock.now = NOW + DAY

        assert await store.find("brief") is None

    tell(story)


def test_a_thread_can_be_prolonged(tell: Callable[[Story], None]) -> None:
    """A later end, and none at all, keep every message."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)
        await thread.add_message(Message.user("hello"))
        await thread.set_expiry(NOW + 3 * DAY)
        clock.now = NOW + 2 * DAY

        assert await store.purge_expired() == 0

        found = await store.find("brief")

        assert found is not None
        assert found.head.expires_at == NOW + 3 * DAY

        await found.set_expiry(None)
        clock.now = NOW + 1000 * DAY

        assert await store.purge_expired() == 0
        assert await ids(store) == ["brief"]
        assert [one.text for one in await found.get_messages()] == ["hello"]

    tell(story)


def test_purge_deletes_what_has_expired_of_every_tenant(tell: Callable[[Story], None]) -> None:
    """It counts what it deletes, leaves all else, and finds nothing the second time."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        for tenant in ("acme", "default"):
            for number in range(4):
                ttl = DAY if number % 2 else None
                await store.thread(f"t{number}", tenant=tenant, ttl=ttl)
        clock.now = NOW + 2 * DAY

        assert await store.purge_expired() == 4
        assert await store.purge_expired() == 0
        assert await ids(store) == ["t0", "t2"]
        assert await store.tenants() == ["acme", "default"]

    tell(story)


def test_more_than_a_page_is_purged(tell: Callable[[Story], None]) -> None:
    """Every expired thread goes where there are more than one reading gives."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        await asyncio.gather(*(store.thread(f"t{number:03}", ttl=DAY) for number in range(205)))
        await store.thread("z")
        clock.now = NOW + DAY

        assert await store.purge_expired() == 205
        assert await ids(store) == ["z"]

    tell(story)


def test_a_fork_outlives_the_thread_it_shares_with(tell: Callable[[Story], None]) -> None:
    """When the original has expired and is purged, the fork has all shared messages."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)
        await thread.add_messages([Message.user("one"), Message.assistant("two")])
        fork = await thread.fork("fork")
        await fork.set_expiry(None)
        clock.now = NOW + 2 * DAY

        assert await store.purge_expired() == 1
        assert [one.text for one in await fork.get_messages()] == ["one", "two"]

    tell(story)


def test_clearing_keeps_the_end(tell: Callable[[Story], None]) -> None:
    """A cleared thread still ends when it was said to."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)
        await thread.clear()

        assert thread.head.expires_at == NOW + DAY

        clock.now = NOW + DAY

        assert await store.find("brief") is None

    tell(story)


def test_an_old_object_cannot_bring_a_purged_thread_back(tell: Callable[[Story], None]) -> None:
    """Writing, prolonging and refreshing through an object from before are refused."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        old = await store.thread("brief", ttl=DAY)
        clock.now = NOW + DAY
        await store.purge_expired()

        with pytest.raises(ThreadNotFoundError):
            await old.set_expiry(None)
        with pytest.raises(ThreadNotFoundError):
            await old.append([Message.user("late")])
        with pytest.raises(ThreadNotFoundError):
            await old.refresh()
        assert await ids(store) == []

    tell(story)


def test_inactive_threads_are_deleted(tell: Callable[[Story], None]) -> None:
    """A dry run counts and keeps, a real one counts and deletes, and active threads stay."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        await store.thread("idle")
        await store.thread("idle", tenant="acme")
        clock.now = NOW + 10 * DAY
        await store.thread("busy")

        assert await store.delete_inactive(5 * DAY, dry_run=True) == 1
        assert await ids(store) == ["busy", "idle"]
        assert await store.delete_inactive(5 * DAY) == 1
        assert await ids(store) == ["busy"]
        assert await store.delete_inactive(5 * DAY) == 0
        assert await store.find("idle", tenant="acme") is not None

    tell(story)


def test_a_newer_thread_stops_no_other(
    tell: Callable[[Story], None], caplog: pytest.LogCaptureFixture
) -> None:
    """One that a newer foldline wrote is passed over and stays, and all others are listed and go."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        for name in "abc":
            await store.thread(name, ttl=DAY)
        await make_newer(store, "b")

        assert await ids(store) == ["a", "c"]

        clock.now = NOW + 2 * DAY

        assert await store.delete_inactive(DAY, dry_run=True) == 2
        assert await store.purge_expired() == 2
        left = await store.context.storage.threads("default")
        assert [stored.key.id for stored in left] == ["b"]
        with pytest.raises(StoreVersionError):
            await store.find("b")

    with caplog.at_level(logging.WARNING, logger="foldline"):
        tell(story)

    assert {one.getMessage() for one in caplog.records} == {
        "thread 'b' was written by a newer foldline and is skipped: upgrade foldline"
    }


def test_looking_deletes_nothing(tell: Callable[[Story], None]) -> None:
    """Whose clock is ahead sees no thread, and who asks with the right time finds it whole."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)
        await thread.add_message(Message.user("kept"))
        clock.now = NOW + 2 * DAY

        assert await store.find("brief") is None

        clock.now = NOW
        found = await store.find("brief")

        assert found is not None
        assert found.count == 1

    tell(story)


def test_an_expired_thread_makes_room(tell: Callable[[Story], None]) -> None:
    """Where its id is wanted again, new or from a snapshot, the expired one goes."""

    async def story(store: ThreadStore, clock: Clock) -> None:
        thread = await store.thread("brief", ttl=DAY)
        await thread.add_message(Message.user("gone"))
        snapshot = await thread.to_snapshot()
        clock.now = NOW + 2 * DAY

        assert (await store.thread("brief", ttl=DAY)).count == 0

        clock.now = NOW + 4 * DAY

        assert (await store.restore(snapshot)).count == 1

    tell(story)


@pytest.mark.parametrize("way", ["thread", "restore", "purge"])
def test_a_thread_made_meanwhile_is_not_deleted(way: str) -> None:
    """What took the place of an expired thread stays, though it has come to the same revision."""

    async def run() -> None:
        clock, storage = Clock(), Late()
        store = ThreadStore(storage, clock=clock)
        source = await store.thread("source", ttl=2 * DAY)
        await source.fork("x")
        kept = await store.thread("kept")
        await kept.add_message(Message.user("precious"))
        snapshot = await kept.to_snapshot()
        clock.now = NOW + 3 * DAY
        await store.delete("source")
        storage.faster = lambda: store.restore(snapshot, thread_id="x")
        match way:
            case "thread":
                await store.thread("x")
            case "restore":
                with pytest.raises(ThreadExistsError):
                    await store.restore(snapshot, thread_id="x")
            case _:
                assert await store.purge_expired() == 0
        found = await store.find("x")

        assert found is not None
        assert [one.text for one in await found.get_messages()] == ["precious"]

    asyncio.run(run())
