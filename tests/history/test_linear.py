"""Time that grows no faster than what is read: readers, digests, repair and renderings."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import pytest

from foldline.history.codec import decode_history, encode_history, without_values
from foldline.history.digest import message_digest
from foldline.history.formats import CONVERTERS
from foldline.history.formats.detect import detect_items
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import Part, TextPart, ToolCallPart, ToolCallResponsePart
from foldline.history.repair import repair
from tests.linearity import is_linear


RENDERERS: list[Callable[[Any], object]] = [
    render_openai_chat,
    render_openai_responses,
    render_anthropic,
]
SHAPES: dict[str, tuple[Message, ...]] = {
    "user": (Message.user("a"),),
    "assistant": (Message.assistant("a"),),
    "calls": (Message.assistant(tool_calls=[ToolCallPart("c", "f", "{}")]),),
    "results": (Message.tool("c", "r"),),
    "pairs": (Message.assistant(tool_calls=[ToolCallPart("c", "f", "{}")]), Message.tool("c", "r")),
    "system": (Message.system("a"),),
}


@pytest.mark.parametrize("unit", [" '", "' - at ", " \"' - at ", '" - at '])
def test_values_are_cut_out_in_linear_time(unit: str) -> None:
    """However many quotes and paths a value holds."""
    assert is_linear(lambda text: without_values(ValueError(f"Invalid value '{text}")), "", unit)


@pytest.mark.parametrize("unit", ["[", '{"a":', "1", "1.", "1e", '"a":1,', " ", "\\", "é"])
def test_a_digest_is_linear(unit: str) -> None:
    """Whatever arguments a model writes."""
    said = partial(ToolCallPart, "c", "f")

    for beginning in ("", "[", "[1.", "[1e-", '{"a":1,'):
        assert is_linear(
            lambda text: message_digest(Message(role="assistant", parts=(said(text),))),
            beginning,
            unit,
        )


def _repeated(shape: tuple[Message, ...], text: str) -> list[Message]:
    return list(chain.from_iterable(shape for _ in range(len(text) // 4)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("converter", CONVERTERS.values(), ids=lambda one: one.format.value)
def test_converters_are_linear(converter: Any, shape: str) -> None:
    """Long runs of one kind are read and written in time that grows with their number."""

    def both_ways(text: str) -> None:
        converter.items(converter.messages(converter.items(_repeated(SHAPES[shape], text))))

    assert is_linear(both_ways, "", "a")


def test_an_item_of_many_pieces_is_linear() -> None:
    """One item with many results is taken apart and put together."""
    anthropic = next(one for one in CONVERTERS.values() if one.result_type == "tool_result")

    def both_ways(text: str) -> None:
        result = {"type": "tool_result", "tool_use_id": "c", "content": "r"}
        item = {"role": "user", "content": [result] * (len(text) // 4)}
        anthropic.items(anthropic.messages([item]))

    assert is_linear(both_ways, "", "a")


@pytest.mark.parametrize("shape", SHAPES)
def test_views_are_linear(shape: str) -> None:
    """Counting, repair and every rendering of a long view, however it is damaged."""

    def view(text: str) -> None:
        sound = repair(History(_repeated(SHAPES[shape], text)).everything())
        for render in RENDERERS:
            render(sound)

    assert is_linear(view, "", "a")


@pytest.mark.parametrize(
    "part", [TextPart("a"), ToolCallPart("c", "f", "{}"), ToolCallResponsePart("c", "r")]
)
def test_a_message_of_many_parts_is_linear(part: Part) -> None:
    """One message may hold as much as many."""

    def whole(text: str) -> None:
        parts = (part,) * (len(text) // 4)
        message = Message(role="assistant", parts=parts)
        (again,) = decode_history(encode_history([message]))
        repair([again])
        History([again])

    assert is_linear(whole, "", "a")


def test_the_format_of_items_is_found_in_linear_time() -> None:
    """Items without a sign of a vendor are all looked at."""
    item = {"role": "user", "content": [{"type": "text", "text": "a"}]}

    assert is_linear(lambda text: detect_items([item] * len(text)), "", "a")
