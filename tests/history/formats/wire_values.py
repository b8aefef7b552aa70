"""Values that items of every wire format may hold."""

import json

from hypothesis import strategies as st


# JSON cannot carry two halves of one character apart, so neither can any item.
TEXTS = st.text(max_size=8).map(lambda text: json.loads(json.dumps(text)))
ODD = ["", "\x00", "\ud800", " ", "a\udfffb", "é", "\u2028", "null", "[1]", '{"a":1}']
SOME_TEXT = st.one_of(TEXTS, st.sampled_from(ODD))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), SOME_TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(SOME_TEXT, inner, max_size=2)
    ),
    max_leaves=4,
)
