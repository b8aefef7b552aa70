"""Checkpoints: the last one alone, or all of them."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from foldline.errors import CheckpointError, ThreadConflictError, ThreadIdError
from foldline.history.messages import Message
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.key import ThreadKey
from foldline.threads.loop_state import Checkpoint
from foldline.threads.storage import CheckpointRetention
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import NOW, open_state, reduction_of
from tests.threads.clock import Hourly


HOUR = timedelta(hours=1)


@pytest.fixture
def kept() -> CheckpointRetention:
    """Return which checkpoints are kept; some tests choose another."""
    return "full"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, kept: CheckpointRetention, tmp_path: Path) -> ThreadStore:
    """Return a store of each kind."""
    if request.param == "memory":
        return MemoryStore(clock=Hourly(), checkpoints=kept)
    return SQLiteStore(tmp_path / "chat.db", clock=Hourly(), checkpoints=kept)


@pytest.fixture
def checkpointer(store: ThreadStore) -> ThreadCheckpointer:
    """Return the checkpointer of that store."""
    return ThreadCheckpointer(store)


async def saved(
    checkpointer: ThreadCheckpointer, store: ThreadStore, count: int, thread_id: str = "chat"
) -> ConversationThread:
    """Make a thread with *count* checkpoints, an exchange of two messages before each."""
    thread = await store.thread(thread_id)
    for step in range(count):
        await thread.add_messages(
            [Message.user(f"Message {step + 1}"), Message.assistant(f"Response {step + 1}")]
        )
        await checkpointer.save(thread, open_state(thread, f"note {step}", iteration=step))
    return thread


def steps(known: list[Checkpoint]) -> list[int]:
    return [one.step for one in known]


@pytest.mark.parametrize("kept", ["latest"])
async def test_the_last_checkpoint_is_the_execution_state(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Where the last one alone is kept, the second save takes the place of the first."""
    await saved(checkpointer, store, 2)
    loaded = await checkpointer.load("chat")

    assert loaded is not None
    assert loaded.execution_state is not None
    assert loaded.execution_state.iteration == 1
    assert loaded.execution_state.metadata == {"note": "note 1"}
    assert len(loaded.execution_state.current_messages) == 4
    assert loaded.count == 4


@pytest.mark.parametrize("name", ["load_at", "history"])
@pytest.mark.parametrize("kept", ["latest"])
async def test_the_last_checkpoint_alone_has_no_history(
    checkpointer: ThreadCheckpointer, store: ThreadStore, name: str
) -> None:
    """Asking for earlier checkpoints is an error that names the option that is needed."""
    await saved(checkpointer, store, 1)
    asked: dict[str, Callable[[], Awaitable[object]]] = {
        "load_at": partial(checkpointer.load_at, "chat", "000000000003"),
        "history": partial(checkpointer.history, "chat"),
    }
    with pytest.raises(CheckpointError) as refused:
        await asked[name]()

    assert str(refused.value) == (
        f"{name} needs a store with checkpoints='full': this one keeps only the newest checkpoint"
    )


@pytest.mark.parametrize("kept", ["latest"])
async def test_with_the_last_checkpoint_alone_nothing_is_pruned(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Pruning and deleting old checkpoints is harmless and writes nothing."""
    thread = await saved(checkpointer, store, 3)
    revision = thread.head.revision

    assert await checkpointer.prune("chat", keep_latest=0) == 0
    assert await checkpointer.delete_older_than(NOW + 1000 * HOUR) == 0

    await thread.refresh()

    assert thread.head.revision == revision
    assert thread.execution_state is not None


@pytest.mark.parametrize("kept", ["latest", "full"])
async def test_what_is_unknown_is_none(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """An unknown thread loads as None, prunes to nothing and is deleted without an error."""
    assert await checkpointer.load("nobody") is None
    assert await checkpointer.prune("nobody") == 0
    assert not await store.delete("nobody")
    with pytest.raises(ThreadIdError):
        await checkpointer.load("../nobody")


async def test_an_unknown_checkpoint_is_none(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """An unknown thread, an unknown checkpoint, the root and another tenant give None."""
    await saved(checkpointer, store, 1)
    newest, root = await checkpointer.history("chat")

    assert await checkpointer.load_at("nobody", newest.id) is None
    assert await checkpointer.load_at("chat", "nothing") is None
    assert await checkpointer.load_at("chat", root.id) is None
    assert await checkpointer.load_at("chat", newest.id, tenant="acme") is None
    assert await checkpointer.history("nobody") == []
    assert await checkpointer.history("chat", tenant="acme") == []


async def test_three_saves_and_the_root(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """The newest checkpoint is first; the root is last, with step and message index -1."""
    thread = await saved(checkpointer, store, 3)
    known = await checkpointer.history("chat")

    assert steps(known) == [2, 1, 0, -1]
    assert [one.message_index for one in known] == [6, 4, 2, -1]
    assert [one.source for one in known] == ["loop", "loop", "loop", "root"]
    assert len({one.id for one in known}) == 4
    assert known[-1].created_at == thread.created_at
    assert known[-1].execution_state() is None
    assert known[0].created_at == thread.last_activity
    times = [one.created_at for one in known]

    assert times == sorted(times, reverse=True)


async def test_the_message_index_is_the_count_at_the_save(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """It counts all messages of the thread, system messages too."""
    thread = await store.thread("chat")
    await thread.add_message(Message.system("Be brief."))
    await checkpointer.save(thread, open_state(thread, "note"))
    await thread.add_messages([Message.user("one"), Message.assistant("two")])
    await thread.commit(
        Change(
            messages=[Message.user("three")],
            execution=open_state(thread, "note"),
            source="input",
        )
    )
    known = await checkpointer.history("chat")

    assert [one.message_index for one in known] == [4, 1, -1]
    assert [one.source for one in known] == ["input", "loop", "root"]


async def test_a_moment_has_its_messages_and_its_state(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Loading the first checkpoint gives its one exchange and its iteration, and changes nothing."""
    thread = await saved(checkpointer, store, 2)
    await thread.set_metadata({"colour": "blue"}, display_name="Parcels")
    first = (await checkpointer.history("chat"))[1]
    moment = await checkpointer.load_at("chat", first.id)

    assert moment is not None
    assert [one.text for one in await moment.get_messages()] == ["Message 1", "Response 1"]
    assert moment.count == first.message_index == 2
    assert moment.execution_state is not None
    assert moment.execution_state.iteration == first.step == 0
    assert (moment.display_name, dict(moment.metadata)) == ("Parcels", {"colour": "blue"})
    moment.execution_state.validate_consistency(moment.count)
    loaded = await checkpointer.load("chat")

    assert loaded is not None
    assert (loaded.count, loaded.head.revision) == (4, thread.head.revision)


async def test_every_moment_of_a_rewritten_thread_can_be_read(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """After a rewind and an edit each earlier checkpoint still shows what was said then."""
    thread = await saved(checkpointer, store, 3)
    await thread.rewind(2)
    await thread.edit(0, Message.user("edited"))
    await thread.add_message(Message.user("another way"))
    await checkpointer.save(thread, open_state(thread, "note", iteration=7))
    known = await checkpointer.history("chat")
    said: list[list[str]] = []
    for one in known[:-1]:
        moment = await checkpointer.load_at("chat", one.id)

        assert moment is not None
        said.append([message.text for message in await moment.get_messages()])

    assert steps(known) == [7, 2, 1, 0, -1]
    assert said[0] == ["edited", "Response 1", "another way"]
    assert said[1][-2:] == ["Message 3", "Response 3"]
    assert [len(one) for one in said] == [3, 6, 4, 2]


async def test_a_moment_has_the_reduction_that_was_in_force(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """A checkpoint shows the reduction of its time, not the newest one."""
    thread = await saved(checkpointer, store, 3)
    said = await thread.get_messages()
    early, late = reduction_of(said, 2, "early"), reduction_of(said, 4, "late")
    await thread.commit(
        Change(reduction=early, execution=open_state(thread, "note").with_reduction(early))
    )
    await thread.commit(
        Change(reduction=late, execution=open_state(thread, "note").with_reduction(late))
    )
    moment = await checkpointer.load_at("chat", (await checkpointer.history("chat"))[1].id)

    assert moment is not None
    assert moment.last_reduction == early
    assert thread.last_reduction == late


async def test_pruning_keeps_the_newest(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Of 5 saves and the root the newest 4 stay, and the thread itself is untouched."""
    thread = await saved(checkpointer, store, 5)

    assert await checkpointer.prune("chat", keep_latest=4) == 2
    assert steps(await checkpointer.history("chat")) == [4, 3, 2, 1]
    assert await checkpointer.prune("chat", keep_latest=4) == 0

    loaded = await checkpointer.load("chat")

    assert loaded is not None
    assert loaded.count == 10
    assert loaded.execution_state is not None
    assert loaded.execution_state.iteration == 4
    with pytest.raises(ThreadConflictError):
        await thread.add_message(Message.user("late"))


async def test_everything_can_be_pruned(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Keeping 0 removes all; a later save is listed again, without a second root."""
    await saved(checkpointer, store, 2)

    assert await checkpointer.prune("chat", keep_latest=0) == 3
    assert await checkpointer.history("chat") == []

    thread = await store.thread("chat")
    await checkpointer.save(thread, open_state(thread, "note", iteration=9))

    assert steps(await checkpointer.history("chat")) == [9]


async def test_a_limit_counts_the_newest_before_a_time(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Those made before a moment are chosen first, strictly, and the limit counts these."""
    await saved(checkpointer, store, 6)
    moment = (await checkpointer.history("chat"))[2].created_at

    assert steps(await checkpointer.history("chat", before=moment)) == [2, 1, 0, -1]
    assert steps(await checkpointer.history("chat", before=moment, limit=2)) == [2, 1]
    assert steps(await checkpointer.history("chat", limit=2)) == [5, 4]
    assert await checkpointer.history("chat", limit=0) == []
    assert await checkpointer.history("chat", before=NOW) == []


async def test_old_checkpoints_go_and_new_ones_stay(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Of every thread what was made before the cutoff goes; messages and states stay."""
    await saved(checkpointer, store, 3, "a")
    await saved(checkpointer, store, 1, "b")
    cutoff = (await checkpointer.history("a"))[0].created_at

    assert await checkpointer.delete_older_than(cutoff) == 3
    assert steps(await checkpointer.history("a")) == [2]
    assert steps(await checkpointer.history("b")) == [0, -1]

    loaded = await checkpointer.load("a")

    assert loaded is not None
    assert loaded.count == 6
    assert loaded.execution_state is not None


class Halting(MemoryStorage):
    """A storage where something happens after the checkpoints of a thread are read."""

    then: Callable[[], Awaitable[object]] | None = None

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Let that happen, once."""
        found = await super().documents(key, kind, limit=limit)
        then, self.then = self.then, None
        if then is not None:
            await then()
        return found


@pytest.mark.parametrize("is_deleted", [True, False])
@pytest.mark.parametrize("by_age", [True, False])
async def test_who_writes_meanwhile_stops_no_pruning(*, by_age: bool, is_deleted: bool) -> None:
    """A thread that a turn moves on is pruned all the same; one that is deleted is passed by."""
    storage = Halting()
    store = ThreadStore(storage, clock=Hourly(), checkpoints="full")
    checkpointer = ThreadCheckpointer(store)
    thread = await saved(checkpointer, store, 2)
    storage.then = partial(thread.add_message, Message.user("late"))
    if is_deleted:
        storage.then = partial(store.delete, "chat")
    if by_age:
        removed = await checkpointer.delete_older_than(NOW + 1000 * HOUR)
    else:
        removed = await checkpointer.prune("chat", keep_latest=0)

    assert removed == (0 if is_deleted else 3)


async def test_pruning_deletes_what_no_checkpoint_needs(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """Replaced messages stay readable as long as a checkpoint shows them, and no longer."""
    thread = await saved(checkpointer, store, 2)
    shown = await checkpointer.history("chat")
    await thread.abandon_run()
    await thread.rewind(1)
    epochs = [thread.head.epoch]
    await checkpointer.save(thread, open_state(thread, "note"))
    moment = await checkpointer.load_at("chat", shown[0].id)

    assert moment is not None
    before = await moment.get_messages()
    epochs.append(moment.head.epoch)

    await checkpointer.prune("chat", keep_latest=3)

    assert await moment.get_messages() == before
    assert await checkpointer.prune("chat", keep_latest=1) > 0

    stored = [await store.context.storage.rows(thread.key, one, 0, 99) for one in epochs]

    assert [len(rows) for rows in stored] == [thread.head.count, 0]
    with pytest.raises(ThreadConflictError):
        await moment.get_messages()
    await thread.refresh()

    assert thread.head.rewinds == 0
    assert len(await thread.get_messages()) == thread.count


@pytest.mark.parametrize("kept", ["latest"])
async def test_pruning_deletes_replaced_messages_of_the_last_checkpoint_alone(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """A store that keeps the last checkpoint only deletes replaced messages when pruned."""
    thread = await store.thread("chat")
    await thread.add_messages([Message.user("one"), Message.user("two")])
    left = thread.head.epoch
    await thread.rewind(1)

    assert await checkpointer.prune("chat") == 0
    assert await store.context.storage.rows(thread.key, left, 0, 9) == []


async def test_removing_checkpoints_is_no_activity(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """A thread whose checkpoints are pruned is as inactive as before."""
    thread = await saved(checkpointer, store, 3)
    active_at = thread.last_activity
    assert await checkpointer.prune("chat") == 0
    await checkpointer.prune("chat", keep_latest=1)
    await thread.refresh()

    assert thread.last_activity == active_at


async def test_a_fork_begins_without_checkpoints(
    checkpointer: ThreadCheckpointer, store: ThreadStore
) -> None:
    """The first save of a fork makes a root of its own and leaves the original's alone."""
    thread = await saved(checkpointer, store, 2)
    fork = await thread.fork("fork", at=2)

    assert await checkpointer.history("fork") == []

    await checkpointer.save(fork, open_state(fork, "note", iteration=4))

    assert steps(await checkpointer.history("fork")) == [4, -1]
    assert steps(await checkpointer.history("chat")) == [1, 0, -1]
