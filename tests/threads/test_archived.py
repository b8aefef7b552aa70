"""What is archived, where a thread goes back behind a part of its reductions."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from msgspec import structs

from foldline.history.messages import Message
from foldline.history.units import CountingUnit
from foldline.reduction.stride import is_kept
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import reduction_of
from tests.threads.sample import faults_of


TALK = [Message.user(f"question {number}") for number in range(24)]
GoBack = Callable[[ConversationThread], Awaitable[ConversationThread]]


async def _rewound(thread: ConversationThread) -> ConversationThread:
    await thread.rewind(12)
    return thread


async def _edited(thread: ConversationThread) -> ConversationThread:
    await thread.edit(12, Message.user("another question"))
    return thread


async def _forked(thread: ConversationThread) -> ConversationThread:
    return await thread.fork("f", at=12)


async def _fold(
    thread: ConversationThread, cut: int, unit: CountingUnit, *, archive: bool = False
) -> None:
    state = structs.replace(reduction_of(TALK, cut, f"the first {cut}"), counting_unit=unit)
    await thread.save_reduction(state, archive=archive)


async def _is_whole(thread: ConversationThread, store: ThreadStore) -> bool:
    return not await faults_of(store, thread.key)


@pytest.fixture
def store() -> ThreadStore:
    """Return a store in memory."""
    return MemoryStore()


@pytest.mark.parametrize("go_back", [_rewound, _edited, _forked])
@pytest.mark.parametrize("is_archived", [False, True])
async def test_no_more_is_archived_than_is_left(
    store: ThreadStore, go_back: GoBack, *, is_archived: bool
) -> None:
    """What was archived by a reduction that goes stays so only where another one stands for it."""
    thread = await store.thread("t")
    await thread.add_messages(TALK)
    await _fold(thread, 4, "exchanges", archive=True)
    await _fold(thread, 16, "exchanges", archive=True)
    await _fold(thread, 10, "messages", archive=is_archived)
    assert thread.head.archived == 16
    back = await go_back(thread)
    messages = await back.get_messages()
    assert messages[:12] == TALK[:12]
    assert back.head.archived == 10
    assert await back.working_messages() == messages[10:]
    assert await _is_whole(back, store)
    await back.undo_reduction()
    assert back.head.archived == 4
    assert await back.working_messages() == messages[4:]
    await back.undo_reduction()
    assert await back.working_messages() == messages
    assert await _is_whole(back, store)


async def test_what_a_thinned_out_reduction_archived_stays_archived(store: ThreadStore) -> None:
    """
    Going back behind no reduction changes nothing of what is archived, however long ago it was.
    """
    thread = await store.thread("t")
    await thread.add_messages(TALK)
    await _fold(thread, 2, "exchanges", archive=True)
    for cut in range(3, 21):
        await _fold(thread, cut, "exchanges")
    assert len(await thread.reductions()) < 19
    await thread.rewind(22)
    fork = await thread.fork("f")
    assert [thread.head.archived, fork.head.archived] == [2, 2]


async def test_reductions_are_thinned_out_by_their_age_alone(store: ThreadStore) -> None:
    """
    Of 300 folds those are left that `is_kept` names, also where some were undone in between.
    """
    thread = await store.thread("t")
    await thread.add_messages(TALK)
    for number in range(1, 301):
        made = reduction_of(TALK, 2, f"fold {number}")
        made = structs.replace(made, created_at=made.created_at + timedelta(seconds=number))
        await thread.save_reduction(made)
        if number % 100 == 0:
            await thread.undo_reduction()
            await thread.save_reduction(made)
    left = [one.summary_content for one in await thread.reductions()]
    assert left == [f"fold {number}" for number in range(300, 0, -1) if is_kept(number, 300)]


async def test_a_cleared_thread_has_nothing_archived(store: ThreadStore) -> None:
    """Clearing leaves no message, and none archived."""
    thread = await store.thread("t")
    await thread.add_messages(TALK)
    await _fold(thread, 16, "exchanges", archive=True)
    await _fold(thread, 10, "messages")
    await thread.clear()
    assert (thread.head.length, thread.head.archived) == (0, 0)
    assert await thread.working_messages() == []
    assert await _is_whole(thread, store)
