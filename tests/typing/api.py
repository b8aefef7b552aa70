"""
How foldline is used, as type checkers see it: checked by `make types`, never run.
"""

from typing import assert_type

from foldline.history.digest import message_digest, prefix_digest
from foldline.history.messages import Message
from foldline.history.parts import TextPart, ToolCallPart, ToolCallResponsePart


def messages() -> list[Message]:
    """
    Make one message of every role.
    """
    call = ToolCallPart("call-1", "lookup", '{"city": "Oslo"}')
    return [
        Message.system("Be brief."),
        Message.user("How warm is Oslo?", name="ada"),
        Message.assistant("One moment.", tool_calls=[call]),
        Message.tool("call-1", "7 degrees", name="lookup"),
    ]


def parts(message: Message) -> str:
    """
    Read a message by its parts, each with its own type.
    """
    assert_type(message.tool_calls, tuple[ToolCallPart, ...])
    assert_type(message.tool_call_responses, tuple[ToolCallResponsePart, ...])
    for part in message.parts:
        if isinstance(part, TextPart):
            return assert_type(part.content, str)
    return assert_type(message.text, str)


def digests(message: Message) -> bool:
    """
    Compare a message with a history of one.
    """
    return assert_type(message_digest(message), bytes) == prefix_digest([message])
