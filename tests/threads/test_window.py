"""What a turn reads of a thread with many system messages, and what it refuses."""

import pytest
from msgspec.structs import replace

from foldline.errors import StoreCorruptError
from foldline.history.messages import Message
from foldline.threads.head import extended
from foldline.threads.key import ThreadKey
from foldline.threads.read_only import ThreadWindow
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from tests.threads.canaries import reduction_of


class CountingStorage(MemoryStorage):
    """A memory that counts its calls, and may give back rows that it was not given."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.rows_read = 0
        self.instead: dict[int, StoredRow | None] = {}

    async def load(self, key: ThreadKey) -> StoredThread | None:
        self.calls += 1
        return await super().load(key)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        self.calls += 1
        found = await super().rows(key, epoch, start, stop, system=system)
        self.rows_read += len(found)
        changed = [self.instead.get(row.seq, row) for row in found]
        return [row for row in changed if row is not None]


@pytest.mark.parametrize("name", ["one", "two"])
async def test_a_thread_rewound_to_a_cut_without_a_user_is_read_whole(name: str) -> None:
    """Where no message is left behind the cut and no user has spoken, the reduction is no start."""
    messages = list(map(Message.assistant, "abc"))

    store = ThreadStore(MemoryStorage())
    thread = await store.thread("one")
    await thread.add_messages(messages)
    await thread.save_reduction(reduction_of(messages, 2, "summary"))
    forked = await thread.fork("two")
    await forked.rewind(2)
    found = await store.thread("two")
    window = await (forked if name == "one" else found).window()

    assert window.reduction is None
    assert window.history.everything() == messages[:2]


@pytest.mark.parametrize("noted", [(2,), (5,), (2, 5)])
async def test_a_reminder_is_not_the_last_that_the_user_said(noted: tuple[int, ...]) -> None:
    """Before the cut or after it: a view has the question, also where it is read from the store."""
    note = Message.user("<system-reminder>The list is empty.</system-reminder>")
    messages = [Message.user("Why?"), *map(Message.assistant, "abcdef")]
    for at in noted:
        messages[at] = note
    store = ThreadStore(MemoryStorage())
    thread = await store.thread("one")
    await thread.add_messages(messages)
    await thread.save_reduction(reduction_of(messages, 4, "summary"))
    found = await store.thread("one")
    history = (await found.window()).history

    assert history.start == 4
    assert history.last_user() == 0
    assert history[0].text == "Why?"


def _apart(count: int, gap: int) -> list[Message]:
    """Return *count* system messages, each with *gap* others behind it, and the end of a talk."""
    messages: list[Message] = []
    for number in range(count):
        messages.append(Message.system(f"rule {number}"))
        messages += [Message.user(f"{number}: {place}") for place in range(gap)]
    return [*messages, *map(Message.assistant, "abcdefghij"), Message.user("well?")]


async def _kept(storage: MemoryStorage, messages: list[Message]) -> None:
    thread = await ThreadStore(storage).thread("t")
    await thread.add_messages(messages)
    plain = [message for message in messages if message.role != "system"]
    await thread.save_reduction(reduction_of(messages, len(plain) - 2, "summary"))


async def _turn(storage: MemoryStorage) -> ThreadWindow:
    thread = await ThreadStore(storage).find("t")
    assert thread is not None
    return await thread.window()


async def _costs(messages: list[Message]) -> tuple[int, int]:
    """
    Return the calls and the rows of a turn on a thread of *messages*, and check what it reads.
    """
    storage = CountingStorage()
    await _kept(storage, messages)
    storage.calls = storage.rows_read = 0
    window = await _turn(storage)

    assert window.history.system == tuple(one for one in messages if one.role == "system")
    assert window.history.total == len(messages)

    return storage.calls, storage.rows_read


@pytest.mark.parametrize("count", [0, 1, 1000])
async def test_system_messages_in_front_cost_no_calls(count: int) -> None:
    """
    A turn on a thread whose system messages stand in front is four calls, however many they are.
    """
    front = [Message.system(f"rule {number}") for number in range(count)]
    calls, rows = await _costs([*front, *_apart(0, 0), Message.user("and?")])

    assert calls <= 4
    assert rows <= count + 10


async def test_system_messages_near_each_other_are_checked_together() -> None:
    """500 system messages among 4,500 others are checked in pieces of 1,000 rows."""
    calls, rows = await _costs(_apart(500, 9))

    assert calls <= 4 + 6
    assert rows <= 2 * 5_000


async def test_system_messages_far_apart_cost_no_row_between() -> None:
    """Of system messages that are far apart only the row before each is read."""
    calls, rows = await _costs(_apart(40, 100))

    assert calls <= 4 + 40
    assert rows <= 2 * 40 + 10


@pytest.mark.parametrize("gap", [0, 1, 9, 100])
async def test_any_changed_system_message_is_found(gap: int) -> None:
    """A bit that is flipped in any system message is found, wherever the message stands."""
    storage = CountingStorage()
    await _kept(storage, [Message.user("hi"), *_apart(5, gap)])
    thread = await ThreadStore(storage).find("t")
    assert thread is not None
    branch = thread._record.head.epoch  # pyright: ignore[reportPrivateUsage]
    for row in await storage.rows(thread.key, branch, 0, thread.count, system=True):
        for bit in (0, 8 * 20, 8 * len(row.data) - 1):
            data = bytearray(row.data)
            data[bit // 8] ^= 1 << bit % 8
            storage.instead = {row.seq: replace(row, data=bytes(data))}
            with pytest.raises(StoreCorruptError):
                await _turn(storage)
    storage.instead = {}

    assert (await _turn(storage)).history.total == thread.count


async def test_a_row_between_is_not_blamed() -> None:
    """A row that is damaged between two system messages is none of a turn's business."""
    storage = CountingStorage()
    await _kept(storage, _apart(3, 9))
    storage.instead = {5: StoredRow(5, system=False, data=b"damage")}

    assert len((await _turn(storage)).history.system) == 3

    storage.instead = {9: None}
    with pytest.raises(StoreCorruptError, match="message row 9 of thread 't' is damaged"):
        await _turn(storage)


async def test_another_last_row_is_refused() -> None:
    """A last row that continues the rows before it is refused if the head does not end with it."""
    storage = CountingStorage()
    store = ThreadStore(storage)
    thread = await store.thread("t")
    await thread.add_message(Message.user("Shall I?"))
    before, context = thread.head, store.context
    await thread.add_message(Message.user("no"))
    (other,), _, _ = extended(before, [Message.user("yes")], context.counter, context.vault)
    storage.instead = {1: other}
    found = await store.thread("t")

    with pytest.raises(StoreCorruptError, match="message row 1 of thread 't' is damaged"):
        await found.get_messages()


async def test_a_moved_system_flag_is_found() -> None:
    """If another row is flagged as the system message, no digest is read at the wrong place."""
    storage = CountingStorage()
    thread = await ThreadStore(storage).thread("t")
    messages = [Message.system("rules"), *map(Message.user, "abcd")]
    await thread.add_messages(messages)
    rows = await storage.rows(thread.key, thread.head.epoch, 0, thread.count)
    storage.instead = {0: replace(rows[3], system=True)}
    found = await ThreadStore(storage).find("t")
    assert found is not None

    with pytest.raises(StoreCorruptError, match="message row 2 of thread 't' is damaged"):
        await found.save_reduction(reduction_of(messages, 3, "summary"))


async def test_a_request_long_ago_is_found_in_few_calls() -> None:
    """Of a run of 4,000 messages after one request the request is found in ever larger steps."""
    calls, _ = await _costs(
        [Message.user("do it"), *(Message.assistant(str(n)) for n in range(4_000))]
    )

    assert calls <= 4 + 3 + 4
