"""Threads that end by themselves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
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
from foldline.threads.stores.memory import MemoryStorage
from tests.threads.canaries import NOW, open_state
from tests.threads.clock import DAY, Clock
from tests.threads.stores_by_name import store_by_name


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
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ThreadStore:
    """Return a store that keeps every checkpoint."""
    return store_by_name(request, tmp_path, clock, checkpoints="full")


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


async def _ask_again(store: ThreadStore) -> None:
    await store.thread("brief", ttl=100 * DAY)


async def _write(store: ThreadStore) -> None:
    await (await store.thread("brief")).add_message(Message.user("hello"))


async def _clear(store: ThreadStore) -> None:
    await (await store.thread("brief")).clear()


@pytest.mark.parametrize("deed", [_ask_again, _write, _clear])
async def test_a_thread_lives_until_its_last_moment(
    store: ThreadStore, clock: Clock, deed: Callable[[ThreadStore], Awaitable[None]]
) -> None:
    """It is found until the moment of its end and not from then on, whatever is done with it."""
    thread = await store.thread("brief", ttl=DAY)
    clock.now = NOW + DAY - SECOND
    await deed(store)
    found = await store.find("brief")

    assert found is not None
    assert found.head.expires_at == thread.head.expires_at == NOW + DAY
    assert await ids(store) == ["brief"]

    clock.now = NOW + DAY

    assert await ids(store) == []
    assert await store.find("brief") is None


async def test_an_expired_thread_is_found_by_nothing(store: ThreadStore, clock: Clock) -> None:
    """No list, load, history or moment gives a thread that has expired."""
    checkpointer = ThreadCheckpointer(store)
    thread = await store.thread("brief", ttl=DAY)
    await checkpointer.save(thread, open_state(thread, "note"))
    newest = (await checkpointer.history("brief"))[0].id
    clock.now = NOW + DAY

    assert await ids(store) == []
    assert await checkpointer.history("brief") == []
    assert await checkpointer.load_at("brief", newest) is None
    assert await checkpointer.load("brief") is None
    assert await checkpointer.prune("brief") == 0


@pytest.mark.parametrize("way", ["message", "no expiry"])
async def test_nothing_is_written_to_an_expired_thread(
    store: ThreadStore, clock: Clock, way: str
) -> None:
    """A thread that has expired takes no message and is not revived, though nobody purged it."""
    thread = await store.thread("brief", ttl=DAY)
    clock.now = NOW + DAY

    with pytest.raises(ThreadNotFoundError):
        await (
            thread.set_expiry(None)
            if way == "no expiry"
            else thread.add_message(Message.user("late"))
        )
    assert await store.purge_expired() == 1


async def test_a_thread_can_be_prolonged(store: ThreadStore, clock: Clock) -> None:
    """A later end, and none at all, keep every message."""
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


async def test_purge_deletes_what_has_expired_of_every_tenant(
    store: ThreadStore, clock: Clock
) -> None:
    """It counts what it deletes, leaves all else, and finds nothing the second time."""
    for tenant in ("acme", "default"):
        for number in range(4):
            ttl = DAY if number % 2 else None
            await store.thread(f"t{number}", tenant=tenant, ttl=ttl)
    clock.now = NOW + 2 * DAY

    assert await store.purge_expired() == 4
    assert await store.purge_expired() == 0
    assert await ids(store) == ["t0", "t2"]
    assert await store.tenants() == ["acme", "default"]


async def test_more_than_a_page_is_purged(store: ThreadStore, clock: Clock) -> None:
    """Every expired thread goes where there are more than one reading gives."""
    await asyncio.gather(*(store.thread(f"t{number:03}", ttl=DAY) for number in range(205)))
    await store.thread("z")
    clock.now = NOW + DAY

    assert await store.purge_expired() == 205
    assert await ids(store) == ["z"]


async def test_inactive_threads_are_deleted(store: ThreadStore, clock: Clock) -> None:
    """A dry run counts and keeps, a real one counts and deletes, and active threads stay."""
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


async def test_a_newer_thread_stops_no_other(
    store: ThreadStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """One that a newer foldline wrote is passed over and stays, and all others are listed and go."""
    caplog.set_level(logging.WARNING, logger="foldline")
    for name in "abc":
        await store.thread(name, ttl=DAY)
    await make_newer(store, "b")

    assert await ids(store) == ["a", "c"]
    assert [one.id for one in (await store.latest()).threads] == ["c", "a"]

    clock.now = NOW + 2 * DAY

    assert await store.delete_inactive(DAY, dry_run=True) == 2
    assert await store.purge_expired() == 2
    left = await store.context.storage.threads("default")
    assert [stored.key.id for stored in left] == ["b"]
    with pytest.raises(StoreVersionError):
        await store.find("b")
    assert {one.getMessage() for one in caplog.records} == {
        "thread 'b' was written by a newer foldline and is skipped: upgrade foldline"
    }
    assert await store.delete_tenant("default") == 1


async def test_looking_deletes_nothing(store: ThreadStore, clock: Clock) -> None:
    """Whose clock is ahead sees no thread, and who asks with the right time finds it whole."""
    thread = await store.thread("brief", ttl=DAY)
    await thread.add_message(Message.user("kept"))
    clock.now = NOW + 2 * DAY

    assert await store.find("brief") is None

    clock.now = NOW
    found = await store.find("brief")

    assert found is not None
    assert found.count == 1


async def test_an_expired_thread_makes_room(store: ThreadStore, clock: Clock) -> None:
    """Where its id is wanted again, new or from a snapshot, the expired one goes."""
    old = await store.thread("brief", ttl=DAY)
    await old.add_message(Message.user("gone"))
    snapshot = await old.to_snapshot()
    clock.now = NOW + 2 * DAY
    new = await store.thread("brief")

    assert (new.count, new.created_at, new.head.expires_at) == (0, NOW + 2 * DAY, None)
    with pytest.raises(ThreadNotFoundError):
        await old.add_message(Message.user("late"))

    await new.set_expiry(NOW + 3 * DAY)
    clock.now = NOW + 4 * DAY

    assert (await store.restore(snapshot)).count == 1


@pytest.mark.parametrize("way", ["thread", "restore", "purge"])
async def test_a_thread_made_meanwhile_is_not_deleted(way: str) -> None:
    """What took the place of an expired thread stays, though it has come to the same revision."""
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
