"""
Meeting transcripts: many people, no model.

One JSON object a meeting, with `meeting_transcripts`, a list of turns with `speaker` and
`content`. The speaker who opens the meeting leads it and stands where the user stands, so that
an exchange is what the leader says and how the others respond; everybody else stands on the
assistant's side. `name` says who speaks, and the words are kept as they were transcribed.
Queries, topics and reference answers are about the meeting, not said in it, and stay behind.
"""

from foldline.history.formats.document import Document, Record
from foldline.history.formats.fields import at, first_text, maybe_list, maybe_object
from foldline.history.formats.importer import Importer, Session
from foldline.history.formats.wire import as_list, as_object, as_text
from foldline.history.messages import Message, Role
from foldline.history.parts import TextPart


__all__ = ["MEETINGS"]


_TURNS = "meeting_transcripts"


def _matches(document: Document) -> bool:
    turns = maybe_list(maybe_object(document.first).get(_TURNS))
    return bool(turns) and {"speaker", "content"} <= maybe_object(turns[0]).keys()


def _read(document: Document) -> tuple[Session, ...]:
    return tuple(map(_meeting, document.records))


def _meeting(record: Record) -> Session:
    messages: list[Message] = []
    leader = None
    with at(record.place):
        meeting = as_object(record.value, "the meeting")
        for number, item in enumerate(as_list(meeting.get(_TURNS), _TURNS)):
            with at(f"turn {number}"):
                turn = as_object(item, "the turn")
                speaker = as_text(turn.get("speaker"), "speaker")
                said = TextPart(as_text(turn.get("content"), "content"))
            leader = leader if messages else speaker
            role: Role = "user" if speaker == leader else "assistant"
            messages.append(Message(role=role, parts=(said,), name=speaker))
    return Session(
        id=first_text(meeting, "id"),
        format=MEETINGS.name,
        title=first_text(meeting, "title", "domain"),
        messages=tuple(messages),
    )


MEETINGS = Importer(
    name="meetings",
    description="meeting transcripts with speaker turns (QMSum's JSON lines)",
    matches=_matches,
    read=_read,
)
"""The importer of meeting transcripts."""
