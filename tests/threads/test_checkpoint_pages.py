"""How much is read to find a checkpoint."""

from foldline.history.messages import Message
from foldline.threads.change import Document, DocumentKind
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import Checkpoint
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from tests.threads.canaries import open_state
from tests.threads.clock import Hourly


COUNT = 300


class CountingStorage(MemoryStorage):
    """A memory that counts the documents that are read from it."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        found = await super().documents(key, kind, limit=limit)
        self.read += len(found)
        return found


async def _saved() -> tuple[CountingStorage, ThreadCheckpointer, list[Checkpoint]]:
    """Make a thread with many checkpoints, a message before each, and return them."""
    storage = CountingStorage()
    store = ThreadStore(storage, clock=Hourly(), checkpoints="full")
    checkpointer = ThreadCheckpointer(store)
    thread = await store.thread("chat")
    for step in range(COUNT):
        await thread.add_message(Message.user(f"Message {step}"))
        await checkpointer.save(thread, open_state(thread, "note", iteration=step))
    every = await checkpointer.history("chat")
    storage.read = 0
    return storage, checkpointer, every


async def test_a_limit_reads_no_more() -> None:
    """
    The newest three checkpoints are three documents; none are asked for where none are wanted.
    """
    storage, checkpointer, every = await _saved()

    assert len(every) == COUNT + 1
    assert await checkpointer.history("chat", limit=3) == every[:3]
    assert await checkpointer.history("chat", limit=0) == []
    assert storage.read == 3


async def test_older_ones_are_found() -> None:
    """What was made before a moment is found however far back it lies, in order and once."""
    _, checkpointer, every = await _saved()
    for place in (0, 1, 7, 250, COUNT):
        before = every[place].created_at
        older = every[place + 1 :]

        assert await checkpointer.history("chat", before=before) == older
        for limit in (1, 2, 100, 1000):
            found = await checkpointer.history("chat", limit=limit, before=before)

            assert found == older[:limit]


async def test_a_checkpoint_is_found_by_its_id() -> None:
    """However many there are, no other one is read; an id that no checkpoint has gives None."""
    storage, checkpointer, every = await _saved()
    for place in (0, 15, 16, COUNT - 1):
        moment = await checkpointer.load_at("chat", every[place].id)

        assert moment is not None
        assert moment.count == every[place].message_index == COUNT - place
    for unknown in (every[-1].id, "no such", "", "000000000001x", "\0", "\ud800"):
        assert await checkpointer.load_at("chat", unknown) is None
    assert storage.read == 0


async def test_younger_threads_are_not_read() -> None:
    """Anyone who deletes what is old reads no checkpoint of a thread that is younger."""
    storage, checkpointer, every = await _saved()

    assert await checkpointer.delete_older_than(every[-1].created_at) == 0
    assert storage.read == 0
    assert await checkpointer.delete_older_than(every[-2].created_at) == 1
    assert storage.read == COUNT + 1
