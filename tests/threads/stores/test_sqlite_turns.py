"""A task that reads a SQLite store without end, and those that wait for their turn."""

import asyncio
from pathlib import Path

import pytest
from foldline.threads.stores.sqlite.glance import Glance

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


def test_a_task_that_polls_can_be_timed_out(tmp_path: Path) -> None:
    """A loop that does nothing but refresh a thread ends when its time is over, and others run."""
    reads = turns = 0

    async def live() -> None:
        async with SQLiteStore(tmp_path / "a.db") as store:
            thread = await store.thread("t")
            await thread.add_message(Message.user("question"))
            other = asyncio.create_task(tick())
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(poll(thread), 0.3)
            other.cancel()

    async def poll(thread: ConversationThread) -> None:
        nonlocal reads
        # A number, so that the test fails, and does not hang, where it cannot be ended.
        while thread.count < 2 and reads < 200_000:
            await thread.refresh()
            reads += 1

    async def tick() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    asyncio.run(live())

    assert reads > 0
    assert turns >= reads // 32


def test_a_turn_of_the_loop_is_due_behind_32_answers(tmp_path: Path) -> None:
    """Of many answers every 32nd asks for a turn of the event loop, and of slow ones each."""
    now = 0.0
    pace = 0.0

    def clock() -> float:
        nonlocal now
        now += pace
        return now

    file = StoreFile(tmp_path / "a.db", durability="relaxed", busy_timeout=1.0)
    file.writer().close()
    glance = Glance(file, clock=clock)
    glance.connect().close()

    def asked() -> bool:
        assert glance.answer(lambda connection: connection.execute("SELECT 1").fetchone())
        return glance.take_turn()

    quick = [asked() for _ in range(96)]
    pace = 0.0011
    slow = [asked() for _ in range(3)]
    glance.close()

    assert [number for number, is_due in enumerate(quick, 1) if is_due] == [32, 64, 96]
    assert slow == [True, True, True]
