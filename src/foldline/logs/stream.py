"""
Conversations that are read message by message, so that no more of a log is in memory than is used.

That needs a log of one message or item a line, all of one conversation. Every line is looked at once
before the first message is made, since the last one may say whose format it is. A log of any other
kind, or with a line that cannot be read, is left to `read_sessions`, which says what is wrong with it.
"""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.wire import Object, first_text
from foldline.history.messages import Message, NativeFormat
from foldline.logs.ai_sdk import is_ai_sdk
from foldline.logs.chat_jsonl import CHAT_JSONL, LISTS
from foldline.logs.document import Document, Record, damaged_note
from foldline.logs.importer import CONVERSATION, Importer
from foldline.logs.sessions import FORMATS
from foldline.logs.vendors import OTEL_MESSAGES, OTEL_SYSTEM, vendor_format


# A line with one of these may hold a whole conversation.
_WHOLE = frozenset({*LISTS, "input", "request", OTEL_SYSTEM, *OTEL_MESSAGES})
_BLANK = b"\x00 \t\r\n"
# One line alone is a document, and formats show themselves in their first lines.
_FEWEST, _HEAD = 2, 100


class Stream(Struct, frozen=True, kw_only=True):
    """A conversation in lines that can be read any number of times."""

    format: str
    # Empty if the log gives none.
    id: str
    # What of the log is not among the messages, one sentence each.
    notes: tuple[str, ...]
    lines: Iterable[bytes]
    read: Callable[[Iterable[Record]], Iterator[Message]]
    # The number of the line that is left out; 0 if there is none.
    damaged: int

    def messages(self) -> Iterator[Message]:
        """Yield everything that was said, in order; FormatError names a line that cannot be read."""
        return self.read(
            Record(f"line {number}", decode_json(line))
            for number, line in enumerate(self.lines, start=1)
            if number != self.damaged and line.strip(_BLANK)
        )


class _Survey:
    """What all lines of a log together say about it."""

    def __init__(self) -> None:
        self.head: list[Record] = []
        self.ids: set[str] = set()
        self.vendor: NativeFormat | None = None
        self.damaged = 0
        self.is_whole = False

    def look(self, number: int, line: bytes) -> bool:
        """Whether the log may still be read line by line after *line*."""
        if not line.strip(_BLANK):
            return True
        if self.damaged:
            return False
        try:
            value: object = decode_json(line)
        except FormatError:
            # As the last line it is only half written.
            self.damaged = number
            return True
        if not isinstance(value, dict) or not _WHOLE.isdisjoint(value) or is_ai_sdk(value):
            return False
        item: Object = value
        if len(self.head) < _HEAD:
            self.head.append(Record(f"line {number}", item))
        self.ids.add(first_text(item, *CONVERSATION))
        self.vendor = self.vendor or vendor_format([item])
        return len(self.ids - {""}) <= 1

    def importer(self) -> Importer | None:
        """Return what reads such lines."""
        document = Document(records=tuple(self.head))
        found = next((one for one in FORMATS if one.matches(document)), None)
        if found is CHAT_JSONL and self.vendor is not None:
            # A later line shows whose messages they are.
            return next((one for one in FORMATS if one.name == self.vendor.value), None)
        return found


def stream_of(lines: Iterable[bytes], *, format: str | None = None) -> Stream | None:
    """Return the conversation in *lines* of a log; None if it cannot be read message by message."""
    survey = _Survey()
    if not all(survey.look(number, line) for number, line in enumerate(lines, start=1)):
        return None
    importer = survey.importer() if len(survey.head) >= _FEWEST else None
    if importer is None or importer.stream is None:
        return None
    # What is said to be a vendor's is checked message by message elsewhere.
    if format is not None and (format != CHAT_JSONL.name or importer is not CHAT_JSONL):
        return None
    return Stream(
        format=importer.name,
        id=max(survey.ids),
        notes=(damaged_note(survey.damaged),) if survey.damaged else (),
        lines=lines,
        read=importer.stream,
        damaged=survey.damaged,
    )
