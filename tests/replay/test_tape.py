"""Where a session called its model."""

import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.comparison import compare
from foldline.replay.tape import Tape, model_calls


USER, REPLY = Message.user("ask"), Message.assistant("say")
TOOL, SYSTEM = Message.tool("1", "found"), Message.system("rule")


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ([], ()),
        ([REPLY], ()),
        ([USER], (1,)),
        ([USER, REPLY], (1,)),
        ([USER, USER, REPLY], (2,)),
        ([USER, REPLY, REPLY], (1,)),
        ([USER, REPLY, TOOL, REPLY], (1, 3)),
        ([USER, REPLY, USER], (1, 3)),
        ([SYSTEM, USER, SYSTEM, REPLY, SYSTEM], (3,)),
        ([USER, REPLY, SYSTEM, REPLY], (1,)),
    ],
)
def test_calls_are_made_where_the_assistant_answers(
    messages: list[Message], calls: tuple[int, ...]
) -> None:
    """A run of the assistant after the user or a tool is one call; an open end is one more."""
    assert model_calls(messages) == calls


def test_a_log_that_tells_its_calls_is_believed() -> None:
    """Calls that a log tells are played as they are, those that were made twice included."""
    messages = (SYSTEM, USER, REPLY, USER, REPLY)
    session = Session(format="test", messages=messages, calls=(4, 4))

    reports = compare(Tape(session), {"one": HistoryReductionConfig(enabled=True)}).reports

    assert [[call.position for call in report.calls] for report in reports] == [[4, 4]] * 2
    assert Tape(Session(format="test", messages=messages)).calls == (2, 4)


def test_a_history_is_filled_as_if_it_counted_itself() -> None:
    """What the tape knows of each message is what a history finds: tokens, digests and places."""
    messages = (SYSTEM, USER, REPLY, TOOL, SYSTEM, REPLY)
    tape, filled = Tape(Session(format="test", messages=messages)), History()

    for position in (2, 5, 6):
        tape.fill(filled, position)
        counted = History(messages[:position])
        assert filled.everything() == counted.everything()
        assert filled.digest() == counted.digest()
        assert (filled.tokens(), filled.system_tokens) == (counted.tokens(), counted.system_tokens)
