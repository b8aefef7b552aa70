"""
Sessions of Claude Code, as it stores them and as its SDK streams them.

JSON lines of the types `user`, `assistant`, `system`, `summary` and others. A `message` is one of
Anthropic's. How the lines become sessions:

- One session per `sessionId`, in the order of the file. The lines of a subagent (`isSidechain`)
  are a session of their own, named for the agent or for the line that started it.
- The program writes a line per content block; neighbours with the same message id are one
  message, whose usage is the newest that was reported.
- A compaction's summary repeats what is in the file: it goes to the metadata of the message
  before it. Where nothing is before it, the file continues another one and it stays a message.
- `summary` lines name sessions: they become titles.
- Where the user went back and said something else, the log forks (`parentUuid`): what stands on
  a branch that was left is counted in a note. What is a fork is said in `logs.branches`.
- What the program says about an error of the API is no answer; it is counted in a note.
- Notices of the program (`system` and others) are never sent to a model; they are counted in a
  note, and so is every line that cannot be read, since such logs have them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.formats.anthropic import message_from_anthropic
from foldline.history.formats.fields import (
    Object,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.formats.usage import anthropic_usage
from foldline.history.formats.wire import as_object
from foldline.history.messages import Message
from foldline.logs.branches import Line, abandoned
from foldline.logs.document import Document, Record
from foldline.logs.importer import Importer, Session, left_out


__all__ = ["CLAUDE_CODE"]


_SPOKEN = frozenset({"user", "assistant"})
_IDENTITY = ("sessionId", "session_id", "uuid", "parentUuid")
_KEPT = ("requestId", "isMeta")


@dataclass
class _Thread:
    """What was read of one session so far."""

    title: str = ""
    messages: list[Message] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    lines: list[Line] = field(default_factory=list)
    """The lines that have an identity, as far as branches depend on them."""

    left: set[str] = field(default_factory=set)
    """The messages on branches that were left, each by the vendor's id or else its own."""

    failures: int = 0
    """How many errors of the API the program told of."""

    open_id: str = ""
    """The id of the vendor's message that the newest message was read from."""

    open_content: list[Any] = field(default_factory=list)
    """The content blocks of that message so far."""

    reported: dict[str, int] = field(default_factory=dict)
    """Where the usage of each of the vendor's messages is, by its id."""


@dataclass
class _Log:
    """What was read of the whole log so far."""

    threads: dict[str, _Thread] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """The session that each line belongs to, by the id of the line."""

    session: str = ""
    """The session that the newest line named."""


def _matches(document: Document) -> bool:
    return any(_is_line(record.value) for record in document.records)


def _is_line(value: Any) -> bool:
    line = maybe_object(value)
    if line.get("type") == "summary":
        return {"summary", "leafUuid"} <= line.keys()
    spoken = maybe_text(line.get("type")) in _SPOKEN
    said = "role" in maybe_object(line.get("message"))
    return spoken and said and not line.keys().isdisjoint(_IDENTITY)


def _read(document: Document) -> tuple[Session, ...]:
    log = _Log()
    titles: dict[str, str] = {}
    owned: list[tuple[Record, Object, str]] = []
    for record in document.records:
        line = maybe_object(record.value)
        if line.get("type") == "summary":
            titles[first_text(line, "leafUuid")] = maybe_text(line.get("summary"))
        else:
            owned.append((record, line, _place(log, line)))
    left = {name: abandoned(thread.lines) for name, thread in log.threads.items()}
    for record, line, owner in owned:
        _take(log.threads[owner], line, record, left[owner])
    for leaf, title in titles.items():
        # A summary may name a session that another file holds.
        thread = log.threads.get(log.owners.get(leaf, ""))
        if thread is not None:
            thread.title = title
    return tuple(_session(id, thread) for id, thread in log.threads.items())


def _session(id: str, thread: _Thread) -> Session:
    return Session(
        id=id,
        format=CLAUDE_CODE.name,
        title=thread.title,
        messages=tuple(thread.messages),
        notes=(*thread.notes, *_absences(thread), *left_out(thread.skipped)),
    )


def _absences(thread: _Thread) -> Iterator[str]:
    if thread.left:
        yield (
            f"{_counted(len(thread.left), 'message')} of branches that were left when the user "
            "went back: left out"
        )
    if thread.failures:
        yield f"{_counted(thread.failures, 'message')} about an error of the API: left out"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _place(log: _Log, line: Object) -> str:
    """Return the id of the session that *line* belongs to, and note where in it the line stands."""
    log.session = first_text(line, "sessionId", "session_id") or log.session
    owner = _owner(log, line)
    thread = log.threads.setdefault(owner, _Thread())
    uuid = first_text(line, "uuid")
    if uuid:
        log.owners[uuid] = owner
        # Agents are not talked back to: a fork among their lines is none of the user's.
        if owner == log.session:
            thread.lines.append(_linked(line, uuid))
    return owner


def _linked(line: Object, uuid: str) -> Line:
    said = maybe_object(line.get("message"))
    blocks = [maybe_object(block) for block in maybe_list(said.get("content"))]
    return Line(
        id=uuid,
        parent=first_text(line, "parentUuid"),
        follows=first_text(line, "logicalParentUuid"),
        is_message=maybe_text(line.get("type")) in _SPOKEN,
        message=first_text(said, "id"),
        calls=tuple(first_text(one, "id") for one in blocks if one.get("type") == "tool_use"),
        answers=tuple(
            first_text(one, "tool_use_id") for one in blocks if one.get("type") == "tool_result"
        ),
    )


def _take(thread: _Thread, line: Object, record: Record, left: frozenset[str]) -> None:
    kind = maybe_text(line.get("type"))
    uuid = first_text(line, "uuid")
    if kind and kind not in _SPOKEN:
        thread.skipped[kind] += 1
    elif line.get("isApiErrorMessage") is True:
        thread.failures += 1
    elif uuid in left:
        thread.left.add(first_text(maybe_object(line.get("message")), "id") or uuid)
    else:
        _try_to_say(thread, line, record)


def _try_to_say(thread: _Thread, line: Object, record: Record) -> None:
    try:
        _say(thread, line)
    except FormatError:
        # Not an error for the whole log: such logs are known to hold odd lines.
        thread.notes.append(f"{record.place} is no message that could be read; left out")


def _owner(log: _Log, line: Object) -> str:
    """Return the id of the session that *line* belongs to."""
    agent = first_text(line, "agentId", "parent_tool_use_id")
    if line.get("isSidechain") is not True and not agent:
        return log.session
    if not agent:
        parent = log.owners.get(first_text(line, "parentUuid"), log.session)
        if parent != log.session:
            return parent
        agent = first_text(line, "uuid")
    return f"{log.session}/{agent}"


def _say(thread: _Thread, line: Object) -> None:
    said = as_object(line.get("message"), "message")
    if line.get("isCompactSummary") is True and thread.messages:
        _compact(thread, said)
        return
    id = first_text(said, "id")
    content = said.get("content")
    again = bool(id) and id == thread.open_id
    if again:
        new = [block for block in maybe_list(content) if block not in thread.open_content]
        content = [*thread.open_content, *new]
    item = {"role": said.get("role"), "content": _plain(content)}
    message = _message(line, said, message_from_anthropic(item))
    if again:
        first = thread.messages.pop()
        usage = message.usage or first.usage
        message = replace(message, id=first.id, created_at=first.created_at, usage=usage)
    elif id in thread.reported:
        _report_once(thread, thread.reported[id])
    if id:
        thread.reported[id] = len(thread.messages)
    thread.messages.append(message)
    thread.open_id = id
    thread.open_content = maybe_list(content)


def _plain(content: Any) -> Any:
    """Return *content* as text where it is a single text: the vendor takes both for the same."""
    match content:
        case [{"type": "text", "text": str(text), **rest}] if not rest:
            return text
        case _:
            return content


def _report_once(thread: _Thread, index: int) -> None:
    """
    Take the usage from a message whose rest comes behind other messages: the rest reports it too.
    """
    thread.messages[index] = replace(thread.messages[index], usage=None)


def _message(line: Object, said: Object, message: Message) -> Message:
    if not message.parts:
        error = "the message has no content"
        raise FormatError(error)
    metadata = scalars(line, _KEPT) | scalars(said, ("model", "stop_reason"))
    return replace(
        message,
        id=first_text(line, "uuid") or None,
        created_at=maybe_time(line.get("timestamp")),
        metadata=metadata or None,
        usage=anthropic_usage(maybe_object(said.get("usage"))),
    )


def _compact(thread: _Thread, said: Object) -> None:
    summary = message_from_anthropic({"role": "user", "content": said.get("content")}).text
    last = thread.messages.pop()
    metadata = {**(last.metadata or {}), "compaction": {"summary": summary}}
    thread.messages.append(replace(last, metadata=metadata))
    thread.notes.append(
        f"behind message {len(thread.messages) - 1} the agent compacted its context; the "
        "messages it put aside are all here"
    )


CLAUDE_CODE = Importer(
    name="claude-code",
    description="session log of Claude Code (JSON lines)",
    matches=_matches,
    read=_read,
)
"""The importer of Claude Code's session logs."""
