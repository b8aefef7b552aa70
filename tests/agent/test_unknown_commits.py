"""A turn that does not know whether its last step was stored, and what its error says to do."""

import asyncio

import pytest

from foldline import Agent, AgentOptions, ConversationThread
from foldline.errors import CommitUnknownError
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.store import ThreadStore
from tests.agent.cut import ADVICE, Cut


def payer(paid: list[int], *, parallel: bool = True) -> Agent:
    """Return an agent that pays twice where it is told to, and says so."""

    def pay(amount: int) -> str:
        paid.append(amount)
        return f"paid {amount}"

    def act(request: ChatRequest) -> str | Message:
        last = request.messages[-1]
        if last.text == "pay":
            return calls(("pay", {"amount": 1}), ("pay", {"amount": 2}), first=1)
        return "done" if last.role == "tool" else "hello"

    options = AgentOptions(parallel_tool_calls=parallel)
    return Agent(ScriptedModel(repeat=act), tools=[pay], options=options)


async def follow(agent: Agent, thread: ConversationThread, text: str) -> None:
    """Do what the error says, behind a refresh."""
    await thread.refresh()
    said = await thread.get_messages()
    if not any(one.text == text for one in said):
        await agent.run(text, thread=thread)
    elif said[-1].role != "assistant" or said[-1].tool_calls:
        await agent.run(thread=thread)


@pytest.mark.parametrize(
    ("text", "parallel", "want", "least"),
    [("hi", True, "hello", 2), ("pay", True, "done", 5), ("pay", False, "done", 5)],
    ids=["plain", "at once", "in turn"],
)
@pytest.mark.parametrize("makes", [False, True], ids=["not made", "made"])
def test_the_advice_brings_a_turn_to_its_end(
    text: str, want: str, least: int, *, makes: bool, parallel: bool
) -> None:
    """Whichever commit is unknown, in the end all was said and answered once."""

    async def turn(at: int) -> bool:
        # The thread is made, and says one thing, before.
        storage, paid = Cut(at + 3, makes=makes), list[int]()
        store, agent = ThreadStore(storage), payer(paid, parallel=parallel)
        thread = await store.thread("t")
        await agent.run("good morning", thread=thread)
        error = None
        try:
            await agent.run(text, thread=thread)
        except CommitUnknownError as caught:
            error = caught
        if error is not None:
            assert (error.commit_id, str(error)[-len(ADVICE) :]) == (None, ADVICE)
            storage.is_away = False
            await follow(agent, thread, text)
        said = [one.text for one in await thread.get_messages()]
        assert (said.count(text), said.count(want)) == (1, 1 if text == "pay" else 2)
        assert (len(paid), said[-1]) == (len(set(paid)), want)
        return storage.has_broken

    steps = 1
    while asyncio.run(turn(steps)):
        steps += 1

    assert steps > least
