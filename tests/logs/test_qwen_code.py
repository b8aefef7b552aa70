"""Sessions of Qwen Code."""

from datetime import UTC, datetime
from typing import Any

from foldline.history.messages import Usage
from foldline.history.parts import (
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from tests.logs.reading import read_one


def line(id: str, kind: str, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a line that follows the one whose id is one less."""
    role = "model" if kind == "assistant" else "user"
    parent = f"{int(id) - 1}" if id != "1" else None
    envelope = {"uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind}
    time = {"timestamp": "2031-01-01T00:00:00Z"}
    return {**envelope, **time, "message": {"role": role, "parts": [*parts]}, **fields}


def test_contents_become_messages() -> None:
    """Texts, thoughts, calls and results are read as Gemini has them, with the counts of the line."""
    call = {"functionCall": {"id": "c", "name": "look", "args": {"at": 1}}}
    answer = {"functionResponse": {"id": "c", "name": "look", "response": {"output": "a\nb"}}}
    other = {"functionResponse": {"id": "d", "name": "look", "response": {"x": 1}}}
    counts = {"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}
    session = read_one(
        line("1", "user", {"text": "Hi."}),
        line(
            "2",
            "assistant",
            {"text": "Hm.", "thought": True},
            {"text": "I look."},
            call,
            model="tiny",
            usageMetadata={**counts, "cachedContentTokenCount": 4},
        ),
        line("3", "tool_result", answer, other),
        {
            "type": "system",
            "subtype": "custom_title",
            "uuid": "4",
            "sessionId": "s",
            "systemPayload": {"customTitle": "Work"},
        },
    )
    user, said, *results = session.messages

    assert (session.id, session.title, session.format) == ("s", "Work", "claude-code")
    assert (user.text, user.id) == ("Hi.", "1")
    assert user.created_at == datetime(2031, 1, 1, tzinfo=UTC)
    assert said.parts == (
        ReasoningPart("Hm."),
        TextPart("I look."),
        ToolCallPart("c", "look", '{"at":1}'),
    )
    assert said.metadata == {"model": "tiny"}
    assert said.usage == Usage(
        input_tokens=9, output_tokens=5, cache_read_tokens=4, reasoning_tokens=2
    )
    assert [part for one in results for part in one.parts] == [
        ToolCallResponsePart("c", "a\nb"),
        ToolCallResponsePart("d", '{"x":1}'),
    ]


def test_the_program_is_not_the_user() -> None:
    """What a task or a timer says in the user's place is printed."""
    session = read_one(
        line("1", "user", {"text": "Hi."}, provenance="real_user"),
        line("2", "user", {"text": "Done."}, subtype="notification"),
        line("3", "user", {"text": "Again."}, subtype="cron"),
        line("4", "user", {"text": "Note."}, provenance="system"),
        line("5", "user", {"text": "Wait."}, subtype="mid_turn_user_message"),
    )

    assert [message.role for message in session.messages] == [
        "user",
        "tool",
        "tool",
        "tool",
        "user",
    ]


def test_what_was_rewound_is_left_out() -> None:
    """The branch of the newest line is read."""
    session = read_one(
        line("1", "user", {"text": "One."}),
        line("2", "user", {"text": "Two."}),
        {**line("3", "user", {"text": "Three."}), "parentUuid": "1"},
    )

    assert [message.text for message in session.messages] == ["One.", "Three."]
