"""A message and its parts."""

from functools import partial
from typing import Any

import pytest

from foldline.errors import ConfigError
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    BlobPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)


CALL = ToolCallPart("call_1", "search", '{"q": "oslo"}')
ANSWER = ToolCallResponsePart("call_1", "3 flights")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (
            Message.user("hello", id="m1", name="ana"),
            Message(role="user", parts=(TextPart("hello"),), id="m1", name="ana"),
        ),
        (
            Message.system("be brief", id="m0"),
            Message(role="system", parts=(TextPart("be brief"),), id="m0"),
        ),
        (
            Message.assistant("looking", tool_calls=[CALL], id="m2", name="bot"),
            Message(role="assistant", parts=(TextPart("looking"), CALL), id="m2", name="bot"),
        ),
        (
            Message.tool("call_1", "3 flights", id="m3", name="search"),
            Message(role="tool", parts=(ANSWER,), id="m3", name="search"),
        ),
    ],
)
def test_a_message_is_made_of_what_is_said(made: Message, expected: Message) -> None:
    """A text is one part, in front of the calls; a tool's answer has the id of the call."""
    assert made == expected


def test_an_assistant_that_says_nothing_has_no_text_part() -> None:
    """An empty text makes no part, so that a message of calls alone stays one."""
    assert Message.assistant(tool_calls=[CALL]).parts == (CALL,)
    assert Message.assistant().parts == ()


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((ReasoningPart("hm"), TextPart("one"), CALL, TextPart("two")), "one\ntwo"),
        ((CALL,), ""),
        ((BlobPart("image", "image/png", "AAAA"),), ""),
        ((), ""),
    ],
)
def test_the_text_of_a_message_is_its_text_parts(parts: tuple[Part, ...], text: str) -> None:
    """`text` joins the text parts by newlines and leaves every other part out."""
    assert Message(role="assistant", parts=parts).text == text


def test_calls_and_answers_keep_their_order() -> None:
    """`tool_calls` and `tool_call_responses` pick their parts in order."""
    second = ToolCallPart("call_2", "search", "{}")
    other = ToolCallResponsePart("call_2", (TextPart("none"),))
    message = Message(role="user", parts=(ANSWER, second, TextPart("and"), other, CALL))

    assert message.tool_calls == (second, CALL)
    assert message.tool_call_responses == (ANSWER, other)


@pytest.mark.parametrize(
    ("metadata", "expected"), [(None, False), ({}, False), ({SUMMARY_KEY: True}, True)]
)
def test_a_summary_is_known_by_its_label(
    metadata: dict[str, object] | None,
    expected: bool,
) -> None:
    """`is_summary` looks for one key of the metadata, and for nothing else."""
    assert Message(role="assistant", metadata=metadata).is_summary is expected


class Words(str):
    """What a framework gives where a str is wanted."""

    __slots__ = ()

    def __str__(self) -> str:
        return "something else"


def test_a_framework_s_str_becomes_a_mere_one() -> None:
    """A subclass of str is taken by its content, since JSON cannot be written of it."""
    words = Words("hi")
    made = [Message.user(words), Message.system(words), Message.assistant(words)]
    answer = Message.tool(Words("c"), words).tool_call_responses[0]

    assert {message.text for message in made} == {"hi"}
    assert all(type(message.text) is str for message in made)
    assert (answer.id, answer.response, type(answer.response)) == ("c", "hi", str)


@pytest.mark.parametrize("wrong", [None, 7, {"a": 1}])
def test_what_is_no_str_is_refused(wrong: Any) -> None:
    """The error names the argument, what it has to be and what it is."""
    for make in (Message.user, Message.system, partial(Message.tool, "c")):
        with pytest.raises(ConfigError, match=r"must be a str, got (None|int|dict)$"):
            make(wrong)
