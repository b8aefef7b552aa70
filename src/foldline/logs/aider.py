"""
Sessions of the pair programmer aider.

Aider writes one Markdown transcript for all its sessions (`.aider.chat.history.md`): a heading
opens a session, `#### ` starts a line of the user, `> ` a line that aider printed, and all else
is the model. Neighbouring lines of one speaker are one message. A model's own line that starts
in one of these ways looks like theirs. The same sessions as JSON lines (`id`,
`started_at`, `messages`) are read too; there the role `tool` marks what aider printed.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from foldline.history.formats.wire import (
    Object,
    as_text,
    check_role,
    first_text,
    maybe_list,
    maybe_object,
    maybe_text,
    maybe_time,
)
from foldline.history.messages import Message
from foldline.logs.document import Document
from foldline.logs.importer import Importer, Session, lists_in, printed_message, read_each


_HEADING = re.compile(r"^# aider chat started at (.*)$", re.MULTILINE)
_ROLES = ("user", "assistant", "tool")
_MARKS = {"####": "user", ">": "tool"}
_PRINTED = "aider"


def _is_line(value: Any) -> bool:
    line = maybe_object(value)
    return line.keys() == {"role", "content"} and line["role"] in _ROLES


def _matches(document: Document) -> bool:
    if document.text is not None:
        return _HEADING.search(document.text) is not None
    record = maybe_object(document.first)
    messages = maybe_list(record.get("messages"))
    return "started_at" in record and bool(messages) and all(map(_is_line, messages))


def _read(document: Document) -> tuple[Session, ...]:
    if document.text is not None:
        return tuple(_transcript(document.text))
    return tuple(
        _started(
            first_text(held, "id"),
            maybe_text(held.get("started_at")),
            read_each(items, _line, "the message"),
        )
        for held, items in lists_in(document, "messages")
    )


def _line(line: Object) -> Message:
    role = check_role(line.get("role"), _ROLES)
    return _message(role, as_text(line.get("content"), "content"))


def _started(id: str, started_at: str, messages: list[Message]) -> Session:
    # The log knows when a session began, and nothing later.
    first = [replace(one, created_at=maybe_time(started_at)) for one in messages[:1]]
    return Session(id=id, messages=(*first, *messages[1:]))


def _message(role: str, text: str) -> Message:
    if role == "tool":
        return printed_message(text, name=_PRINTED)
    return Message.user(text) if role == "user" else Message.assistant(text)


def _transcript(text: str) -> Iterator[Session]:
    before, *sessions = _HEADING.split(text)
    if before.strip():
        yield _started("", "", list(_spoken(before)))
    for heading, body in zip(sessions[::2], sessions[1::2], strict=True):
        started_at = heading.strip()
        yield _started(started_at, started_at, list(_spoken(body)))


def _spoken(body: str) -> Iterator[Message]:
    for role, lines in groupby(_lines(body), key=itemgetter(0)):
        text = "\n".join(line for _, line in lines).strip("\n")
        if text.strip():
            yield _message(role, text)


def _lines(body: str) -> Iterator[tuple[str, str]]:
    role = "assistant"
    for line in body.splitlines():
        mark, _, rest = line.partition(" ")
        if mark in _MARKS:
            role = _MARKS[mark]
            # Two spaces at the end are Markdown's line break, which aider adds.
            yield role, rest.removesuffix("  ")
        else:
            role = "assistant" if line.strip() else role
            yield role, line


AIDER = Importer(
    name="aider",
    description="chat history of aider (Markdown transcript, or its sessions as JSON lines)",
    matches=_matches,
    read=_read,
)
"""The importer of aider's transcripts."""
