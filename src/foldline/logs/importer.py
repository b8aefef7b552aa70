"""What an importer is, and what it makes: sessions."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from foldline.history.formats.fields import first_text, maybe_object
from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.logs.document import Document, Record


__all__ = ["Importer", "Session", "conversations", "left_out", "printed_message"]


_CONVERSATION = ("conversation_id", "thread_id", "session_id")


class Session(Struct, frozen=True, kw_only=True):
    """One recorded conversation."""

    id: str = ""
    """The identity that the log gives it, else one made of the input's name and its place."""

    format: str
    """The name of the format that it was read from."""

    title: str = ""
    """What the log calls it; empty where it has no name for it."""

    messages: tuple[Message, ...]
    """Everything that was said, in the order of the log."""

    notes: tuple[str, ...] = ()
    """What of the log is not among the messages, one sentence each."""

    calls: tuple[int, ...] = ()
    """How many messages had been said before each model call, where the log tells; empty where
    that follows from who speaks after whom."""


class Importer(Struct, frozen=True, kw_only=True):
    """One format of recorded conversations."""

    name: str
    """What the format is called, the value of `--format`."""

    description: str
    """What the format is, in one line."""

    matches: Callable[[Document], bool]
    """Whether a document is in the format, judged by its structure alone."""

    read: Callable[[Document], tuple[Session, ...]]
    """Makes sessions of a document; raises `FormatError` where it has another shape."""


def printed_message(
    text: str, *, name: str, id: str | None = None, created_at: datetime | None = None
) -> Message:
    """
    Make the message for what a program put into a conversation without being called.

    It answers no call, so as a tool's response it would be an orphan and fall out of every view;
    as the user's it would open an exchange; as the system's it would be kept for ever. So it is a
    tool message of plain text: it stays in its place, and vendors are shown it as user text.
    """
    return Message(role="tool", parts=(TextPart(text),), id=id, name=name, created_at=created_at)


def conversations(records: Sequence[Record]) -> dict[str, list[Record]]:
    """
    Sort *records* of one message each by the conversation that they name.

    A record that names none belongs to the same as the one before it. Where none does, all
    belong to one conversation without a name.
    """
    named = [first_text(maybe_object(record.value), *_CONVERSATION) for record in records]
    name = next(filter(None, named), "")
    found: dict[str, list[Record]] = {}
    for record, given in zip(records, named, strict=True):
        name = given or name
        found.setdefault(name, []).append(record)
    return found


def left_out(counts: Counter[str]) -> tuple[str, ...]:
    """
    Return the note that says which kinds of records hold no message; none where there are none.
    """
    if not counts:
        return ()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return (f"records that hold no message were left out: {kinds}",)
