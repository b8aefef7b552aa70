"""What is deleted leaves nothing behind, in any byte of any file."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from foldline.errors import ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.canaries import (
    PLACES,
    UNSHARED,
    all_secrets,
    found_in,
    hide,
    secrets_at,
)


SHARED = tuple(place for place in PLACES if place not in UNSHARED)

Story = Callable[[SQLiteStore, Path], Awaitable[None]]


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def tell(tmp_path: Path, story: Story, *, checkpoints: CheckpointRetention = "latest") -> bytes:
    async def run() -> None:
        async with SQLiteStore(tmp_path / "chat.db", checkpoints=checkpoints) as store:
            await story(store, tmp_path)

    asyncio.run(run())
    return raw(tmp_path)


def stores(tmp_path: Path) -> list[ThreadStore]:
    return [MemoryStore(), SQLiteStore(tmp_path / "chat.db")]


def test_the_search_has_teeth(tmp_path: Path) -> None:
    """Before anything is deleted all secrets of all places lie in the files."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        await hide(store)
        current = [place for place in PLACES if not place.startswith(("replaced", "undone"))]

        assert set(all_secrets(current)) <= set(found_in(raw(folder)))

    tell(tmp_path, story)


@pytest.mark.parametrize("checkpoints", ["latest", "full"])
def test_delete_leaves_no_byte(tmp_path: Path, checkpoints: CheckpointRetention) -> None:
    """As soon as the thread is deleted no secret is in the file, its log or its index."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        await hide(store)

        assert await store.delete("hidden")
        assert found_in(raw(folder)) == []

    assert found_in(tell(tmp_path, story, checkpoints=checkpoints)) == []


@pytest.mark.parametrize("checkpoints", ["latest", "full"])
def test_clear_leaves_no_byte(tmp_path: Path, checkpoints: CheckpointRetention) -> None:
    """As soon as the thread is cleared no secret is in the file, its log or its index."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        thread = await hide(store)
        await thread.clear()

        assert found_in(raw(folder)) == []

    assert found_in(tell(tmp_path, story, checkpoints=checkpoints)) == []


def test_expiry_leaves_no_byte(tmp_path: Path) -> None:
    """A thread that has expired leaves nothing once it is purged."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        thread = await hide(store)
        await thread.set_expiry(thread.created_at)

        assert await store.purge_expired() == 1
        assert found_in(raw(folder)) == []

    tell(tmp_path, story)


@pytest.mark.parametrize("way", ["delete", "clear"])
def test_a_neighbour_keeps_every_word(tmp_path: Path, way: str) -> None:
    """What is deleted takes nothing of another thread in the same file along."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        thread = await hide(store)
        other = await store.thread("other")
        said = [Message.user(f"neighbour {number} {'x' * 3000}") for number in range(30)]
        await other.add_messages(said)
        await other.search("neighbour")
        await (store.delete("hidden") if way == "delete" else thread.clear())

        assert await other.get_messages() == said
        assert len(await other.search("neighbour", limit=50)) == 30
        assert found_in(raw(folder)) == []

    tell(tmp_path, story)


@pytest.mark.parametrize("way", ["delete", "clear"])
def test_what_a_fork_shares_stays_and_nothing_else(tmp_path: Path, way: str) -> None:
    """Beside a fork exactly the shared messages stay; with the fork they go too."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        thread = await hide(store)
        fork = await thread.fork("fork", at=6)
        await fork.set_metadata({}, display_name="kept")
        await fork.undo_reduction()
        await (store.delete("hidden") if way == "delete" else thread.clear())

        assert set(found_in(raw(folder))) == set(all_secrets(SHARED))
        assert len(await fork.get_messages()) == 7

        await store.delete("fork")

        assert found_in(raw(folder)) == []

    tell(tmp_path, story)


@pytest.mark.parametrize("way", ["delete", "clear"])
def test_a_fork_of_a_fork_keeps_what_it_shares(tmp_path: Path, way: str) -> None:
    """The middle of three threads goes without a trace, and the other two lose nothing."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        first = await store.thread("first")
        await first.add_messages([Message.user("one"), Message.assistant("two")])
        middle = await first.fork("middle")
        await middle.add_messages([Message.user("three"), Message.user(secrets_at("user"))])
        last = await middle.fork("last", at=3)
        await last.add_message(Message.assistant("four"))
        await (store.delete("middle") if way == "delete" else middle.clear())

        assert found_in(raw(folder)) == []
        assert [one.text for one in await last.get_messages()] == ["one", "two", "three", "four"]
        assert [one.text for one in await first.get_messages()] == ["one", "two"]

    tell(tmp_path, story)


def test_an_open_reader_does_not_keep_what_was_deleted(tmp_path: Path) -> None:
    """A second store on the same file, which has read the thread, holds nothing back."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        await hide(store)
        async with SQLiteStore(folder / "chat.db") as second:
            thread = await second.find("hidden")

            assert thread is not None
            assert len(await thread.get_messages()) == 9

            await store.delete("hidden")

            assert found_in(raw(folder)) == []
            with pytest.raises(ThreadNotFoundError):
                await thread.refresh()

    tell(tmp_path, story)


def test_a_deletion_that_was_cancelled_is_finished_by_the_next(tmp_path: Path) -> None:
    """Where the thread is gone already, deleting it again takes its bytes out of the log too."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        await hide(store)
        deleting = asyncio.create_task(store.delete("hidden"))
        await asyncio.sleep(0)
        deleting.cancel()
        await asyncio.wait([deleting])

        assert deleting.cancelled()

        await store.delete("hidden")

        assert await store.find("hidden") is None
        assert found_in(raw(folder)) == []

    tell(tmp_path, story)


def test_many_threads_are_deleted_one_by_one(tmp_path: Path) -> None:
    """After each of 12 deletions the secrets of that thread are gone and the others can be read."""

    async def story(store: SQLiteStore, folder: Path) -> None:
        for number in range(12):
            thread = await store.thread(f"t{number}")
            await thread.add_messages(
                [Message.user(f"own{number:04}word {'y' * 500}") for _ in range(20)]
            )
            await thread.search("own")
        for number in range(12):
            await store.delete(f"t{number}")
            data = raw(folder)

            assert f"own{number:04}word".encode() not in data
            for later in range(number + 1, 12):
                left = await store.find(f"t{later}")

                assert left is not None
                assert len(await left.get_messages()) == 20

    tell(tmp_path, story)


def test_a_thread_made_again_is_empty(tmp_path: Path) -> None:
    """After deletion the same id names a thread without messages, names, states or checkpoints."""

    async def check(store: ThreadStore) -> None:
        async with store:
            old = await hide(store)
            await store.delete("hidden")
            new = await store.thread("hidden")

            assert (new.count, new.head.archived, new.display_name, dict(new.metadata)) == (
                0,
                0,
                "",
                {},
            )
            assert new.execution_state is None
            assert new.last_reduction is None
            assert new.pending_tools == ()
            assert await new.reductions() == []
            assert await new.get_messages() == []
            assert await new.search("the") == []
            with pytest.raises(ThreadNotFoundError):
                await old.add_message(Message.user("late"))
            assert (await new.get_messages()) == []

    for store in stores(tmp_path):
        asyncio.run(check(store))


@pytest.mark.parametrize("way", ["append", "rewind"])
def test_a_thread_made_again_is_not_changed_by_an_old_object(tmp_path: Path, way: str) -> None:
    """Who still holds the deleted thread of an id changes nothing of the one made again."""

    async def check(store: ThreadStore) -> None:
        async with store:
            old = await store.thread("one")
            for number in range(10):
                await old.add_message(Message.user(f"old {number}"))
            fork = await old.fork("fork", at=5)
            before = await fork.get_messages()
            await store.delete("one")
            new = await store.thread("one")
            said = [Message.user(f"new {number}") for number in range(10)]
            for message in said:
                await new.add_message(message)

            assert new.head.revision == old.head.revision
            with pytest.raises(ThreadNotFoundError):
                await (old.add_message(Message.user("late")) if way == "append" else old.rewind(3))
            found = await store.find("one")

            assert found is not None
            assert await found.get_messages() == said
            assert await fork.get_messages() == before

    for store in stores(tmp_path):
        asyncio.run(check(store))


def test_a_cleared_thread_is_empty_and_goes_on(tmp_path: Path) -> None:
    """After clearing, the thread keeps its id and its time, holds nothing, and grows again."""

    async def check(store: ThreadStore) -> None:
        async with store:
            thread = await hide(store)
            created_at = thread.created_at
            await thread.clear()

            assert (thread.count, thread.display_name, dict(thread.metadata)) == (0, "", {})
            assert thread.execution_state is None
            assert thread.last_reduction is None
            assert thread.pending_tools == ()
            assert await thread.reductions() == []
            assert await thread.search("the") == []

            await thread.add_message(Message.user("the new beginning"))
            found = await store.find("hidden")

            assert found is not None
            assert found.created_at == created_at
            assert [one.text for one in await found.get_messages()] == ["the new beginning"]
            assert [match.number for match in await found.search("the")] == [0]

    for store in stores(tmp_path):
        asyncio.run(check(store))


def test_nothing_of_a_deleted_thread_can_be_reached(tmp_path: Path) -> None:
    """Neither list, tenants, snapshots nor an old object bring back what was deleted."""

    async def check(store: ThreadStore) -> None:
        async with store:
            old = await hide(store)
            await store.delete("hidden")

            assert await store.find("hidden") is None
            assert [thread.id async for thread in store.threads()] == []
            assert await store.tenants() == []
            assert not await store.delete("hidden")
            with pytest.raises(ThreadNotFoundError):
                await old.to_snapshot()
            with pytest.raises(ThreadNotFoundError):
                await old.search("the")
            with pytest.raises(ThreadNotFoundError):
                await old.fork("back")
            assert await store.find("back") is None

    for store in stores(tmp_path):
        asyncio.run(check(store))


def test_memory_keeps_no_rows_of_what_was_deleted() -> None:
    """In memory nothing refers to the rows of a deleted thread any more."""

    async def check() -> None:
        store = MemoryStore()
        async with store:
            thread = await hide(store)
            await thread.fork("fork", at=3)
            await store.delete("hidden")
            await store.delete("fork")

            assert vars(store.context.storage) == {"_threads": {}}

    asyncio.run(check())
