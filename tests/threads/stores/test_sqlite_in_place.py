"""Commits of a SQLite store that the caller makes itself, and when the thread makes them."""

import asyncio
import sqlite3
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, closing
from math import inf
from pathlib import Path

import pytest

from foldline.errors import StoreError, ThreadConflictError
from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import StoreFile, needs_lock
from foldline.threads.stores.sqlite.log import WriteLog
from foldline.threads.stores.sqlite.pace import Pace
from foldline.threads.stores.sqlite.store import SQLiteStorage, SQLiteStore
from tests.faults.operation import Kind, Operation
from tests.faults.vfs import hooked


def storage_of(store: SQLiteStore) -> SQLiteStorage:
    storage = store.context.storage
    assert isinstance(storage, SQLiteStorage)
    return storage


@asynccontextmanager
async def opened(folder: Path, *, most_pages: float = 1_000) -> AsyncGenerator[SQLiteStore]:
    """Give an open store that flushes no commit, and folds its log after *most_pages*."""
    store = SQLiteStore(folder / "a.db", durability="relaxed")
    storage = storage_of(store)
    # However busy the machine is, a commit is quick.
    storage.pace = Pace(clock=lambda: 0.0)
    storage.log = WriteLog(storage.file.path, busy_timeout=1.0, most_pages=most_pages)
    async with asyncio.timeout(60), store:
        yield store


async def begun(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """Return the task of *work* after its first step; one that waits for nobody is done."""
    task = asyncio.create_task(work)
    await asyncio.sleep(0)
    return task


async def test_a_commit_that_flushes_nothing_is_made_at_once(tmp_path: Path) -> None:
    """The caller makes a commit itself where that waits for no disk."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        task = await begun(thread.add_message(Message.user("one")))

        assert task.done()
        assert thread.count == 1


async def test_a_commit_that_flushes_is_left_to_the_thread(tmp_path: Path) -> None:
    """By default the event loop runs on while a commit is flushed."""
    async with SQLiteStore(tmp_path / "a.db") as store:
        thread = await store.thread("t")
        task = await begun(thread.add_message(Message.user("one")))

        assert not task.done()
        await task
        assert thread.count == 1


async def test_the_later_of_two_has_a_conflict(tmp_path: Path) -> None:
    """Of two objects of one thread the later one gets its conflict, and nothing is written."""
    async with opened(tmp_path) as store:
        one, other = await store.thread("t"), await store.thread("t")
        await one.add_message(Message.user("one"))

        with pytest.raises(ThreadConflictError):
            await other.add_message(Message.user("other"))

        assert [one.text for one in await one.get_messages()] == ["one"]


@pytest.mark.parametrize("what", ["long", "many", "rewind", "fork", "clear"])
async def test_what_takes_long_is_left_to_the_thread(tmp_path: Path, what: str) -> None:
    """What is long, or moves or deletes rows, does not hold the event loop up."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        await thread.add_messages([Message.user("one"), Message.assistant("two")])
        work: dict[str, Coroutine[object, object, object]] = {
            "long": thread.add_message(Message.user("x" * 70_000)),
            "many": thread.add_messages([Message.user("x")] * 65),
            "rewind": thread.rewind(1),
            "fork": thread.fork("other"),
            "clear": thread.clear(),
        }
        chosen = work.pop(what)
        for other in work.values():
            other.close()
        task = asyncio.ensure_future(chosen)
        await asyncio.sleep(0)

        assert not task.done()
        await task


async def test_nobody_waits_for_the_thread(tmp_path: Path) -> None:
    """While the thread is at work a commit takes its place behind it, and the loop runs on."""
    async with opened(tmp_path) as store:
        inside, done = threading.Event(), threading.Event()
        thread = await store.thread("t")

        def hold(connection: sqlite3.Connection) -> int:
            inside.set()
            done.wait(5)
            return int(connection.execute("SELECT count(*) FROM rows").fetchone()[0])

        held = asyncio.create_task(storage_of(store).writer.run(hold))
        await asyncio.to_thread(inside.wait, 60)
        task = await begun(thread.add_message(Message.user("one")))
        assert not task.done()
        done.set()
        await task

        assert (await held, thread.count) == (0, 1)


@pytest.mark.skipif(not needs_lock(), reason="this SQLite keeps writers apart by itself")
async def test_nobody_waits_for_the_lock_of_another_process(tmp_path: Path) -> None:
    """While another process holds the lock file the thread waits for it, and the loop runs on."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        other = StoreFile(storage_of(store).file.path, durability="full", busy_timeout=1.0)
        with other.exclusive():
            task = await begun(thread.add_message(Message.user("one")))
            assert not task.done()
        await task

        assert thread.count == 1


async def test_nobody_waits_for_another_program(tmp_path: Path) -> None:
    """While another program writes to the file the thread waits for it, and the loop runs on."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        path = storage_of(store).file.path
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            task = await begun(thread.add_message(Message.user("one")))
            assert not task.done()
            other.execute("ROLLBACK")
            await task
        again = await begun(thread.add_message(Message.user("two")))

        assert again.done()
        assert thread.count == 2


async def test_only_the_thread_waits_for_other_programs(tmp_path: Path) -> None:
    """In place SQLite waits for nobody and never folds the log back; in the thread it waits."""

    def asked(connection: sqlite3.Connection) -> list[int]:
        pragmas = ("busy_timeout", "wal_autocheckpoint")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]

    async with opened(tmp_path) as store:
        writer = storage_of(store).writer
        in_thread = await writer.run(asked)
        in_place = writer.in_place(asked)

        assert in_place is not None
        assert (in_thread, in_place.result) == ([10_000, 0], [0, 0])


async def test_the_caller_flushes_nothing(tmp_path: Path) -> None:
    """The thread folds the log back and begins it again; what the caller writes is not flushed."""
    done: Counter[tuple[Kind, bool]] = Counter()

    def note(operation: Operation) -> int:
        here = threading.current_thread() is threading.main_thread()
        done[operation.kind, here] += 1
        return operation.perform()

    with hooked(note):
        async with opened(tmp_path, most_pages=30) as store:
            thread = await store.thread("t")
            done.clear()
            for number in range(100):
                await thread.add_message(Message.user(f"{number}"))
            found = dict(done)

    assert found[Kind.SYNC, False] > 10
    assert (Kind.SYNC, True) not in found
    assert found[Kind.WRITE, True] > found[Kind.WRITE, False]


async def test_other_tasks_have_their_turns(tmp_path: Path) -> None:
    """A task that does nothing but commit lets others run, and a time limit ends it."""
    async with opened(tmp_path, most_pages=inf) as store:
        thread = await store.thread("t")
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                await asyncio.sleep(0)
                turns += 1

        async def write() -> None:
            for _ in range(100_000):
                await thread.add_message(Message.user("on"))

        other = asyncio.create_task(tick())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(write(), 0.1)
        other.cancel()

        assert turns >= thread.count // 32
        assert (await store.thread("t")).count == thread.count > 0


async def test_an_interrupted_commit_leaves_no_transaction(tmp_path: Path) -> None:
    """A Ctrl-C inside a commit goes through, undoes it, and the next one is made at once."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")

        def fail(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM threads")
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            storage_of(store).writer.in_place(fail)
        task = await begun(thread.add_message(Message.user("one")))

        assert task.done()
        assert thread.count == 1


async def test_what_fails_in_place_is_done_by_the_thread(tmp_path: Path) -> None:
    """A failure of the connection has it made again by the thread, and then all is as before."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        writer = storage_of(store).writer

        assert (
            writer.in_place(lambda connection: connection.execute("SELECT * FROM nowhere")) is None
        )
        task = await begun(thread.add_message(Message.user("one")))
        assert not task.done()
        await task
        assert (await begun(thread.add_message(Message.user("two")))).done()


async def test_no_commit_goes_to_a_file_that_is_gone(tmp_path: Path) -> None:
    """A file that was moved is noticed before a commit in place too."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        path = storage_of(store).file.path
        path.rename(path.with_name("b.db"))
        with pytest.raises(StoreError, match="was moved, deleted or replaced"):
            await thread.add_message(Message.user("lost"))
        path.with_name("b.db").rename(path)
        await thread.add_message(Message.user("kept"))

        assert thread.count == 1


async def test_a_closed_store_takes_no_commit(tmp_path: Path) -> None:
    """After the end nothing is written in place."""
    async with opened(tmp_path) as store:
        thread = await store.thread("t")
        writer = storage_of(store).writer
        await store.close()

        assert writer.in_place(lambda connection: connection.total_changes) is None
        with pytest.raises(StoreError, match="is not open: use it inside `async with`"):
            await thread.add_message(Message.user("late"))
        await store.open()
