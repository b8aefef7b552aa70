"""Forks of threads that others have changed, and of threads that end."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foldline.errors import ThreadExistsError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import NOW, reduction_of
from tests.threads.clock import DAY, Clock
from tests.threads.sample import faults_of


async def fold(thread: ConversationThread, cut: int, *, archive: bool = False) -> None:
    """Store a reduction of the first *cut* messages."""
    reduction = reduction_of(await thread.get_messages(), cut, f"{thread.id} up to {cut}")
    await thread.save_reduction(reduction, archive=archive)


def said(what: str, count: int) -> list[Message]:
    return [
        Message.system("Be brief."),
        *(Message.user(f"{what} {number}") for number in range(count)),
    ]


async def faults(thread: ConversationThread, store: ThreadStore) -> list[str]:
    return await faults_of(store, thread.key)


async def test_a_fork_takes_no_reduction_of_another_branch(store: ThreadStore) -> None:
    """A fork of an older view has the reductions that stand for its own messages, and no others."""
    mine = await store.thread("t")
    await mine.add_messages(said("first", 12))
    await fold(mine, 3)
    await fold(mine, 8, archive=True)
    shared = (await mine.reductions())[-1]
    yours = await store.thread("t")
    await yours.rewind(5)
    await yours.add_messages(said("second", 12))
    await fold(yours, 9, archive=True)
    fork = await mine.fork("f")
    assert await fork.get_messages() == await mine.get_messages()
    assert [one.summary_content for one in await fork.reductions()] == [shared.summary_content]
    assert fork.last_reduction == shared
    assert fork.head.archived == 0
    assert await faults(fork, store) == []
    assert (await fork.window()).reduction == shared


async def test_a_fork_of_an_older_view_has_what_was_folded_since(store: ThreadStore) -> None:
    """
    A reduction that somebody else has made of the messages of an older view goes with its fork.
    """
    mine = await store.thread("t")
    await mine.add_messages(said("first", 12))
    yours = await store.thread("t")
    for cut in (4, 8):
        await fold(yours, cut, archive=True)
    fork = await mine.fork("f")
    assert fork.last_reduction == yours.last_reduction
    assert len(await fork.reductions()) == 2
    assert await faults(fork, store) == []


async def test_a_fork_says_what_it_was_made_of(store: ThreadStore) -> None:
    """
    Its metadata names the thread and the index, also where the owner, or a fork before, named others.
    """
    thread = await store.thread("t")
    await thread.add_messages(said("first", 3))
    await thread.set_metadata({"colour": "blue", "forked_at": "night"}, display_name="Talk")
    fork = await (await thread.fork("f")).fork("g", at=2)

    assert fork.metadata == {"colour": "blue", "forked_from": "f", "forked_at": 2}
    assert fork.display_name == "Talk"


async def test_a_fork_without_an_id_has_one_of_its_own(store: ThreadStore) -> None:
    """Two forks without a name are two threads, which are found again by the ids that they got."""
    thread = await store.thread("t", tenant="acme")
    await thread.add_messages(said("first", 3))
    forks = [await thread.fork(at=2), await thread.fork()]

    assert [one.count for one in forks] == [3, 4]
    assert len({thread.id, *(one.id for one in forks)}) == 3
    assert (await store.thread(forks[0].id, tenant="acme")).count == 3


async def test_an_expired_thread_has_no_fork(store: ThreadStore, clock: Clock) -> None:
    """From its expiry on a thread is not there to fork, so that no fork is gone when it is made."""
    thread = await store.thread("t", ttl=DAY)
    await thread.add_message(Message.user("one"))
    fork = await thread.fork("early")
    assert fork.head.expires_at == NOW + DAY
    clock.now += DAY
    with pytest.raises(ThreadNotFoundError, match="'t'"):
        await thread.fork("late")
    assert await store.context.storage.load(ThreadKey("default", "late")) is None


async def test_an_expired_thread_makes_room_for_a_fork(store: ThreadStore, clock: Clock) -> None:
    """A fork takes the id of a thread that has expired, and not of one that lives."""
    old = await store.thread("f", ttl=DAY)
    await old.add_message(Message.user("old"))
    thread = await store.thread("t")
    await thread.add_message(Message.user("one"))
    with pytest.raises(ThreadExistsError, match="'f'"):
        await thread.fork("f")
    clock.now += DAY
    fork = await thread.fork("f")
    found = await store.thread("f")
    assert await found.get_messages() == await fork.get_messages() == [Message.user("one")]
    assert fork.head.expires_at is None


async def test_a_fork_does_not_take_the_id_of_a_damaged_thread(tmp_path: Path) -> None:
    """
    Of a thread that cannot be read nobody knows whether it has expired, so that its id is taken.
    """
    path = tmp_path / "a.db"
    clock = Clock()
    async with SQLiteStore(path, clock=clock) as store:
        thread = await store.thread("t")
        await store.thread("f", ttl=DAY)
        clock.now += DAY
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE threads SET head = zeroblob(9) WHERE id = 'f'")
        with pytest.raises(ThreadExistsError, match="'f'"):
            await thread.fork("f")


async def test_a_fork_shares_damage(tmp_path: Path) -> None:
    """
    Where the message at the end of a reduction is damaged, the fork has the message and not that.
    """
    path = tmp_path / "a.db"
    async with SQLiteStore(path) as store:
        thread = await store.thread("t")
        await thread.add_messages(said("first", 12))
        for cut in (4, 8):
            await fold(thread, cut)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE rows SET data = x'00' || data WHERE id & 0xffff = 8")
        fork = await thread.fork("f")
        known = [one.summary_content for one in await fork.reductions()]
        found = await faults(fork, store)

    assert (known, fork.head.length) == (["t up to 4"], 12)
    assert [fault.partition(":")[0] for fault in found] == ["row 8"]
