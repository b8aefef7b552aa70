"""A commit of which the storage cannot say whether it was made."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foldline.errors import (
    CommitUnknownError,
    StoreError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.commit import OneLoopLock
from foldline.threads.head import REMEMBERED_COMMITS
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import open_state, reduction_of


NAME = b"12345678"
ONE, TWO = Message.user("one"), Message.user("two")


class Doubtful(MemoryStorage):
    """A storage whose connection breaks in the next commit, and which is then asked about it."""

    def __init__(self, *, steady: bool = False, makes: bool = False, is_slow: bool = False) -> None:
        super().__init__()
        self.ends_commits = steady
        self._makes = makes
        self._is_slow = is_slow
        self.late: list[tuple[ThreadKey, Change]] = []
        self.breaks = False
        self.blinds = False
        self.others: Callable[[], Awaitable[object]] | None = None
        self.on_second_look: Callable[[], object] | None = None

    async def commit(self, key: ThreadKey, change: Change) -> None:
        is_broken, self.breaks = self.breaks, False
        if self._makes or not is_broken:
            await super().commit(key, change)
        if is_broken:
            if self.others is not None:
                await self.others()
            if self.blinds:
                self.on_second_look = _broken
            self.late.append((key, change))
            unknown = CommitUnknownError("the connection broke")
            unknown.may_arrive = self._is_slow
            raise unknown

    async def load(self, key: ThreadKey) -> StoredThread | None:
        if self.on_second_look is not None:
            look, self.on_second_look = self.on_second_look, None
            look()
            await asyncio.sleep(0)
        return await super().load(key)


async def begun(storage: Doubtful) -> tuple[ThreadStore, ConversationThread]:
    """Return a store and a thread in it with one message, whose next commit is doubtful."""
    store = await ThreadStore(storage).open()
    thread = await store.thread("t")
    await thread.add_message(ONE)
    storage.breaks = True
    return store, thread


async def stored(store: ThreadStore) -> list[str]:
    """Return what the thread holds in the store."""
    thread = await store.find("t")
    assert thread is not None
    return [message.text for message in await thread.get_messages()]


@pytest.mark.parametrize("makes", [False, True], ids=["not made", "made"])
@pytest.mark.parametrize("steady", [False, True], ids=["shielded", "steady"])
async def test_a_commit_cancelled_while_it_is_looked_for_is_there_once(
    steady: bool, makes: bool
) -> None:
    """
    A task cancelled in the second look takes nothing for made, and the same commit again is made.
    """
    storage = Doubtful(steady=steady, makes=makes)
    store, thread = await begun(storage)
    task = asyncio.create_task(thread.commit(Change(messages=[TWO], commit_id=NAME)))
    storage.on_second_look = task.cancel
    await asyncio.wait([task])
    assert task.cancelled() or isinstance(task.exception(), StoreError)
    assert thread.count <= len(await stored(store))
    await thread.refresh()
    await thread.commit(Change(messages=[TWO], commit_id=NAME))
    assert await stored(store) == ["one", "two"]


async def test_what_was_not_made_can_be_tried_again_at_once() -> None:
    """Behind the refusal of a commit that broke, the object stands where the store does."""
    store, thread = await begun(Doubtful(steady=False))
    with pytest.raises(StoreError, match="was not made"):
        await thread.add_message(TWO)
    await thread.add_message(TWO)
    assert await stored(store) == ["one", "two"]


@pytest.mark.parametrize("steady", [False, True], ids=["shielded", "steady"])
async def test_a_commit_that_was_not_made_is_refused_if_it_arrives(steady: bool) -> None:
    """What a server may still make is refused by it once the caller was told that it was not made."""
    storage = Doubtful(steady=steady, is_slow=True)
    store, thread = await begun(storage)
    with pytest.raises(StoreError, match="was not made"):
        await thread.add_message(TWO)
    (late,) = storage.late
    with pytest.raises(ThreadConflictError):
        await storage.commit(*late)
    await thread.add_message(TWO)

    assert await stored(store) == ["one", "two"]


async def test_an_unknown_commit_tells_its_id() -> None:
    """
    Where nothing can be found out, the error holds the id under which the commit is made once.
    """
    storage = Doubtful(steady=True, makes=True)
    store, thread = await begun(storage)
    storage.on_second_look = _broken
    with pytest.raises(CommitUnknownError, match="commit again with the commit_id") as caught:
        await thread.add_message(TWO)
    await thread.refresh()
    await thread.add_messages([TWO], commit_id=caught.value.commit_id)
    assert await stored(store) == ["one", "two"]


_Call = Callable[[ThreadStore, ConversationThread], Awaitable[object]]

_NAMED: dict[str, _Call] = {
    "add_message": lambda _, thread: thread.add_message(TWO),
    "add_messages": lambda _, thread: thread.add_messages([TWO]),
    "append": lambda _, thread: thread.append([TWO]),
    "commit": lambda _, thread: thread.commit(Change(messages=[TWO])),
}

_OTHERS: dict[str, _Call] = {
    "abandon_run": lambda _, thread: thread.abandon_run(),
    "answer_tool": lambda _, thread: thread.answer_tool("c", "it ran"),
    "save_reduction": lambda _, thread: thread.save_reduction(_reduction()),
    "set_expiry": lambda _, thread: thread.set_expiry(None),
    "set_metadata": lambda _, thread: thread.set_metadata({"a": 1}),
}

_UNNAMED: dict[str, _Call] = {
    "clear": lambda _, thread: thread.clear(),
    "edit": lambda _, thread: thread.edit(0, TWO),
    "pin": lambda _, thread: thread.pin(0),
    "pop": lambda _, thread: thread.pop(),
    "replace": lambda _, thread: thread.replace([TWO]),
    "rewind": lambda _, thread: thread.rewind(0),
    "undo_reduction": lambda _, thread: thread.undo_reduction(),
}

_MAKING: dict[str, _Call] = {
    "fork": lambda _, thread: thread.fork("u"),
    "restore": lambda store, _: store.restore(
        '{"Format":1,"Id":"u","MessageStoreSnapshot":{"Messages":[]}}'
    ),
    "thread": lambda store, _: store.thread("u"),
}

_CALLS = {**_NAMED, **_OTHERS, **_UNNAMED, **_MAKING}


def _reduction() -> HistoryReductionState:
    return reduction_of([ONE], 1, "one was said")


@pytest.mark.parametrize("name", _CALLS)
async def test_an_error_names_the_id_of_what_can_be_committed_again(name: str) -> None:
    """What `commit` takes can be made again under its id; for anything else it says where to look."""
    storage = Doubtful(steady=True, makes=True)
    store, thread = await begun(storage)
    storage.breaks = False
    await thread.commit(
        Change(execution=open_state(thread, "note"), tools=[ToolRun(call_id="c", name="n")])
    )
    if name == "undo_reduction":
        await thread.save_reduction(_reduction())
    storage.breaks, storage.blinds = True, True
    with pytest.raises(CommitUnknownError) as caught:
        await _CALLS[name](store, thread)
    error = caught.value
    way = "Refresh, and check whether it is there"
    is_named = name in {**_NAMED, **_OTHERS}
    if is_named:
        way += ", or commit again with the commit_id of this error"
    elif name in _MAKING:
        way = "Check with `find` whether the thread is there"

    assert str(error).endswith(f": the connection broke. {way}")
    assert (error.commit_id is not None) == is_named


@pytest.mark.parametrize("makes", [False, True], ids=["not made", "made"])
@pytest.mark.parametrize("name", _MAKING)
async def test_a_thread_that_may_have_been_made_is_looked_for(name: str, *, makes: bool) -> None:
    """`find` tells whether the thread of the error is there, and where it is not it can be made."""
    storage = Doubtful(steady=True, makes=makes)
    store, thread = await begun(storage)
    storage.blinds = True
    with pytest.raises(CommitUnknownError, match="`find`"):
        await _MAKING[name](store, thread)
    assert (await store.find("u") is not None) == makes
    if not makes:
        await _MAKING[name](store, thread)
        assert await store.find("u") is not None


async def say(thread: ConversationThread, count: int) -> None:
    """Add *count* messages, one by one."""
    for number in range(count):
        await thread.add_message(Message.user(f"other {number}"))


@pytest.mark.parametrize("others", [REMEMBERED_COMMITS - 1, REMEMBERED_COMMITS, 20])
@pytest.mark.parametrize("name", _NAMED)
async def test_a_forgotten_commit_is_not_made_again(name: str, others: int) -> None:
    """Where others have written more than is remembered, the error has no id and says to look."""
    storage = Doubtful(makes=True)
    store, thread = await begun(storage)

    async def crowd() -> None:
        other = await store.find("t")
        assert other is not None
        await say(other, others)

    storage.others = crowd
    error = None
    try:
        await _NAMED[name](store, thread)
    except CommitUnknownError as caught:
        error = caught

    assert (await stored(store)).count("two") == 1
    assert (error is None) == (others < REMEMBERED_COMMITS)
    if error is not None:
        assert error.commit_id is None
        assert str(error).endswith("Refresh, and check whether it is there")


@pytest.mark.parametrize("others", [0, 1, 2, 20])
@pytest.mark.parametrize("name", _NAMED)
async def test_a_commit_is_not_looked_for_in_a_thread_made_anew(name: str, others: int) -> None:
    """If the thread of a commit that broke was made again, the new one is left as it is."""
    storage = Doubtful()
    store, thread = await begun(storage)

    async def replace() -> None:
        await store.delete("t")
        await say(await store.thread("t"), others)

    storage.others = replace
    for _ in range(2):
        with pytest.raises(ThreadNotFoundError, match="'t'"):
            await _NAMED[name](store, thread)
    found = await store.find("t")

    assert found is not None
    assert found.head.revision == others + 1
    assert await stored(store) == [f"other {number}" for number in range(others)]


def _broken() -> None:
    message = "still broken"
    raise StoreError(message)


async def test_an_append_is_repeated_under_its_id() -> None:
    """
    An append that was cancelled behind its beginning is stored once, however often it is repeated.
    """
    store, thread = await begun(Doubtful(steady=False, makes=True))
    task = asyncio.create_task(thread.append([TWO], commit_id=NAME))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    other = await store.find("t")
    assert other is not None
    for each in (thread, other, thread):
        await each.append([TWO], commit_id=NAME)
    assert await stored(store) == ["one", "two"]


async def _enters(lock: OneLoopLock, entered: list[str], name: str) -> None:
    async with lock:
        entered.append(name)
        await asyncio.sleep(0)


@pytest.mark.parametrize("when", ["before its turn", "at its turn"])
async def test_a_cancelled_task_keeps_no_turn(when: str) -> None:
    """A task that is cancelled while it waits for its turn lets the next one have it."""
    lock, entered = OneLoopLock(), list[str]()
    async with asyncio.timeout(60):
        async with lock:
            tasks = [asyncio.create_task(_enters(lock, entered, name)) for name in "ab"]
            await asyncio.sleep(0)
            if when == "before its turn":
                tasks[0].cancel()
        tasks[0].cancel()
        await asyncio.wait(tasks)
        await _enters(lock, entered, "c")

    assert entered == ["b", "c"]
