"""How else Haystack asks, and what its messages hold that OpenAI's do not."""

import asyncio

import pytest
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import create_tool_from_function

from foldline.agent.reducer import HistoryReducer
from foldline.errors import RequestTooLargeError
from foldline.history.messages import Message
from tests.integrations.golden import make_reducer
from tests.integrations.recipe import look_into, open_chat, recipe_of


def talk() -> list[ChatMessage]:
    """Return calls with the reasoning before them, and a question."""
    said = [ChatMessage.from_user("Look.")]
    for at in range(10):
        call = ToolCall(id=f"c{at}", tool_name="look", arguments={})
        said += [
            ChatMessage.from_assistant(tool_calls=[call], reasoning=f"Room {at}."),
            ChatMessage.from_tool("A room.", origin=call),
        ]
    return said


def test_what_is_unchanged_is_the_very_message() -> None:
    """Reasoning, which the form of OpenAI has no place for, stays in the newest messages."""
    said = talk()

    view = recipe_of("haystack", make_reducer()).view_of(said)

    assert len(view) < len(said)
    assert [*map(id, view[-6:])] == [*map(id, said[-6:])]


def test_a_run_that_is_awaited_is_sent_the_view() -> None:
    """So it is in `run_async`."""
    recipe, said = recipe_of("haystack", make_reducer()), talk()
    desk = open_chat([Message.assistant("Done.")])
    generator = recipe.FoldingGenerator(OpenAIChatGenerator(model="gpt-5-mini"))

    result = asyncio.run(Agent(chat_generator=generator).run_async(messages=said))

    assert len(desk.asked[0]["messages"]) < len(said)
    assert result["messages"][: len(said)] == said


def test_tools_are_counted() -> None:
    """What does not fit beside them is not sent."""
    open_chat([])
    tool = create_tool_from_function(look_into, description="A room. " * 9999)
    recipe = recipe_of("haystack", HistoryReducer(window=8_000))
    generator = recipe.FoldingGenerator(OpenAIChatGenerator(model="gpt-5-mini"))

    with pytest.raises(RequestTooLargeError):
        generator.run(messages=talk(), tools=[tool])
