"""Agents of CrewAI with the model of the page."""

from types import SimpleNamespace

from crewai import Agent, Crew, Task
from crewai.tools import tool

from foldline.history.messages import Message
from tests.integrations.recipe import TASKS, look_into, looks, open_chat


def script() -> list[Message]:
    """Return what the model says to all tasks."""
    return [one for _ in TASKS for one in [*looks(), Message.assistant("Done.")]]


def play(recipe: SimpleNamespace) -> str:
    """Give a crew all tasks, and return the messages of each."""
    agent = Agent(
        role="Porter",
        goal="Look into rooms",
        backstory="You know the house.",
        llm=recipe.FoldingLLM(model="gpt-5-mini"),
        tools=[tool("look")(look_into)],
        respect_context_window=False,
    )
    tasks = [Task(description=one, expected_output="A sentence", agent=agent) for one in TASKS]
    Crew(agents=[agent], tasks=tasks).kickoff()
    return str([one.output.messages for one in tasks if one.output])


def model() -> None:
    """Let the model of the page answer."""
    open_chat([Message.assistant("It left on day 3.")])
