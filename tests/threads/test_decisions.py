"""What is decided about a thread holds only if nobody else has written in the meantime."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from foldline.errors import ConfigError, ThreadConflictError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.loop_state import COMPLETED, AgentLoopState
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun


CALL = Message.assistant(tool_calls=[ToolCallPart("c1", "pay", "{}")])
ANSWERS = [Message.tool("c1", "paid"), Message.assistant("done")]
STATE = AgentLoopState(
    run_id="r", conversation_id="t", started_at=datetime(2026, 11, 21, tzinfo=UTC)
)
DONE = STATE.next_iteration().terminated(COMPLETED)
INTENT = ToolRun(call_id="c1", name="pay")


def told(story: Callable[[ConversationThread, MemoryStore], Awaitable[None]]) -> None:
    """Tell *story* of a thread whose run waits for a tool."""

    async def run() -> None:
        async with MemoryStore() as store:
            thread = await store.thread("t")
            await thread.commit(
                Change(messages=[Message.user("pay"), CALL], execution=STATE, tools=[INTENT])
            )
            await story(thread, store)

    asyncio.run(run())


def reduction(said: list[Message], cut: int, fingerprint: str = "") -> HistoryReductionState:
    return HistoryReductionState.create(
        said,
        f"the first {cut}",
        cut,
        target_count=1,
        reduction_threshold=1,
        message_count_at_reduction=len(said),
        created_at=STATE.started_at,
        config_fingerprint=fingerprint,
    )


def test_a_decision_does_not_overwrite_the_end_of_the_run() -> None:
    """
    Of a run that ends and somebody who answers its tool or abandons it, the first alone is heard.
    """

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
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

    told(story)


def test_a_result_that_is_there_is_not_replaced() -> None:
    """A call that has run to its end is not answered by hand."""

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
        await thread.answer_tool("c1", "paid 100")
        with pytest.raises(ConfigError, match="'c1' of thread 't' has its result already"):
            await thread.answer_tool("c1", "unknown", is_error=True)
        assert [run.result for run in thread.pending_tools] == ["paid 100"]

    told(story)


def test_a_reduction_does_not_go_back() -> None:
    """One that stands for less than the newest is refused where both were made alike."""

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
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

    told(story)


def test_undoing_many_folds_knows_what_was_archived() -> None:
    """Behind each of 40 undone folds the archived messages are those of the fold before."""

    async def story(thread: ConversationThread, _: MemoryStore) -> None:
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

    told(story)


def test_who_writes_to_a_deleted_thread_is_told() -> None:
    """Every write of an object whose thread was deleted says that there is none."""

    async def story(thread: ConversationThread, store: MemoryStore) -> None:
        await store.delete("t")
        for write in (
            thread.add_message(ANSWERS[1]),
            thread.append(ANSWERS),
            thread.abandon_run(),
            thread.set_metadata({"a": 1}),
            thread.clear(),
        ):
            with pytest.raises(ThreadNotFoundError, match="no thread 't'"):
                await write
        assert await store.find("t") is None

    told(story)
