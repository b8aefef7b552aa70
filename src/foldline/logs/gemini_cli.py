"""
Sessions of Gemini CLI, `~/.gemini/tmp/*/chats/session-*.json` and `.jsonl`.

Source: its `chatRecordingService.ts`. A session is an object with `messages`; since 2026 it is JSON
lines: a header, then a message a line, which is written again whenever it has grown. A message of the
model has its thoughts, and its calls with their results. What was rewound is left out, as there. The whole
context is repeated under `$set` whenever it is not what was recorded: messages that have no lines are read
from there, unless it was rewritten and stands for others, whose lines say what was said.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    Object,
    as_object,
    as_text,
    first_text,
    is_list,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
    scalars,
)
from foldline.history.messages import Message
from foldline.history.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.unnamed import with_ids
from foldline.logs.bodies import call_of, messages_of, response_of
from foldline.logs.document import Document, Record
from foldline.logs.gemini import content_parts, tool_of
from foldline.logs.importer import Importer, Reading, Session, by_header, read_each, stamped


_PARTS = partial(content_parts, of_agent=True)


class _Log(Reading):
    def __init__(self, header: Object) -> None:
        super().__init__(maybe_text(header.get("sessionId")))
        self.title = maybe_text(header.get("summary"))
        self.said: dict[str, Object] = {}
        self.lines: set[str] = set()
        self.has_results = False
        """Whether the calls of the last answer have their results."""


def _matches(document: Document) -> bool:
    return any(_named(maybe_object(record.value)) for record in document.records)


def _named(line: Object) -> str:
    return first_text(line, "sessionId") if "projectHash" in line else ""


def _session(records: Sequence[Record]) -> Session:
    log = _Log(maybe_object(records[0].value))
    read_each(records, partial(_take, log), "the line")
    said = chain.from_iterable(_messages(log, record) for record in log.said.values())
    log.messages.extend(with_ids(said))
    return log.session()


def _take(log: _Log, line: Object) -> None:
    for number, message in enumerate(maybe_list(line.get("messages"))):
        _take(log, as_object(message, f"message {number}"))
    if "$rewindTo" in line:
        while log.said and log.said.popitem()[0] != line["$rewindTo"]:
            pass
    elif "$set" in line:
        _take_context(log, maybe_list(maybe_object(line["$set"]).get("messages")))
    elif "sessionId" not in line:
        id = as_text(line.get("id"), "id")
        log.said[id] = line
        log.lines.add(id)


def _take_context(log: _Log, given: Sequence[Any]) -> None:
    context = {
        maybe_text(one.get("id")) or f"{at}": one for at, one in enumerate(map(maybe_object, given))
    }
    talk = {id for id, one in log.said.items() if one.get("type") in ("user", "gemini")}
    if not talk <= context.keys() and talk & log.lines:
        log.skipped["$set of a rewritten context"] += bool(context)
        return
    known = {id: log.said[id] for id in context if id in log.lines}
    # What is in the context stands in its order, behind what is not.
    others = {id: one for id, one in log.said.items() if id not in context}
    log.said = {**others, **context, **known}


def _messages(log: _Log, record: Object) -> Iterator[Message]:
    kind = maybe_text(record.get("type"))
    if kind == "user":
        yield from _asked(log, record)
    elif kind == "gemini":
        yield from _said(log, record)
    else:
        log.skipped[kind or "message without a type"] += 1


def _asked(log: _Log, record: Object) -> Iterator[Message]:
    """Return what the user says; a result is read here if its call does not have it."""
    blocks = _blocks(record.get("content"))
    said = messages_of(blocks, role="user", parts=_PARTS, tool=tool_of)
    kept = (one for one in said if one.role == "user" or not log.has_results)
    return stamped(kept, record.get("timestamp"), maybe_text(record.get("id")))


def _said(log: _Log, record: Object) -> Iterator[Message]:
    calls = [as_object(call, "the call") for call in maybe_list(record.get("toolCalls"))]
    log.has_results = bool(calls)
    said = chain.from_iterable(map(_PARTS, _blocks(record.get("content"))))
    # What is called is among the parts of a rewritten context, too.
    texts = (one for one in said if not (calls and isinstance(one, ToolCallPart)))
    made = [call_of(_id(one), maybe_text(one.get("name")), one.get("args") or {}) for one in calls]
    parts = (*_thoughts(record), *texts, *made)
    created_at, tokens = maybe_time(record.get("timestamp")), maybe_object(record.get("tokens"))
    thought = maybe_count(tokens.get("thoughts"))
    if parts:
        yield Message(
            role="assistant",
            parts=parts,
            id=maybe_text(record.get("id")) or None,
            created_at=created_at,
            metadata=scalars(record, ("model",)) or None,
            usage=usage_or_none(
                input_tokens=maybe_count(tokens.get("input")) + maybe_count(tokens.get("tool")),
                output_tokens=maybe_count(tokens.get("output")) + thought,
                cache_read_tokens=tokens.get("cached"),
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


def _blocks(given: Any) -> list[Object]:
    """Return the parts that *given* is: a text, a part, or several of them."""
    each = given if is_list(given) else [given]
    texts = ({"text": one} if isinstance(one, str) else maybe_object(one) for one in each)
    return [one for one in texts if one.get("text") != ""]


def _result(call: Object) -> ToolCallResponsePart:
    said = response_of(_answers(call["result"]), failed=call.get("status") == "error")
    return ToolCallResponsePart(_id(call), said)


def _answers(result: Any) -> Iterator[Any]:
    """Yield what the parts of *result* say."""
    for part in chain.from_iterable(map(_PARTS, _blocks(result))):
        said = part.response if isinstance(part, ToolCallResponsePart) else [part]
        yield from [TextPart(said)] if isinstance(said, str) else said


GEMINI_CLI = Importer(
    name="gemini-cli",
    description="session of Gemini CLI",
    matches=_matches,
    read=by_header(_session, _named),
)
"""The importer of Gemini CLI's sessions."""
