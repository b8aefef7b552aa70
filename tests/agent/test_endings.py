"""
How a turn ends where the model does not say all that it wanted to.
"""

import asyncio

import pytest

from foldline import Agent, DecisionEvent, Message
from foldline.errors import CommitUnknownError, StoreError
from foldline.providers.model import ChatResponse, FinishReason
from foldline.testing.model import ScriptedModel
from foldline.threads.key import ThreadKey
from foldline.threads.step import Step, StoredThread
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage


class Cut(MemoryStorage):
    """
    A storage that makes one commit behind a connection which is cut then, and is away for a moment.
    """

    def __init__(self, *, good: int) -> None:
        super().__init__()
        self._good = good
        self._is_away = False

    async def commit(self, key: ThreadKey, step: Step) -> None:
        await super().commit(key, step)
        self._good -= 1
        if self._good == 0:
            self._is_away = True
            message = "the connection broke"
            raise CommitUnknownError(message)

    async def load(self, key: ThreadKey) -> StoredThread | None:
        if self._is_away:
            self._is_away = False
            message = "the connection broke"
            raise StoreError(message)
        return await super().load(key)


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_an_answer_that_was_cut_off_is_no_completion(reason: FinishReason) -> None:
    """
    It is stored, and the turn says why it is not whole.
    """
    answer = ChatResponse(messages=(Message.assistant("half of"),), finish_reason=reason)
    result = asyncio.run(Agent(ScriptedModel([answer])).run("hi"))
    last = [event for event in result.events if isinstance(event, DecisionEvent)][-1]

    assert (result.text, result.thread.count, result.is_complete) == ("half of", 2, False)
    assert result.termination_reason == f"The model stopped early: {reason}"
    assert (last.decision, last.reason) == ("terminate", result.termination_reason)


def test_a_turn_whose_commit_is_unknown_says_how_to_go_on() -> None:
    """
    The error names no id that nobody could use, and what it says to do brings the turn to its end.
    """

    async def run() -> tuple[CommitUnknownError, str, int]:
        # The thread is made, and then the input is stored.
        store = ThreadStore(Cut(good=2))
        thread = await store.thread("chat")
        agent = Agent(ScriptedModel(["hello"]))
        with pytest.raises(CommitUnknownError, match="run without a message to go on") as caught:
            await agent.run("hi", thread=thread)
        await thread.refresh()
        result = await agent.run(thread=thread)
        return caught.value, result.text, thread.count

    error, text, count = asyncio.run(run())
    assert error.commit_id is None
    assert (text, count) == ("hello", 2)
