"""Items of the usual shapes, which are read without a comparison."""

from itertools import chain
from typing import Any

import pytest
from msgspec.structs import replace

from foldline.errors import FormatError
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.converter import Converter
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)


TEXTS = ("said", "", "caf\xe9", "half \ud83d", "\ud83d\ude00", None, 7, {"a": 1}, ["a"])
PLAIN = [
    *(
        {"role": role, "content": said}
        for role in ("user", "assistant", "tool")
        for said in TEXTS[:3]
    ),
    {"role": "user", "content": None},
    {"content": "said", "role": "user"},
    {"content": "said", "role": "assistant"},
]
BLOCKS = [
    {"type": "text", "text": "one"},
    {"type": "text", "text": "null \x7f"},
    {"type": "text", "text": "null caf\xe9"},
    {"text": "one", "type": "text"},
    {"type": "text", "text": "half \ud83d"},
    {"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}},
    {"type": "thinking", "thinking": "so", "signature": "s"},
]


def _call(**changes: Any) -> dict[str, Any]:
    function = {"name": "read", "arguments": '{"a": 1}'}
    return {"id": "c1", "type": "function", "function": function} | changes


def _use(**changes: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c1", "name": "read", "input": {"a": [1, 2.5]}} | changes


CHAT = [
    *({"role": "tool", "tool_call_id": "c1", "content": one} for one in TEXTS if one != 7),
    {"role": "user", "tool_call_id": "c1", "content": "a"},
    {"content": "a", "role": "tool", "tool_call_id": "c1"},
    *(
        {"role": role, "content": said, "tool_calls": calls}
        for role in ("assistant", "user")
        for said in (None, "said", "", "half \ud83d")
        for calls in (
            [],
            [_call()],
            [_call(), _call(id="c2")],
            [_call(), _call(type="custom", custom={"name": "a", "input": "b"})],
            [_call(index=0)],
            [_call(id=None)],
            [_call(function={"arguments": "{}", "name": "a"})],
        )
    ),
]
RESPONSES = [
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"},
    {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "\ud83d"},
    {"type": "function_call", "name": "read", "call_id": "c1", "arguments": "{}"},
    *({"type": "function_call_output", "call_id": "c1", "output": one} for one in TEXTS[:5]),
    {"type": "function_call_output", "output": "a", "call_id": "c1"},
    *(
        {"type": "message", "role": role, "content": content, **more}
        for role in ("assistant", "user")
        for content in (
            "said",
            [{"type": "output_text", "text": "a", "annotations": []}],
            [{"type": "output_text", "text": "a", "annotations": float("nan")}],
            [{"type": "refusal", "refusal": "a"}],
            [{"type": "output_text", "text": "a"}] * 2,
        )
        for more in ({}, {"id": "m1"}, {"id": 7})
    ),
]
CLAUDE = [
    *({"role": role, "content": [one]} for role in ("user", "assistant") for one in BLOCKS),
    {"role": "system", "content": [BLOCKS[0]]},
    {"role": "user", "content": []},
    {"role": "user", "content": BLOCKS[:2]},
    {"role": "user", "content": BLOCKS[2:4]},
    {"content": [BLOCKS[0]], "role": "user"},
    *(
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": one}]}
        for one in ("said", "half \ud83d", [], [BLOCKS[0]], BLOCKS[:2], [BLOCKS[0]] * 2)
    ),
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "half \ud83d", "content": "said"}],
    },
    {"role": "user", "content": [{"type": "other", "tool_use_id": "c1", "content": "said"}]},
    *(
        {"role": "assistant", "content": [*front, one]}
        for front in ([], [BLOCKS[0]], [BLOCKS[-1]])
        for one in (
            _use(),
            _use(id="half \ud83d"),
            _use(input={"a": float("nan")}),
            _use(input={"a": (1, 2)}),
            _use(cache_control={"type": "ephemeral"}),
        )
    ),
]


PARTS = [
    TextPart("said"),
    ToolCallPart("c1", "read", "{}"),
    ToolCallResponsePart("c1", "found"),
    ToolCallResponsePart("c1", (TextPart("found"), BlobPart("image", "image/png", "aa"))),
    BlobPart("image", "image/png", "aa"),
    BlobPart("audio", "audio/wav", "aa"),
    BlobPart("document", "application/pdf", "aa"),
    UriPart("image", "https://a.example/b.png"),
    FilePart("document", "f1"),
    CompactionPart("before"),
    GenericPart("other", '{"type":"other"}'),
]


def _read(converter: Converter, items: list[dict[str, Any]]) -> object:
    try:
        return converter.read(items)
    except FormatError as error:
        return str(error)


@pytest.mark.parametrize(
    ("converter", "item"),
    [
        (converter, item)
        for converter, items in (
            (OPENAI_CHAT, PLAIN + CHAT),
            (OPENAI_RESPONSES, PLAIN + RESPONSES),
            (ANTHROPIC, PLAIN + CLAUDE),
        )
        for item in items
    ],
)
def test_an_item_is_read_as_with_a_comparison(converter: Converter, item: dict[str, Any]) -> None:
    """What is read without a comparison is what the comparison finds, also beside its neighbors."""
    compared = replace(converter, usual=lambda _: None)
    for items in ([item], [item, item], [{"role": "assistant", "content": "so"}, item]):
        assert _read(converter, items) == _read(compared, items)


@pytest.mark.parametrize("converter", [OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC])
@pytest.mark.parametrize("part", PARTS)
def test_what_is_built_is_read_without_a_copy(converter: Converter, part: Part) -> None:
    """An item is kept beside its message only if that would be written otherwise."""
    roles: tuple[Role, ...] = ("user", "assistant", "tool")
    messages = [
        Message(role=role, parts=parts) for role in roles for parts in ((part,), (part,) * 2)
    ]
    for item in chain.from_iterable(map(converter.build, messages)):
        read = converter.message(item)
        assert (read.native is None) == (converter.build(read) == [item])


@pytest.mark.parametrize(
    ("converter", "item"),
    [
        (ANTHROPIC, {"role": "user", "content": [{"type": "text", "text": "a", "b": b"bytes"}]}),
        (ANTHROPIC, {"role": "assistant", "content": [_use(input={"a": object()})]}),
        (
            OPENAI_RESPONSES,
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "a", "b": object()}],
            },
        ),
    ],
)
def test_what_is_no_json_is_not_usual(converter: Converter, item: dict[str, Any]) -> None:
    """An item that holds an object is left to the reader that names its place."""
    assert converter.usual(item) is None
