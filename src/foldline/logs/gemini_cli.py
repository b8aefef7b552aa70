"""
Sessions of Gemini CLI, `~/.gemini/tmp/*/chats/session-*.json` and `.jsonl`.

Source: its `chatRecordingService.ts`. A session is an object with `messages`; since 2026 it is JSON
lines: a header, then a message a line, which is written again whenever it has grown. A message of the
model has its thoughts, and its calls with their results. What was rewound is left out, as there. When
the agent rewrites its context, it repeats that under `$set`; what was said before is on its own lines.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    FAILED,
    Object,
    as_object,
    as_text,
    is_list,
    json_text,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.logs.document import Document
from foldline.logs.gemini import content_parts
from foldline.logs.importer import Importer, Reading, Session, read_each


__all__ = ["GEMINI_CLI"]


_ROLES: dict[str, Role] = {"user": "user", "gemini": "assistant"}
_TOOL_PARTS = (ToolCallPart, ToolCallResponsePart)


class _Log(Reading):
    def __init__(self, header: Object) -> None:
        super().__init__(maybe_text(header.get("sessionId")))
        self.title = maybe_text(header.get("summary"))
        self.said: dict[str, Object] = {}


def _matches(document: Document) -> bool:
    fields = maybe_object(document.first)
    return "sessionId" in fields and "projectHash" in fields


def _read(document: Document) -> tuple[Session, ...]:
    log = _Log(maybe_object(document.first))
    read_each(document.records, partial(_take, log), "the line")
    for record in log.said.values():
        log.messages.extend(_messages(log, record))
    return (log.session(GEMINI_CLI.name),)


def _take(log: _Log, line: Object) -> None:
    for number, message in enumerate(maybe_list(line.get("messages"))):
        _take(log, as_object(message, f"message {number}"))
    if "$rewindTo" in line:
        while log.said and log.said.popitem()[0] != line["$rewindTo"]:
            pass
    elif "$set" in line:
        log.skipped["$set of messages"] += "messages" in maybe_object(line["$set"])
    elif "sessionId" not in line:
        log.said[as_text(line.get("id"), "id")] = line


def _messages(log: _Log, record: Object) -> Iterator[Message]:
    kind = maybe_text(record.get("type"))
    if kind not in _ROLES:
        log.skipped[kind or "message without a type"] += 1
        return
    calls = [as_object(call, "the call") for call in maybe_list(record.get("toolCalls"))]
    # What a call was answered is with the call, too.
    said = [one for one in _parts(record.get("content")) if not isinstance(one, _TOOL_PARTS)]
    made = [ToolCallPart(_id(one), maybe_text(one.get("name")), _arguments(one)) for one in calls]
    parts = (*_thoughts(record), *said, *made)
    created_at, tokens = maybe_time(record.get("timestamp")), maybe_object(record.get("tokens"))
    thought = maybe_count(tokens.get("thoughts"))
    if parts:
        yield Message(
            role=_ROLES[kind],
            parts=parts,
            id=maybe_text(record.get("id")) or None,
            created_at=created_at,
            metadata=scalars(record, ("model",)) or None,
            usage=usage_or_none(
                input_tokens=maybe_count(tokens.get("input")) + maybe_count(tokens.get("tool")),
                output_tokens=maybe_count(tokens.get("output")) + thought,
                cache_read_tokens=maybe_count(tokens.get("cached")),
                reasoning_tokens=thought,
            ),
        )
    for call in calls:
        if call.get("result") is not None:
            name = maybe_text(call.get("name")) or None
            yield Message(role="tool", parts=(_result(call),), name=name, created_at=created_at)


def _thoughts(record: Object) -> Iterator[Part]:
    for thought in map(maybe_object, maybe_list(record.get("thoughts"))):
        texts = (maybe_text(thought.get(key)) for key in ("subject", "description"))
        yield ReasoningPart("\n".join(filter(None, texts)))


def _id(call: Object) -> str:
    return as_text(call.get("id"), "id")


def _arguments(call: Object) -> str:
    return json_text(call.get("args") or {})


def _parts(given: Any) -> Iterator[Any]:
    """Yield what *given* says: a text, a part, or several of them."""
    for one in given if is_list(given) else [given]:
        if isinstance(one, str):
            yield from [TextPart(one)] if one else []
        else:
            yield from content_parts(maybe_object(one))


def _result(call: Object) -> ToolCallResponsePart:
    said = [*_answers(call["result"])]
    if call.get("status") == "error":
        said.append(FAILED)
    only = said[0] if len(said) == 1 else None
    return ToolCallResponsePart(
        _id(call), only.content if isinstance(only, TextPart) else tuple(said)
    )


def _answers(result: Any) -> Iterator[Any]:
    """Yield what the parts of *result* say; a tool of the agent has one field, its output or error."""
    for one in result if is_list(result) else [result]:
        answer = maybe_object(maybe_object(one).get("functionResponse"))
        response = maybe_object(answer.get("response"))
        if response.keys() in ({"output"}, {"error"}):
            (text,) = response.values()
            yield TextPart(text if isinstance(text, str) else json_text(text))
        elif answer:
            yield TextPart(json_text(response))
        else:
            yield from _parts(one)


GEMINI_CLI = Importer(
    name="gemini-cli",
    description="session of Gemini CLI",
    matches=_matches,
    read=_read,
)
"""The importer of Gemini CLI's sessions."""
