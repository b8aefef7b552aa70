"""Messages of Amazon Bedrock's Converse API."""

from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.converse import is_turn
from tests.logs.reading import read_one


MARK = {"cachePoint": {"type": "default"}}
ASKED = {"role": "user", "content": [{"text": "What is in the room?"}]}
CALLED = {
    "role": "assistant",
    "content": [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "S"}}},
        {"toolUse": {"toolUseId": "t1", "name": "look", "input": {"room": 1}}},
    ],
}
TOLD = {"toolResult": {"toolUseId": "t1", "content": [{"text": "A table."}]}}
RESULT = {"role": "user", "content": [TOLD, MARK, {"text": "Go on."}]}


def parts_of(*blocks: dict[str, Any], role: str = "user") -> tuple[Part, ...]:
    session = read_one([{"role": role, "content": [{"text": ""}, *blocks]}])
    return tuple(part for message in session.messages for part in message.parts)[1:]


def test_a_list_of_messages() -> None:
    """Calls, results and thinking are read; a mark of the cache is no message."""
    asked, called, told, more = read_one([ASKED, CALLED, RESULT]).messages

    assert asked == Message.user("What is in the room?")
    assert called.parts == (ReasoningPart("Hm."), ToolCallPart("t1", "look", '{"room":1}'))
    assert told == Message.tool("t1", "A table.")
    assert more == Message.user("Go on.")


def test_requests_that_grow_are_one_session() -> None:
    """A log of requests is a conversation, with its instructions in front."""
    beside = {"modelId": "m", "system": [{"text": "Be brief."}, MARK]}

    session = read_one(
        {"messages": [ASKED], **beside}, {"messages": [ASKED, CALLED, RESULT], **beside}
    )

    assert session.messages[0] == Message.system("Be brief.")
    assert len(session.messages) == 5


@pytest.mark.parametrize(
    ("block", "part"),
    [
        (
            {"image": {"format": "png", "source": {"bytes": "aGk="}}},
            BlobPart("image", "image/png", "aGk="),
        ),
        (
            {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"hi"}}},
            BlobPart("document", "application/pdf", "aGk="),
        ),
        (
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://a"}}}},
            GenericPart("image", '{"format":"png","source":{"s3Location":{"uri":"s3://a"}}}'),
        ),
        ({"guardContent": {"text": {}}}, GenericPart("guardContent", '{"text":{}}')),
        ({"reasoningContent": {"redactedContent": "AA=="}}, ReasoningPart("")),
        (
            {"toolResult": {"toolUseId": "t", "content": [{"json": {"a": 1}}]}},
            ToolCallResponsePart("t", '{"a":1}'),
        ),
        ({"toolResult": {"toolUseId": "t", "content": []}}, ToolCallResponsePart("t", "")),
        (
            {"toolResult": {"toolUseId": "t", "content": [{"text": "a"}, {"text": "b"}]}},
            ToolCallResponsePart("t", (TextPart("a"), TextPart("b"))),
        ),
        (
            {"toolUse": {"toolUseId": "t", "name": "n", "type": "server_tool_use", "input": {}}},
            GenericPart(
                "toolUse", '{"toolUseId":"t","name":"n","type":"server_tool_use","input":{}}'
            ),
        ),
    ],
)
def test_blocks(block: dict[str, Any], part: Part) -> None:
    """Every block says what it says in the formats of other vendors."""
    from foldline.logs.converse import block_parts

    assert (*block_parts(block),) == (part,)


@pytest.mark.parametrize(
    ("value", "is_bedrock"),
    [
        (ASKED, True),
        ({"role": "user", "content": [MARK]}, True),
        ({"role": "user", "content": [{"type": "text", "text": "Hi."}]}, False),
        ({"role": "user", "content": [{"other": 1}]}, False),
        ({"role": "user", "content": []}, False),
        ({"role": "user", "content": "Hi."}, False),
        ({"role": "system", "content": [{"text": "Hi."}]}, False),
        ("Hi.", False),
    ],
)
def test_what_is_a_message(value: Any, is_bedrock: bool) -> None:
    """Blocks of Anthropic and OpenAI say of which type they are."""
    assert is_turn(value) == is_bedrock
