"""Tool calls between intent and answer."""

from itertools import product

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.change import Change
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.tools import ToolRun, idempotency_key


def test_a_run_is_finished_with_its_result() -> None:
    """An intent is not finished; a result, an empty one too, makes it so."""
    intent = ToolRun(call_id="c", name="t")

    assert (intent.policy, intent.is_finished) == ("at_most_once", False)
    assert ToolRun(call_id="c", name="t", result="").is_finished


def test_a_key_is_the_same_each_time() -> None:
    """The same call of the same run of the same thread has the same key, pinned here."""
    call = ToolCallPart("call-1", "send", '{"to":"a"}')
    key = idempotency_key(thread_id="t", run_id="r", call=call)

    assert key == "6c895d7769eed0ea6bb5c9c9186a25d6"


def test_a_key_differs_with_everything_it_is_made_of() -> None:
    """Thread, run, call id, tool and arguments all change the key, and never run together."""
    values = ("", "a", "b", "\ud800")
    keys = {
        idempotency_key(thread_id=thread, run_id=run, call=ToolCallPart(one, name, arguments))
        for thread, run, one, name, arguments in product(values, repeat=5)
    }

    assert len(keys) == 4**5
    assert {len(key) for key in keys} == {32}


@pytest.mark.parametrize("is_answered", [False, True], ids=["waiting", "answered"])
async def test_a_call_waits_for_an_answer_of_its_own(is_answered: bool) -> None:
    """
    An answer settles the call before it; a later one under the same id waits until it is answered.
    """
    call = ToolCallPart("c", "t", "{}")
    asked, answer = Message.assistant(tool_calls=[call]), Message.tool("c", "done")
    first, second = (ToolRun(call_id="c", name="t", key=key) for key in "12")
    async with MemoryStore() as store:
        thread = await store.thread("a")
        await thread.commit(Change(messages=[asked], tools=[first]))
        said = [answer, asked, answer] if is_answered else [answer, asked]
        await thread.commit(Change(messages=said, tools=[second]))
        found = await store.thread("a")
        assert [thread.pending_tools, found.pending_tools] == (
            [(), ()] if is_answered else [(second,), (second,)]
        )
