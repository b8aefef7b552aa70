"""Real recordings import whole, with the counts that their own records give."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from foldline.logs import Session, read_sessions


Read = Callable[[str, str], list[Session]]


@pytest.fixture
def read(shared_data: Path) -> Read:
    """Return what reads every file of a folder, which has to be recognized."""

    def read_folder(folder: str, format: str) -> list[Session]:
        paths = sorted((shared_data / folder).glob("*.json*"))
        sessions = [one for path in paths for one in read_sessions(path.read_bytes())]
        assert {session.format for session in sessions} == {format}
        return sessions

    return read_folder


def counts(sessions: list[Session]) -> dict[str, int]:
    messages = [message for session in sessions for message in session.messages]
    found = Counter[str](message.role for message in messages)
    found["messages"] = len(messages)
    found["calls"] = sum(len(message.tool_calls) for message in messages)
    found["responses"] = sum(len(message.tool_call_responses) for message in messages)
    return {key: count for key, count in found.items() if count}


def test_pi(read: Read) -> None:
    """990 messages, three of the user's being commands that he ran, and the vendor's own counts."""
    (session,) = read("pi-coding-agent", "pi")
    usages = [message.usage for message in session.messages if message.usage]

    assert counts([session]) == {
        "messages": 990,
        "assistant": 484,
        "tool": 448,
        "user": 55 + 3,
        "calls": 454,
        "responses": 448,
    }
    assert sum(usage.cache_read_tokens for usage in usages) == 54_693_675
    assert sum(usage.cache_write_tokens for usage in usages) == 1_685_320
    assert sum(usage.input_tokens for usage in usages) == 3_689 + 54_693_675 + 1_685_320
    assert sum(usage.output_tokens for usage in usages) == 187_895
    assert [note.split()[2] for note in session.notes[:2]] == ["353", "621"]


def test_tau(read: Read) -> None:
    """Every call of the 50 conversations is answered, and nothing is held twice."""
    sessions = read("tau-airline", "chat-jsonl")

    assert len(sessions) == 50
    assert counts(sessions) == {
        "messages": 1504,
        "system": 50,
        "user": 439,
        "assistant": 702,
        "tool": 313,
        "calls": 313,
        "responses": 313,
    }
    assert not any(message.native for session in sessions for message in session.messages)


def test_aider(read: Read) -> None:
    """What aider printed is neither the user's nor an answer to a call."""
    sessions = read("aider-pair", "aider")

    assert len(sessions) == 56
    assert counts(sessions) == {"messages": 1103, "user": 347, "assistant": 272, "tool": 484}
    assert all(session.messages[0].created_at for session in sessions)


def test_swe_agent(read: Read) -> None:
    """The seven trajectories keep their 172 messages, and every call its answer."""
    sessions = read("swe-agent", "swe-agent")

    assert len(sessions) == 7
    assert counts(sessions)["messages"] == 172
    assert counts(sessions)["calls"] == counts(sessions)["responses"] == 29


def test_openhands(read: Read) -> None:
    """Of 119 events two are requests to the program; two calls finish and are never answered."""
    sessions = read("openhands", "openhands")

    assert [len(session.messages) for session in sessions] == [49 - 1, 70 - 1]
    assert counts(sessions) == {
        "messages": 117,
        "system": 2,
        "user": 2,
        "assistant": 56,
        "tool": 57,
        "calls": 56,
        "responses": 54,
    }


def test_claude_code(read: Read) -> None:
    """Whole sessions import with their titles, and odd lines are named instead of refused."""
    edge, *rest = read("claude-code-sessions", "claude-code")
    sessions = [edge, *rest]

    assert counts(sessions) == {
        "messages": 22,
        "user": 10,
        "assistant": 9,
        "tool": 3,
        "calls": 5,
        "responses": 3,
    }
    assert [bool(session.title) for session in sessions] == [True, False, True]
    assert len(edge.notes) == 7
