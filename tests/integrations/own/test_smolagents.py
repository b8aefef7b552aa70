"""How else smolagents asks: for code, in a stream, with pictures."""

from copy import copy

import pytest
from PIL import Image
from smolagents import CodeAgent
from smolagents.models import ChatMessage, MessageRole

from foldline.agent.reducer import HistoryReducer
from foldline.errors import RequestTooLargeError
from foldline.history.messages import Message
from tests.integrations.golden import make_reducer
from tests.integrations.players.smolagents import look
from tests.integrations.recipe import TASKS, open_chat, recipe_of


def text(content: str) -> list[dict[str, str]]:
    """Return blocks that say *content*."""
    return [{"type": "text", "text": content}]


def talk() -> list[ChatMessage]:
    """Return calls and observations as the memory of an agent gives them, and a picture."""
    call = "Calling tools:\n[{'id': 'c', 'type': 'function', 'function': {'name': 'look', 'arguments': {}}}]"
    said = [ChatMessage(MessageRole.USER, text("New task:\nLook."))]
    for _ in range(10):
        said += [
            ChatMessage(MessageRole.TOOL_CALL, text(call)),
            ChatMessage(MessageRole.TOOL_RESPONSE, text("Observation:\nA room.")),
        ]
    picture = {"type": "image", "image": Image.new("RGB", (1, 1))}
    return [*said, ChatMessage(MessageRole.USER, [picture])]


def test_a_stream_is_asked_with_the_view() -> None:
    """OpenAI takes it, with the picture."""
    recipe, said = recipe_of("smolagents", make_reducer()), talk()
    desk = open_chat([Message.assistant("Done.")])

    [*_] = recipe.FoldingModel("gpt-5-mini").generate_stream(said)

    (asked,) = desk.asked
    assert asked["stream"]
    assert len(asked["messages"]) < len(said)
    assert asked["messages"][-1]["content"][-1]["type"] == "image_url"


def test_code_is_a_call() -> None:
    """An agent that writes code has its old results in the record, and none is quoted as the user's."""
    recipe = recipe_of("smolagents", make_reducer())
    said = [f"Thought: I count.\n<code>\nprint('chairs', {at})\n</code>" for at in range(12)]
    said.append("Thought: I know.\n<code>\nfinal_answer('Done.')\n</code>")
    desk = open_chat([*map(Message.assistant, said)])

    agent = CodeAgent([], recipe.FoldingModel("gpt-5-mini"), verbosity_level=0)

    assert agent.run(TASKS[0]) == "Done."
    last = str(desk.asked[-1]["messages"])
    quoted = last.partition("<quote")[2].rpartition("</quote>")[0]
    assert TASKS[0] in quoted
    assert "Observation" not in quoted


def test_tools_are_counted() -> None:
    """What does not fit beside them is not sent."""
    open_chat([])
    wide = copy(look)
    wide.description = "A room. " * 9999
    model = recipe_of("smolagents", HistoryReducer(window=8_000)).FoldingModel("gpt-5-mini")

    with pytest.raises(RequestTooLargeError):
        model.generate(talk(), tools_to_call_from=[wide])
