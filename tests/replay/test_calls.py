"""
Where a session called its model.
"""

import pytest

from foldline.history.messages import Message
from foldline.replay.calls import model_calls


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
    """
    A run of assistant messages behind the user or a tool is one call; an open end is one more.
    """
    assert model_calls(messages) == calls
