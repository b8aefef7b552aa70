"""What a SQLite store remembers of where a thread lies, when others change the file."""

from pathlib import Path

import pytest

from foldline.errors import ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.lease import NOBODY, Lease
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import open_state


async def grown(store: SQLiteStore, name: str, text: str) -> ConversationThread:
    """Return a thread of two messages, made in three commits."""
    thread = await store.thread(name)
    for number in range(2):
        await thread.add_message(Message.user(f"{text} {number}"))
    return thread


@pytest.mark.parametrize("name", ["t", "other"])
async def test_a_remembered_place_is_not_believed(tmp_path: Path, name: str) -> None:
    """A commit to a thread that was deleted is refused, whatever lies in its place by now."""
    path = tmp_path / "a.db"
    async with SQLiteStore(path) as store, SQLiteStore(path) as others:
        thread = await grown(store, "t", "old")
        await others.delete("t")
        new = await grown(others, name, "new")
        with pytest.raises(ThreadNotFoundError):
            await thread.add_message(Message.user("late"))

        assert new.head.revision == thread.head.revision
        assert [one.text for one in await new.get_messages()] == ["new 0", "new 1"]
        await new.add_message(Message.user("next"))


async def test_a_thread_made_again_has_rows_of_its_own(tmp_path: Path) -> None:
    """A thread that another process has deleted and made again gets the rows that this one adds."""
    path = tmp_path / "a.db"
    async with SQLiteStore(path) as store, SQLiteStore(path) as others:
        for name in ("first", "t"):
            await grown(store, name, "old")
        await others.delete("t")
        # From here on the number under which the old rows lay is another's.
        await (await others.thread("first")).rewind(1)
        await grown(others, "t", "new")
        await (await store.thread("t")).add_message(Message.user("next"))

        new = await others.thread("t")
        assert [one.text for one in await new.get_messages()] == ["new 0", "new 1", "next"]


async def test_a_remembered_place_is_that_of_its_thread(tmp_path: Path) -> None:
    """Threads that are written to in turn keep their own rows."""
    async with SQLiteStore(tmp_path / "a.db", durability="relaxed") as store:
        threads = {name: await grown(store, name, name) for name in "abc"}
        for name, thread in threads.items():
            await thread.add_message(Message.assistant(name))
        texts = {
            name: [one.text for one in await (await store.thread(name)).get_messages()]
            for name in threads
        }

    assert texts == {name: [f"{name} 0", f"{name} 1", name] for name in "abc"}


async def test_a_remembered_place_gets_state_and_lease(tmp_path: Path) -> None:
    """A commit to a thread whose place is known takes a lease with its state, and gives it back."""
    async with SQLiteStore(tmp_path / "a.db", durability="relaxed") as store:
        thread = await grown(store, "t", "said")
        seen: list[tuple[int, str | None]] = []
        for number, lease in enumerate((Lease("run", 60.0), None, NOBODY)):
            state = open_state(thread, "said", iteration=number)
            await thread.commit(Change(execution=state, lease=lease))
            found = await store.thread("t")
            assert found.execution_state is not None
            holder = None if found.lease is None else found.lease.holder
            seen.append((found.execution_state.iteration, holder))

    assert seen == [(0, "run"), (1, "run"), (2, None)]
