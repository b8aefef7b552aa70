"""Threads that are moved in the middle of a turn, and those behind which somebody has spoken."""

from collections.abc import Sequence

import pytest
from msgspec import Struct

from foldline import Agent, AgentOptions, ConversationThread, MemoryStore
from foldline.errors import ModelError
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.store import ThreadStore
from tests.threads.canaries import NOW
from tests.threads.watched import Watched


class Moment(Struct, frozen=True):
    """A thread behind one commit of its turn."""

    snapshot: bytes
    paid: tuple[int, ...]


def payer(paid: list[int], steps: Sequence[ModelStep], *, options: AgentOptions) -> Agent:
    """Return an agent with a tool that notes in *paid* what it has paid."""

    async def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    return Agent(ScriptedModel(steps), tools=[pay], options=options)


async def moments(steps: Sequence[ModelStep], options: AgentOptions) -> list[Moment]:
    """Return the thread of a turn behind each of its commits."""
    storage, paid, seen = Watched(), list[int](), list[Moment]()
    store = ThreadStore(storage, clock=lambda: NOW)
    thread = await store.thread("t")

    async def watch() -> None:
        found = await store.find("t")
        assert found is not None
        seen.append(Moment(await found.to_snapshot(), tuple(paid)))
        storage.commits = 1

    storage.commits, storage.act = 1, watch
    try:
        await payer(paid, steps, options=options).run("pay", thread=thread)
    except ModelError:
        assert isinstance(steps[-1], ModelError)
    return seen


async def restored(snapshot: bytes) -> ConversationThread:
    return await MemoryStore(clock=lambda: NOW).restore(snapshot)


# The vendor numbers the calls of each response from one.
_CALLS = [
    calls(("pay", {"amount": 1}), ("pay", {"amount": 2}), first=1),
    calls(("pay", {"amount": 3}), ("pay", {"amount": 4}), first=1),
]

_turns = pytest.mark.parametrize(
    ("end", "most"),
    [("done", 25), (ModelError("down"), 25), ("done", 1)],
    ids=["answered", "failed", "stopped"],
)
_ways = pytest.mark.parametrize("parallel", [False, True], ids=["in turn", "at once"])


@_turns
@_ways
async def test_a_thread_moves_behind_each_commit_and_goes_on(
    end: ModelStep, most: int, *, parallel: bool
) -> None:
    """It is the same there, an open run is resumed, and no tool runs that has run already."""
    options = AgentOptions(parallel_tool_calls=parallel, max_iterations=most)
    # What has failed is open behind its last commit too.
    ends = set[bool]()
    for moment in await moments([*_CALLS, end], options):
        thread = await restored(moment.snapshot)
        assert await thread.to_snapshot() == moment.snapshot
        state, paid = thread.execution_state, list(moment.paid)
        assert state is not None
        ends.add(not state.is_open)
        if state.is_open:
            said = sum(one.role == "assistant" for one in await thread.get_messages())
            steps: list[ModelStep] = [*_CALLS, "done"]
            await payer(paid, steps[said:], options=options).run(thread=thread)
        assert len(paid) == len(set(paid))

    assert ends == ({False} if isinstance(end, ModelError) else {False, True})
