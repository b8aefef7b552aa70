"""Objects of threads that were deleted and made again."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from foldline.errors import StoreCorruptError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import open_state
from tests.threads.clock import DAY, Clock
from tests.threads.stores_by_name import EVERY, store_by_name


Call = Callable[[ConversationThread], Awaitable[object]]

SAID = [Message.user("old"), Message.assistant("words")]
CALLS: dict[str, Call] = {
    "all messages": lambda thread: thread.get_messages(),
    "the newest": lambda thread: thread.get_messages(last=1),
    "a range": lambda thread: thread.get_range(0, 1),
    "the working ones": lambda thread: thread.working_messages(),
    "a window": lambda thread: thread.window(),
    "a title": lambda thread: thread.title(),
    "a snapshot": lambda thread: thread.to_snapshot(),
    "a search": lambda thread: thread.search("old"),
    "a fork": lambda thread: thread.fork("other"),
    "a rewind": lambda thread: thread.rewind(1),
    "a pop": lambda thread: thread.pop(),
    "a replace": lambda thread: thread.replace(SAID),
    "an edit": lambda thread: thread.edit(0, Message.user("x")),
    "an append": lambda thread: thread.add_messages(SAID),
}


@pytest.fixture(params=EVERY)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ThreadStore:
    """Return a store of each kind that keeps every checkpoint."""
    return store_by_name(request, tmp_path, clock, checkpoints="full")


class Torn(MemoryStorage):
    """A memory that is damaged past every program."""

    def lose_rows(self, key: ThreadKey) -> None:
        self._threads[key].rows.clear()

    def damage_head(self, key: ThreadKey) -> None:
        self._threads[key].head = b"x"


async def replaced(store: ThreadStore, clock: Clock, times: int) -> ConversationThread:
    """Return an object of a thread that was deleted, and made again with as many commits."""
    thread = await store.thread("chat")
    await thread.add_messages(SAID)
    await store.delete("chat")
    clock.now += DAY
    again = await store.thread("chat")
    for number in range(times):
        await again.add_message(Message.user(f"new {number}"))
    return thread


@pytest.mark.parametrize("times", [1, 2])
async def test_a_thread_that_was_made_anew_is_not_found(
    store: ThreadStore, clock: Clock, times: int
) -> None:
    """
    Whatever an object of the old thread is asked, the thread is gone, at the same revision too.
    """
    thread = await replaced(store, clock, times)
    found: dict[str, str] = {}
    for name, call in CALLS.items():
        try:
            found[name] = f"gives {await call(thread)}"
        except ThreadNotFoundError:
            continue
        except StoreCorruptError as error:
            found[name] = str(error)
    assert found == {}


async def test_a_moment_of_a_thread_that_was_made_anew_is_not_found(
    store: ThreadStore, clock: Clock
) -> None:
    """An earlier moment of the old thread is gone with it, whatever revision the new one has."""
    thread = await store.thread("chat")
    await thread.add_messages(SAID)
    checkpointer = ThreadCheckpointer(store)
    await checkpointer.save(thread, open_state(thread, "note"))
    newest, *_ = await checkpointer.history("chat")
    await thread.set_metadata({"a": 1})
    moment = await checkpointer.load_at("chat", newest.id)
    assert moment is not None
    assert await moment.get_messages() == SAID
    await store.delete("chat")
    clock.now += DAY
    again = await store.thread("chat")
    while again.head.revision < thread.head.revision:
        await again.set_metadata({"b": again.head.revision})
    with pytest.raises(ThreadNotFoundError):
        await moment.get_messages()


async def test_a_snapshot_of_a_moment_has_no_open_run(store: ThreadStore) -> None:
    """What was begun at an earlier moment is not begun again in a copy of it, which says why."""
    thread = await store.thread("chat")
    call = ToolCallPart(name="pay", id="c", arguments="{}")
    asked = Message(role="assistant", parts=(call,))
    await thread.commit(
        Change(
            messages=[Message.user("pay"), asked],
            execution=open_state(thread, "note"),
            tools=[ToolRun(call_id="c", name="pay")],
        )
    )
    await thread.append([Message.user("and?")])
    checkpointer = ThreadCheckpointer(store)
    first = (await checkpointer.history("chat"))[0]
    moment = await checkpointer.load_at("chat", first.id)
    assert moment is not None
    copy = await store.restore(await moment.to_snapshot(), thread_id="copy")

    assert moment.execution_state is not None
    assert moment.execution_state.is_open
    assert copy.count == moment.count == 2
    assert copy.execution_state is not None
    assert copy.execution_state.termination_reason == "The thread has gone on"


async def test_damage_is_still_damage() -> None:
    """
    Where rows, or rows and the head, of the very thread are damaged, the thread is not called gone.
    """
    storage = Torn()
    store = ThreadStore(storage)
    thread = await store.thread("chat")
    await thread.add_messages(SAID)
    storage.lose_rows(thread.key)
    with pytest.raises(StoreCorruptError):
        await thread.get_messages()
    storage.damage_head(thread.key)
    with pytest.raises(StoreCorruptError):
        await thread.get_messages()
