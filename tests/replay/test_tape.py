"""Where a session called its model."""

import pytest
from msgspec.structs import replace

from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.logs.importer import Session
from foldline.reduction.config import HistoryReductionConfig
from foldline.replay.columns import assumed
from foldline.replay.comparison import compare
from foldline.replay.tape import Tape, model_calls


COUNTED = replace(Message.assistant("say"), usage=Usage(output_tokens=70))
SILENT = Message.assistant("")
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


@pytest.mark.parametrize(
    ("messages", "tokens", "estimated"),
    [
        ([USER], [0], 0),
        ([USER, REPLY], [1], 1),
        ([USER, COUNTED, USER, REPLY], [70, 1], 1),
        ([USER, REPLY, SYSTEM, REPLY, USER, SILENT], [2, 0], 1),
        ([USER, REPLY, TOOL, REPLY, USER], [1, 1, 0], 2),
    ],
)
def test_an_answer_that_nobody_counted_is_estimated(
    messages: list[Message], tokens: list[int], estimated: int
) -> None:
    """It has the tokens of what the assistant said up to the next message of the user or a tool."""
    tape = Tape(Session(format="test", messages=tuple(messages)))

    assert [tape.answer_tokens(number) for number in range(len(tape.calls))] == tokens
    assert tape.session.estimated_answers == estimated


def test_models_that_were_billed_are_named() -> None:
    """Where the log names them; an answer without usage, as of a program itself, is none's."""
    spoken = [
        replace(COUNTED, metadata={"model": "b"}),
        replace(COUNTED, metadata={"model_name": "a"}),
        replace(COUNTED, metadata={"model": "b"}),
        replace(REPLY, metadata={"model": "<synthetic>"}),
        COUNTED,
    ]
    messages = tuple(message for said in spoken for message in (USER, said))

    session = Tape(Session(format="test", messages=messages)).session

    assert session.models == ("a", "b")
    assert assumed([session]).endswith("; answers of 2 models, all at these prices")
    assert "models" not in assumed([replace(session, models=("a",))])


def test_the_last_message_of_an_answer_may_have_its_usage() -> None:
    """As of the Responses API and Codex, where thinking, text and each call are items of their own."""
    closing = replace(COUNTED, metadata={"model": "a"})
    messages = (USER, REPLY, SYSTEM, closing, TOOL, REPLY, closing, USER, REPLY)

    tape = Tape(Session(format="test", messages=messages))

    assert tape.usages == (COUNTED.usage, COUNTED.usage, None)
    assert [tape.answer_tokens(number) for number in range(3)] == [70, 70, 1]
    assert tape.session.models == ("a",)


def test_an_answer_ends_where_the_log_tells_another_call() -> None:
    """Calls in a row each have their own messages, and one that was made twice is paid twice."""
    told = Session(format="test", messages=(USER, REPLY, REPLY, REPLY), calls=(1, 1, 2))
    tape = Tape(told)

    assert [tape.answer_tokens(number) for number in range(3)] == [1, 1, 2]
