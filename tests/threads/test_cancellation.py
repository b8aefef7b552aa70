"""
A task that is cancelled, at every place where it waits: its step is wholly there, or not at all.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

import pytest

from foldline.errors import ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.file import Durability
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import NOW, open_state, reduction_of, told


Mode: TypeAlias = Literal["early", "late", "twice"]
"""
When a waiting task is cancelled.

`early`: as soon as it waits. `late`: when what it waits for is there, and it has not seen it.
`twice`: early, and again each time it waits while it cleans up.
"""

Operation = Callable[[ThreadStore, ConversationThread], Awaitable[object]]
State = dict[str, Any]

MODES: tuple[Mode, ...] = ("early", "late", "twice")
STORES = ("memory", "sqlite", "in place")
MOST = 100
PATIENCE = 60.0


class Cancelled(Coroutine[Any, Any, object]):
    """A coroutine whose task is cancelled when it waits for the time number *at*."""

    def __init__(self, inner: Coroutine[Any, Any, object], at: int, mode: Mode) -> None:
        self._inner = inner
        self._at = at
        self._mode = mode
        self.waits = 0

    def send(self, value: Any, /) -> Any:
        return self._watched(self._inner.send(value))

    def throw(
        self,
        kind: Any,
        value: BaseException | object = None,
        trace: TracebackType | None = None,
        /,
    ) -> Any:
        return self._watched(self._inner.throw(kind))

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, object]:
        return self._inner.__await__()

    def _watched(self, waited_for: Any) -> Any:
        task = asyncio.current_task()

        assert task is not None

        if self.waits == self._at and self._mode == "late" and waited_for is not None:
            waited_for.add_done_callback(lambda _: task.cancel())
        elif self.waits == self._at or (self.waits > self._at and self._mode == "twice"):
            task.cancel()
        self.waits += 1
        return waited_for


def _commit(_: ThreadStore, thread: ConversationThread) -> Awaitable[None]:
    return thread.commit(
        Change(
            messages=NEW,
            execution=open_state(thread, "note", iteration=4),
            reduction=reduction_of(told(), 5, "longer"),
            tools=[ToolRun(call_id="call_9", name="pay")],
            archive=True,
        )
    )


async def _restore(store: ThreadStore, thread: ConversationThread) -> None:
    await store.restore(await thread.to_snapshot(), thread_id="restored")


async def _read(_: ThreadStore, thread: ConversationThread) -> None:
    await thread.window()
    await thread.get_range(2, 4)


NEW = [Message.user("three"), Message.assistant("four")]
OPERATIONS: dict[str, Operation] = {
    "abandon_run": lambda _, thread: thread.abandon_run(),
    "add_messages": lambda _, thread: thread.add_messages(NEW),
    "append": lambda _, thread: thread.append(NEW),
    "clear": lambda _, thread: thread.clear(),
    "commit": _commit,
    "delete": lambda store, thread: store.delete(thread.id),
    "edit": lambda _, thread: thread.edit(6, Message.user("edited")),
    "find": lambda store, thread: store.thread(thread.id),
    "fork": lambda _, thread: thread.fork("fork", at=5),
    "make": lambda store, _: store.thread("new"),
    "pin": lambda _, thread: thread.pin(2),
    "pop": lambda _, thread: thread.pop(),
    "read": _read,
    "refresh": lambda _, thread: thread.refresh(),
    "replace": lambda _, thread: thread.replace([Message.user("replaced")]),
    "restore": _restore,
    "rewind": lambda _, thread: thread.rewind(5),
    "save_reduction": lambda _, thread: thread.save_reduction(
        reduction_of(told(), 5, "longer"), archive=True
    ),
    "search": lambda _, thread: thread.search("the"),
    "set_metadata": lambda _, thread: thread.set_metadata({"a": "b"}, display_name="Parcels"),
    "undo_reduction": lambda _, thread: thread.undo_reduction(),
}


@asynccontextmanager
async def opened(kind: str, path: Path) -> AsyncGenerator[ThreadStore]:
    # What is not flushed is committed in place, where nobody waits.
    durability: Durability = "relaxed" if kind == "in place" else "full"
    store = (
        MemoryStore(clock=lambda: NOW)
        if kind == "memory"
        else SQLiteStore(path / "chat.db", clock=lambda: NOW, durability=durability)
    )
    async with asyncio.timeout(PATIENCE), store:
        yield store


async def prepared(store: ThreadStore) -> ConversationThread:
    """Make a thread with messages, a reduction, an archive, an open run and a waiting result."""
    thread = await store.thread("chat")
    await thread.add_messages(told())
    await thread.save_reduction(reduction_of(told(), 3, "short"), archive=True)
    await thread.commit(
        Change(
            execution=open_state(thread, "note"),
            tools=[ToolRun(call_id="call_2", name="pay", result="paid")],
        )
    )
    return thread


async def state_of(store: ThreadStore) -> State:
    """Return all that the threads of *store* hold."""
    return {
        thread.id: (
            thread.head.revision,
            await thread.to_snapshot(),
            [one.to_json() for one in await thread.reductions()],
        )
        async for thread in store.threads()
    }


async def before_and_after(path: Path, operation: Operation) -> tuple[State, State]:
    async with opened("memory", path) as store:
        thread = await prepared(store)
        before = await state_of(store)
        await operation(store, thread)
        return before, await state_of(store)


async def cancelled(
    store: ThreadStore, thread: ConversationThread, operation: Operation, at: int, mode: Mode
) -> tuple[bool, int]:
    """Run *operation* and cancel it; return whether it came to its end, and how often it waited."""

    async def run() -> object:
        return await operation(store, thread)

    watched = Cancelled(run(), at, mode)
    task = asyncio.get_running_loop().create_task(watched)
    await asyncio.wait([task])
    return not task.cancelled(), watched.waits


async def check_point(
    kind: str, path: Path, operation: Operation, at: int, mode: Mode, known: tuple[State, State]
) -> bool:
    """
    Cancel *operation* at one place and see that all is well; return whether there is a next one.
    """
    async with opened(kind, path) as store:
        thread = await prepared(store)
        has_ended, waits = await cancelled(store, thread, operation, at, mode)

        assert asyncio.all_tasks() == {asyncio.current_task()}

        # What was begun stands in the queue of the writer before this commit.
        await store.thread("behind")
        await store.delete("behind")
        state = await state_of(store)

        assert state in known
        if has_ended and waits <= at:
            assert state == known[1]
        await check_goes_on(store, thread)
    return waits > at


async def check_goes_on(store: ThreadStore, thread: ConversationThread) -> None:
    """Check that the object knows what is stored, and writes on without a conflict."""
    stored = await store.find(thread.id)
    if stored is None:
        with pytest.raises(ThreadNotFoundError):
            await thread.refresh()
        return

    assert thread.head.revision == stored.head.revision
    assert await thread.to_snapshot() == await stored.to_snapshot()

    await thread.window()
    await thread.add_message(Message.user("on it goes"))
    await stored.refresh()

    assert (await stored.get_messages())[-1].text == "on it goes"
    assert (await thread.window()).history.total == stored.count


def points(kind: str, path: Path, name: str, mode: Mode) -> int:
    """Cancel an operation at every place where it waits, and return how many there were."""
    operation = OPERATIONS[name]
    known = asyncio.run(before_and_after(path, operation))
    for at in range(MOST):
        folder = path / f"{name}_{mode}_{at}"
        folder.mkdir()
        if not asyncio.run(check_point(kind, folder, operation, at, mode, known)):
            return at
    return MOST


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OPERATIONS))
@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        *(("memory", mode) for mode in MODES),
        ("sqlite", "late"),
        ("in place", "late"),
        *(pytest.param("sqlite", mode, marks=pytest.mark.slow) for mode in ("early", "twice")),
        *(pytest.param("in place", mode, marks=pytest.mark.slow) for mode in ("early", "twice")),
    ],
)
def test_a_step_is_whole_or_not_there(tmp_path: Path, kind: str, name: str, mode: Mode) -> None:
    """Cancelled anywhere, a step is whole or absent, its object goes on and no task is left."""
    assert points(kind, tmp_path, name, mode) < MOST


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_writer_that_waits_for_its_turn_writes_nothing(tmp_path: Path, kind: str) -> None:
    """Of tasks that wait for the same object the cancelled ones leave nothing, the others all."""
    async with opened(kind, tmp_path) as store:
        thread = await store.thread("chat")
        tasks = [
            asyncio.create_task(thread.add_message(Message.user(f"{number}")))
            for number in range(20)
        ]
        await asyncio.sleep(0)
        for task in tasks[1::2]:
            task.cancel()
        await asyncio.wait(tasks)
        said = [message.text for message in await thread.get_messages()]

        assert said == [f"{number}" for number in range(0, 20, 2)]
        assert [task.cancelled() for task in tasks] == [number % 2 == 1 for number in range(20)]


@pytest.mark.parametrize("kind", STORES)
async def test_a_time_limit_leaves_a_whole_step(tmp_path: Path, kind: str) -> None:
    """Under limits of any length the messages are there or not, and later ones follow them."""
    async with opened(kind, tmp_path) as store:
        thread = await store.thread("chat")
        for number in range(60):
            pair = [Message.user(f"{number}"), Message.user("more")]
            with suppress(TimeoutError):
                await asyncio.wait_for(thread.add_messages(pair), number / 40_000)
        stored = await store.thread("chat")

        assert stored.head.revision == thread.head.revision

        said = [message.text for message in await stored.get_messages()]

        assert said[1::2] == ["more"] * (len(said) // 2)
        assert [int(one) for one in said[::2]] == sorted(int(one) for one in said[::2])


async def test_a_commit_that_fails_behind_a_cancellation_is_not_believed(tmp_path: Path) -> None:
    """A thread whose cancelled commit could not be made knows that, and writes again."""
    async with SQLiteStore(tmp_path / "chat.db", busy_timeout=0.2) as store:
        thread = await store.thread("chat")
        with closing(sqlite3.connect(tmp_path / "chat.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            task = asyncio.create_task(thread.add_message(Message.user("refused")))
            # The change is handed to the writer, which waits for the other connection.
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            other.rollback()
        assert (task.cancelled(), thread.count) == (True, 0)
        await thread.add_message(Message.user("taken"))
        assert thread.count == 1


@pytest.mark.parametrize("kind", STORES)
async def test_a_task_group_that_fails_leaves_whole_steps(tmp_path: Path, kind: str) -> None:
    """Where one task of a group fails, each of the others has its messages stored or not."""

    async def fail() -> None:
        await asyncio.sleep(0.002)
        message = "one of the group"
        raise ValueError(message)

    async def write(store: ThreadStore, number: int) -> None:
        thread = await store.thread(f"t{number}")
        for _ in range(1000):
            await thread.add_messages([Message.user("one"), Message.user("two")])

    async def group(store: ThreadStore) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(5):
                tasks.create_task(write(store, number))
            tasks.create_task(fail())

    async with opened(kind, tmp_path) as store:
        with pytest.raises(ExceptionGroup):
            await group(store)

        assert asyncio.all_tasks() == {asyncio.current_task()}
        async for thread in store.threads():
            said = [message.text for message in await thread.get_messages()]

            assert said == ["one", "two"] * (len(said) // 2)


@pytest.mark.parametrize("at", range(6))
async def test_opening_can_be_cancelled(tmp_path: Path, at: int) -> None:
    """A store whose opening was cancelled can be opened again, and is closed."""
    async with asyncio.timeout(PATIENCE):
        store = SQLiteStore(tmp_path / "chat.db")
        task = asyncio.get_running_loop().create_task(Cancelled(store.open(), at, "early"))
        await asyncio.wait([task])
        async with store:
            await store.thread("chat")
