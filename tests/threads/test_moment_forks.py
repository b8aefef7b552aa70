"""Going on from an earlier moment of a thread, whatever has become of the thread."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from foldline.errors import (
    ConfigError,
    FoldlineError,
    ThreadConflictError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread, ThreadMoment
from tests.threads.canaries import NOW, open_state, reduction_of
from tests.threads.clock import DAY, Clock
from tests.threads.sample import faults_of


Make = Callable[[Clock], ThreadStore]
Deed = Callable[[ConversationThread], Awaitable[object]]

SAID = [Message.user("one"), Message.assistant("two"), Message.user("three")]
OTHER = [Message.user("four"), Message.assistant("five"), Message.user("six")]


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Return what makes the store to be asked."""
    match request.param:
        case "postgres":
            dsn: str = request.getfixturevalue("postgres_dsn")
            return lambda clock: PostgresStore(dsn, checkpoints="full", clock=clock)
        case "redis":
            url: str = request.getfixturevalue("redis_url")
            return lambda clock: RedisStore(url, checkpoints="full", clock=clock)
        case "sqlite":
            return lambda clock: SQLiteStore(tmp_path / "a.db", checkpoints="full", clock=clock)
        case _:
            return lambda clock: MemoryStore(checkpoints="full", clock=clock)


async def begun(store: ThreadStore) -> tuple[ConversationThread, str]:
    """Make a thread with three messages and a fold of two, and return it with its checkpoint."""
    thread = await store.thread("t")
    state, fold = open_state(thread, "note"), reduction_of(SAID, 2, "the first two")
    await thread.add_messages(SAID)
    await thread.commit(Change(execution=state, reduction=fold, archive=True))
    newest, *_ = await ThreadCheckpointer(store).history("t")
    return thread, newest.id


async def moment_of(store: ThreadStore, checkpoint_id: str) -> ThreadMoment:
    """Return the moment of the thread at the checkpoint."""
    moment = await ThreadCheckpointer(store).load_at("t", checkpoint_id)
    assert moment is not None
    return moment


async def turn_back(thread: ConversationThread) -> None:
    """Let the thread begin with other messages."""
    await thread.rewind(0)
    await thread.add_messages(OTHER)


async def change(thread: ConversationThread) -> None:
    """Put another message in the place of the last one, and go on."""
    await thread.edit(2, OTHER[2])
    await thread.add_messages(OTHER)


@pytest.mark.parametrize("deed", [turn_back, change])
def test_a_fork_of_a_moment_has_its_messages(make: Make, deed: Deed) -> None:
    """
    Whatever the thread begins with now, the fork shares the moment's messages, and keeps them.
    """

    async def run() -> None:
        async with make(Clock()) as store:
            thread, checkpoint_id = await begun(store)
            await deed(thread)
            moment = await moment_of(store, checkpoint_id)
            fork, first = await moment.fork("f"), await moment.fork("g", at=1)
            await fork.add_message(OTHER[0])
            await store.delete("t")
            found = await store.find("f")
            assert found is not None

            assert await found.get_messages() == await fork.get_messages() == [*SAID, OTHER[0]]
            assert await first.get_messages() == SAID[:1]
            assert found.metadata == {"forked_from": "t", "forked_at": 3}
            assert found.execution_state is None
            assert await faults_of(store, fork.key) == []
            assert await faults_of(store, first.key) == []

    asyncio.run(run())


def test_a_fork_of_a_moment_has_the_reductions_of_its_messages(make: Make) -> None:
    """It takes over what stands for its own messages, with what that archived, and nothing else."""

    async def run() -> None:
        async with make(Clock()) as store:
            thread, checkpoint_id = await begun(store)
            await change(thread)
            said = await thread.get_messages()
            await thread.save_reduction(reduction_of(said, 5, "the first five"), archive=True)
            fork = await (await moment_of(store, checkpoint_id)).fork("f")
            window = await fork.window()

            assert [one.summary_content for one in await fork.reductions()] == ["the first two"]
            assert fork.head.archived == 2
            assert window.reduction == fork.last_reduction
            assert window.history[2:] == SAID[2:]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("deed", "error"),
    [
        (lambda thread, store: store.thread("f"), ThreadExistsError),
        (lambda thread, store: thread.clear(), ThreadConflictError),
        (lambda thread, store: store.delete("t"), ThreadNotFoundError),
        (lambda thread, store: thread.set_expiry(NOW), ThreadNotFoundError),
    ],
    ids=["exists", "cleared", "deleted", "expired"],
)
def test_a_fork_of_a_moment_fails_as_one_of_the_thread(
    make: Make,
    deed: Callable[[ConversationThread, ThreadStore], Awaitable[object]],
    error: type[FoldlineError],
) -> None:
    """What has become of the thread since the moment was read is told by the same errors."""

    async def run() -> None:
        async with make(Clock()) as store:
            thread, checkpoint_id = await begun(store)
            moment = await moment_of(store, checkpoint_id)
            await deed(thread, store)
            with pytest.raises(error):
                await moment.fork("f")
            with pytest.raises(ConfigError, match="at must be a whole number from 0 to 3, got 4"):
                await moment.fork("g", at=4)

    asyncio.run(run())


def test_a_fork_of_a_moment_lives_as_long_as_the_thread_does_now(make: Make) -> None:
    """
    A moment from before the thread was prolonged can be forked, and the fork ends with the thread.
    """

    async def run() -> None:
        clock = Clock()
        async with make(clock) as store:
            thread = await store.thread("t", ttl=DAY)
            thread, checkpoint_id = await begun(store)
            await thread.set_expiry(NOW + timedelta(days=9))
            clock.now += 2 * DAY
            moment = await moment_of(store, checkpoint_id)
            fork = await moment.fork("f")

            assert fork.head.expires_at == moment.head.expires_at == NOW + timedelta(days=9)
            assert await fork.get_messages() == SAID

    asyncio.run(run())
