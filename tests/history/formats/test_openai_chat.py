"""OpenAI Chat Completions messages, both ways, and views rendered as such."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import FormatError
from foldline.history.codec import encode_json
from foldline.history.formats.openai_chat import OPENAI_CHAT, from_openai_chat, to_openai_chat
from foldline.history.formats.renderings import (
    EMPTY_NOTE,
    OPENING_NOTE,
    SUMMARY_HEADER,
    render_openai_chat,
)
from foldline.history.messages import SUMMARY_KEY, Message, Native, NativeFormat
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
from foldline.testing.grammars import check_openai_chat
from tests.history.formats.wire_values import SOME_TEXT, read_with_originals


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

ORDINARY: list[dict[str, Any]] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "hello"},
    {"role": "user", "content": ""},
    {"role": "user", "name": "ann", "content": "hello"},
    {"role": "assistant", "content": "hi"},
    {"role": "assistant", "content": None},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "found"},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "found"},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "found"}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file-1"}},
        ],
    },
]


def thoughts(*said: str) -> dict[str, Any]:
    """Return what a model of Mistral thinks, as it writes that."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": one} for one in said]}


READ: list[tuple[dict[str, Any], str, tuple[Part, ...]]] = [
    ({"role": "developer", "content": "x"}, "system", (TextPart("x"),)),
    ({"role": "user", "content": None}, "user", ()),
    ({"role": "user", "content": None}, "user", ()),
    ({"role": "user", "content": []}, "user", ()),
    ({"role": "assistant", "refusal": "no"}, "assistant", (TextPart("no"),)),
    (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
        "assistant",
        (TextPart("no"),),
    ),
    (
        {"role": "assistant", "reasoning_content": "hm", "content": "so"},
        "assistant",
        (ReasoningPart("hm"), TextPart("so")),
    ),
    (
        {"role": "assistant", "content": [thoughts("h", "m"), {"type": "text", "text": "so"}]},
        "assistant",
        (ReasoningPart("hm"), TextPart("so")),
    ),
    (
        {"role": "assistant", "content": None, "audio": {"id": "a1", "transcript": "hi"}},
        "assistant",
        (TextPart("hi"), FilePart("audio", "a1")),
    ),
    ({"role": "assistant", "audio": {}}, "assistant", (FilePart("audio", ""),)),
    (
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{"}},
        "assistant",
        (ToolCallPart("", "f", "{"),),
    ),
    ({"role": "function", "name": "f", "content": "r"}, "tool", (ToolCallResponsePart("", "r"),)),
    ({"role": "tool", "content": "loose"}, "tool", (TextPart("loose"),)),
    ({"role": "tool", "tool_call_id": "c"}, "tool", (ToolCallResponsePart("c", ""),)),
    (
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
        "assistant",
        (ToolCallPart("", "f", '{"a":1}'),),
    ),
    (
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {}}]},
        "assistant",
        (ToolCallPart("c", "", ""),),
    ),
    (
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "n", "input": "i"}}],
        },
        "assistant",
        (ToolCallPart("c", "n", "i"),),
    ),
    (
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "new"}]},
        "assistant",
        (ToolCallPart("c", "new", '{"id":"c","type":"new"}'),),
    ),
    ({"role": "assistant", "content": "x", "tool_calls": None}, "assistant", (TextPart("x"),)),
    (
        {"role": "user", "content": [{"type": "image_url", "image_url": "https://example.org"}]},
        "user",
        (UriPart("image", "https://example.org"),),
    ),
    (
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"filename": "a", "file_data": "AAAA"}},
                {"type": "file", "file": {"file_data": "data:text/x;base64,AAAA"}},
                {"type": "file", "file": {}},
                {"type": "new", "x": 1},
            ],
        },
        "user",
        (
            BlobPart("document", "", "AAAA"),
            BlobPart("document", "text/x", "AAAA"),
            GenericPart("file", '{"type":"file","file":{}}'),
            GenericPart("new", '{"type":"new","x":1}'),
        ),
    ),
]

WRONG: list[tuple[Any, str]] = [
    ("text", "message 1: the message is not an object"),
    ({"content": "x"}, "message 1: it has no role"),
    ({"role": "wizard", "content": "x"}, "message 1: role 'wizard' is not one of"),
    ({"role": "user", "text": "x"}, "message 1: it has no content"),
    ({"role": "user", "content": 5}, "message 1: content is neither a string nor a list"),
    ({"role": "user", "content": ["x"]}, r"message 1: content\[0\] is not an object"),
    ({"role": "user", "content": [{}]}, r"content\[0\].type is not a string"),
    ({"role": "user", "content": [{"type": "text"}]}, r"content\[0\].text is not a string"),
    ({"role": "user", "content": [{"type": "image_url"}]}, r"content\[0\].image_url is not an"),
    (
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
        r"content\[0\].image_url.url is not a string",
    ),
    ({"role": "user", "content": [{"type": "input_audio"}]}, r"\.input_audio is not an object"),
    ({"role": "user", "content": [{"type": "file"}]}, r"content\[0\].file is not an object"),
    ({"role": "user", "name": 1, "content": "x"}, "name is not a string"),
    ({"role": "assistant", "tool_calls": {}}, "tool_calls is not a list"),
    ({"role": "assistant", "tool_calls": ["x"]}, r"tool_calls\[0\] is not an object"),
    ({"role": "assistant", "tool_calls": [{}]}, r"tool_calls\[0\].function is not an object"),
    ({"role": "assistant", "tool_calls": [{"id": 1}]}, r"tool_calls\[0\].id is not a string"),
    (
        {"role": "assistant", "tool_calls": [{"function": {"arguments": 1}}]},
        r"tool_calls\[0\].function.arguments is not a string",
    ),
    ({"role": "assistant", "tool_calls": [{"type": "custom"}]}, r"\.custom is not an object"),
    ({"role": "assistant", "function_call": "x"}, "function_call is not an object"),
    ({"role": "assistant", "refusal": 1}, "refusal is not a string"),
    ({"role": "assistant", "audio": 1}, "audio is not an object"),
    ({"role": "tool", "tool_call_id": 1, "content": "x"}, "tool_call_id is not a string"),
    ({"role": "user", "content": "x", "extra": object()}, "not a JSON value"),
]


@pytest.mark.parametrize("value", ["text", b"bytes", {"role": "user"}])
def test_no_list_is_refused(value: Any) -> None:
    """What is no list of messages is refused."""
    with pytest.raises(FormatError, match="not a list"):
        from_openai_chat(value)


def test_errors_quote_no_content() -> None:
    """An error never holds what was said."""
    with pytest.raises(FormatError) as caught:
        from_openai_chat([{"role": "user", "content": [{"type": "text", "text": ["secret"]}]}])

    assert "secret" not in str(caught.value)


def test_deep_items_are_refused() -> None:
    """An item nested too deeply to be written is refused, not a crash."""
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(FormatError, match="nested too deeply"):
        from_openai_chat([{"role": "user", "content": "x", "deep": deep}])


def test_foreign_parts_find_their_place() -> None:
    """Parts of other formats become text, marks or nothing, and results come first."""
    message = Message(
        role="user",
        name="ann",
        parts=(
            ToolCallResponsePart("c", (TextPart("r"), BlobPart("image", "image/png", "A"))),
            ReasoningPart("hm"),
            CompactionPart("before"),
            CompactionPart(""),
            BlobPart("video", "video/mp4", "AA"),
            UriPart("document", "https://example.org/d"),
            BlobPart("document", "application/pdf", "AA"),
            FilePart("image", "f"),
        ),
    )

    assert to_openai_chat([message]) == [
        {
            "role": "tool",
            "tool_call_id": "c",
            "name": "ann",
            "content": [{"type": "text", "text": "r"}, {"type": "text", "text": "[image]"}],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "before"},
                {"type": "text", "text": "[video]"},
                {"type": "text", "text": "https://example.org/d"},
                {
                    "type": "file",
                    "file": {
                        "filename": "document",
                        "file_data": "data:application/pdf;base64,AA",
                    },
                },
                {"type": "text", "text": "[image]"},
            ],
        },
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role="assistant", parts=(ReasoningPart("hm"),)), []),
        (Message(role="system", parts=(ToolCallPart("c", "f", "{}"),)), []),
        (
            Message(role="tool", parts=(ToolCallResponsePart("c", ()),)),
            [{"role": "tool", "tool_call_id": "c", "content": ""}],
        ),
        (
            Message(role="user", parts=(ToolCallPart("c1", "look", "{}"),)),
            [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
        ),
        (Message(role="tool", parts=(TextPart("x"),)), [{"role": "user", "content": "x"}]),
        (
            Message(role="user", parts=(), native=Native(format=NativeFormat.ANTHROPIC, item="{}")),
            [{"role": "user", "content": ""}],
        ),
    ],
)
def test_odd_messages_are_written(message: Message, expected: list[dict[str, Any]]) -> None:
    """A message that this format does not know is written as the nearest it has."""
    assert to_openai_chat([message]) == expected


def test_a_kept_item_that_is_no_object_is_refused() -> None:
    """A kept item that was damaged in store is refused."""
    message = Message(role="user", native=Native(format=NativeFormat.OPENAI_CHAT, item="7"))

    with pytest.raises(FormatError, match="kept item"):
        to_openai_chat([message])


def test_recorded_conversations_round_trip(shared_data: Path) -> None:
    """Every recorded conversation comes out as the same bytes, and is a valid request."""
    path = shared_data / "tau-airline/conversations.jsonl"
    for line in path.read_text("utf-8").splitlines():
        recorded = json.loads(line)["traj"]
        messages = from_openai_chat(recorded)

        assert encode_json(to_openai_chat(messages)) == encode_json(recorded)
        assert check_openai_chat(render_openai_chat(messages)) == ()


def test_originals_are_used_as_they_are() -> None:
    """An item that the vendor accepts comes out of a rendering as the very same object."""
    given_items: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "name": "ann", "content": "hello"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]
    messages, original = read_with_originals(OPENAI_CHAT, given_items)

    view = render_openai_chat(messages, original=original)

    assert all(rendered is item for rendered, item in zip(view, given_items, strict=True))


def test_natives_are_rendered() -> None:
    """Without the caller's own items the kept ones are used, and else the parts."""
    given_items = [
        {"role": "developer", "content": "x"},
        {"role": "user", "content": "hi", "weight": 1},
    ]

    assert render_openai_chat(from_openai_chat(given_items)) == given_items


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"text": "he said "hi""}', {"arguments": '{"text": "he said "hi""}'}),
        ('{"path": "C:\\data"}', {"arguments": '{"path": "C:\\data"}'}),
        ("[1]", {"arguments": [1]}),
        ('{"n": NaN, "s": "\\ud83d"}', {"n": None, "s": "\ufffd"}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
        ("", {}),
    ],
)
def test_arguments_are_an_object(arguments: str, expected: object) -> None:
    """Arguments that are no JSON object, as vLLM and others want one at every call, are put into one."""
    call = {**CALL, "function": {"name": "look", "arguments": arguments}}
    messages = from_openai_chat([{"role": "assistant", "content": None, "tool_calls": [call]}])

    (item,) = render_openai_chat(messages)

    assert json.loads(item["tool_calls"][0]["function"]["arguments"]) == expected


def test_a_summary_is_labelled() -> None:
    """A summary is an assistant message under a fixed header."""
    summary = Message(
        role="assistant", parts=(TextPart("they \ud800met \n"),), metadata={SUMMARY_KEY: True}
    )

    assert render_openai_chat([summary]) == [
        {"role": "user", "content": OPENING_NOTE},
        {"role": "assistant", "content": f"{SUMMARY_HEADER}\n\nthey \ufffdmet"},
    ]


def test_calls_of_neighbors_become_one_message() -> None:
    """Calls made in several messages in a row are one message, as the vendor wants."""
    view = (
        Message.assistant("one", tool_calls=[ToolCallPart("a", "f", "{}")]),
        Message.assistant("two", tool_calls=[ToolCallPart("b", "f", "{}")]),
        Message.assistant("", tool_calls=[ToolCallPart("c", "f", "{}")]),
        Message.tool("a", "1"),
        Message.tool("b", "2"),
        Message.tool("c", "3"),
        Message.assistant("done"),
    )

    rendered = render_openai_chat(view)

    assert check_openai_chat(rendered) == ()
    assert [item["role"] for item in rendered] == ["assistant", "tool", "tool", "tool", "assistant"]
    assert [call["id"] for call in rendered[0]["tool_calls"]] == ["a", "b", "c"]
    assert rendered[0]["content"] == [
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
    ]


DIRTY: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": None}],
    [{"role": "user", "content": []}],
    [{"role": "user", "content": "a", "name": "no good"}],
    [{"role": "user", "content": "a", "name": None}],
    [{"role": "user", "content": "a", "score": math.nan, "\ud800": [1.5, "\ud800"], "t": (1,)}],
    [{"role": "assistant", "content": None}],
    [{"role": "assistant", "content": "a", "tool_calls": []}],
    [{"role": "assistant", "content": "a", "function_call": None}],
    [{"role": "assistant", "content": None, "refusal": "no"}],
    [
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
    ],
    [{"role": "tool", "content": "loose"}],
    [
        {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "a b"}}]},
        {"role": "tool", "tool_call_id": ""},
    ],
    [
        {"role": "assistant", "content": [], "tool_calls": [{**CALL, "id": "x" * 50}]},
        {"role": "tool", "tool_call_id": "x" * 50, "content": "r"},
    ],
    [
        {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
        {"role": "tool", "tool_call_id": "c1", "content": "r"},
    ],
    [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "", "input": "i"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ],
]


@pytest.mark.parametrize("given_items", DIRTY)
def test_what_the_vendor_refuses_is_repaired(given_items: list[dict[str, Any]]) -> None:
    """A rendering is valid where the items it is made of are not, and leaves them untouched."""
    before = encode_json(given_items)
    messages, original = read_with_originals(OPENAI_CHAT, given_items)

    assert check_openai_chat(render_openai_chat(messages)) == ()
    rendered = render_openai_chat(messages, original=original)
    assert check_openai_chat(rendered) == ()
    assert encode_json(given_items) == before


@pytest.mark.parametrize("content", [None, "", "\n\n", [], [{"type": "text", "text": " "}]])
def test_an_answer_of_nothing_is_a_note(content: Any) -> None:
    """An answer that was cut off before its first word, which Kimi refuses, is told; one with more is as it was."""
    empty = {"role": "assistant", "content": content, "reasoning_content": "Hm."}
    calling = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "r"}
    image = {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}
    given_items = [empty, calling, result, image, {"role": "assistant", "content": "ok"}]

    rendered = render_openai_chat(from_openai_chat(given_items))

    assert rendered[0] == {**empty, "content": EMPTY_NOTE}
    assert rendered[1:] == given_items[1:]


def test_an_unknown_kind_of_call_stays() -> None:
    """A call of a kind that is not known is left as it is but for its id."""
    item = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "new", "x": 1}]}

    assert render_openai_chat(from_openai_chat([item])) == [item]


def test_an_orphan_keeps_its_id() -> None:
    """A result that answers no call is no business of the rendering."""
    view = [Message.tool("lost", "r")]

    assert render_openai_chat(view)[0]["tool_call_id"] == "lost"


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), SOME_TEXT), max_size=6))
def test_longer_views_begin_like_shorter_ones(said: list[tuple[Any, str]]) -> None:
    """A view that grows keeps the rendering of what was there before."""
    view = [Message(role=role, parts=(TextPart(text),)) for role, text in said]
    whole = render_openai_chat(view)

    assert all(render_openai_chat(view[:stop]) == whole[:stop] for stop in range(1, len(view)))
    assert not whole or check_openai_chat(whole) == ()
