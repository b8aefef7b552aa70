"""Earlier moments of a thread: what is read of them knows nothing of what came later."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec import structs

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from tests.threads.canaries import open_state, reduction_of


SAID = [Message.user(f"message {number}") for number in range(8)]
MOMENT = 4


def reduction(said: list[Message], cut: int, fingerprint: str = "later") -> HistoryReductionState:
    state = reduction_of(said, cut, f"the first {cut}")
    return structs.replace(state, config_fingerprint=fingerprint)


async def moment_of(
    go_on: Callable[[ConversationThread], Awaitable[object]],
) -> ReadOnlyThread:
    """Return the moment of a thread with its first messages and a fold, behind which it went on."""
    store = MemoryStore(checkpoints="full")
    thread = await store.thread("t")
    await thread.add_messages(SAID[:MOMENT])
    await thread.commit(
        Change(execution=open_state(thread, "note"), reduction=reduction(SAID, 2, "then"))
    )
    checkpointer = ThreadCheckpointer(store)
    newest, *_ = await checkpointer.history("t")
    await go_on(thread)
    moment = await checkpointer.load_at("t", newest.id)
    assert moment is not None
    return moment


async def _said_more(thread: ConversationThread) -> None:
    await thread.add_messages(SAID[MOMENT:])
    await thread.save_reduction(reduction(SAID, MOMENT + 1))
    await thread.save_reduction(reduction(SAID, MOMENT + 3))


async def _edited(thread: ConversationThread) -> None:
    other = [SAID[0], SAID[1], Message.user("another"), SAID[3]]
    await thread.edit(2, other[2])
    await thread.save_reduction(reduction(other, MOMENT))


@pytest.mark.parametrize("go_on", [_said_more, _edited])
async def test_a_moment_has_no_reduction_of_what_came_later(
    go_on: Callable[[ConversationThread], Awaitable[object]],
) -> None:
    """One that stands for later messages, or for others in their place, is not served."""
    moment = await moment_of(go_on)
    known = await moment.reductions()
    window = await moment.window(config_fingerprint="later")

    assert known == [moment.last_reduction] == [reduction(SAID, 2, "then")]
    assert window.reduction is None
    assert list(window.history) == SAID[:MOMENT]


async def test_a_moment_has_a_later_reduction_of_its_own_messages() -> None:
    """What was folded later is served where it stands for messages of the moment alone."""

    async def go_on(thread: ConversationThread) -> None:
        await thread.add_messages(SAID[MOMENT:])
        await thread.save_reduction(reduction(SAID, MOMENT))

    window = await (await moment_of(go_on)).window(config_fingerprint="later")

    assert window.reduction == reduction(SAID, MOMENT)
    assert len(window.history) == MOMENT
