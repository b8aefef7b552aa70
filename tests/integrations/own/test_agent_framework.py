"""What is Agent Framework's alone."""

import asyncio
from typing import Any

import pytest
from agent_framework import Agent, tool
from agent_framework import Message as Theirs

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.integrations.agent_framework import FoldlineChatMiddleware, FoldlineHistoryProvider
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.players.agent_framework import Scripted


def test_a_path_is_no_store() -> None:
    """What is given in place of a store is refused at once, and not in the first run."""
    path: Any = "chat.db"
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineHistoryProvider(path)


def test_all_that_a_request_has_beside_its_messages_is_counted() -> None:
    """The form of an answer is sent with the instructions and the tools."""
    heard, model = Heard(), Scripted()
    model.answers = [Theirs("assistant", [ANSWER])]
    shown = FoldlineChatMiddleware(HistoryReducer(counter=heard))
    agent: Any = Agent(model, RULES, tools=[tool(peek)], middleware=[shown])

    asyncio.run(agent.run("Hi", options={"response_format": Room}))

    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]
