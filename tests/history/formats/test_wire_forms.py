"""What holds of every wire format, both ways."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import FormatError
from foldline.history.codec import canonical_json, encode_json
from foldline.history.formats.anthropic import ANTHROPIC
from foldline.history.formats.converter import Converter
from foldline.history.formats.openai_chat import OPENAI_CHAT
from foldline.history.formats.openai_responses import OPENAI_RESPONSES
from foldline.history.formats.otel import OTEL
from foldline.history.formats.renderings import (
    OPENING_NOTE,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message
from foldline.history.parts import GenericPart, Part
from tests.history.formats import test_anthropic as anthropic
from tests.history.formats import test_openai_chat as chat
from tests.history.formats import test_openai_responses as responses
from tests.history.formats import test_otel as otel
from tests.history.formats.wire_values import SOME_TEXT, VALUES


SAMPLES: list[tuple[Converter, Any]] = [
    (OPENAI_CHAT, chat),
    (OPENAI_RESPONSES, responses),
    (ANTHROPIC, anthropic),
    (OTEL, otel),
]


def each(name: str) -> list[Any]:
    """Give the samples *name* of every format, each after its converter."""
    return [
        pytest.param(converter, *(sample if isinstance(sample, tuple) else (sample,)))
        for converter, samples in SAMPLES
        for sample in getattr(samples, name)
    ]


def varied(draw: Callable[[Any], Any], value: Any, key: str = "") -> Any:
    """Return *value* with other texts in it, unknown keys, and its keys in any order."""
    if isinstance(value, list):
        return [varied(draw, one) for one in value]
    if isinstance(value, dict):
        if key in {"input", "arguments"}:
            return draw(st.dictionaries(SOME_TEXT, VALUES, max_size=2))
        extra = draw(st.dictionaries(st.sampled_from(["zz", "cache_control"]), VALUES, max_size=1))
        fields = {name: varied(draw, one, name) for name, one in value.items()} | extra
        return {name: fields[name] for name in draw(st.permutations(list(fields)))}
    is_free = isinstance(value, str) and key not in {"type", "role"}
    return draw(st.just(value) | SOME_TEXT) if is_free else value


@pytest.mark.parametrize(
    ("converter", "samples"), SAMPLES, ids=lambda one: getattr(one, "format", "")
)
@given(data=st.data())
def test_round_trip_is_byte_equal(converter: Converter, samples: Any, data: st.DataObject) -> None:
    """Whatever comes in goes out as the same bytes, in canonical form and with keys in order."""
    known = [*samples.ORDINARY, *(item for item, *_ in samples.READ)]
    drawn = varied(data.draw, data.draw(st.lists(st.sampled_from(known), max_size=3)))
    result = converter.items(converter.messages(drawn))

    assert encode_json(result) == encode_json(drawn)
    assert canonical_json(result) == canonical_json(drawn)


@pytest.mark.parametrize(("converter", "item"), each("ORDINARY"))
def test_ordinary_items_are_kept_once(converter: Converter, item: dict[str, Any]) -> None:
    """An ordinary item is written again from its parts, so no second copy of it is kept."""
    message = converter.message(item)

    assert message.native is None
    assert converter.own_items(message) == [item]


@pytest.mark.parametrize(("converter", "item", "role", "parts"), each("READ"))
def test_items_are_read(
    converter: Converter, item: dict[str, Any], role: str, parts: tuple[Part, ...]
) -> None:
    """Each kind of item has its role, parts and id, and comes out as it was."""
    message = converter.message(item)

    assert (message.role, message.parts) == (role, parts)
    assert message.id == item.get("id")
    assert converter.items([message]) == [item]


@pytest.mark.parametrize(("converter", "item", "error"), each("WRONG"))
def test_wrong_shapes_are_named(converter: Converter, item: Any, error: str) -> None:
    """An item of the wrong shape is refused with its place and the field."""
    fine = {"role": "user", "parts": []} if converter is OTEL else {"role": "user", "content": "x"}

    with pytest.raises(FormatError, match=error):
        converter.messages([fine, item])


@pytest.mark.parametrize("render", [render_openai_chat, render_openai_responses])
def test_nothing_to_send_is_still_a_request(render: Callable[[list[Message]], Any]) -> None:
    """An empty view is a note, an empty user message stays, such an assistant message goes."""
    unknown = (GenericPart("new", "{}"),)
    view = [Message(role="user", parts=unknown), Message(role="assistant", parts=unknown)]

    assert render(view) == [{"role": "user", "content": ""}]
    assert render([]) == [{"role": "user", "content": OPENING_NOTE}]


def test_a_wrong_value_in_a_joined_answer_is_named() -> None:
    """A value that JSON cannot hold is refused with the place of its own item of an answer."""
    first = {"role": "assistant", "content": "a"}
    second = {"role": "assistant", "content": "b", "weight": object()}

    with pytest.raises(FormatError, match="message 2: not a JSON value"):
        OPENAI_CHAT.messages([{"role": "user", "content": "x"}, first, second])
