"""Conversations as pydantic-ai takes them."""

import base64
from typing import Any

import pytest
from pydantic_ai import messages as theirs

from foldline.history.formats.renderings import OPENING_NOTE, SUMMARY_HEADER
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.providers.vendors.pydantic_model import pydantic_messages


QUESTION = Message.user("x")
PIXEL = base64.b64encode(b"pixel").decode()


def written(*messages: Message) -> list[tuple[str, list[tuple[str, Any]]]]:
    return [
        (message.kind, [(part.part_kind, _content(part)) for part in message.parts])
        for message in pydantic_messages(messages, vendor="openai")
    ]


def _content(part: Any) -> Any:
    return part.content if hasattr(part, "content") else part.args


def test_a_conversation_is_written() -> None:
    """Every kind of part has its counterpart, and neighbours of one side are one message."""
    call = ToolCallPart("a", "find", '{"q": 1}')
    conversation = (
        Message.system("be brief"),
        Message.user("hello"),
        Message(role="assistant", parts=(ReasoningPart("hm"), ReasoningPart(""), TextPart("so"))),
        Message.assistant(tool_calls=[call, ToolCallPart("b", "stop", "broken")]),
        Message.tool("a", "found"),
        Message.tool("b", "stopped"),
        Message.user("thanks"),
    )

    assert written(*conversation) == [
        ("request", [("system-prompt", "be brief"), ("user-prompt", "hello")]),
        (
            "response",
            [
                ("thinking", "hm"),
                ("text", "so"),
                ("tool-call", {"q": 1}),
                ("tool-call", {"arguments": "broken"}),
            ],
        ),
        (
            "request",
            [("tool-return", "found"), ("tool-return", "stopped"), ("user-prompt", "thanks")],
        ),
    ]


def test_answers_carry_the_name_of_their_tool() -> None:
    """An answer names the tool that was called, and one to an unknown call says so."""
    call = ToolCallPart("a", "find", "{}")
    messages = pydantic_messages(
        (Message.assistant(tool_calls=[call]), Message.tool("a", "1"), Message.tool("z", "2")),
        vendor="openai",
    )

    names = [part.tool_name for part in messages[-1].parts if part.part_kind == "tool-return"]
    assert names == ["find", "unknown"]


def test_media_are_written() -> None:
    """Bytes, addresses and uploads become what pydantic-ai has for them."""
    parts = (
        BlobPart("image", "image/png", PIXEL),
        BlobPart("document", "", PIXEL),
        UriPart("image", "https://host.example/a.png"),
        UriPart("audio", "https://host.example/a.mp3"),
        UriPart("video", "https://host.example/a.mp4"),
        UriPart("document", "https://host.example/a.pdf"),
        FilePart("document", "file-1"),
    )

    ((_, found),) = written(Message(role="user", parts=parts))

    contents = [content[0] for _, content in found]
    assert [content.kind for content in contents] == [
        "binary",
        "binary",
        "image-url",
        "audio-url",
        "video-url",
        "document-url",
        "uploaded-file",
    ]
    assert contents[0].data == b"pixel"
    assert contents[1].media_type == "application/octet-stream"
    assert contents[6].file_id == "file-1"


def test_answers_of_several_parts_are_written() -> None:
    """A tool may answer with media, and an answer that says it failed is a failed one."""
    image = BlobPart("image", "image/png", PIXEL)
    failed = GenericPart("is_error", '{"type":"is_error"}')
    answers = (
        ToolCallResponsePart("a", (TextPart("one"), TextPart("two"), failed)),
        ToolCallResponsePart("b", (TextPart("see"), image)),
    )

    (message,) = pydantic_messages([Message(role="tool", parts=answers)], vendor="openai")

    first, second = message.parts
    assert isinstance(first, theirs.ToolReturnPart)
    assert isinstance(second, theirs.ToolReturnPart)
    assert (first.content, first.outcome) == ("one\ntwo", "failed")
    assert second.outcome == "success"
    assert isinstance(second.content, list)
    assert [type(one).__name__ for one in second.content] == ["str", "BinaryContent"]


@pytest.mark.parametrize("messages", [(), (Message.system("be brief"),)])
def test_an_empty_view_is_a_note(messages: tuple[Message, ...]) -> None:
    """A view without a conversation is a short user note."""
    ((kind, parts),) = written(*messages)

    assert kind == "request"
    assert parts[-1] == ("user-prompt", OPENING_NOTE)


def test_a_summary_comes_after_a_note() -> None:
    """A view that begins with a summary is sent as a note and the model's summary."""
    summary = Message(role="assistant", parts=(TextPart("was"),), metadata={SUMMARY_KEY: True})

    assert written(Message.system("be brief"), summary, QUESTION) == [
        ("request", [("system-prompt", "be brief"), ("user-prompt", OPENING_NOTE)]),
        ("response", [("text", f"{SUMMARY_HEADER}\n\nwas")]),
        ("request", [("user-prompt", "x")]),
    ]


def test_odd_parts_leave_their_place() -> None:
    """What pydantic-ai has no place for is left out; bytes that are none leave a mark."""
    odd = Message(role="user", parts=(GenericPart("odd", "{}"), TextPart("x")))
    rule = Message(role="system", parts=(GenericPart("odd", "{}"), TextPart("be brief")))
    silent = Message(role="assistant", parts=(CompactionPart(""), ReasoningPart("")))
    broken = BlobPart("image", "image/png", "a")
    drawn = (broken, CompactionPart("was"), BlobPart("image", "image/png", PIXEL))
    images = (Message(role="user", parts=(broken,)), Message(role="assistant", parts=drawn))
    found = written(rule, odd, silent, QUESTION, *images)

    assert found[0][1] == [
        ("system-prompt", "be brief"),
        ("user-prompt", "x"),
        ("user-prompt", "x"),
        ("user-prompt", ["[image]"]),
    ]
    assert found[1][1][:2] == [("text", "[image]"), ("text", "was")]
    assert [kind for kind, _ in found[1][1]] == ["text", "text", "file"]
