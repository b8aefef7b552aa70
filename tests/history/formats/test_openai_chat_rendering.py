"""Views rendered as OpenAI Chat Completions messages."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.codec import encode_json
from foldline.history.formats.openai_chat import (
    OPENAI_CHAT,
    from_openai_chat,
)
from foldline.history.formats.renderings import SUMMARY_HEADER, render_openai_chat
from foldline.history.messages import SUMMARY_KEY, Message
from foldline.history.parts import (
    TextPart,
    ToolCallPart,
)
from foldline.testing.grammars import check_openai_chat
from tests.history.formats.wire_values import SOME_TEXT, read_with_originals


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


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


def test_a_summary_is_labelled() -> None:
    """A summary is an assistant message under a fixed header."""
    summary = Message(
        role="assistant", parts=(TextPart("they \ud800met \n"),), metadata={SUMMARY_KEY: True}
    )

    assert render_openai_chat([summary]) == [
        {"role": "assistant", "content": f"{SUMMARY_HEADER}\n\nthey \ufffdmet"}
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
