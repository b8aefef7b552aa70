"""
Sessions of Claude Code, as it stores them and as its SDK streams them.

JSON lines of the types `user`, `assistant`, `system`, `summary` and others. A `message` is one of
Anthropic's. How the lines become sessions:

- One session per `sessionId`, in the order of the file. The lines of a subagent (`isSidechain`)
  are a session of their own, named for the agent or for the line that started it.
- The program writes a line per content block; neighbours with the same message id are one
  message, whose usage is the newest that was reported.
- A compaction's summary repeats what is in the file: it goes to the metadata of the message
  before it. If nothing is before it, the file continues another one and it stays a message.
- `summary` lines name sessions, as `custom-title` and `ai-title` do since 2026: they become titles.
- What the user says while the model works is an attachment, a `queued_command`, and no line of the user.
  Named files, instructions and what hooks add are attachments too, and printed; others only remind.
- What the program says in the user's place (`isMeta`, an `origin` that is not human) is printed, but for
  the text that a command of the user stands for.
- Compactions may write older lines once more, with their ids: the first of them counts.
- When the user goes back and says something else, the log forks (`parentUuid`, see
  `logs.branches`): messages on a branch that was left are counted in a note.
- Notices of the program (`system` and others) are never sent to a model, and what it says about
  an error of the API is no answer; they are counted in a note.
- A line that cannot be read is named in a note; such logs have them.
- Qwen Code writes the same lines around contents of Gemini, which `logs.qwen_code` reads.
"""

from typing import Any

from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.formats.anthropic import message_from_anthropic
from foldline.history.formats.responses import anthropic_usage
from foldline.history.formats.wire import (
    Object,
    as_object,
    first_text,
    json_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.messages import Message
from foldline.logs.branches import Line, abandoned
from foldline.logs.document import Document, Record
from foldline.logs.importer import Importer, Reading, Session
from foldline.logs.qwen_code import is_from_program, messages_of_line


_SPOKEN = frozenset({"user", "assistant", "tool_result"})
_IDENTITY = ("sessionId", "session_id", "uuid", "parentUuid")
_CONTEXT = frozenset({"file", "hook_additional_context", "instructions", "nested_memory"})
_KEPT = ("requestId", "isMeta")
# A channel brings what the user writes in another program, such as a messenger.
_PEOPLE = frozenset({"human", "channel"})


class _Thread(Reading):
    def __init__(self, id: str) -> None:
        super().__init__(id)
        # The lines that have an identity, as far as branches depend on them.
        self.lines: list[Line] = []
        # The ids of the lines that hold a message.
        self.said: set[str] = set()
        # The messages on branches that were left, each by the vendor's id or else its own.
        self.left: set[str] = set()
        # The ids of their lines, and of what was added to them.
        self.gone: set[str] = set()
        # The vendor's message that the newest message was read from: its id, how many lines it
        # came in, and its blocks by their JSON, since a line may repeat those of earlier ones.
        self.open_id = ""
        self.open_lines = 0
        self.open_blocks: dict[str, Any] = {}
        # Where the usage of each of the vendor's messages is, by its id.
        self.reported: dict[str, int] = {}

    def close(self) -> None:
        if self.open_lines > 1:
            item = {"role": "assistant", "content": list(self.open_blocks.values())}
            whole = message_from_anthropic(item)
            last = self.messages[-1]
            self.messages[-1] = replace(last, parts=whole.parts, native=whole.native)


class _Log:
    def __init__(self) -> None:
        self.threads: dict[str, _Thread] = {}
        # The session that each line belongs to, by the id of the line.
        self.owners: dict[str, str] = {}
        # The session that the newest line named.
        self.session = ""


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
        line = _unwrapped(maybe_object(record.value))
        if line.get("type") == "summary":
            titles[first_text(line, "leafUuid")] = maybe_text(line.get("summary"))
        elif owner := _place(log, line):
            owned.append((record, line, owner))
    left = {name: abandoned(thread.lines) for name, thread in log.threads.items()}
    for record, line, owner in owned:
        _take(log.threads[owner], line, record, left[owner])
    for leaf, title in titles.items():
        # A summary may name a session that another file holds.
        if leaf in log.owners:
            log.threads[log.owners[leaf]].title = title
    for thread in log.threads.values():
        thread.close()
        if thread.left:
            thread.skipped["message of a left branch"] = len(thread.left)
    return tuple(thread.session() for thread in log.threads.values())


def _unwrapped(line: Object) -> Object:
    """Return *line*, as the user's if it is an attachment that the model reads in the user's place."""
    held = maybe_object(line.get("attachment"))
    if held.get("type") == "queued_command":
        content = held.get("prompt")
        is_meta = held.get("isMeta") or held.get("commandMode") == "task-notification"
    elif held.get("type") in _CONTEXT and (content := _added(held)):
        is_meta = True
    else:
        return line
    said = {"isMeta": is_meta, "origin": held.get("origin")}
    return {**line, **said, "type": "user", "message": {"role": "user", "content": content}}


def _added(attachment: Object) -> str:
    content = attachment.get("content")
    held, files = maybe_object(content), maybe_list(attachment.get("files"))
    inside = (held, maybe_object(held.get("file")), *map(maybe_object, files))
    given = [content, *maybe_list(content), *(one.get("content") for one in inside)]
    return "\n\n".join(filter(None, map(maybe_text, given)))


def _place(log: _Log, line: Object) -> str:
    """Return the session that *line* belongs to, and record its place there; empty for a copy."""
    log.session = first_text(line, "sessionId", "session_id") or log.session
    owner = _owner(log, line)
    thread = log.threads.setdefault(owner, _Thread(owner))
    uuid = first_text(line, "uuid")
    if uuid in thread.said:
        thread.skipped["line written again"] += 1
        return ""
    if uuid:
        log.owners[uuid] = owner
        # Users go back in a session, not in an agent: a fork among its lines is none of theirs.
        if owner == log.session:
            thread.lines.append(_linked(line, uuid))
    if uuid and maybe_object(line.get("message")):
        thread.said.add(uuid)
    return owner


def _linked(line: Object, uuid: str) -> Line:
    said = maybe_object(line.get("message"))
    blocks = [maybe_object(block) for block in maybe_list(said.get("content"))]
    return Line(
        id=uuid,
        parent=first_text(line, "parentUuid"),
        follows=first_text(line, "logicalParentUuid"),
        is_message=maybe_text(line.get("type")) in _SPOKEN and not _is_context(line),
        message=first_text(said, "id"),
        calls=tuple(first_text(one, "id") for one in blocks if one.get("type") == "tool_use"),
        answers=tuple(
            first_text(one, "tool_use_id") for one in blocks if one.get("type") == "tool_result"
        ),
    )


def _is_context(line: Object) -> bool:
    return maybe_object(line.get("attachment")).get("type") in _CONTEXT


def _take(thread: _Thread, line: Object, record: Record, left: frozenset[str]) -> None:
    kind = maybe_text(line.get("type"))
    uuid = first_text(line, "uuid")
    named = maybe_object(line.get("systemPayload")) or line
    if title := first_text(named, "customTitle", "aiTitle"):
        # The user's own name for it comes before the program's.
        thread.title = title if "customTitle" in named else thread.title or title
    elif kind and kind not in _SPOKEN:
        thread.skipped[kind] += 1
    elif line.get("isApiErrorMessage") is True:
        thread.skipped["error of the API"] += 1
    elif _is_context(line) and first_text(line, "parentUuid") in thread.gone:
        thread.gone.add(uuid)
    elif uuid in left:
        thread.gone.add(uuid)
        thread.left.add(first_text(maybe_object(line.get("message")), "id") or uuid)
    else:
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
    if "parts" in said:
        is_printed = is_from_program(line)
        thread.messages.extend(
            _printed(one) if is_printed and one.role == "user" else one
            for one in messages_of_line(line)
        )
        return
    if line.get("isCompactSummary") is True and thread.messages:
        summary = message_from_anthropic({"role": "user", "content": said.get("content")}).text
        thread.compact({"summary": summary})
        return
    id, content = first_text(said, "id"), said.get("content")
    item = {"role": said.get("role"), "content": _plain(content)}
    message = _message(line, said, message_from_anthropic(item))
    if message.role == "user" and _is_printed(line, thread):
        message = _printed(message)
    blocks = {json_text(block): block for block in maybe_list(content)} if id else {}
    if id and id == thread.open_id:
        first = thread.messages.pop()
        usage = message.usage or first.usage
        message = replace(message, id=first.id, created_at=first.created_at, usage=usage)
        thread.open_lines += 1
        thread.open_blocks |= blocks
    else:
        thread.close()
        thread.open_id, thread.open_lines, thread.open_blocks = id, 1, blocks
        if id in thread.reported:
            # The rest of a message, which comes after other messages, reports its usage again.
            index = thread.reported[id]
            thread.messages[index] = replace(thread.messages[index], usage=None)
    if id:
        thread.reported[id] = len(thread.messages)
    thread.messages.append(message)


def _printed(message: Message) -> Message:
    return replace(message, role="tool", name=CLAUDE_CODE.name, native=None)


def _is_printed(line: Object, thread: _Thread) -> bool:
    """Whether the program says *line* in the user's place, without a command of the user before it."""
    if _is_context(line):
        return True
    if origin := first_text(maybe_object(line.get("origin")), "kind"):
        return origin not in _PEOPLE
    said = thread.messages[-1].text if thread.messages else ""
    return (line.get("isMeta") or line.get("isSynthetic")) is True and "<command-name>" not in said


def _plain(content: Any) -> Any:
    """Return *content* as a string if it is one text block: to the vendor both are the same."""
    match content:
        case [{"type": "text", "text": str(text), **rest}] if not rest:
            return text
        case _:
            return content


def _message(line: Object, said: Object, message: Message) -> Message:
    if not message.parts:
        raise FormatError("the message has no content")
    metadata = scalars(line, _KEPT) | scalars(said, ("model", "stop_reason"))
    return replace(
        message,
        id=first_text(line, "uuid") or None,
        created_at=maybe_time(line.get("timestamp")),
        metadata=metadata or None,
        usage=anthropic_usage(maybe_object(said.get("usage"))),
    )


CLAUDE_CODE = Importer(
    name="claude-code",
    description="session log of Claude Code or Qwen Code (JSON lines)",
    matches=lambda document: any(_is_line(record.value) for record in document.records),
    read=_read,
)
"""The importer of Claude Code's session logs."""
