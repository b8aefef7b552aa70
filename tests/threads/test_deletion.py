"""What is deleted leaves nothing behind, in any byte of any file."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from foldline.errors import ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import PLACES, UNSHARED, all_secrets, found_in, hide


SHARED = tuple(place for place in PLACES if place not in UNSHARED)

Way = Callable[[ThreadStore, ConversationThread], Awaitable[object]]


async def delete(store: ThreadStore, thread: ConversationThread) -> None:
    assert await store.delete(thread.id)


async def clear(_: ThreadStore, thread: ConversationThread) -> None:
    await thread.clear()


async def purge(store: ThreadStore, thread: ConversationThread) -> None:
    await thread.set_expiry(thread.created_at)
    assert await store.purge_expired() == 1


@pytest.fixture
def file_store(tmp_path: Path) -> SQLiteStore:
    """Return a store whose folder holds nothing else."""
    return SQLiteStore(tmp_path / "chat.db")


def raw(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


async def test_the_search_has_teeth(file_store: SQLiteStore, tmp_path: Path) -> None:
    """Before anything is deleted all secrets of all places lie in the files."""
    await hide(file_store)
    current = [place for place in PLACES if not place.startswith(("replaced", "undone"))]

    assert set(all_secrets(current)) <= set(found_in(raw(tmp_path)))


@pytest.mark.parametrize(
    ("way", "checkpoints"),
    [(delete, "latest"), (delete, "full"), (clear, "latest"), (clear, "full"), (purge, "latest")],
)
async def test_nothing_leaves_a_byte(
    tmp_path: Path, way: Way, checkpoints: CheckpointRetention
) -> None:
    """As soon as a thread is deleted, cleared or purged no secret is in the file or its log."""
    async with SQLiteStore(tmp_path / "chat.db", checkpoints=checkpoints) as store:
        await way(store, await hide(store))

        assert found_in(raw(tmp_path)) == []

    assert found_in(raw(tmp_path)) == []


@pytest.mark.parametrize("checkpoints", ["latest", "full"])
async def test_a_prune_leaves_no_byte_of_what_was_replaced(
    tmp_path: Path, checkpoints: CheckpointRetention
) -> None:
    """Once no checkpoint is kept, what edits and rewinds have replaced is in no byte either."""
    replaced = [place for place in PLACES if place.startswith(("replaced", "undone"))]
    async with SQLiteStore(tmp_path / "chat.db", checkpoints=checkpoints) as store:
        await hide(store)
        await ThreadCheckpointer(store).prune("hidden", keep_latest=0)

        assert found_in(raw(tmp_path), ["edited", "rewound", *replaced]) == []


@pytest.mark.parametrize("way", [delete, clear])
async def test_a_neighbour_keeps_every_word(
    file_store: SQLiteStore, tmp_path: Path, way: Way
) -> None:
    """What is deleted takes nothing of another thread in the same file along."""
    thread = await hide(file_store)
    other = await file_store.thread("other")
    said = [Message.user(f"neighbour {number} {'x' * 3000}") for number in range(30)]
    await other.add_messages(said)
    await way(file_store, thread)

    assert await other.get_messages() == said
    assert len(await other.search("neighbour", limit=50)) == 30
    assert found_in(raw(tmp_path)) == []


@pytest.mark.parametrize("way", [delete, clear])
async def test_what_a_fork_shares_stays_and_nothing_else(
    file_store: SQLiteStore, tmp_path: Path, way: Way
) -> None:
    """Beside a fork exactly the shared messages stay; with the fork they go too."""
    thread = await hide(file_store)
    fork = await thread.fork("fork", at=6)
    await fork.set_metadata({}, display_name="kept")
    await fork.undo_reduction()
    await way(file_store, thread)

    assert set(found_in(raw(tmp_path))) == set(all_secrets(SHARED))
    assert len(await fork.get_messages()) == 7

    await file_store.delete("fork")

    assert found_in(raw(tmp_path)) == []


async def test_an_open_reader_does_not_keep_what_was_deleted(
    file_store: SQLiteStore, tmp_path: Path
) -> None:
    """A second store on the same file, which has read the thread, holds nothing back."""
    await hide(file_store)
    async with SQLiteStore(tmp_path / "chat.db") as second:
        thread = await second.find("hidden")

        assert thread is not None
        assert len(await thread.get_messages()) == 9

        await file_store.delete("hidden")

        assert found_in(raw(tmp_path)) == []
        with pytest.raises(ThreadNotFoundError):
            await thread.refresh()


async def test_a_deletion_that_was_cancelled_is_finished_by_the_next(
    file_store: SQLiteStore, tmp_path: Path
) -> None:
    """Where the thread is gone already, deleting it again takes its bytes out of the log too."""
    await hide(file_store)
    deleting = asyncio.create_task(file_store.delete("hidden"))
    await asyncio.sleep(0)
    deleting.cancel()
    await asyncio.wait([deleting])

    assert deleting.cancelled()

    await file_store.delete("hidden")

    assert await file_store.find("hidden") is None
    assert found_in(raw(tmp_path)) == []


async def _is_empty(thread: ConversationThread) -> bool:
    found = (
        *(thread.count, thread.head.archived, thread.display_name, dict(thread.metadata)),
        *(thread.execution_state, thread.last_reduction, thread.pending_tools),
        *(await thread.reductions(), await thread.get_messages(), await thread.search("the")),
    )
    return found == (0, 0, "", {}, None, None, (), [], [], [])


async def test_a_cleared_thread_is_empty_and_goes_on(store: ThreadStore) -> None:
    """After clearing, the thread keeps its id and its time, holds nothing, and grows again."""
    thread = await hide(store)
    created_at = thread.created_at
    await thread.clear()

    assert await _is_empty(thread)

    await thread.add_message(Message.user("the new beginning"))
    found = await store.find("hidden")

    assert found is not None
    assert found.created_at == created_at
    assert [one.text for one in await found.get_messages()] == ["the new beginning"]
    assert [match.number for match in await found.search("the")] == [0]


async def test_nothing_of_a_deleted_thread_can_be_reached(store: ThreadStore) -> None:
    """Neither list, tenants, snapshots nor an old object bring back what was deleted."""
    old = await hide(store)
    await store.delete("hidden")

    assert await store.find("hidden") is None
    assert [thread.id async for thread in store.threads()] == []
    assert await store.tenants() == []
    assert not await store.delete("hidden")
    for call in (old.to_snapshot(), old.search("the"), old.fork("back")):
        with pytest.raises(ThreadNotFoundError):
            await call
    assert await store.find("back") is None
