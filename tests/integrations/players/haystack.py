"""Agents of Haystack with the generator of the page."""

from types import SimpleNamespace

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import create_tool_from_function

from foldline.history.messages import Message
from tests.integrations.recipe import TASKS, look_into, looks, open_chat


def script() -> list[Message]:
    """Return what the model says to all tasks."""
    return [one for _ in TASKS for one in [*looks(), Message.assistant("Done.")]]


def play(recipe: SimpleNamespace) -> str:
    """Give an agent all tasks, and return the history that it returns."""
    agent = Agent(
        chat_generator=recipe.FoldingGenerator(OpenAIChatGenerator(model="gpt-5-mini")),
        tools=[create_tool_from_function(look_into, name="look")],
        system_prompt="Be brief.",
    )
    said: list[ChatMessage] = []
    for task in TASKS:
        said = agent.run(messages=[*said, ChatMessage.from_user(task)])["messages"][1:]
    return str(said)


def model() -> None:
    """Let the model of the page answer."""
    open_chat([Message.assistant("It left on day 3.")] * 2)
