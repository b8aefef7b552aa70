"""
Recorded conversations of any known format, from bytes.

The format follows from the structure of the input, never from its name. The first of `FORMATS`
that matches is it: logs of programs come first, then wire formats, then plain chat.
"""

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NoReturn

from msgspec.structs import replace

from foldline.checks import expect
from foldline.errors import FormatError, UnknownFormatError
from foldline.history.formats.wire import maybe_list
from foldline.logs.ai_sdk import AI_SDK
from foldline.logs.aider import AIDER
from foldline.logs.calls import call_records
from foldline.logs.chat_jsonl import CHAT_JSONL
from foldline.logs.claude_code import CLAUDE_CODE
from foldline.logs.codex import CODEX
from foldline.logs.converse import CONVERSE
from foldline.logs.copilot import COPILOT
from foldline.logs.document import Document, Record, read_document
from foldline.logs.gemini import GEMINI
from foldline.logs.gemini_cli import GEMINI_CLI
from foldline.logs.importer import Importer, Session
from foldline.logs.langchain import LANGCHAIN
from foldline.logs.langfuse import LANGFUSE
from foldline.logs.langsmith import LANGSMITH
from foldline.logs.opencode import OPENCODE
from foldline.logs.openhands import OPENHANDS
from foldline.logs.pi import PI
from foldline.logs.pydantic_ai import PYDANTIC_AI
from foldline.logs.spans import span_records
from foldline.logs.swe_agent import SWE_AGENT
from foldline.logs.vendors import check_vendor
from foldline.logs.wire_logs import FOLDLINE, WIRE_FORMATS


FORMATS: tuple[Importer, ...] = (
    FOLDLINE,
    CLAUDE_CODE,
    CODEX,
    GEMINI_CLI,
    COPILOT,
    PI,
    AIDER,
    SWE_AGENT,
    OPENHANDS,
    OPENCODE,
    LANGCHAIN,
    LANGSMITH,
    LANGFUSE,
    PYDANTIC_AI,
    AI_SDK,
    GEMINI,
    CONVERSE,
    *WIRE_FORMATS,
    CHAT_JSONL,
)
"""Every format that can be read, in the order in which they are tried."""

_BY_LINES = (CLAUDE_CODE, CODEX, GEMINI_CLI, COPILOT, PI)
"""Those that find their own lines among others."""

_PLAIN = 'a line {"role": "user", "content": "..."}'


def read_sessions(data: bytes, *, format: str | None = None, name: str = "") -> tuple[Session, ...]:
    """
    Return the conversations in *data*; *name* is the id of sessions that have none.

    Raises:
        ConfigError: *data* is not bytes.
        UnknownFormatError: *format* is unknown, or none was given and none fits.
        FormatError: *data* cannot be read, has another shape, holds no conversation or the lines of
            several programs, or shows another vendor's shapes than *format* names.
    """
    expect("data", data, bytes, hint="pass Path(…).read_bytes()")
    named = None if format is None else _named(format)
    known = FORMATS if named is None else (named,)
    document = read_document(data)
    # Its records may be those of its one list, or its spans.
    fitting = ((form, one) for form in _forms(document) for one in known if one.matches(form))
    document, found = next(fitting, (document, None))
    importer = found or named or _unknown(document)
    if document.text is not None and importer is not AIDER:
        raise FormatError(f"not JSON: line 1 is plain text, and {importer.name} is JSON")
    if named is not None:
        check_vendor(document, named.name)
    elif importer in _BY_LINES:
        _check_program(document)
    sessions = [session for session in importer.read(document) if session.messages]
    if not sessions:
        message = f"no conversation inside: the input is {importer.name}, but it has no messages"
        raise FormatError(message)
    sessions[-1] = replace(sessions[-1], notes=(*sessions[-1].notes, *document.notes))
    return _identified(sessions, name, importer.name)


def _named(format: str) -> Importer:
    by_name = {importer.name: importer for importer in FORMATS}
    if format in by_name:
        return by_name[format]
    near = get_close_matches(format.lower(), by_name, n=1)
    hint = f"did you mean {near[0]!r}? Known formats:" if near else "known formats:"
    raise UnknownFormatError(f"unknown format {format!r}: {hint} {', '.join(sorted(by_name))}")


def _check_program(document: Document) -> None:
    fitting = [one.name for one in _BY_LINES if one.matches(document)]
    if len(fitting) > 1:
        raise FormatError(f"lines of {' and '.join(fitting)}: pass a file of each")


def _forms(document: Document) -> Iterator[Document]:
    yield document
    if len(document.records) == 1 and (items := maybe_list(document.first)):
        records = tuple(Record(f"item {number}", item) for number, item in enumerate(items))
        document = replace(document, records=records)
        yield document
    yield replace(document, records=span_records(document))
    yield replace(document, records=call_records(document))


def _unknown(document: Document) -> NoReturn:
    if document.first in ([], {}):
        raise FormatError("no conversation inside: the input is empty JSON")
    reason = "no known format fits" if document.text is None else "not JSON: line 1 is plain text"
    known = ", ".join(sorted(importer.name for importer in FORMATS))
    message = f"{reason}: choose one with --format: {known}; or write {_PLAIN} for each message"
    raise UnknownFormatError(message)


def _identified(sessions: list[Session], name: str, format: str) -> tuple[Session, ...]:
    """Return *sessions* with a format, and with ids of which no two are equal."""
    named = Counter[str]()
    taken: set[str] = set()
    identified: list[Session] = []
    for session in sessions:
        given = id = session.id or name or "session"
        while id in taken:
            named[given] += 1
            id = f"{given}#{named[given] + 1}"
        taken.add(id)
        identified.append(replace(session, id=id, format=session.format or format))
    return tuple(identified)
