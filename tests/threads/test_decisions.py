"""What is decided about a thread holds only if nobody else has written in the meantime."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from msgspec import structs

from foldline.errors import ConfigError, ThreadConflictError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.loop_state import COMPLETED, AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.threads.canaries import NOW, reduction_of


CALL = Message.assistant(tool_calls=[ToolCallPart("c1", "pay", "{}")])
ANSWERS = [Message.tool("c1", "paid"), Message.assistant("done")]
STATE = AgentLoopState(run_id="r", conversation_id="t", started_at=NOW)
DONE = STATE.next_iteration().terminated(COMPLETED)
INTENT = ToolRun(call_id="c1", name="pay")


@pytest.fixture
def store() -> ThreadStore:
    """Return a store in memory."""
    return MemoryStore()


async def begun(store: ThreadStore) -> ConversationThread:
    """Return a thread whose run waits for a tool."""
    thread = await store.thread("t")
    await thread.commit(
        Change(messages=[Message.user("pay"), CALL], execution=STATE, tools=[INTENT])
    )
    return thread


def reduction(said: list[Message], cut: int, fingerprint: str = "") -> HistoryReductionState:
    state = reduction_of(said, cut, f"the first {cut}")
    return structs.replace(state, config_fingerprint=fingerprint)


async def test_a_decision_does_not_overwrite_the_end_of_the_run(store: ThreadStore) -> None:
    """
    Of a run that ends and somebody who answers its tool or abandons it, the first alone is heard.
    """
    thread = await begun(store)
    outcomes = await asyncio.gather(
        thread.commit(Change(messages=ANSWERS, execution=DONE)),
        thread.answer_tool("c1", "unknown"),
        thread.abandon_run(),
        return_exceptions=True,
    )
    kinds = [type(one) for one in outcomes]
    assert kinds == [type(None), ThreadConflictError, ThreadConflictError]
    assert (thread.pending_tools, thread.count) == ((), 4)
    state = thread.execution_state
    assert state is not None
    assert (state.termination_reason, state.iteration) == (COMPLETED, 1)


async def test_a_run_is_left_to_a_lease_alone(store: ThreadStore) -> None:
    """Who is to continue a turn is named by a lease, else nothing is written."""
    thread = await begun(store)
    with pytest.raises(ConfigError, match="lease must be a Lease, got str"):
        await thread.abandon_run(lease="me")  # type: ignore[arg-type]
    assert thread.has_open_run


async def test_a_result_that_is_there_is_not_replaced(store: ThreadStore) -> None:
    """A call that has run to its end is not answered by hand."""
    thread = await begun(store)
    await thread.answer_tool("c1", "paid 100")
    with pytest.raises(ConfigError, match="'c1' of thread 't' has its result already"):
        await thread.answer_tool("c1", "unknown", is_error=True)
    assert [run.result for run in thread.pending_tools] == ["paid 100"]


async def test_a_reduction_does_not_go_back(store: ThreadStore) -> None:
    """One that stands for less than the newest is refused where both were made alike."""
    thread = await begun(store)
    await thread.add_messages(ANSWERS)
    said = await thread.get_messages()
    await thread.commit(Change(reduction=reduction(said, 4)))
    with pytest.raises(ConfigError, match="up to 3 goes back: `undo_reduction`"):
        await thread.commit(Change(reduction=reduction(said, 3), archive=True))
    with pytest.raises(ThreadConflictError):
        await thread.save_reduction(reduction(said, 3))
    assert (thread.last_reduction, thread.head.archived) == (reduction(said, 4), 0)
    await thread.commit(Change(reduction=reduction(said, 3, "made otherwise")))
    assert thread.last_reduction == reduction(said, 3, "made otherwise")


async def test_undoing_many_folds_knows_what_was_archived(store: ThreadStore) -> None:
    """Behind each of 40 undone folds the archived messages are those of the fold before."""
    thread = await begun(store)
    said = await thread.get_messages()
    for number in range(40):
        said += [Message.user(str(number))]
        await thread.commit(
            Change(messages=said[-1:], reduction=reduction(said, number + 1), archive=True)
        )
    while (last := thread.last_reduction) is not None:
        assert thread.head.archived == last.summarized_up_to_index
        await thread.undo_reduction()
    assert thread.head.archived == 0


async def test_a_commit_on_an_older_revision_is_refused(store: ThreadStore) -> None:
    """What was decided on an earlier revision is not written, though the object has seen the next."""
    thread = await begun(store)
    seen = thread.head.revision
    await thread.set_metadata({"seen": False})
    with pytest.raises(ThreadConflictError) as caught:
        await thread.commit(Change(messages=ANSWERS, expected=seen))

    assert (caught.value.expected, caught.value.actual) == (seen, seen + 1)
    assert (thread.count, thread.head.revision) == (2, seen + 1)


@pytest.mark.parametrize(
    "go_back",
    [
        lambda thread: thread.rewind(1),
        lambda thread: thread.edit(0, Message.user("pay less")),
        lambda thread: thread.clear(),
        lambda thread: thread.pop(),
        lambda thread: thread.replace([Message.user("pay less")]),
    ],
    ids=["rewind", "edit", "clear", "pop", "replace"],
)
async def test_going_back_leaves_no_open_run(
    store: ThreadStore, go_back: Callable[[ConversationThread], Awaitable[None]]
) -> None:
    """The execution state and the waiting calls of a thread that was taken back are deleted."""
    thread = await begun(store)
    await go_back(thread)
    found = await store.thread("t")

    for one in (thread, found):
        assert (one.execution_state, one.pending_tools) == (None, ())
