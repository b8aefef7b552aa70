"""Thinking that a vendor has bound to what was before it, sent back through the vendor's SDK."""

import asyncio
from collections.abc import Iterator, Sequence

import pytest
from msgspec.structs import replace

from foldline.errors import ModelError
from foldline.history.messages import Message
from foldline.history.signed import is_signed, without_signed
from foldline.providers.model import ToolDefinition
from tests.providers.vendors.asking import opened, request_of
from tests.servers.claude import ClaudeServer


LOOK = ToolDefinition(name="look", parameters={"type": "object"})
OTHER = replace(LOOK, name="other")
RULE = Message.system("be brief")

_REFUSED = 400


@pytest.fixture
def claude() -> Iterator[ClaudeServer]:
    with ClaudeServer() as server:
        yield server


def conversation(claude: ClaudeServer) -> list[Message]:
    """Have a conversation of three questions, one of which takes a tool."""
    return asyncio.run(_conversation(claude))


async def _conversation(claude: ClaudeServer) -> list[Message]:
    said = [RULE]
    async with opened(claude, f"anthropic:{claude.model}") as model:
        for question in ("one", "please look", "three"):
            said.append(Message.user(question))
            while said[-1].role != "assistant":
                response = await model.respond(request_of(*said, tools=[LOOK]))
                said += response.messages
                said += [Message.tool(one.id, "found") for one in said[-1].tool_calls]
    return said


def refused(claude: ClaudeServer, messages: Sequence[Message], tool: ToolDefinition = LOOK) -> bool:
    """Whether the vendor refuses *messages* and one more question."""

    async def ask() -> None:
        async with opened(claude, f"anthropic:{claude.model}") as model:
            await model.respond(request_of(*messages, Message.user("on"), tools=[tool]))

    try:
        asyncio.run(ask())
    except ModelError as error:
        text = "bound to a different conversation"
        return error.status == _REFUSED and text in claude.refusals[-1]
    return False


def test_a_conversation_that_grows_keeps_its_thinking(claude: ClaudeServer) -> None:
    """Every thought comes back after what it was made from, also inside a loop of tools."""
    said = conversation(claude)

    assert [is_signed(one) for one in said if one.role == "assistant"] == [True] * 4
    assert not refused(claude, said)
    assert claude.refusals == []
    assert claude.thoughts == 1 + 3 + 4 + 5


def test_thinking_after_anything_else_is_refused(claude: ClaudeServer) -> None:
    """Other instructions, other tools, an edit and a fold are refused as long as thinking stays."""
    said = conversation(claude)
    folded = [RULE, Message.assistant("Summary."), *said[4:]]

    assert refused(claude, [Message.system("be long"), *said[1:]])
    assert refused(claude, said, OTHER)
    assert refused(claude, [RULE, Message.user("two"), *said[2:]])
    assert refused(claude, folded)


def test_what_is_left_is_accepted(claude: ClaudeServer) -> None:
    """Without the thinking, all the rest of a conversation goes after anything."""
    said = conversation(claude)
    left = [one for one in map(without_signed, said) if one is not None]

    assert not refused(claude, [Message.system("be long"), *left[3:]], OTHER)
