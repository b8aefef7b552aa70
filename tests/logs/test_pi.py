"""Sessions of the coding agent pi."""

from datetime import UTC, datetime
from typing import Any

import pytest

from foldline.history.messages import Usage
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from tests.logs.reading import read_one


HEADER: dict[str, Any] = {"type": "session", "id": "s1", "cwd": "/x"}


def line(**message: Any) -> dict[str, Any]:
    return {"type": "message", "timestamp": "2031-01-01T00:00:00.000Z", "message": message}


def test_an_assistant_message_keeps_its_blocks_and_counts() -> None:
    """Text, thinking and calls keep their order, and the input counts what the cache served."""
    session = read_one(
        HEADER,
        line(
            role="assistant",
            content=[
                {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "z"},
                {"type": "text", "text": "Look."},
                {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a"}},
            ],
            model="tiny",
            stopReason="toolUse",
            usage={
                "input": 1,
                "output": 2,
                "cacheRead": 3,
                "cacheWrite": 4,
                "cost": {"total": 0.5},
            },
        ),
    )
    (message,) = session.messages

    assert session.id == "s1"
    assert message.parts == (
        ReasoningPart("Hm."),
        TextPart("Look."),
        ToolCallPart("c", "read", '{"path":"a"}'),
    )
    assert message.usage == Usage(
        input_tokens=8, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4
    )
    assert message.metadata == {"model": "tiny", "stopReason": "toolUse", "cost": 0.5}
    assert message.created_at == datetime(2031, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ([{"type": "text", "text": "A"}], "A"),
        ("A", "A"),
        ([], ""),
        (
            [
                {"type": "text", "text": "A"},
                {"type": "image", "data": "QQ==", "mimeType": "image/png"},
                {"type": "new"},
            ],
            (
                TextPart("A"),
                BlobPart("image", "image/png", "QQ=="),
                GenericPart("new", '{"type":"new"}'),
            ),
        ),
    ],
)
def test_a_result_answers_its_call(content: Any, response: Any) -> None:
    """A tool's result is a string if it is one text block, else its parts."""
    (message,) = read_one(
        line(role="toolResult", toolCallId="c", toolName="read", content=content, isError=False)
    ).messages

    assert message.parts == (ToolCallResponsePart("c", response),)
    assert (message.role, message.name) == ("tool", "read")
    assert message.metadata == {"isError": False}


def test_an_aborted_message_may_be_empty() -> None:
    """A message that was aborted before its first word stays, with the reason and no usage."""
    usage = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    (message,) = read_one(
        line(role="assistant", content=[], stopReason="aborted", usage=usage)
    ).messages

    assert message.parts == ()
    assert message.metadata == {"stopReason": "aborted"}
    assert message.usage is None


@pytest.mark.parametrize(
    ("beside", "text"),
    [
        ({"exitCode": 0, "cancelled": False}, "$ ls\na.py"),
        ({"exitCode": 2, "truncated": True}, "$ ls\na.py\n[exit code 2, truncated]"),
        ({"cancelled": True}, "$ ls\na.py\n[cancelled]"),
    ],
)
def test_a_command_of_the_user_is_the_users(beside: dict[str, Any], text: str) -> None:
    """What the user ran is shown to the model as the user's words."""
    (message,) = read_one(
        line(role="bashExecution", command="ls", output="a.py", **beside)
    ).messages

    assert (message.role, message.text) == ("user", text)


def test_what_extensions_put_in_is_printed() -> None:
    """Messages of other roles keep their text under the name of their role."""
    session = read_one(
        line(role="user", content="Hi."),
        line(role="custom", content=[{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]),
        line(role="branchSummary", summary="Before."),
    )

    assert [(m.role, m.name, m.text) for m in session.messages] == [
        ("user", None, "Hi."),
        ("tool", "custom", "A\nB"),
        ("tool", "branchSummary", "Before."),
    ]


def test_a_compaction_puts_nothing_aside() -> None:
    """All messages stay; the recorded summary and its cut are with the message before it."""
    session = read_one(
        HEADER,
        line(role="user", content="One."),
        {"type": "model_change", "modelId": "tiny"},
        line(role="user", content="Two."),
        {"type": "compaction", "summary": "S", "tokensBefore": 1200, "firstKeptEntryIndex": 3},
        line(role="user", content="Three."),
    )

    assert [message.text for message in session.messages] == ["One.", "Two.", "Three."]
    assert session.messages[1].metadata == {
        "compaction": {
            "summary": "S",
            "tokensBefore": 1200,
            "firstKeptEntryIndex": 3,
            "firstKeptMessage": 1,
        }
    }
    compacted, skipped = session.notes
    assert compacted.startswith("after message 1 the agent compacted its context of 1,200 tok")
    assert skipped == "records left out: model_change (1)"


def test_a_compaction_without_a_message_before_it_is_noted() -> None:
    """A log that starts with a compaction still reads."""
    session = read_one({"type": "compaction", "summary": "S"}, line(role="user", content="One."))

    assert len(session.messages) == 1
    assert session.messages[0].metadata is None


def entry(id: str, parent: str | None, kind: str = "message", **fields: Any) -> dict[str, Any]:
    if kind == "message":
        fields = {"message": {"role": "user", "content": id}}
    return {"type": kind, "id": id, "parentId": parent, **fields}


def test_a_branch_that_was_left_is_no_part_of_the_conversation() -> None:
    """What leads to the last line is read; the summary of another branch is printed."""
    session = read_one(
        HEADER,
        entry("a", None),
        entry("b", "a"),
        entry("cut", "b", "compaction", summary="S", tokensBefore=9),
        entry("sum", "a", "branch_summary", summary="I tried b."),
        entry("note", "sum", "custom_message", customType="todo", content="One is open."),
        entry("c", "note"),
        entry("name", "c", "session_info", name="Work"),
    )

    assert [(one.role, one.name, one.text) for one in session.messages] == [
        ("user", None, "a"),
        ("tool", "branch_summary", "I tried b."),
        ("tool", "todo", "One is open."),
        ("user", None, "c"),
    ]
    assert session.title == "Work"
    assert session.notes == ("records left out: line of a left branch (2)",)


def test_a_branch_may_be_left_before_anything_is_said_on_the_next() -> None:
    """The last line says where the user is, whatever it is."""
    session = read_one(entry("a", None), entry("b", "a"), entry("mark", "a", "label", label="x"))

    assert [message.text for message in session.messages] == ["a"]


def test_a_command_that_the_model_is_not_shown_is_left_out() -> None:
    """A command of the user that stays out of the context is counted in a note."""
    session = read_one(
        line(role="user", content="Hi."),
        line(role="bashExecution", command="ls", output="a", excludeFromContext=True),
    )

    assert len(session.messages) == 1
    assert session.notes == ("records left out: bashExecution (1)",)
