"""
Copies: a snapshot restored under another name than its own.
"""

import asyncio
import json
from datetime import UTC, datetime

import pytest

from foldline.errors import FormatError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.tool_run import ToolRun


STATE = AgentLoopState(
    run_id="r", conversation_id="a", started_at=datetime(2026, 11, 21, tzinfo=UTC)
).with_service("conv_1", 2, mark="m")


async def _snapshot(tenant: str) -> bytes:
    async with MemoryStore() as store:
        thread = await store.thread("a", tenant=tenant)
        await thread.commit(
            messages=[Message.user("one"), Message.assistant("two")], execution=STATE
        )
        return await thread.to_snapshot()


async def _restored(data: bytes, thread_id: str, tenant: str) -> AgentLoopState:
    async with MemoryStore() as store:
        thread = await store.restore(data, thread_id=thread_id, tenant=tenant)
        state = thread.execution_state
        assert state is not None
        return state


@pytest.mark.parametrize("tenant", ["default", "acme"])
def test_a_moved_thread_goes_on_at_its_vendor(tenant: str) -> None:
    """
    Under its own id and tenant a thread keeps what the vendor holds of it.
    """

    async def live() -> AgentLoopState:
        return await _restored(await _snapshot(tenant), "a", tenant)

    state = asyncio.run(live())

    assert (state.service_thread_id, state.service_watermark) == ("conv_1", 2)
    assert (state.service_mark, state.conversation_id) == ("m", "a")


@pytest.mark.parametrize(
    ("source", "thread_id", "tenant"),
    [("default", "b", "default"), ("default", "a", "acme"), ("acme", "a", "default")],
)
def test_a_copy_leaves_the_vendor_to_the_original(source: str, thread_id: str, tenant: str) -> None:
    """
    Under another id or tenant a thread holds no conversation of the original's vendor.
    """

    async def live() -> AgentLoopState:
        return await _restored(await _snapshot(source), thread_id, tenant)

    state = asyncio.run(live())

    assert (state.service_thread_id, state.service_watermark, state.service_mark) == (None, 0, "")
    assert state.conversation_id == thread_id
    assert state.run_id == STATE.run_id


def test_the_tenant_is_written_where_it_is_not_the_default_one() -> None:
    """
    A snapshot names its owner, the default one by naming none; what is no text is refused.
    """
    names = [json.loads(asyncio.run(_snapshot(one))).get("Tenant") for one in ("default", "acme")]
    bad = asyncio.run(_snapshot("acme")).replace(b'"acme"', b"7")

    assert names == [None, "acme"]
    with pytest.raises(FormatError, match="Tenant"):
        asyncio.run(_restored(bad, "a", "acme"))


def test_a_waiting_call_with_half_a_character_in_its_id_is_restored() -> None:
    """
    A call is stored under a digest of its id, so that a snapshot may hold any id.
    """
    call = ToolCallPart("c\ud800", "n", "{}")
    run = ToolRun(call_id=call.id, name=call.name)

    async def live() -> tuple[ToolRun, ...]:
        async with MemoryStore() as store:
            thread = await store.thread("a")
            await thread.commit(messages=[Message.assistant(tool_calls=[call])], tools=[run])
            await store.restore(await thread.to_snapshot(), thread_id="b")
            found = await store.find("b")
            assert found is not None
            return found.pending_tools

    assert asyncio.run(live()) == (run,)
