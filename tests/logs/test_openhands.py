"""Event logs of OpenHands."""

from datetime import UTC, datetime
from typing import Any

import pytest

from foldline.errors import FormatError
from foldline.history.messages import Usage
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart, UriPart
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from tests.logs.reading import read_one


def call(id: str) -> dict[str, Any]:
    function = {"arguments": '{"n": 1}', "name": "look"}
    return {"index": 0, "function": function, "id": id, "type": "function"}


def metadata(id: str, *ids: str, response: str = "r1") -> dict[str, Any]:
    """Return the metadata of an event of the call *id*, in a response that made the calls *ids*."""
    message = {"content": "Look.", "role": "assistant", "tool_calls": [call(id) for id in ids]}
    model_response = {
        "id": response,
        "model": "tiny",
        "choices": [{"message": message}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2},
    }
    return {"tool_call_id": id, "function_name": "look", "model_response": model_response}


def read(*events: dict[str, Any]) -> Session:
    numbered = [{"id": id, "source": "agent", **event} for id, event in enumerate(events)]
    return read_one({"instance_id": "i", "history": numbered})


def test_another_format_is_no_conversation_of_events() -> None:
    """Records that are no events make no messages, and a log of these alone is refused."""
    said = b'{"role": "user", "content": "x"}\n{"role": "assistant", "content": "y"}'

    with pytest.raises(FormatError, match="the input is openhands, but it has no messages"):
        read_sessions(said, format="openhands")


def test_a_response_is_one_message_however_many_actions_it_led_to() -> None:
    """Parallel calls are in the one message of the response that made them."""
    session = read(
        {
            "action": "run",
            "timestamp": "2031-01-01T00:00:00.5",
            "tool_call_metadata": metadata("a", "a", "b"),
        },
        {"action": "run", "tool_call_metadata": metadata("b", "a", "b")},
        {"observation": "run", "content": "A", "tool_call_metadata": metadata("a", "a", "b")},
        {"observation": "run", "content": "B", "tool_call_metadata": metadata("b", "a", "b")},
    )
    message, *answers = session.messages

    assert message.parts == (
        TextPart("Look."),
        ToolCallPart("a", "look", '{"n": 1}'),
        ToolCallPart("b", "look", '{"n": 1}'),
    )
    assert message.id == "r1"
    assert message.usage == Usage(input_tokens=7, output_tokens=2)
    assert message.created_at == datetime(2031, 1, 1, microsecond=500_000, tzinfo=UTC)
    assert [answer.parts for answer in answers] == [
        (ToolCallResponsePart("a", "A"),),
        (ToolCallResponsePart("b", "B"),),
    ]
    assert session.id == "i"


def test_responses_without_id_are_told_apart_by_what_they_say() -> None:
    """A response that carries no id is still one message."""
    session = read(
        {"action": "run", "tool_call_metadata": metadata("a", "a", "b", response="")},
        {"action": "run", "tool_call_metadata": metadata("b", "a", "b", response="")},
        {"action": "run", "tool_call_metadata": metadata("c", "c", response="")},
    )

    assert [message.id for message in session.messages] == [None, None]


def test_words_of_all_sides() -> None:
    """System prompt, user and agent keep their roles; images stay addresses."""
    args = {"content": "See.", "image_urls": ["https://x.example/a.png", None]}
    session = read(
        {"action": "system", "args": {"content": "Be good."}},
        {"action": "message", "source": "user", "args": args},
        {"action": "message", "args": {"content": "Seen."}},
    )
    system, user, agent = session.messages

    assert (system.role, system.text) == ("system", "Be good.")
    assert user.parts == (TextPart("See."), UriPart("image", "https://x.example/a.png"))
    assert (agent.role, agent.text) == ("assistant", "Seen.")


def test_actions_without_tool_calls_become_calls() -> None:
    """In logs from before tool calls, an observation answers the action that caused it."""
    session = read(
        {"action": "run", "args": {"thought": "Look.", "command": "ls"}},
        {"observation": "run", "content": "a.py", "cause": 0},
        {"action": "run", "id": "x", "args": {}},
    )
    action, answer, _ = session.messages

    assert action.parts == (
        TextPart("Look."),
        ToolCallPart("action-0", "run", '{"command":"ls"}'),
    )
    assert answer.parts == (ToolCallResponsePart("action-0", "a.py"),)


def test_what_the_environment_says_unasked_is_printed() -> None:
    """An observation without a call keeps its text and the knowledge that it brought."""
    extras = {"repo_instructions": "Use tabs.", "microagent_knowledge": [{"content": "Git."}]}
    session = read(
        {"observation": "recall", "source": "environment", "content": "Added.", "extras": extras},
        {"observation": "error", "content": "No.", "cause": 99},
        {"observation": "error", "content": "No.", "cause": "x"},
    )

    assert [(m.role, m.name, m.text) for m in session.messages] == [
        ("tool", "environment", "Added.\n\nUse tabs.\n\nGit."),
        ("tool", "agent", "No."),
        ("tool", "agent", "No."),
    ]


def test_silent_events_are_counted() -> None:
    """Events that steer the program are left out, and a note says how many."""
    session = read(
        {"action": "recall", "source": "user"},
        {"observation": "agent_state_changed", "content": ""},
        {"action": "message", "args": {"content": "Hi."}},
    )

    assert len(session.messages) == 1
    assert session.notes == ("records left out: agent_state_changed (1), recall (1)",)


@pytest.mark.parametrize("separator", ["[", "\n"])
def test_a_run_may_be_a_list_or_lines_of_events(separator: str) -> None:
    """Events come in a record, as a list, or one a line."""
    event = '{"id": 0, "source": "user", "action": "message", "args": {"content": "Hi."}}'
    data = f"[{event}, {event}]" if separator == "[" else f"{event}\n{event}"
    (session,) = read_sessions(data.encode(), name="run")

    assert [message.text for message in session.messages] == ["Hi.", "Hi."]
    assert session.id == "run"
