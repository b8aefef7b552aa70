"""Values that items of every wire format may hold, and how a caller's items are read."""

import json
from typing import Any

from hypothesis import strategies as st

from foldline.history.formats.converter import Converter
from foldline.history.formats.renderings import Original
from foldline.history.messages import Message


# JSON cannot carry two halves of one character apart, so neither can any item.
TEXTS = st.text(max_size=8).map(lambda text: json.loads(json.dumps(text)))
ODD = ["", "\x00", "\ud800", " ", "x ", "a\udfffb", "é", "\u2028", "null", "[1]", '{"a":1}']
SOME_TEXT = st.one_of(TEXTS, st.sampled_from(ODD))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), SOME_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(SOME_TEXT, inner, max_size=2)
    ),
    max_leaves=4,
)


def read_with_originals(
    converter: Converter, items: list[dict[str, Any]]
) -> tuple[list[Message], Original]:
    """Return what *items* say, and what gives a rendering the items of a message."""
    messages, places = converter.read(items)
    originals: dict[int, list[dict[str, Any]]] = {}
    for message, at, end in zip(messages, places, [*places[1:], len(items)], strict=True):
        pieces = converter.split(items[at]) if places.count(at) > 1 else []
        piece = sum(places[index] == at for index in range(len(originals)))
        originals[id(message)] = [pieces[piece]] if pieces else items[at:end]
    return messages, lambda message: originals[id(message)]
