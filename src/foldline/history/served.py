"""
Tools that a vendor runs itself: what they were asked and returned are parts of answers.

Both are mostly in one message. A program that calls tools of the application is an exception: the
results of these come in between, and its vendor refuses each of them without the program. Another is
a tool that the user has to approve: what he says to it is refused without the request.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import msgspec
from msgspec import Struct

from foldline.history.messages import Message
from foldline.history.parts import GenericPart


# The field with the id of a call, by the kind of what makes it or answers it.
_CALLS: Mapping[str, str] = MappingProxyType(
    {
        "server_tool_use": "id",
        "mcp_tool_use": "id",
        "program": "call_id",
        "mcp_approval_request": "id",
        "function_approval_request": "id",
    }
)
_ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        "program_output": "call_id",
        "mcp_approval_response": "approval_request_id",
        "function_approval_response": "id",
    }
)
_RESULT = "_tool_result"
# An item whose call a program made, as it is kept.
_CALLS_FOR = r'"caller":\{[^{}]{0,200}"(?:caller_id|tool_id)":'


class _Ids(Struct):
    id: object = None
    call_id: object = None
    tool_use_id: object = None
    approval_request_id: object = None


_decode = msgspec.json.Decoder(_Ids).decode


def served_call(part: GenericPart) -> tuple[str, bool]:
    """Return the id of the call that *part* makes or answers, if it does, and whether it answers."""
    kind = part.kind
    key = _CALLS.get(kind) or _ANSWERS.get(kind) or ("tool_use_id" if _RESULT in kind else "")
    if not key:
        return "", False
    try:
        found = cast("object", getattr(_decode(part.data), key))
    except msgspec.MsgspecError:
        found = None
    return (found, kind not in _CALLS) if isinstance(found, str) else ("", False)


def is_of_program(message: Message) -> bool:
    """Whether *message* has a call that a program made, or only one side of a program."""
    native = message.native
    if native is None:
        return False
    sides = [served_call(part) for part in message.parts if type(part) is GenericPart]
    called = {call_id for call_id, is_answer in sides if not is_answer}
    answered = {call_id for call_id, is_answer in sides if is_answer}
    return called != answered or re.search(_CALLS_FOR, native.item) is not None
