"""Tool calls that a crash interrupted: what their policy makes of them."""

import pytest

from foldline import (
    Agent,
    AgentOptions,
    ConversationThread,
    MemoryStore,
    Message,
    ThreadConflictError,
    ToolContext,
)
from foldline.agent.tools import Tool, tool
from foldline.errors import CheckpointStaleError, ToolDecisionError
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.tools import INTERRUPTED, ToolPolicy, ToolRun


async def interrupted(policy: ToolPolicy, thread: ConversationThread) -> None:
    """Leave *thread* as a crash does in the middle of a tool."""
    state = AgentLoopState(
        run_id="r", conversation_id=thread.id, started_at=thread.now(), agent_name="agent"
    )
    await thread.commit(Change(messages=[Message.user("pay")], execution=state))
    await thread.commit(
        Change(
            messages=[calls(("pay", {"amount": 5}), ("pay", {"amount": 6}), first=1)],
            execution=state,
            tools=[
                ToolRun(call_id="call_1", name="pay", policy=policy, key="k1"),
                ToolRun(call_id="call_2", name="pay", policy=policy, key="k2", result="paid 6"),
            ],
        )
    )


def payer(paid: list[tuple[int, str, int]], policy: ToolPolicy) -> Tool:
    def pay(amount: int, context: ToolContext) -> str:
        paid.append((amount, context.idempotency_key, context.attempt))
        return f"paid {amount}"

    return tool(pay, policy=policy)


@pytest.mark.parametrize(
    ("policy", "answer", "ran"),
    [
        ("at_most_once", INTERRUPTED, []),
        ("idempotent", "paid 5", [(5, "k1", 2)]),
    ],
)
async def test_an_interrupted_tool_is_settled_by_its_policy(
    policy: ToolPolicy, answer: str, ran: list[tuple[int, str, int]]
) -> None:
    """At most once: not run again. Idempotent: the same key. Stored: used."""
    paid: list[tuple[int, str, int]] = []
    thread = await MemoryStore().thread("t")
    await interrupted(policy, thread)
    agent = Agent(ScriptedModel(["fine"]), tools=[payer(paid, policy)])
    result = await agent.run(thread=thread)
    answers = [one.tool_call_responses[0].response for one in result.messages[2:4]]

    assert paid == ran
    assert answers == [answer, "paid 6"]
    assert result.text == "fine"
    assert result.thread.pending_tools == ()


async def test_an_interrupted_tool_that_is_gone_may_have_taken_effect() -> None:
    """An idempotent tool that a deploy has removed since cannot run again, and has not failed."""
    thread = await MemoryStore().thread("t")
    await interrupted("idempotent", thread)
    result = await Agent(ScriptedModel(["fine"])).run(thread=thread)
    answers = [one.tool_call_responses[0].response for one in result.messages[2:4]]

    assert answers == [INTERRUPTED, "paid 6"]


async def test_a_manual_tool_waits_for_a_decision() -> None:
    """The error names the call; with an answer from outside the run continues."""
    paid: list[tuple[int, str, int]] = []
    thread = await MemoryStore().thread("t")
    await interrupted("manual", thread)
    agent = Agent(ScriptedModel(["fine"]), tools=[payer(paid, "manual")])
    with pytest.raises(ToolDecisionError) as waiting:
        await agent.run(thread=thread)
    assert waiting.value.call_ids == ("call_1",)
    await thread.answer_tool("call_1", "it was paid")
    result = await agent.run(thread=thread)

    assert result.messages[2].tool_call_responses[0].response == "it was paid"
    assert paid == []


@pytest.mark.parametrize("parallel", [False, True], ids=["in turn", "at once"])
async def test_a_result_is_kept_where_somebody_else_has_spoken(parallel: bool) -> None:
    """If another has continued the thread, the tools' results are stored."""
    store = MemoryStore()
    paid: list[int] = []

    async def pay(amount: int) -> str:
        paid.append(amount)
        if len(paid) == 2:
            other = await store.thread("t")
            await other.append([Message.user("by the way")])
        return f"paid {amount}"

    thread = await store.thread("t")
    model = ScriptedModel([calls(("pay", {"amount": 5}), ("pay", {"amount": 6}))])
    options = AgentOptions(parallel_tool_calls=parallel)
    with pytest.raises(ThreadConflictError):
        await Agent(model, tools=[pay], options=options).run("pay both", thread=thread)
    again = await store.thread("t")
    assert [run.result for run in again.pending_tools] == ["paid 5", "paid 6"]
    with pytest.raises(CheckpointStaleError, match=r"abandon_run\(\)"):
        await Agent(model, tools=[pay], options=options).run(thread=again)
    await again.abandon_run()

    assert [
        str(one.tool_call_responses[0].response) for one in await again.get_messages(last=2)
    ] == ["paid 5", "paid 6"]
    assert paid == [5, 6]


async def test_a_handle_that_has_lost_its_calls_writes_nothing() -> None:
    """If another has abandoned the run and gone further, the turn commits nothing."""
    store = MemoryStore()
    revisions: list[int] = []

    async def pay() -> str:
        other = await store.thread("t")
        await other.append([Message.user("by the way")])
        await other.abandon_run()
        await other.append([Message.user("and another thing")])
        revisions.append(other.head.revision)
        return "paid"

    thread = await store.thread("t")
    with pytest.raises(ThreadConflictError):
        await Agent(ScriptedModel([calls(("pay", {}))]), tools=[pay]).run("pay", thread=thread)
    revisions.append((await store.thread("t")).head.revision)

    assert len(revisions) == 2
    assert len(set(revisions)) == 1


async def test_a_result_that_is_stored_is_not_stored_again() -> None:
    """If another has answered the call of a resumed turn, the others are unchanged."""
    store = MemoryStore()
    revisions: list[int] = []

    async def pay(amount: int) -> str:
        other = await store.thread("t")
        await other.append([Message.user("by the way")])
        await other.answer_tool("call_1", "paid at the counter")
        revisions.append(other.head.revision)
        return f"paid {amount}"

    thread = await store.thread("t")
    await interrupted("idempotent", thread)
    agent = Agent(ScriptedModel(), tools=[tool(pay, policy="idempotent")])
    with pytest.raises(ThreadConflictError):
        await agent.run(thread=thread)
    left = await store.thread("t")
    revisions.append(left.head.revision)

    assert [run.result for run in left.pending_tools] == ["paid at the counter", "paid 6"]
    assert len(revisions) == 2
    assert len(set(revisions)) == 1
