"""A message and its parts."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from foldline.errors import ConfigError
from foldline.history.codec import decode_message, encode_message
from foldline.history.digest import message_digest
from foldline.history.formats.otel import to_otel
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.tokens import TokenEstimator, count_message


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


PARTS: list[tuple[str, Callable[[Any], Part]]] = [
    ("content of a text part", TextPart),
    ("content of a reasoning part", ReasoningPart),
    ("content of a compaction part", CompactionPart),
    ("id of a tool_call part", lambda value: ToolCallPart(value, "f", "{}")),
    ("name of a tool_call part", lambda value: ToolCallPart("c", value, "{}")),
    ("id of a tool_call_response part", lambda value: ToolCallResponsePart(value, "ok")),
    ("content of a blob part", lambda value: BlobPart("image", "image/png", value)),
    ("uri of a uri part", lambda value: UriPart("image", value)),
    ("file_id of a file part", lambda value: FilePart("image", value)),
    ("data of a generic part", lambda value: GenericPart("kind", value)),
]


@pytest.mark.parametrize(("field", "make"), PARTS, ids=[field for field, _ in PARTS])
def test_every_field_of_a_part_is_a_mere_str(field: str, make: Callable[[Any], Part]) -> None:
    """A framework's str becomes one; any other value is an error that names field and types."""
    assert make(Words("hi")) == make("hi")
    assert b"hi" in encode_message(Message(role="user", parts=(make(Words("hi")),)))
    for wrong, got in ((None, "None"), (7, "int"), (b"hi", "bytes")):
        with pytest.raises(ConfigError, match=rf"^{field} must be a str, got {got}$"):
            make(wrong)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"b": 1, "a": "ü"}, '{"b":1,"a":"ü"}'),
        ([1, {"a": None}], '[1,{"a":null}]'),
        ((1, "a"), '[1,"a"]'),
        ([], "[]"),
        ([TextPart("a"), CALL], None),
        ([TextPart("a")], (TextPart("a"),)),
        ((TextPart("a"),), (TextPart("a"),)),
        ((), ()),
        (Words("a"), "a"),
        ({"a": object()}, None),
        (None, None),
        (7, None),
    ],
)
def test_a_tool_answers_with_values(given: Any, kept: object) -> None:
    """A dict or a list is kept as JSON, parts as parts; what JSON has no form for is refused."""
    if kept is None:
        with pytest.raises(
            ConfigError, match=r"^response (of a tool_call_response part must|cannot)"
        ):
            Message.tool("c", given)
        with pytest.raises(ConfigError):
            ToolCallResponsePart("c", given)
    else:
        assert Message.tool("c", given).parts == (ToolCallResponsePart("c", given),)
        assert ToolCallResponsePart("c", given).response == kept


def test_arguments_may_be_a_dict() -> None:
    """Arguments in a dict are written as JSON; other values are refused."""
    given: Any = {"q": "oslo"}

    assert ToolCallPart("c", "f", given).arguments == '{"q":"oslo"}'
    for wrong in (None, ["q"], {"q": object()}):
        with pytest.raises(ConfigError, match=r"^arguments (of a tool_call part must|cannot be)"):
            ToolCallPart("c", "f", wrong)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_ids_names_and_calls_are_checked() -> None:
    """A framework's str for an id or a name becomes a mere one, and what is none is refused."""
    made = Message.user("hi", id=Words("i"), name=Words("n"))
    wrong: Any = 7

    assert (type(made.id), type(made.name), made.id, made.name) == (str, str, "i", "n")
    for field in ("id", "name"):
        with pytest.raises(ConfigError, match=rf"^{field} must be a str or None, got int$"):
            Message.assistant("hi", **{field: wrong})
    for calls, got in ((None, "None"), (CALL, "ToolCallPart")):
        with pytest.raises(ConfigError, match=f"^tool_calls must be an Iterable, got {got}$"):
            Message.assistant(tool_calls=calls)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


OPAQUE = GenericPart("checkpoint", "eA==" * 10_000, opaque=True)


def test_what_is_opaque_is_kept_and_hashed() -> None:
    """An opaque part is stored and read as it was, and another one is another message."""
    message, plain = (
        Message(role="user", parts=(replace(OPAQUE, opaque=is_opaque),))
        for is_opaque in (True, False)
    )
    other = Message(role="user", parts=(replace(OPAQUE, data="eQ=="),))

    assert decode_message(encode_message(message)) == message
    assert len({message_digest(one) for one in (message, plain, other)}) == 3
    assert b"opaque" not in encode_message(plain)
    with pytest.raises(ConfigError, match=r"^opaque of a generic part must be a bool, got int$"):
        GenericPart("kind", "", opaque=1)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("render", [render_openai_chat, render_openai_responses, to_otel])
def test_what_is_opaque_is_neither_counted_nor_sent(render: Callable[[list[Message]], Any]) -> None:
    """It adds no token and no text in any format, and a message of nothing else adds no item."""
    alone = Message(role="user", parts=(OPAQUE,))
    said, result = Message.user("hi"), Message.tool("call_1", "3 flights")
    call = Message.assistant(tool_calls=[CALL])
    view = [said, call, result]
    beside = [replace(one, parts=(*one.parts, OPAQUE)) for one in view]
    inside = Message.tool("call_1", [TextPart("3 flights"), OPAQUE])
    counter = TokenEstimator()

    assert [count_message(one, counter) for one in (alone, *beside)] == [
        0,
        *(count_message(one, counter) for one in view),
    ]
    assert count_message(inside, counter) == count_message(result, counter)
    assert render(beside) == render(view)
    assert "eA==" not in str(render([said, call, inside]))
    assert (alone.is_opaque, *(one.is_opaque for one in beside)) == (True, False, False, False)
    if render is not to_otel:
        assert render([said, alone, call, result]) == render(view)
    assert render_anthropic([alone, *beside]) == render_anthropic(view)
