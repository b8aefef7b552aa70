"""Pinned messages: how they are pinned, where they stay so, and what a turn reads of them."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from foldline.errors import ConfigError, FormatError
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.rescue import whole_rows
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import open_state, reduction_of
from tests.threads.sample import faults_of
from tests.threads.test_window import CountingStorage


def said(count: int = 12) -> list[Message]:
    """Return a conversation whose messages 1 and 4 are pinned, with a system message in front."""
    spoken = [
        Message.user(f"say {number}", id=f"m{number}", pin=number in {1, 4})
        for number in range(count)
    ]
    return [Message.system("Be brief.", id="s"), *spoken]


async def begun(store: ThreadStore) -> ConversationThread:
    """Return a thread with these messages, folded up to the sixth."""
    thread = await store.thread("t")
    await thread.add_messages(said())
    await thread.save_reduction(reduction_of(said(), 6, "six"), archive=True)
    return thread


def test_a_message_is_made_pinned() -> None:
    """Each kind of message but a system message can be made pinned, and says so."""
    made = [Message.user("a", pin=True), Message.assistant("b", pin=True)]
    made.append(Message.tool("c", "d", pin=True))

    assert all(one.is_pinned for one in made)
    assert not Message.user("a").is_pinned
    assert Message.user("a").metadata is None


async def test_pins_are_stored_with_the_thread(any_store: ThreadStore) -> None:
    """They are there after a restart, in a fork, a rewind, an edit and a snapshot, in every store."""
    thread = await begun(any_store)
    await thread.pin(8)
    await thread.pin("m6")
    await thread.unpin("m4")
    found = await any_store.thread("t")
    fork = await thread.fork("f", at=8)
    moved = await any_store.restore(await thread.to_snapshot(), thread_id="s")
    seen = [thread.pins, found.pins, fork.pins, moved.pins]
    await thread.rewind(8)
    seen.append(thread.pins)
    await thread.edit(1, Message.user("edited"))
    seen.append(thread.pins)
    faults = await faults_of(any_store, thread.key)
    await thread.clear()
    seen.append(thread.pins)

    assert seen == [(1, 6, 8), (1, 6, 8), (1, 6), (1, 6, 8), (1, 6), (1, 6), ()]
    assert faults == []


async def test_a_window_brings_the_pinned_messages(store: ThreadStore) -> None:
    """Those before the cut and those after it come with their indexes, in order."""
    await begun(store)
    thread = await store.thread("t")
    await thread.pin(9)
    window = await (await store.thread("t")).window()

    spoken = said()[1:]
    assert window.history.start == 6
    assert window.pins == ((1, spoken[1]), (4, spoken[4]), (9, spoken[9]))


async def test_an_undone_fold_leaves_the_pins(store: ThreadStore) -> None:
    """Undoing a reduction changes no pin."""
    thread = await begun(store)
    await thread.undo_reduction()

    assert thread.pins == (1, 4)


async def test_an_edit_pins_what_is_pinned_only(store: ThreadStore) -> None:
    """After an edit an unpinned message stays unpinned, and an edited one can become pinned."""
    thread = await begun(store)
    await thread.unpin(4)
    await thread.edit(2, Message.user("keep this", pin=True))
    await thread.edit(1, Message.user("and this"))

    assert thread.pins == (1, 2)


async def test_a_moment_has_the_pins_of_that_time(store: ThreadStore) -> None:
    """A checkpoint shows what was pinned then, and so does a fork of it."""
    full = MemoryStore(checkpoints="full")
    async with full:
        thread = await begun(full)
        await thread.commit(Change(execution=open_state(thread, "note")))
        await thread.unpin(1)
        await thread.pin(7)
        checkpointer = ThreadCheckpointer(full)
        (newest, *_) = await checkpointer.history("t")
        moment = await checkpointer.load_at("t", newest.id)
        assert moment is not None

        assert (moment.pins, (await moment.fork("f")).pins) == ((1, 4), (1, 4))


async def test_whole_rows_keep_their_pins(tmp_path: Path) -> None:
    """What is saved of a damaged thread is pinned as it was, also after a gap."""
    async with SQLiteStore(tmp_path / "a.db") as store:
        thread = await begun(store)
        await thread.unpin(4)
        await thread.pin(9)
        found = await whole_rows(store.context, thread.key)
        left = {number: one for number, one in found.messages.items() if number != 5}
        snapshot = replace(found, messages=left).to_snapshot()
        restored = await store.restore(snapshot, thread_id="saved")

        assert restored.pins == (1, 8)
        messages = [one for one in await restored.get_messages() if one.role != "system"]
        assert [messages[index].id for index in restored.pins] == ["m1", "m9"]


async def test_an_older_snapshot_pins_by_its_messages() -> None:
    """A snapshot without pins gets those of the messages that were made pinned; wrong ones fail."""
    async with MemoryStore() as store:
        document = json.loads(await (await begun(store)).to_snapshot())
        assert document.pop("Pins") == [1, 4]
        assert (await store.restore(json.dumps(document), thread_id="old")).pins == (1, 4)
        with pytest.raises(FormatError, match="`Pins` holds an index that is not below 12"):
            await store.restore(json.dumps({**document, "Pins": [12]}))


async def test_pinning_twice_writes_once(store: ThreadStore) -> None:
    """What is pinned already, or is not pinned, is left as it is without a commit."""
    thread = await begun(store)
    before = thread.head.revision
    await thread.pin(4)
    await thread.unpin(5)
    assert thread.head.revision == before
    await thread.pin(5)
    assert thread.head.revision == before + 1


@pytest.mark.parametrize(
    ("at", "wrong"),
    [
        (12, "message must be a whole number from 0 to 11, got 12"),
        (-1, "message must be a whole number of at least 0, got -1"),
        (None, "message must be a whole number of at least 0, got None"),
        ("m99", "at must be the id of a message that is no system message, got 'm99'"),
        ("s", "at must be the id of a message that is no system message, got 's'"),
    ],
)
async def test_what_is_not_there_cannot_be_pinned(at: int | str, wrong: str) -> None:
    """An index or an id of no message, or of a system message, is refused by name."""
    async with MemoryStore() as store:
        thread = await begun(store)
        with pytest.raises(ConfigError, match=wrong):
            await thread.pin(at)
        with pytest.raises(
            ConfigError, match="a commit takes no epochs, copies, documents or pins"
        ):
            await thread.commit(Change(pins=(3,)))


async def test_the_newest_message_of_an_id_is_pinned() -> None:
    """An id that was used twice, pages apart, is that of the newest message."""
    async with MemoryStore() as store:
        thread = await store.thread("t")
        await thread.add_messages(
            [Message.user("x", id="a"), *said(1_500), Message.user("y", id="b")]
        )
        await thread.add_messages([*said(600), Message.user("z", id="a")])
        await thread.pin("a")
        await thread.pin("b")

        assert {1501, 2102} <= set(thread.pins)
        assert 0 not in thread.pins


@pytest.mark.parametrize(("pins", "calls"), [([], 0), ([0], 1), ([0, 10, 40], 1), ([0, 400], 2)])
async def test_pins_cost_a_read_of_their_own(pins: list[int], calls: int) -> None:
    """A turn without pins reads nothing for them, and pins near each other are read together."""
    read: list[int] = []
    for at in ([], pins):
        storage = CountingStorage()
        thread = await ThreadStore(storage).thread("t")
        messages = [Message.user(f"say {number}") for number in range(500)]
        await thread.add_messages(messages)
        await thread.save_reduction(reduction_of(messages, 490, "summary"))
        for index in at:
            await thread.pin(index)
        found = await ThreadStore(storage).find("t")
        assert found is not None
        storage.calls = 0
        await found.window()
        read.append(storage.calls)

    assert read[1] - read[0] == calls
