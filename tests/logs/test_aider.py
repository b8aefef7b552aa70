"""Aider's transcripts."""

from datetime import UTC, datetime

from foldline.history.messages import Message
from foldline.logs import read_sessions
from foldline.logs.importer import Session
from tests.logs.reading import read


TRANSCRIPT = """
# aider chat started at 2031-02-03 04:05:06

> paths v1
> Model: tiny

#### rename it

#### and test it{}

Done:

> quoted by nobody
#### Heading-like
##### deeper

# aider chat started at 2031-02-03 23:00:00

# aider chat started at 2031-02-04 00:00:00
Hello.
""".format("  ")


def said(session: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in session.messages]


def test_a_transcript_is_cut_into_sessions() -> None:
    """Headings open sessions, marks say who speaks, and what was printed answers no call."""
    first, second = read_sessions(TRANSCRIPT.encode())

    assert said(first) == [
        ("tool", "paths v1\nModel: tiny"),
        ("user", "rename it\n\nand test it"),
        ("assistant", "Done:"),
        ("tool", "quoted by nobody"),
        ("user", "Heading-like"),
        ("assistant", "##### deeper"),
    ]
    assert said(second) == [("assistant", "Hello.")]
    assert (first.id, second.id) == ("2031-02-03 04:05:06", "2031-02-04 00:00:00")
    printed = first.messages[0]
    assert printed.created_at == datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert (printed.name, printed.tool_call_responses) == ("aider", ())


def test_lines_before_the_first_heading_are_a_session() -> None:
    """Lines before the first heading are of a session whose start is lost."""
    first, second = read_sessions(b"#### go on\n# aider chat started at now\nYes.\n", name="log")

    assert said(first) == [("user", "go on")]
    assert first.messages[0].created_at is None
    assert (first.id, second.id) == ("log", "now")


def test_a_transcript_without_heading_is_read_when_named() -> None:
    """A part of a transcript is not recognised, but it is read with the format's name."""
    (session,) = read_sessions(b"#### hi\nHello.", format="aider")

    assert said(session) == [("user", "hi"), ("assistant", "Hello.")]


def test_sessions_may_be_json_lines() -> None:
    """Sessions that were read from a transcript before keep their ids and starts."""
    lines = [
        {
            "id": f"s{number}",
            "started_at": "2031-02-03 04:05:06",
            "messages": [{"role": role, "content": role} for role in ("tool", "user", "assistant")],
        }
        for number in range(2)
    ]
    sessions = read(*lines)

    assert [session.id for session in sessions] == ["s0", "s1"]
    assert sessions[0].messages[1] == Message.user("user")
    assert sessions[0].messages[0].created_at == datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
