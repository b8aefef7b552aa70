"""Real recordings import whole, with the counts that their own records give."""

from collections import Counter
from pathlib import Path

import pytest

from foldline.logs.document import read_document
from foldline.logs.importer import Session
from foldline.logs.sessions import FORMATS, read_sessions


DATA = Path(__file__).resolve().parents[2] / "../shared/data"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason="the shared recordings are not beside this checkout"
)


def read(folder: str) -> list[Session]:
    """Read every file of *folder*."""
    paths = sorted((DATA / folder).glob("*.json*"))
    assert paths
    return [session for path in paths for session in read_sessions(path.read_bytes())]


def counts(sessions: list[Session]) -> dict[str, int]:
    """Return how many messages there are of each role, and how many calls and responses."""
    messages = [message for session in sessions for message in session.messages]
    found = Counter[str](message.role for message in messages)
    found["messages"] = len(messages)
    found["calls"] = sum(len(message.tool_calls) for message in messages)
    found["responses"] = sum(len(message.tool_call_responses) for message in messages)
    return {key: count for key, count in found.items() if count}


def test_every_file_matches_one_format() -> None:
    """No recording is taken for two formats."""
    paths = [path for path in DATA.glob("*/*.json*") if path.parent.name != "qmsum-meetings"]
    assert len(paths) == 13
    for path in paths:
        document = read_document(path.read_bytes())
        assert len([format for format in FORMATS if format.matches(document)]) == 1


def test_pi() -> None:
    """990 messages, three of the user's being commands that he ran, and the vendor's own counts."""
    (session,) = read("pi-coding-agent")
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


def test_tau() -> None:
    """Every call of the 50 conversations is answered, and nothing is held twice."""
    sessions = read("tau-airline")

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


def test_aider() -> None:
    """What aider printed is neither the user's nor an answer to a call."""
    sessions = read("aider-pair")

    assert len(sessions) == 56
    assert counts(sessions) == {"messages": 1103, "user": 347, "assistant": 272, "tool": 484}
    assert all(session.messages[0].created_at for session in sessions)


def test_swe_agent() -> None:
    """The seven trajectories keep their 172 messages, and every call its answer."""
    sessions = read("swe-agent")

    assert len(sessions) == 7
    assert counts(sessions)["messages"] == 172
    assert counts(sessions)["calls"] == counts(sessions)["responses"] == 29


def test_openhands() -> None:
    """Of 119 events two are requests to the program; two calls finish and are never answered."""
    sessions = read("openhands")

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


def test_claude_code() -> None:
    """Whole sessions import with their titles, and odd lines are named instead of refused."""
    edge, *rest = read("claude-code-sessions")
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
