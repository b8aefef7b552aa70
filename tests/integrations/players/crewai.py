"""Agents of CrewAI with the model of the page."""

import os
from types import SimpleNamespace


# Before it is imported: it reports home, and asks whether it may.
os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", OTEL_SDK_DISABLED="true")

from crewai import Agent, Crew, Task  # noqa: E402 - after what silences it
from crewai.tools import tool  # noqa: E402 - the same

from foldline.history.messages import Message  # noqa: E402 - the same
from tests.integrations.recipe import TASKS, look_into, looks, open_chat  # noqa: E402 - the same


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
