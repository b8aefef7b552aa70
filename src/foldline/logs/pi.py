"""
Sessions of the coding agent pi.

JSON lines: a `session` header, then `message` lines beside changes of model and level. Since its
version 2 they are a tree (`parentId`): those that lead to the last line are read, in the order of the file,
those that a compaction left out included. What a compaction wrote is kept in the metadata of the message
before it, and the summary of a branch that was left is printed, as is what an extension says. A thinking
signature belongs to the vendor's request that made it and is left out.
"""

from collections.abc import Sequence
from functools import partial

from foldline.history.formats.responses import usage_apart
from foldline.history.formats.wire import (
    Object,
    as_list,
    as_object,
    as_text,
    first_text,
    json_text,
    maybe_count,
    maybe_object,
    maybe_text,
    scalars,
)
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    ReasoningPart,
    ResponseContent,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.bodies import response_of, texts_in
from foldline.logs.branches import Line, abandoned
from foldline.logs.document import Document, Record
from foldline.logs.importer import Importer, Reading, Session, by_header, printed_message, read_each


_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "bashExecution": "user",
}
_KEPT = ("api", "provider", "model", "stopReason", "errorMessage", "isError")
_COMPACTION = ("summary", "tokensBefore", "firstKeptEntryIndex", "firstKeptEntryId")


class _Log(Reading):
    def __init__(self) -> None:
        super().__init__()
        # For each line, how many messages there were before it.
        self.starts: list[int] = []
        # The ids of the lines on branches that were left.
        self.left: frozenset[str] = frozenset()


def _matches(document: Document) -> bool:
    # Those of Factory's Droid look alike, but for what they begin with and for their blocks.
    is_other = maybe_object(document.first).get("type") == "session_start"
    return not is_other and any(map(_is_message, document.records))


def _is_message(record: Record) -> bool:
    line = maybe_object(record.value)
    said = "role" in maybe_object(line.get("message"))
    return said and line.get("type") == "message" and "role" not in line


def _named(line: Object) -> str:
    return first_text(line, "id") if line.get("type") == "session" else ""


def _session(records: Sequence[Record]) -> Session:
    log = _Log()
    lines = [maybe_object(record.value) for record in records]
    log.left = abandoned([_linked(line) for line in lines if "parentId" in line])
    read_each(records, partial(_take, log), "the line")
    return log.session()


def _linked(line: Object) -> Line:
    return Line(id=first_text(line, "id"), parent=first_text(line, "parentId"))


def _take(log: _Log, line: Object) -> None:
    log.starts.append(len(log.messages))
    kind = as_text(line.get("type"), "type")
    match kind:
        case _ if first_text(line, "id") in log.left:
            log.skipped["line of a left branch"] += 1
        case "message" if maybe_object(line.get("message")).get("excludeFromContext") is True:
            log.skipped["bashExecution"] += 1
        case "message":
            log.say([_message(line)], line.get("timestamp"))
        case "custom_message" | "branch_summary":
            printed = printed_message(_plain(line), name=first_text(line, "customType") or kind)
            log.say([printed], line.get("timestamp"))
        case "compaction":
            compaction = scalars(line, _COMPACTION)
            first_kept = line.get("firstKeptEntryIndex")
            if isinstance(first_kept, int) and 0 <= first_kept < len(log.starts):
                compaction["firstKeptMessage"] = log.starts[first_kept]
            log.compact(compaction, f" of {maybe_count(line.get('tokensBefore')):,} tokens")
        case "session":
            log.id = maybe_text(line.get("id"))
        case "session_info":
            log.title = maybe_text(line.get("name"))
        case _:
            log.skipped[kind] += 1


def _message(line: Object) -> Message:
    said = as_object(line.get("message"), "message")
    role = as_text(said.get("role"), "role")
    if role not in _ROLES:
        return printed_message(_plain(said), name=role)
    report = maybe_object(said.get("usage"))
    cost = maybe_object(report.get("cost"))
    metadata = scalars(said, _KEPT) | scalars({"cost": cost.get("total")}, ("cost",))
    return Message(
        role=_ROLES[role],
        parts=_parts(said, role),
        id=maybe_text(line.get("id")) or None,
        name=maybe_text(said.get("toolName")) or None,
        metadata=metadata or None,
        usage=usage_apart(
            fresh=report.get("input"),
            read=report.get("cacheRead"),
            written=report.get("cacheWrite"),
            output=report.get("output"),
        ),
    )


def _parts(said: Object, role: str) -> tuple[Part, ...]:
    if role == "bashExecution":
        return (TextPart(_bash(said)),)
    content = said.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = [as_object(block, "the block") for block in as_list(content, "content")]
    if role == "toolResult":
        call = as_text(said.get("toolCallId"), "toolCallId")
        return (ToolCallResponsePart(call, response_of(map(_content, blocks))),)
    return tuple(map(_part, blocks))


def _part(block: Object) -> Part:
    match block:
        case {"type": "thinking", "thinking": str(thinking)}:
            return ReasoningPart(thinking)
        case {"type": "toolCall", "id": str(id), "name": str(name)}:
            return ToolCallPart(id, name, json_text(block.get("arguments", {})))
        case _:
            return _content(block)


def _content(block: Object) -> ResponseContent:
    match block:
        case {"type": "text", "text": str(text)}:
            return TextPart(text)
        case {"type": "image", "data": str(data)}:
            return BlobPart("image", maybe_text(block.get("mimeType")), data)
        case _:
            return GenericPart(maybe_text(block.get("type")), json_text(block))


def _bash(said: Object) -> str:
    """Return a command of the user, which pi shows the model as the user's words."""
    code = said.get("exitCode")
    remarks = [f"exit code {code}"] if code else []
    remarks += [word for word in ("cancelled", "truncated") if said.get(word) is True]
    text = f"$ {maybe_text(said.get('command'))}\n{maybe_text(said.get('output'))}"
    return f"{text}\n[{', '.join(remarks)}]" if remarks else text


def _plain(said: Object) -> str:
    """Return the text of a message that pi or an extension of it added."""
    return first_text(said, "summary") or "\n".join(texts_in(said.get("content")))


PI = Importer(
    name="pi",
    description="session of the coding agent pi (JSON lines)",
    matches=_matches,
    read=by_header(_session, _named),
)
"""The importer of pi's session logs."""
