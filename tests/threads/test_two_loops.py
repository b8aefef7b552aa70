"""One thread object belongs to one event loop at a time."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from foldline.errors import StoreError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore


class Slow(MemoryStorage):
    """A memory whose commits wait until they may be made."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()

    async def commit(self, key: ThreadKey, change: Change) -> None:
        self.began.set()
        await asyncio.to_thread(self.goes_on.wait)
        await super().commit(key, change)


def _in_a_loop_of_its_own(call: Callable[[], Awaitable[object]]) -> threading.Thread:
    async def run() -> None:
        await call()

    running = threading.Thread(target=lambda: asyncio.run(run()))
    running.start()
    return running


def test_a_second_loop_is_refused_while_the_first_writes() -> None:
    """A commit in another event loop raises at once instead of blocking; the first one is made."""
    storage = Slow()
    thread = asyncio.run(ThreadStore(storage).thread("t"))
    storage.began.clear()
    storage.goes_on.clear()
    first = _in_a_loop_of_its_own(lambda: thread.add_message(Message.user("one")))
    storage.began.wait()

    for call in (thread.add_message(Message.user("two")), thread.refresh(), thread.clear()):
        with pytest.raises(StoreError, match="used in two event loops"):
            asyncio.run(call)
    storage.goes_on.set()
    first.join()

    assert thread.count == 1


def test_one_loop_after_the_other_is_fine() -> None:
    """An object may be used in one event loop after the other."""
    thread = asyncio.run(MemoryStore().thread("t"))
    for number in range(3):
        asyncio.run(thread.add_message(Message.user(f"{number}")))

    assert thread.count == 3


async def test_who_gave_up_waiting_keeps_no_loop_out() -> None:
    """After a task that waited was cancelled, the object may be used in another event loop."""
    storage = Slow()
    thread = await ThreadStore(storage).thread("t")
    storage.goes_on.clear()
    first = asyncio.create_task(thread.add_message(Message.user("one")))
    second = asyncio.create_task(thread.add_message(Message.user("two")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    storage.goes_on.set()
    await first
    await asyncio.to_thread(asyncio.run, thread.refresh())

    assert thread.count == 1


async def test_two_loops_end_with_typed_errors(tmp_path: Path) -> None:
    """Two loops that write through one object of a file both end, with typed errors at most."""
    outcomes: list[object] = []
    async with SQLiteStore(tmp_path / "a.db", durability="relaxed") as store:
        thread = await store.thread("t")

        async def write() -> None:
            for number in range(40):
                for call in (thread.add_message(Message.user(f"{number}")), thread.refresh()):
                    outcomes.extend(await asyncio.gather(call, return_exceptions=True))

        other = await asyncio.to_thread(_in_a_loop_of_its_own, write)
        await write()
        await asyncio.to_thread(other.join)
        await thread.refresh()

        errors = [one for one in outcomes if one is not None]
        assert all(isinstance(one, StoreError) for one in errors)
        assert thread.count + len(errors) >= 80
