"""What CrewAI puts into its messages beside the text, and how else it asks."""

import asyncio
from typing import Any

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.errors import RequestTooLargeError
from foldline.history.messages import Message
from tests.integrations.golden import make_reducer
from tests.integrations.recipe import open_chat, recipe_of


def talk() -> list[dict[str, Any]]:
    """Return a task with calls as CrewAI keeps them for Gemini: with the parts that came."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Look.", "cache_breakpoint": True}]
    for at in range(10):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        said += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [call],
                "raw_tool_call_parts": [object()],
            },
            {"role": "tool", "tool_call_id": f"c{at}", "name": "look", "content": "A room."},
        ]
    return said


def test_what_is_unchanged_is_the_very_dictionary() -> None:
    """The model of a vendor finds its own parts in the view, and the marks of caches."""
    said = talk()

    view = recipe_of("crewai", make_reducer()).view_of(said)

    assert len(view) < len(said)
    assert [*map(id, view[-6:])] == [*map(id, said[-6:])]


def test_a_text_is_no_conversation() -> None:
    """CrewAI asks a model with a text alone too, for a plan or a form."""
    assert recipe_of("crewai", make_reducer()).view_of("Plan.") == "Plan."


def test_a_call_that_is_awaited_is_sent_the_view() -> None:
    """So it is in `akickoff`."""
    recipe, said = recipe_of("crewai", make_reducer()), talk()
    for one in said:
        one.pop("raw_tool_call_parts", None)
    desk = open_chat([Message.assistant("Done.")])

    asyncio.run(recipe.FoldingLLM(model="gpt-5-mini").acall(said))

    assert len(desk.asked[0]["messages"]) < len(said)


def test_tools_are_counted() -> None:
    """What does not fit beside them is not sent."""
    tool = {"type": "function", "function": {"name": "look", "description": "A room. " * 9999}}
    recipe = recipe_of("crewai", HistoryReducer(window=8_000))

    with pytest.raises(RequestTooLargeError):
        recipe.FoldingLLM(model="gpt-5-mini", api_key="none").call(talk(), tools=[tool])
