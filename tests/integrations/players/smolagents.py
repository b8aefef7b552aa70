"""Agents of smolagents with the model of the page."""

import json
from types import SimpleNamespace

from smolagents import ToolCallingAgent, tool

from foldline.history.messages import Message
from tests.integrations.recipe import TASKS, called, look_into, looks, open_chat


@tool
def look(room: int) -> str:
    """
    Look into a room.

    Args:
        room: Its number.
    """
    return look_into(room)


def final(text: str) -> Message:
    """Return the call that ends a run with *text*."""
    return called("final_answer", json.dumps({"answer": text}))


def script() -> list[Message]:
    """Return what the model says to all tasks."""
    return [one for _ in TASKS for one in [*looks(), final("Done.")]]


def play(recipe: SimpleNamespace) -> str:
    """Give an agent all tasks, and return what its memory holds."""
    agent = ToolCallingAgent([look], recipe.FoldingModel("gpt-5-mini"), verbosity_level=0)
    for task in TASKS:
        agent.run(task, reset=False)
    return str([step.to_messages() for step in agent.memory.steps])


def model() -> None:
    """Let the model of the page answer."""
    open_chat([final("It left on day 3.")] * 2)
