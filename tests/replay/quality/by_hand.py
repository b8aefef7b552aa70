"""Conversations by hand, of which every figure is known."""

from collections.abc import Sequence

from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.logs.importer import Session
from foldline.replay.tape import Tape
from tests.replay.tapes import FourSigns


def call(number: int, name: str, arguments: str) -> Message:
    """Return a message that calls one tool: its id, name and arguments as JSON."""
    return Message.assistant("", tool_calls=[ToolCallPart(f"call-{number}", name, arguments)])


def tape_of(messages: Sequence[Message]) -> Tape:
    """Return a session of *messages*."""
    session = Session(id="by hand", format="test", messages=tuple(messages))
    return Tape(session, counter=FourSigns())
