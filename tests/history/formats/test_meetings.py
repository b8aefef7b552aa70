"""Meeting transcripts."""

import json

import pytest

from foldline.errors import FormatError
from foldline.history.formats.sessions import read_sessions


def meeting(*turns: tuple[str, str]) -> bytes:
    """Return a meeting of *turns* as a line of JSON."""
    spoken = [{"speaker": speaker, "content": content} for speaker, content in turns]
    return json.dumps({"id": "m", "domain": "Gardens", "meeting_transcripts": spoken}).encode()


def test_who_opens_the_meeting_leads_it() -> None:
    """The first speaker stands on the user's side, so an exchange is what the leader brings up."""
    (session,) = read_sessions(meeting(("Ana", "Soil?"), ("Bo", "Dry."), ("Ana", "Water it.")))

    assert [(m.role, m.name, m.text) for m in session.messages] == [
        ("user", "Ana", "Soil?"),
        ("assistant", "Bo", "Dry."),
        ("user", "Ana", "Water it."),
    ]
    assert (session.id, session.title) == ("m", "Gardens")


def test_meetings_come_one_a_line() -> None:
    """Every line is a session, and equal ids are told apart."""
    sessions = read_sessions(b"\n".join([meeting(("Ana", "Hi."))] * 3))

    assert [session.id for session in sessions] == ["m", "m#2", "m#3"]


def test_a_turn_without_words_is_named() -> None:
    """The error names the turn and the field."""
    data = b'{"meeting_transcripts": [{"speaker": "Ana", "content": ""}, {"speaker": "Bo"}]}'

    with pytest.raises(FormatError, match="document: turn 1: content is not a string"):
        read_sessions(data)
