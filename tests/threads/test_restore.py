"""What a thread that is restored continues with."""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from foldline.errors import CheckpointError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.tools import INTERRUPTED, ToolRun


STATE = AgentLoopState(
    run_id="r", conversation_id="a", started_at=datetime(2026, 11, 21, tzinfo=UTC)
).with_service("conv_1", 2, mark="m")


async def _snapshot(tenant: str) -> bytes:
    async with MemoryStore() as store:
        thread = await store.thread("a", tenant=tenant)
        await thread.commit(
            Change(messages=[Message.user("one"), Message.assistant("two")], execution=STATE)
        )
        return await thread.to_snapshot()


async def _restored(data: bytes, thread_id: str, tenant: str) -> AgentLoopState:
    async with MemoryStore() as store:
        thread = await store.restore(data, thread_id=thread_id, tenant=tenant)
        state = thread.execution_state
        assert state is not None
        return state


@pytest.mark.parametrize(
    ("source", "thread_id", "tenant"),
    [
        ("default", "a", "default"),
        ("acme", "a", "acme"),
        ("default", "b", "default"),
        ("default", "a", "acme"),
        ("acme", "a", "default"),
    ],
)
async def test_a_restored_thread_leaves_the_vendor(
    source: str, thread_id: str, tenant: str
) -> None:
    """A thread continues with no conversation of a vendor, under its own id and tenant neither."""
    state = await _restored(await _snapshot(source), thread_id, tenant)

    assert (state.service_thread_id, state.service_watermark, state.service_mark) == (None, 0, "")
    assert state.conversation_id == thread_id
    assert state.run_id == STATE.run_id


async def test_a_run_that_has_ended_hinders_no_restore() -> None:
    """What is said behind the end of a run moves with it, and the end stays as it was."""
    async with MemoryStore() as store:
        thread = await store.thread("a")
        await thread.commit(
            Change(messages=[Message.user("one")], execution=STATE.terminated("done"))
        )
        await thread.add_message(Message.user("a note"))
        moved = await store.restore(await thread.to_snapshot(), thread_id="b")
        texts = [one.text for one in await moved.get_messages()]
    state = moved.execution_state

    assert texts == ["one", "a note"]
    assert state is not None
    assert (state.is_open, state.termination_reason) == (False, "done")


async def test_an_open_run_that_was_overtaken_is_ended() -> None:
    """It cannot be resumed, so its tools are answered, and what its vendor holds is left."""
    runs = [
        ToolRun(call_id="c1", name="n"),
        ToolRun(call_id="c2", name="n", result="paid", place=1),
    ]
    wanted = [ToolCallPart(run.call_id, run.name, "{}") for run in runs]

    async with MemoryStore() as store:
        thread = await store.thread("a")
        said = Message.assistant(tool_calls=wanted)
        await thread.commit(Change(messages=[said], execution=STATE, tools=runs))
        await thread.append([Message.user("a note")])
        data = await thread.to_snapshot()
        await store.delete("a")
        moved = await store.restore(data)
        assert moved.last_activity == thread.last_activity
        answers = await moved.get_messages(last=2)
    state = moved.execution_state

    assert [one.tool_call_responses[0].response for one in answers] == [INTERRUPTED, "paid"]
    assert moved.pending_tools == ()
    assert state is not None
    assert (state.is_open, state.service_thread_id) == (False, None)
    assert state.termination_reason == "Messages were added after it"
    assert {one.created_at for one in answers} == {moved.last_activity}


@pytest.mark.parametrize("start", [3, 2**31])
def test_a_turn_that_begins_behind_the_snapshot_is_refused(start: int) -> None:
    """An open run whose turn begins where there are no messages is not restored."""
    document = json.loads(asyncio.run(_snapshot("default")))
    state = json.loads(document["ExecutionStateJson"]) | {"turn_start": start}
    document["ExecutionStateJson"] = json.dumps(state)

    with pytest.raises(CheckpointError, match=f"invalid turn_start: {start}"):
        asyncio.run(_restored(json.dumps(document).encode(), "a", "default"))


async def test_a_waiting_call_under_an_id_of_before_is_restored() -> None:
    """
    A vendor may number the calls of each response from one: an earlier answer settles no later call.
    """
    call = ToolCallPart("c1", "n", "{}")
    run = ToolRun(call_id=call.id, name=call.name, key="k")
    said = [
        Message.assistant(tool_calls=[call]),
        Message.tool(call.id, "paid", name=call.name),
        Message.assistant(tool_calls=[call]),
    ]

    async with MemoryStore() as store:
        thread = await store.thread("a")
        await thread.add_messages(said[:2])
        await thread.commit(Change(messages=said[2:], execution=STATE, tools=[run]))
        moved = await store.restore(await thread.to_snapshot(), thread_id="b")
        found = await store.thread("b")
        assert [moved.pending_tools, found.pending_tools] == [(run,), (run,)]


@pytest.mark.parametrize("result", [None, "paid 2"])
async def test_a_waiting_call_before_its_message_is_restored(result: str | None) -> None:
    """
    An intent, and a result, may be stored before the message that wants the call, under an old id.
    """
    call = ToolCallPart("c1", "n", "{}")
    run = ToolRun(call_id=call.id, name=call.name, key="k", result=result)
    said = [Message.assistant(tool_calls=[call]), Message.tool(call.id, "paid", name=call.name)]

    async with MemoryStore() as store:
        thread = await store.thread("a")
        await thread.commit(Change(messages=said, execution=STATE))
        await thread.commit(Change(tools=[run]))
        moved = await store.restore(await thread.to_snapshot(), thread_id="b")
        found = await store.thread("b")
        assert [thread.pending_tools, moved.pending_tools, found.pending_tools] == [(run,)] * 3


async def test_a_call_that_begins_with_the_answer_to_its_id_waits() -> None:
    """
    One commit may answer a call and begin another under the same id, which is stored and restored.
    """
    call = ToolCallPart("c1", "n", "{}")
    first = ToolRun(call_id=call.id, name=call.name, key="k1")
    second = ToolRun(call_id=call.id, name=call.name, key="k2")
    wants = Message.assistant(tool_calls=[call])

    async with MemoryStore() as store:
        thread = await store.thread("a")
        await thread.commit(Change(messages=[wants], execution=STATE, tools=[first]))
        answer = Message.tool(call.id, "paid", name=call.name)
        await thread.commit(Change(messages=[answer, wants], execution=STATE, tools=[second]))
        found = await store.thread("a")
        moved = await store.restore(await thread.to_snapshot(), thread_id="b")
        assert [thread.pending_tools, found.pending_tools, moved.pending_tools] == [(second,)] * 3


async def test_a_waiting_call_with_half_a_character_in_its_id_is_restored() -> None:
    """A call is stored under a digest of its id, so that a snapshot may hold any id."""
    call = ToolCallPart("c\ud800", "n", "{}")
    run = ToolRun(call_id=call.id, name=call.name)

    async with MemoryStore() as store:
        thread = await store.thread("a")
        await thread.commit(Change(messages=[Message.assistant(tool_calls=[call])], tools=[run]))
        await store.restore(await thread.to_snapshot(), thread_id="b")
        found = await store.thread("b")
        assert found.pending_tools == (run,)
