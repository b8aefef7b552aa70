"""What an importer is, the sessions that it makes, and the steps that importers share."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.codec import decode_json
from foldline.history.formats.wire import (
    Object,
    as_object,
    at,
    first_text,
    maybe_list,
    maybe_object,
    maybe_time,
)
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart
from foldline.logs.document import Document, Record


_T = TypeVar("_T")
CONVERSATION = (
    "conversation_id",
    "thread_id",
    "session_id",
    "chat_id",
    "conversationId",
    "threadId",
    "sessionId",
    "chatId",
)
"""The fields in which a message names its conversation."""


class Session(Struct, frozen=True, kw_only=True):
    """One recorded conversation."""

    id: str = ""
    """The identity that the log gives it, else one made of the input's name and its place."""

    format: str = ""
    """The name of the format that it was read from; that of its importer if a reader names none."""

    title: str = ""
    """What the log calls it; empty if it has no name."""

    messages: tuple[Message, ...]
    """Everything that was said, in the order of the log."""

    notes: tuple[str, ...] = ()
    """What of the log is not among the messages, one sentence each."""

    calls: tuple[int, ...] = ()
    """How many messages had been said before each model call, if the log records it; else empty,
    and it follows from who speaks after whom."""


class Importer(Struct, frozen=True, kw_only=True):
    """One format of recorded conversations."""

    name: str
    """What the format is called, the value of `--format`."""

    description: str
    """What the format is, in one line."""

    matches: Callable[[Document], bool]
    """Whether a document is in the format, if it is in none that is tried before."""

    read: Callable[[Document], tuple[Session, ...]]
    """Makes sessions of a document; raises `FormatError` if it has another shape."""

    stream: Callable[[Iterable[Record]], Iterator[Message]] | None = None
    """Makes messages of records of one message each, of one conversation; None if it takes all of them."""


class Reading:
    """What was read of one session so far."""

    def __init__(self, id: str = "") -> None:
        self.id = id
        self.title = ""
        self.messages: list[Message] = []
        self.notes: list[str] = []
        # How many records of each kind were left out.
        self.skipped = Counter[str]()

    def say(self, said: Iterable[Message], time: Any) -> None:
        """Add what is *said* at the *time* that the log has."""
        self.messages.extend(stamped(said, time))

    def compact(self, compaction: Object, size: str = "") -> None:
        """Keep what an agent's own *compaction* wrote beside the message before it, not as one."""
        place = "before message 0"
        if self.messages:
            last = self.messages.pop()
            metadata = {**(last.metadata or {}), "compaction": compaction}
            self.messages.append(replace(last, metadata=metadata))
            place = f"after message {len(self.messages) - 1}"
        self.notes.append(f"{place} the agent compacted its context{size}; all messages are here")

    def session(self) -> Session:
        """Return the session that was read."""
        kinds = [f"{kind} ({count:,})" for kind, count in sorted(self.skipped.items())]
        skipped = [f"records left out: {', '.join(kinds)}"] if kinds else []
        return Session(
            id=self.id,
            title=self.title,
            messages=tuple(self.messages),
            notes=(*self.notes, *skipped),
        )


def stamped(said: Iterable[Message], time: Any, id: str = "") -> Iterator[Message]:
    """Yield what is *said* at one *time* in a log, whose *id*, if there is one, the first of it gets."""
    created_at = maybe_time(time)
    for message in said:
        yield replace(message, id=id or message.id, created_at=created_at)
        id = ""


def printed_message(said: str | tuple[Part, ...], *, name: str) -> Message:
    """
    Return the message for what a program put into a conversation without being called.

    It is a tool message without a response, which vendors are shown as user text: as a response
    it would have no call, as the user's it would open an exchange, and the system's are never cut.
    """
    parts = (TextPart(said),) if isinstance(said, str) else said
    return Message(role="tool", parts=parts, name=name)


def decoded(value: Any) -> Any:
    """Return what *value* holds if it is JSON text, else itself."""
    if isinstance(value, str) and value.startswith(("{", "[")):
        with suppress(FormatError):
            return decode_json(value)
    return value


def read_each(records: Iterable[Record], read: Callable[[Object], _T], what: str) -> list[_T]:
    """Return what `each_read` yields."""
    return list(each_read(records, read, what))


def read_all(
    records: Iterable[Record], read: Callable[[Object], Iterable[_T]], what: str
) -> Iterator[_T]:
    """Yield all that *read* makes of each of *records*; an error names the place of the record."""
    # An iterator raises only where it is gone through.
    return chain.from_iterable(each_read(records, lambda value: [*read(value)], what))


def each_read(records: Iterable[Record], read: Callable[[Object], _T], what: str) -> Iterator[_T]:
    """Yield what *read* makes of each of *records*; an error names the place of the record."""
    for record in records:
        with at(record.place):
            made = read(as_object(record.value, what))
        yield made


def by_header(
    session: Callable[[Sequence[Record]], Session], header: Callable[[Object], str]
) -> Callable[[Document], tuple[Session, ...]]:
    """Return what has *session* read the records of each session; see `sections`."""
    return lambda document: tuple(map(session, sections(document.records, header)))


def sections(
    records: Iterable[Record], header: Callable[[Object], str]
) -> Iterator[Sequence[Record]]:
    """Yield the records of each session; a *header* gives its id, and several of them may open it."""
    section: list[Record] = []
    known: set[str] = set()
    is_open = False
    for record in records:
        fields = maybe_object(record.value)
        id = header(fields)
        if id and is_open and id not in known:
            yield section
            section = []
        is_open = not id or "messages" in fields
        known.add(id)
        section.append(record)
    yield section


def holds_lists(document: Document, *keys: str) -> bool:
    """Whether *document* holds lists of messages, bare or under *keys*, not a message a record."""
    first = document.first
    fields = maybe_object(first)
    return isinstance(first, list) or any(isinstance(fields.get(key), list) for key in keys)


def are_requests(document: Document, *keys: str) -> bool:
    """Whether *document* holds lists of messages that may each go on in a later one."""
    return holds_lists(document, *keys) and (
        len(document.records) > 1 or not isinstance(document.first, list)
    )


def first_items(document: Document, *keys: str) -> list[Any]:
    """Return the messages of the first conversation: in a list, in a list under *keys*, or bare."""
    first = document.first
    bare = [record.value for record in document.records]
    return maybe_list(first) or _listed(maybe_object(first), keys) or bare


def first_item(document: Document, *keys: str) -> Any:
    """Return the first of `first_items`."""
    return next(iter(first_items(document, *keys)), None)


def by_lists(
    session: Callable[[Object, Sequence[Record]], Session], *keys: str, item: str = "message"
) -> Callable[[Document], tuple[Session, ...]]:
    """Return what has *session* read the fields and the items of each conversation; see `lists_in`."""
    return lambda document: tuple(
        session(held, items) for held, items in lists_in(document, *keys, item=item)
    )


def lists_in(
    document: Document, *keys: str, item: str = "message", mixed: bool = True
) -> Iterator[tuple[Object, Sequence[Record]]]:
    """
    Give the fields and items of each conversation; bare items are sorted by what names theirs.

    Those of a list stay together where it may not be *mixed*.
    """
    if not holds_lists(document, *keys):
        for id, records in _by_conversation(document.records).items():
            yield {"id": id}, records
        return
    for record in document.records:
        held: Object = {keys[0]: record.value}
        with at(record.place):
            if not isinstance(record.value, list):
                held = as_object(record.value, "the conversation")
            if not any(isinstance(held.get(key), list) for key in keys):
                raise FormatError(f"no list of {item}s under {', '.join(keys)}")
        records = [
            Record(f"{record.place}: {item} {number}", value)
            for number, value in enumerate(_listed(held, keys))
        ]
        if held is record.value or not records or not mixed:
            yield held, records
        else:
            found = _by_conversation(records)
            yield from (
                ({keys[0]: [one.value for one in some], "id": id}, some)
                for id, some in found.items()
            )


def _listed(fields: Object, keys: Iterable[str]) -> list[Any]:
    return next(filter(None, (maybe_list(fields.get(key)) for key in keys)), [])


def _by_conversation(records: Sequence[Record]) -> dict[str, list[Record]]:
    named = [first_text(maybe_object(record.value), *CONVERSATION) for record in records]
    name = next(filter(None, named), "")
    found: dict[str, list[Record]] = {}
    for record, given in zip(records, named, strict=True):
        name = given or name
        found.setdefault(name, []).append(record)
    return found
