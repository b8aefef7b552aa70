"""What a process remembers of the threads that it reads again and again."""

from collections.abc import Awaitable, Callable
from random import Random

import pytest
from msgspec.structs import replace

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.threads.change import Change
from foldline.threads.cipher import Vault
from foldline.threads.head import extended
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.recent import MOST_BYTES, MOST_THREADS, Recent
from foldline.threads.row import KnownRow, StoredRow
from foldline.threads.start import delete_expired
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.thread import ConversationThread
from tests.depth import by_depth
from tests.threads.canaries import NOW, reduction_of
from tests.threads.test_row import HEAD
from tests.threads.test_window import CountingStorage


KEY = ThreadKey("default", "t")


async def _found(store: ThreadStore) -> ConversationThread:
    thread = await store.find(KEY)
    assert thread is not None
    return thread


async def _begun(storage: MemoryStorage, *, noted: int | None = None) -> ThreadStore:
    """Return a store with a reduced thread of 30 messages, of which *noted* has metadata."""
    store = ThreadStore(storage)
    thread = await store.thread(KEY)
    messages = [Message.user(f"say {number}") for number in range(30)]
    if noted is not None:
        messages[noted] = replace(messages[noted], metadata={"n": [1]})
    await thread.add_messages(messages)
    await thread.save_reduction(reduction_of(messages, 22, "summary"))
    return store


async def _read(store: ThreadStore) -> list[Message]:
    """Return the newest messages and those of the window, each of an object of its own."""
    newest = await (await _found(store)).get_messages(last=12)
    history = (await (await _found(store)).window()).history
    return [*newest, *history[history.start :]]


def _rows(count: int, *, text: str = "say") -> list[StoredRow]:
    messages = [Message.user(f"{text} {number}") for number in range(count)]
    return extended(HEAD, messages, TokenEstimator(), Vault())[0]


def _known(recent: Recent, key: ThreadKey, rows: list[StoredRow]) -> list[KnownRow]:
    known, bad = recent.read_chain(key, rows, Vault(), bytes(16), None)
    assert bad is None
    return known


async def test_a_thread_that_is_read_again_is_known_from_then_on() -> None:
    """Messages are made again for the second reading, and not for those after it."""
    store = await _begun(MemoryStorage())
    first, second = await (await _found(store)).get_messages(last=12), await _read(store)
    third = await _read(store)

    assert second == third
    assert second[:12] == first
    assert not any(one is other for one, other in zip(first, second, strict=False))
    assert all(one is other for one, other in zip(second, third, strict=True))


@pytest.mark.parametrize("field", ["data", "system", "seq"])
@pytest.mark.parametrize("number", range(18, 30))
async def test_a_row_that_changes_after_it_was_read_is_found(number: int, field: str) -> None:
    """A known row with other bytes, another mark or another number is refused like a new one."""
    storage = CountingStorage()
    store = await _begun(storage)
    for _ in range(2):
        await _read(store)
    thread = await _found(store)
    (row,) = await storage.rows(KEY, thread.head.epoch, number, number + 1)
    damaged = {
        "data": replace(row, data=_flipped(row.data)),
        "system": replace(row, system=True),
        "seq": replace(row, seq=row.seq + 100),
    }
    storage.instead = {number: damaged[field]}

    with pytest.raises(StoreCorruptError):
        await thread.get_messages(last=12)
    storage.instead = {}
    assert await thread.get_messages(last=12)


class _Changing(MemoryStorage):
    """A memory that may give back another thread than it was given."""

    change: Callable[[StoredThread], StoredThread] | None = None

    async def load(self, key: ThreadKey) -> StoredThread | None:
        stored = await super().load(key)
        return stored if stored is None or self.change is None else self.change(stored)


async def _told(storage: MemoryStorage) -> ThreadStore:
    """Return a store with a thread that has a document of each kind and was read three times."""
    store = await _begun(storage)
    thread = await _found(store)
    state = AgentLoopState(run_id="r", conversation_id="t", started_at=NOW, metadata={"n": "1"})
    await thread.commit(Change(execution=state, metadata={"n": [1]}))
    for _ in range(3):
        await _read(store)
    return store


def _flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def _with_document(stored: StoredThread, place: int, **changes: object) -> StoredThread:
    documents = list(stored.documents)
    documents[place] = replace(documents[place], **changes)
    return replace(stored, documents=documents)


@pytest.mark.parametrize("field", ["data", "name", "kind"])
@pytest.mark.parametrize("place", range(3))
async def test_a_document_that_changes_after_it_was_read_is_found(place: int, field: str) -> None:
    """A known document with other bytes, another name or kind is refused like a new one."""
    storage = _Changing()
    store = await _told(storage)
    stored = await storage.load(KEY)
    assert stored is not None
    documents = stored.documents
    others = {
        "data": _flipped(documents[place].data),
        "name": documents[place].name + "1",
        "kind": documents[place - 1].kind,
    }

    storage.change = lambda stored: _with_document(stored, place, **{field: others[field]})
    with pytest.raises(StoreCorruptError):
        await store.find(KEY)
    storage.change = None
    assert await store.find(KEY)


async def test_a_head_that_changes_after_it_was_read_is_found() -> None:
    """A known head with other bytes, or at another revision, is refused like a new one."""
    storage = _Changing()
    store = await _told(storage)
    for change in (
        lambda stored: replace(stored, head=_flipped(stored.head)),
        lambda stored: replace(stored, revision=stored.revision + 1),
    ):
        storage.change = change
        with pytest.raises(StoreCorruptError):
            await store.find(KEY)
    storage.change = None
    assert await store.find(KEY)


def test_a_document_is_read_once_of_a_thread_that_is_read_again() -> None:
    """It is read again with another name, with other bytes, if it is large, and once forgotten."""
    recent, key, read = Recent(), KEY, list[bytes]()

    def opened(name: str, data: bytes) -> bytes:
        def found() -> bytes:
            read.append(data)
            return data

        return recent.opened(key, "metadata", (name, data), found)

    for _ in range(2):
        opened("", b"first")
    _known(recent, KEY, _rows(5))
    for name, data in (("", b"one"), ("", b"one"), ("a", b"one"), ("a", b"two"), ("a", b"two")):
        assert opened(name, data) == data
    large = bytes(MOST_BYTES + 1)
    for _ in range(2):
        opened("a", large)
    opened("a", b"two")
    recent.forget(KEY)
    opened("a", b"two")

    assert read == [b"first", b"first", b"one", b"one", b"two", large, large, b"two"]


async def test_what_a_caller_does_to_a_thread_stays_with_the_caller() -> None:
    """Values that a caller changes in the metadata and the state of a thread are read as stored."""
    store = await _told(MemoryStorage())
    for _ in range(3):
        thread = await _found(store)
        state = thread.execution_state
        assert state is not None
        assert (thread.metadata, state.metadata) == ({"n": [1]}, {"n": "1"})
        for values in (thread.metadata, state.metadata):
            assert isinstance(values, dict)
            values.clear()


async def test_a_reduction_is_decoded_once_of_a_thread_that_is_read_again() -> None:
    """It is the one that was read before, unless it has a message, whose metadata may change."""
    store = await _told(MemoryStorage())
    first, second = [(await _found(store)).last_reduction for _ in range(2)]
    thread = await _found(store)
    sealed = replace(Message.assistant("sealed"), metadata={"n": [1]})
    reduction = replace(reduction_of(await thread.get_messages(), 25, "more"), sealed_item=sealed)
    await thread.save_reduction(reduction)
    for _ in range(3):
        found = (await _found(store)).last_reduction
        assert found is not None
        kept = found.sealed_item
        assert kept is not None
        assert kept == sealed
        assert isinstance(kept.metadata, dict)
        kept.metadata.clear()

    assert first is second is not None


@pytest.mark.parametrize("noted", [None, 10, 25])
async def test_windows_grow_on_their_own(noted: int | None) -> None:
    """A window is not changed by what is appended to another one, nor by what comes later."""
    store = await _begun(MemoryStorage(), noted=noted)
    for _ in range(2):
        await _read(store)
    one, other = await _found(store), await _found(store)
    history, untouched = (await one.window()).history, (await other.window()).history
    await one.add_messages([Message.assistant("new")])
    later = (await (await _found(store)).window()).history

    assert len(untouched) == 30
    assert history.digest() == later.digest() == one.head.digest
    assert [message.text for message in later[30:]] == ["new"]
    assert (await (await _found(store)).window()).history.tokens() == later.tokens()


async def test_what_a_caller_does_to_metadata_stays_with_the_caller() -> None:
    """Values that a caller changes in a message, or in the last of a user, are read as stored."""
    store = await _begun(MemoryStorage(), noted=29)
    thread = await _found(store)
    await thread.add_messages([Message.assistant("yes") for _ in range(12)])
    await thread.save_reduction(reduction_of(await thread.get_messages(), 30, "more"))
    for _ in range(4):
        messages = await (await _found(store)).get_messages(last=20)
        history = (await (await _found(store)).window()).history
        for message in (messages[7], history[29]):
            assert message.metadata == {"n": [1]}
            assert isinstance(message.metadata, dict)
            message.metadata["n"] = []


async def test_a_known_thread_reads_like_an_unknown_one() -> None:
    """After any changes a process that knows a thread reads what one reads that does not."""
    random, storage = Random("recent"), MemoryStorage()
    store = await _begun(storage)
    for _ in range(by_depth(40, 400)):
        thread = await _found(store)
        choice = random.randrange(6)
        if choice == 0 and len(thread.head.runs or ()) < 20:
            await thread.rewind(max(1, thread.count - random.randrange(4)))
        elif choice == 1:
            index = random.randrange(max(0, thread.count - 20), thread.count)
            await thread.edit(index, Message.assistant(f"edited {random.random()}"))
        elif choice == 2:
            messages = await thread.get_messages()
            cut = random.randrange(1, len(messages))
            if thread.last_reduction is None or cut > thread.last_reduction.summarized_up_to_index:
                await thread.save_reduction(reduction_of(messages, cut, f"{cut}"))
        else:
            news = [Message.user(f"{random.random()}") for _ in range(random.randrange(1, 40))]
            await thread.add_messages(news)
        unknown = ThreadStore(storage)
        assert await _read(store) == await _read(unknown)
        known, fresh = await _found(store), await _found(unknown)
        assert known.last_reduction == fresh.last_reduction


def test_a_row_is_known_for_its_origin_only() -> None:
    """The same bytes are refused where another epoch should have written them."""
    recent, rows = Recent(), _rows(5)
    ours, foreign = ((0, HEAD.epoch),), ((0, HEAD.epoch), (3, bytes(16)))
    for _ in range(3):
        assert recent.read_chain(KEY, rows, Vault(), bytes(16), ours)[1] is None

    assert recent.read_chain(KEY, rows, Vault(), bytes(16), foreign)[1] == 3


def test_where_many_threads_are_read_in_turn_nothing_is_kept() -> None:
    """A thread that is read again after 64 others is read as if for the first time."""
    for others, is_known in ((MOST_THREADS - 1, True), (MOST_THREADS, False)):
        recent, rows = Recent(), _rows(5)
        _, second = [_known(recent, KEY, rows) for _ in range(2)]
        for number in range(others):
            _known(recent, ThreadKey("default", f"{number}"), rows)

        assert (_known(recent, KEY, rows)[0] is second[0]) == is_known


def test_rows_that_are_large_are_not_kept() -> None:
    """Of a thread whose newest rows have more than 64 KiB nothing is remembered."""
    for size, is_known in ((MOST_BYTES - 200, True), (MOST_BYTES, False)):
        recent, rows = Recent(), _rows(1, text="x" * size)
        _, second = [_known(recent, KEY, rows) for _ in range(2)]
        assert (_known(recent, KEY, rows)[0] is second[0]) == is_known


async def _deleted(store: ThreadStore) -> None:
    await store.delete(KEY)


async def _deleted_as_expired(store: ThreadStore) -> None:
    stored = await store.context.storage.load(KEY)
    assert stored is not None
    await delete_expired(store.context, stored)


async def _cleared(store: ThreadStore) -> None:
    await (await _found(store)).clear()


async def _rewound(store: ThreadStore) -> None:
    await (await _found(store)).rewind(20)


async def _deleted_by_others(store: ThreadStore) -> None:
    await ThreadStore(store.context.storage).delete(KEY)
    assert await store.find(KEY) is None


@pytest.mark.parametrize(
    "act", [_deleted, _deleted_as_expired, _cleared, _rewound, _deleted_by_others]
)
async def test_what_was_taken_back_is_forgotten(
    act: Callable[[ThreadStore], Awaitable[None]],
) -> None:
    """After a deletion or a rewind nothing of the thread is remembered."""
    store = await _begun(MemoryStorage())
    thread = await _found(store)
    for _ in range(2):
        await _read(store)
    rows = await store.context.storage.rows(KEY, thread.head.epoch, 17, 30)

    await act(store)

    known = [store.context.recent.read_chain(KEY, rows, Vault(), None, None) for _ in range(2)]
    assert known[0][0][0].message is not known[1][0][0].message


class _ReadFirst(MemoryStorage):
    """A memory that deletes a thread when others have read it twice."""

    reader: ThreadStore

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        for _ in range(2):
            await _read(self.reader)
        return await super().delete(key, expected=expected)


@pytest.mark.parametrize("act", [_deleted, _deleted_as_expired])
async def test_what_is_read_until_it_is_deleted_is_forgotten(
    act: Callable[[ThreadStore], Awaitable[None]],
) -> None:
    """Of a thread that others read while it is deleted nothing is remembered."""
    storage = _ReadFirst()
    storage.reader = store = await _begun(storage)
    thread = await _found(store)
    rows = await storage.rows(KEY, thread.head.epoch, 17, 30)
    await act(store)

    known = [store.context.recent.read_chain(KEY, rows, Vault(), None, None) for _ in range(2)]
    assert known[0][0][0].message is not known[1][0][0].message
