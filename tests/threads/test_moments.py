"""Earlier moments of a thread: reading them, and continuing from them in a fork."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec import structs

from foldline.errors import (
    ConfigError,
    FoldlineError,
    ThreadConflictError,
    ThreadExistsError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread, ThreadMoment
from tests.threads.canaries import NOW, open_state, reduction_of
from tests.threads.clock import DAY, Clock
from tests.threads.sample import faults_of
from tests.threads.stores_by_name import EVERY, store_by_name


Deed = Callable[[ConversationThread], Awaitable[object]]

SAID = [Message.user("one"), Message.assistant("two"), Message.user("three")]
OTHER = [Message.user("four"), Message.assistant("five"), Message.user("six")]


@pytest.fixture(params=EVERY)
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ThreadStore:
    """Return a store of each kind that keeps every checkpoint."""
    return store_by_name(request, tmp_path, clock, checkpoints="full")


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
async def test_a_fork_of_a_moment_has_its_messages(store: ThreadStore, deed: Deed) -> None:
    """
    Whatever the thread begins with now, the fork shares the moment's messages, and keeps them.
    """
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


async def test_a_fork_of_a_moment_has_the_reductions_of_its_messages(store: ThreadStore) -> None:
    """It takes over what stands for its own messages, with what that archived, and nothing else."""
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
async def test_a_fork_of_a_moment_fails_as_one_of_the_thread(
    store: ThreadStore,
    deed: Callable[[ConversationThread, ThreadStore], Awaitable[object]],
    error: type[FoldlineError],
) -> None:
    """What has become of the thread since the moment was read is told by the same errors."""
    thread, checkpoint_id = await begun(store)
    moment = await moment_of(store, checkpoint_id)
    await deed(thread, store)
    with pytest.raises(error):
        await moment.fork("f")
    with pytest.raises(ConfigError, match="at must be a whole number from 0 to 3, got 4"):
        await moment.fork("g", at=4)


async def test_a_fork_of_a_moment_lives_as_long_as_the_thread_does_now(
    store: ThreadStore, clock: Clock
) -> None:
    """
    A moment from before the thread was prolonged can be forked, and the fork ends with the thread.
    """
    thread = await store.thread("t", ttl=DAY)
    thread, checkpoint_id = await begun(store)
    await thread.set_expiry(NOW + timedelta(days=9))
    clock.now += 2 * DAY
    moment = await moment_of(store, checkpoint_id)
    fork = await moment.fork("f")

    assert fork.head.expires_at == moment.head.expires_at == NOW + timedelta(days=9)
    assert await fork.get_messages() == SAID


LONG = [Message.user(f"message {number}") for number in range(8)]
MOMENT = 4


def reduction(said: list[Message], cut: int, fingerprint: str = "later") -> HistoryReductionState:
    state = reduction_of(said, cut, f"the first {cut}")
    return structs.replace(state, config_fingerprint=fingerprint)


async def moment_behind(go_on: Callable[[ConversationThread], Awaitable[object]]) -> ReadOnlyThread:
    """Return the moment of a thread with its first messages and a fold, behind which it went on."""
    store = MemoryStore(checkpoints="full")
    thread = await store.thread("t")
    await thread.add_messages(LONG[:MOMENT])
    await thread.commit(
        Change(execution=open_state(thread, "note"), reduction=reduction(LONG, 2, "then"))
    )
    checkpointer = ThreadCheckpointer(store)
    newest, *_ = await checkpointer.history("t")
    await go_on(thread)
    moment = await checkpointer.load_at("t", newest.id)
    assert moment is not None
    return moment


async def _said_more(thread: ConversationThread) -> None:
    await thread.add_messages(LONG[MOMENT:])
    await thread.save_reduction(reduction(LONG, MOMENT + 1))
    await thread.save_reduction(reduction(LONG, MOMENT + 3))


async def _edited_later(thread: ConversationThread) -> None:
    other = [LONG[0], LONG[1], Message.user("another"), LONG[3]]
    await thread.edit(2, other[2])
    await thread.save_reduction(reduction(other, MOMENT))


@pytest.mark.parametrize("go_on", [_said_more, _edited_later])
async def test_a_moment_has_no_reduction_of_what_came_later(
    go_on: Callable[[ConversationThread], Awaitable[object]],
) -> None:
    """One that stands for later messages, or for others in their place, is not served."""
    moment = await moment_behind(go_on)
    known = await moment.reductions()
    window = await moment.window(config_fingerprint="later")

    assert known == [moment.last_reduction] == [reduction(LONG, 2, "then")]
    assert window.reduction is None
    assert list(window.history) == LONG[:MOMENT]


async def test_a_moment_has_a_later_reduction_of_its_own_messages() -> None:
    """What was folded later is served where it stands for messages of the moment alone."""

    async def go_on(thread: ConversationThread) -> None:
        await thread.add_messages(LONG[MOMENT:])
        await thread.save_reduction(reduction(LONG, MOMENT))

    window = await (await moment_behind(go_on)).window(config_fingerprint="later")

    assert window.reduction == reduction(LONG, MOMENT)
    assert len(window.history) == MOMENT
