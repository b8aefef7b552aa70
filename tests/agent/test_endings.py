"""How a turn ends where the model does not say all that it wanted to."""

import asyncio

import pytest

from foldline import Agent, Message
from foldline.events import DecisionEvent
from foldline.providers.model import ChatResponse, FinishReason
from foldline.testing.model import ScriptedModel


@pytest.mark.parametrize("reason", ["length", "content_filter", "error"])
def test_an_answer_that_was_cut_off_is_no_completion(reason: FinishReason) -> None:
    """It is stored, and the turn says why it is not whole."""
    answer = ChatResponse(messages=(Message.assistant("half of"),), finish_reason=reason)
    result = asyncio.run(Agent(ScriptedModel([answer])).run("hi"))
    last = [event for event in result.events if isinstance(event, DecisionEvent)][-1]

    assert (result.text, result.thread.count, result.is_complete) == ("half of", 2, False)
    assert result.termination_reason == f"The model stopped early: {reason}"
    assert (last.decision, last.reason) == ("terminate", result.termination_reason)
