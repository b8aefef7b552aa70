"""Measuring takes time in proportion to what was said."""

from collections.abc import Callable

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.quality.identifiers import generic, identifiers, spelled_out
from foldline.replay.quality.report import quality_of
from foldline.replay.quality.trail import commits, trail_of
from foldline.replay.quality.words import rules
from foldline.replay.tape import Tape
from tests.linearity import is_linear


def _committed(text: str) -> object:
    call = ToolCallPart("1", "bash", f'{{"a": "git commit {text}"}}')
    return commits([Message.assistant("", tool_calls=[call]), Message.tool("1", text)])


def _trail(text: str) -> object:
    call = ToolCallPart("1", "edit", '{"path": "src/a.py"}')
    return trail_of([Message.assistant("", tool_calls=[call])], text)


def _record(text: str) -> object:
    call = ToolCallPart("1", "edit", '{"path": "src/a.py"}')
    record = f"Record of 2 messages.\n## Files edited\n- src/: {text}a.py"
    return trail_of([Message.assistant("", tool_calls=[call])], record, (record,))


READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "identifiers": (lambda text: list(identifiers(text)), "a.b/"),
    "generic": (lambda text: list(generic(text)), "a.b-"),
    "directories": (spelled_out, "- a/b/"),
    "directory names": (spelled_out, "- a/: b"),
    "files": (_trail, "a.py, "),
    "records": (_record, "a.py, "),
    "lines": (_trail, "edited: a.py\n"),
    "subjects": (_committed, "git commit -m "),
    "hashes": (_committed, "[main (root-commit) "),
    "rules": (lambda text: list(rules([Message.user(text)], text)), "never ever do that. "),
}


@pytest.mark.parametrize(("read", "pump"), READERS.values(), ids=READERS)
def test_reading_is_linear(read: Callable[[str], object], pump: str) -> None:
    """Four times the text takes about four times as long."""
    assert is_linear(read, "", pump)


# A summary of one size, so that a longer session has more folds and no longer ones.
_SHORT = HistoryReductionConfig(
    counting_unit="messages",
    target_count=10,
    summarization_threshold=20,
    quote_user_messages=0,
)


def _tape(text: str) -> Tape:
    """Return a session with four messages for each sign of *text*: files that are read once, or again."""
    said = list[Message]()
    for at, _ in enumerate(text):
        call = ToolCallPart(
            f"{at}", "read", f'{{"path": "src/{at}/new.py", "as": "src/{at // 9}/new.py"}}'
        )
        said += [
            Message.user(f"Read src/{at}/old.py, please."),
            Message.assistant("", tool_calls=[call]),
        ]
        said += [
            Message.tool(f"{at}", f"src/{at}/new.py\nNothing."),
            Message.assistant("It is there."),
        ]
    return Tape(Session(id="s", format="test", messages=tuple(said)))


def test_measuring_a_session_is_linear() -> None:
    """A session four times as long, with four times the folds and the values, takes four times as long."""
    assert is_linear(lambda text: quality_of([_tape(text)], _SHORT, budget=150), "", "a")
