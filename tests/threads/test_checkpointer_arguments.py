"""What the methods that find and remove checkpoints, and list threads, refuse."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foldline.errors import ConfigError, ThreadIdError
from foldline.history.messages import Message
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import open_state


Call = Callable[[ThreadCheckpointer, ConversationThread, Any], Awaitable[object]]
Tell = Callable[[Callable[[ThreadStore, ConversationThread], Awaitable[None]]], None]

WHOLE = "allowed is a whole number"
TEXT = "allowed is a text"
CALLS: dict[str, tuple[Call, str, list[object]]] = {
    "checkpoint_id": (
        lambda checkpointer, _, bad: checkpointer.load_at("t", bad),
        TEXT,
        [None, 5, 1.5, b"", [], object()],
    ),
    "limit": (
        lambda checkpointer, _, bad: checkpointer.history("t", limit=bad),
        WHOLE,
        ["a", 1.5, b"", [], True, object()],
    ),
    "keep_latest": (
        lambda checkpointer, _, bad: checkpointer.prune("t", keep_latest=bad),
        WHOLE,
        [None, "a", 1.5, object()],
    ),
    "cutoff": (
        lambda checkpointer, _, bad: checkpointer.delete_older_than(bad),
        "allowed is a datetime with a time zone",
        [None, 5, "a", object()],
    ),
    "thread": (
        lambda checkpointer, thread, bad: checkpointer.save(bad, open_state(thread, "note")),
        "allowed is a ConversationThread",
        [None, "t", object()],
    ),
    "names": (
        lambda _, thread, bad: thread.forget_checkpoints(bad),
        "allowed is a list",
        [None, 5, "000000000002", b"", {}, object()],
    ),
    "one of names": (
        lambda _, thread, bad: thread.forget_checkpoints([bad]),
        TEXT,
        [None, 5, b"", []],
    ),
}


@pytest.fixture(params=["memory", "sqlite"])
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    async def run(
        story: Callable[[ThreadStore, ConversationThread], Awaitable[None]],
    ) -> None:
        async with (
            MemoryStore(checkpoints="full")
            if request.param == "memory"
            else SQLiteStore(tmp_path / "a.db", checkpoints="full")
        ) as store:
            thread = await store.thread("t")
            state = open_state(thread, "note")
            await thread.commit(messages=[Message.user("secret")], execution=state)
            await story(store, thread)

    return lambda story: asyncio.run(run(story))


@pytest.mark.parametrize("name", CALLS)
def test_what_is_of_another_kind_is_named(tell: Tell, name: str) -> None:
    """
    A value of another kind is told by the argument, its type and what is allowed, and writes nothing.
    """
    call, allowed, values = CALLS[name]

    async def story(store: ThreadStore, thread: ConversationThread) -> None:
        checkpointer = ThreadCheckpointer(store)
        for bad in values:
            text = f"^{name} is a {type(bad).__name__}: {allowed}$"
            with pytest.raises(ConfigError, match=text):
                await call(checkpointer, thread, bad)
        await thread.refresh()

        assert thread.revision == 2
        assert len(await checkpointer.history("t")) == 2

    tell(story)


def test_a_checkpointer_needs_a_store() -> None:
    """What is no store is told where the checkpointer is made."""
    with pytest.raises(ConfigError, match=r"^store is a str: allowed is a ThreadStore$"):
        ThreadCheckpointer("chat.db")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("tenant", [None, 5, "a b", "\ud800", "", [], object()])
def test_a_tenant_that_cannot_be_has_no_threads_to_list(tell: Tell, tenant: Any) -> None:
    """
    Who lists threads of an owner that no thread can have is told so, and not that there are none.
    """

    async def story(store: ThreadStore, _: ConversationThread) -> None:
        with pytest.raises(ThreadIdError, match="tenant of "):
            await ThreadCheckpointer(store).list_ids(tenant=tenant)
        with pytest.raises(ThreadIdError, match="tenant of "):
            await anext(store.threads(tenant=tenant))
        with pytest.raises(ThreadIdError, match="tenant of "):
            await store.delete_inactive(timedelta(days=1), tenant=tenant)

    tell(story)
