"""Conversations by hand, of which every figure is known."""

from collections.abc import Callable, Sequence

import pytest

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.logs.importer import Session
from foldline.replay.tape import Tape


MakeCall = Callable[..., Message]
MakeTape = Callable[[Sequence[Message]], Tape]


class FourSigns:
    """A counter whose figures do not move when the estimator is fitted again."""

    def count(self, text: str) -> int:
        return -(-len(text) // 4)


@pytest.fixture(scope="session")
def call() -> MakeCall:
    """Return a maker of messages that call one tool: its id, name and arguments as JSON."""

    def make(number: int, name: str, arguments: str) -> Message:
        return Message.assistant("", tool_calls=[ToolCallPart(f"call-{number}", name, arguments)])

    return make


@pytest.fixture(scope="session")
def tape_of() -> MakeTape:
    """Return a maker of sessions of given messages."""

    def make(messages: Sequence[Message]) -> Tape:
        session = Session(id="by hand", format="test", messages=tuple(messages))
        return Tape(session, counter=FourSigns())

    return make
