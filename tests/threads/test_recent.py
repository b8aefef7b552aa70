"""What a process remembers of the threads that it reads again and again."""

from collections.abc import Awaitable, Callable
from random import Random

import pytest
from msgspec.structs import replace

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.threads.cipher import Vault
from foldline.threads.head import extended
from foldline.threads.key import ThreadKey
from foldline.threads.recent import Recent
from foldline.threads.row import StoredRow
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.thread import ConversationThread
from tests.depth import by_depth
from tests.threads.canaries import reduction_of
from tests.threads.test_row import HEAD
from tests.threads.test_window import CountingStorage


KEY = ThreadKey("default", "t")
# The one message with values that a caller could change.
NOTED = 25


async def _found(store: ThreadStore) -> ConversationThread:
    thread = await store.find(KEY)
    assert thread is not None
    return thread


async def _begun(storage: MemoryStorage, *, noted: int = NOTED) -> ThreadStore:
    """Return a store with a reduced thread of 30 messages, of which *noted* has metadata."""
    store = ThreadStore(storage)
    thread = await store.thread(KEY)
    messages = [Message.user(f"say {number}") for number in range(30)]
    if noted:
        messages[noted] = replace(messages[noted], metadata={"n": [1]})
    await thread.add_messages(messages)
    await thread.save_reduction(reduction_of(messages, 22, "summary"))
    return store


async def _read(store: ThreadStore) -> list[Message]:
    """Return the newest messages and those of the window, each of an object of its own."""
    newest = await (await _found(store)).get_messages(last=12)
    history = (await (await _found(store)).window()).history
    return [*newest, *history[history.start :]]


async def test_what_did_not_change_is_read_once() -> None:
    """Read again, a message is the same object unless it has metadata, and so is the reduction."""
    store = await _begun(MemoryStorage())
    first, again = await _read(store), await _read(store)

    read = [*range(18, 30), *range(22, 30)]
    shared = [number for number, one, other in zip(read, first, again, strict=True) if one is other]
    assert first == again
    assert shared == [number for number in read if number != NOTED]
    assert (await _found(store)).last_reduction is (await _found(store)).last_reduction


@pytest.mark.parametrize("field", ["data", "system", "seq"])
@pytest.mark.parametrize("number", range(18, 30))
async def test_a_row_that_changes_after_it_was_read_is_found(number: int, field: str) -> None:
    """A known row with other bytes, another mark or another number is refused like a new one."""
    storage = CountingStorage()
    store = await _begun(storage)
    await _read(store)
    thread = await _found(store)
    (row,) = await storage.rows(KEY, thread.head.epoch, number, number + 1)
    damaged = {
        "data": replace(row, data=row.data[:-1] + bytes([row.data[-1] ^ 1])),
        "system": replace(row, system=True),
        "seq": replace(row, seq=row.seq + 100),
    }
    storage.instead = {number: damaged[field]}

    with pytest.raises(StoreCorruptError):
        await thread.get_messages(last=12)
    storage.instead = {}
    assert await thread.get_messages(last=12)


def _rows(count: int) -> list[StoredRow]:
    messages = [Message.user(f"say {number}") for number in range(count)]
    return [one.row for one in extended(HEAD, messages, TokenEstimator(), Vault())[0]]


@pytest.mark.parametrize("noted", [0, NOTED])
async def test_windows_grow_on_their_own(noted: int) -> None:
    """A window is not changed by what is appended to another one, nor by what comes later."""
    store = await _begun(MemoryStorage(), noted=noted)
    one, other = await _found(store), await _found(store)
    history, untouched = (await one.window()).history, (await other.window()).history
    await one.add_messages([Message.assistant("new")])
    later = (await (await _found(store)).window()).history

    assert len(untouched) == 30
    assert history.digest() == later.digest() == one.head.digest
    assert [message.text for message in later[30:]] == ["new"]
    assert (await (await _found(store)).window()).history.tokens() == later.tokens()


async def test_what_a_caller_does_to_metadata_stays_with_the_caller() -> None:
    """Values that a caller changes in a message are read again as they were stored."""
    store = await _begun(MemoryStorage())
    for _ in range(2):
        for message in await _read(store):
            if message.metadata is not None:
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
        assert await _read(store) == await _read(ThreadStore(storage))


def test_a_row_is_known_for_its_origin_only() -> None:
    """The same bytes are refused where another epoch should have written them."""
    recent, rows = Recent(), _rows(5)
    ours, foreign = ((0, HEAD.epoch),), ((0, HEAD.epoch), (3, bytes(16)))
    recent.read_chain(KEY, rows, Vault(), bytes(16), ours)

    assert recent.read_chain(KEY, rows, Vault(), bytes(16), ours)[1] is None
    assert recent.read_chain(KEY, rows, Vault(), bytes(16), foreign)[1] == 3


def test_what_is_remembered_is_bounded() -> None:
    """The thread without news for longest goes first, and one that is too large at once."""
    rows = _rows(5)
    size = sum(len(row.data) for row in rows)
    recent = Recent(most=3 * size)
    for number in range(5):
        recent.read_chain(ThreadKey("default", f"{number}"), rows, Vault(), bytes(16), None)

    assert recent.size == 3 * size
    for number in range(5):
        recent.forget(ThreadKey("default", f"{number}"))
        assert recent.size == min(3, 4 - number) * size
    recent.read_chain(KEY, _rows(40), Vault(), bytes(16), None)
    assert recent.size == 0


def test_of_a_long_thread_the_newest_rows_are_remembered() -> None:
    """However often a thread grows, 64 of its rows are remembered, and these are found again."""
    recent, rows = Recent(), _rows(100)
    for stop in range(10, 101, 2):
        known, bad = recent.read_chain(KEY, rows[stop - 10 : stop], Vault(), None, None)
        assert bad is None
        assert [one.row for one in known] == rows[stop - 9 : stop]

    assert recent.size == sum(len(row.data) for row in rows[-64:])
    assert recent.read_chain(KEY, rows[40:], Vault(), None, None)[0][0].row == rows[41]


async def _deleted(store: ThreadStore) -> None:
    await store.delete(KEY)


async def _cleared(store: ThreadStore) -> None:
    await (await _found(store)).clear()


async def _rewound(store: ThreadStore) -> None:
    await (await _found(store)).rewind(20)


async def _deleted_by_others(store: ThreadStore) -> None:
    await ThreadStore(store.context.storage).delete(KEY)
    assert await store.find(KEY) is None


@pytest.mark.parametrize("act", [_deleted, _cleared, _rewound, _deleted_by_others])
async def test_what_was_taken_back_is_forgotten(
    act: Callable[[ThreadStore], Awaitable[None]],
) -> None:
    """After a deletion or a rewind nothing of the thread is remembered."""
    store = await _begun(MemoryStorage())
    await _read(store)
    assert store.context.recent.size > 0

    await act(store)

    assert store.context.recent.size == 0
