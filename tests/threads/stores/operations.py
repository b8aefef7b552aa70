"""What is done with a store while its connection breaks, and how to check whether it was done."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import NamedTuple

from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


# Enough that the driver of PostgreSQL prepares the next append, in a request of its own.
WORDS = ("one", "two", "three", "four", "parcel")
TURN = ("where is it", "in Porto")
NEW = "five"


class Operation(NamedTuple):
    """One of the things that a store is there for."""

    act: Callable[[ThreadStore, ConversationThread], Awaitable[object]]
    effect: Callable[[ThreadStore, str], Awaitable[bool]] | None


async def prepare(store: ThreadStore, name: str) -> ConversationThread:
    """Make the thread that something is done with."""
    thread = await store.thread(name)
    for word in WORDS:
        await thread.add_message(Message.user(word))
    return thread


async def texts_of(store: ThreadStore, name: str) -> list[str] | None:
    """Return the texts of a thread, or None if there is none."""
    thread = await store.find(name)
    return None if thread is None else [one.text for one in await thread.get_messages()]


async def _make(store: ThreadStore, thread: ConversationThread) -> None:
    made = await store.thread(f"{thread.id}-new")
    assert made.head.count == 0


async def _is_made(store: ThreadStore, name: str) -> bool:
    return await texts_of(store, f"{name}-new") is not None


async def _append(store: ThreadStore, thread: ConversationThread) -> None:
    await thread.add_message(Message.user(NEW))


async def _is_appended(store: ThreadStore, name: str) -> bool:
    texts = await texts_of(store, name)
    assert texts in ([*WORDS], [*WORDS, NEW])
    return texts == [*WORDS, NEW]


async def _commit(store: ThreadStore, thread: ConversationThread) -> None:
    state = AgentLoopState(run_id="r", conversation_id=thread.id, started_at=datetime.now(UTC))
    turn = [Message.user(TURN[0]), Message.assistant(TURN[1])]
    await thread.commit(Change(messages=turn, execution=state))


async def _is_committed(store: ThreadStore, name: str) -> bool:
    texts = await texts_of(store, name)
    has_state = (await store.thread(name)).execution_state is not None
    assert (texts, has_state) in (([*WORDS], False), ([*WORDS, *TURN], True))
    return has_state


async def _load(store: ThreadStore, thread: ConversationThread) -> None:
    found = await store.find(thread.id)
    assert found is not None
    assert found.head.count == len(WORDS)


async def _rows(store: ThreadStore, thread: ConversationThread) -> None:
    assert [one.text for one in await thread.get_messages()] == [*WORDS]


async def _fork(store: ThreadStore, thread: ConversationThread) -> None:
    fork = await thread.fork(f"{thread.id}-new")
    assert fork.head.count == len(WORDS)


async def _is_forked(store: ThreadStore, name: str) -> bool:
    texts = await texts_of(store, f"{name}-new")
    assert texts in (None, [*WORDS])
    return texts is not None


async def _delete(store: ThreadStore, thread: ConversationThread) -> None:
    assert await store.delete(thread.id)


async def _is_deleted(store: ThreadStore, name: str) -> bool:
    texts = await texts_of(store, name)
    assert texts in (None, [*WORDS])
    return texts is None


async def _search(store: ThreadStore, thread: ConversationThread) -> None:
    assert len(await thread.search("parcel")) == 1


OPERATIONS = {
    "make": Operation(_make, _is_made),
    "append": Operation(_append, _is_appended),
    "commit": Operation(_commit, _is_committed),
    "load": Operation(_load, None),
    "rows": Operation(_rows, None),
    "fork": Operation(_fork, _is_forked),
    "delete": Operation(_delete, _is_deleted),
    "search": Operation(_search, None),
}
"""Each by its name."""
