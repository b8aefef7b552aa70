"""
Sessions of Codex, its `rollout` files.

JSON lines of `timestamp`, `type` and `payload`; older versions wrote the payloads alone, after a
header with `id` and `timestamp`. A `response_item` is an item of OpenAI's Responses API. What
the other lines are to a history:

- `session_meta` names the session; its instructions are the system message, unless they are
  in the history anyway.
- `event_msg` lines repeat for the screen what the items say. Two do not: token counts, the first of
  which that are new go to the assistant's newest message, and turns that the user took back.
- `compacted` lines replace the history by a summary. All messages are here, so the summary goes
  to the metadata of the message before it; if nothing is before it, the new history is read.
- What is in an `AGENTS.md` is a system message, though Codex puts it in the user's place; what it
  says there for a goal, a skill, a hook or a command of the user, and what another agent says, is printed.
- All other lines and snapshots of the working tree say nothing to a model.
"""

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.openai_responses import message_from_openai_responses
from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    Object,
    first_text,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_text,
)
from foldline.history.messages import Message
from foldline.logs.bodies import texts_in
from foldline.logs.document import Document, Record
from foldline.logs.importer import Importer, Reading, Session, by_header, printed_message, read_each


_LINES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_SNAPSHOT = "ghost_snapshot"
_AGENT = "agent_message"
_NOTICES = (
    "<codex_internal_context",
    "<goal_context>",
    "<hook_prompt",
    "<skill>",
    "<user_shell_command>",
)
_RULES = ("# AGENTS.md instructions", "<user_instructions>")


class _Log(Reading):
    instructions = ""
    answer: int | None = None
    """Where the newest message of the assistant is, if its call was not counted yet."""
    counted: Object | None = None
    """The newest counts."""


def _matches(document: Document) -> bool:
    if any(_is_line(record.value) for record in document.records):
        return True
    return _is_header(document.first) and len(document.records) > 1


def _is_line(value: Any) -> bool:
    line = maybe_object(value)
    return maybe_text(line.get("type")) in _LINES and isinstance(line.get("payload"), dict)


def _is_header(value: Any) -> bool:
    header = maybe_object(value)
    return {"id", "timestamp", "instructions"} <= header.keys() and header.keys().isdisjoint(
        {"type", "role"}
    )


def _named(line: Object) -> str:
    header = line if _is_header(line) else maybe_object(line.get("payload"))
    return (
        first_text(header, "id") if _is_header(line) or line.get("type") == "session_meta" else ""
    )


def _session(records: Iterable[Record]) -> Session:
    log = _Log()
    read_each(records, partial(_take, log), "the line")
    said = any(log.instructions in message.text for message in log.messages)
    if log.instructions and not said:
        log.messages.insert(0, Message.system(log.instructions))
    return log.session()


def _wrapped(payload: Object) -> Object:
    """Put a line of the older form into the form of today."""
    if _is_header(payload):
        return {"type": "session_meta", "payload": payload}
    kind = "state" if "record_type" in payload else "response_item"
    return {"type": kind, "payload": payload}


def _take(log: _Log, line: Object) -> None:
    line = line if isinstance(line.get("payload"), dict) else _wrapped(line)
    payload = maybe_object(line.get("payload"))
    kind = maybe_text(line.get("type"))
    match kind:
        case "session_meta":
            # A session that continues another one repeats that one's line after its own.
            log.id = log.id or first_text(payload, "id")
            base = maybe_object(payload.get("base_instructions"))
            said = maybe_text(base.get("text")) or maybe_text(payload.get("instructions"))
            log.instructions = log.instructions or said
            if payload.get("history_base"):
                log.notes.append("it goes on from another file: what was said before is not here")
        case "response_item" if payload.get("type") != _SNAPSHOT:
            message = _message(payload)
            if message.role == "assistant":
                log.answer = len(log.messages)
            log.say([message], line.get("timestamp"))
        case "inter_agent_communication" if payload.get("content"):
            log.messages.append(_message({**payload, "type": _AGENT}))
        case "compacted":
            _compact(log, payload)
        case "event_msg" if payload.get("type") == "thread_rolled_back":
            _roll_back(log, maybe_count(payload.get("num_turns")))
        case "event_msg":
            _report(log, payload)
        case _:
            log.skipped[_SNAPSHOT if kind == "response_item" else kind] += 1


def _message(item: Object) -> Message:
    if item.get("type") == _AGENT:
        told = "\n".join(texts_in(item.get("content")))
        return printed_message(told, name=maybe_text(item.get("author")))
    message = message_from_openai_responses(_item(item))
    said = texts_in(item.get("content")) if message.role == "user" else []
    if any(text.startswith(_RULES) for text in said):
        return replace(message, role="system", native=None)
    if said and all(text.startswith(_NOTICES) for text in said):
        return replace(message, role="tool", name=CODEX.name, native=None)
    return message


def _item(payload: Object) -> Object:
    """Return an item as the vendor's API takes it: older versions wrote outputs as objects."""
    output = maybe_object(payload.get("output"))
    if isinstance(output.get("content"), str):
        return {**payload, "output": output["content"]}
    return payload


def _compact(log: _Log, payload: Object) -> None:
    history = [
        _message(maybe_object(one)) for one in maybe_list(payload.get("replacement_history"))
    ]
    summary = maybe_text(payload.get("message"))
    if log.messages:
        log.compact({"summary": summary or (history[-1].text if history else "")})
    else:
        log.messages.extend(history or [Message.user(summary)])


def _roll_back(log: _Log, turns: int) -> None:
    """Take back the newest *turns* that the user began."""
    last = range(len(log.messages) - 1, -1, -1)
    begun = (at for at in last if log.messages[at].is_from_user)
    taken = [*islice(begun, min(turns, len(last)))]
    if taken:
        log.skipped["message that was taken back"] += len(log.messages) - taken[-1]
        log.answer = None
        del log.messages[taken[-1] :]


def _report(log: _Log, payload: Object) -> None:
    """Give the counts of a `token_count` event to the message that closed the call."""
    info = maybe_object(payload.get("info"))
    report = maybe_object(info.get("last_token_usage"))
    usage = usage_or_none(
        input_tokens=report.get("input_tokens"),
        output_tokens=report.get("output_tokens"),
        cache_read_tokens=report.get("cached_input_tokens"),
        cache_write_tokens=report.get("cache_write_input_tokens"),
        reasoning_tokens=report.get("reasoning_output_tokens"),
    )
    if usage and info != log.counted:
        # An event may come again, and what was counted after an answer may be a compaction.
        log.counted = info
        if log.answer is not None:
            log.messages[log.answer] = replace(log.messages[log.answer], usage=usage)
            log.answer = None


CODEX = Importer(
    name="codex",
    description="session log of Codex (rollout JSON lines)",
    matches=_matches,
    read=by_header(_session, _named),
)
"""The importer of Codex's session logs."""
