"""Signatures of calls: equal for equal arguments, and for nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.agent.tools.running import call_signature


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(st.dictionaries(st.text(max_size=9), JSON))
def test_order_and_spaces_do_not_count(arguments: dict[str, object]) -> None:
    """Keys in another order and another way of writing are the same arguments."""
    backward = dict(reversed(arguments.items()))

    assert call_signature(json.dumps(arguments)) == call_signature(
        json.dumps(backward, indent=2, ensure_ascii=False)
    )


@pytest.mark.parametrize(
    ("one", "other"), [("", "{}"), (" ", "{ }"), ('{"a":"\\u0041"}', '{"a":"A"}')]
)
def test_what_is_read_the_same_is_the_same(one: str, other: str) -> None:
    """No text counts as an empty object, and an escape as its character."""
    assert call_signature(one) == call_signature(other)


OTHERS = [
    "{}",
    "[]",
    '{"a":1}',
    '{"a":"1"}',
    '{"a":[1,2]}',
    '{"a":[2,1]}',
    '{"a":{"b":1}}',
    "not json",
    "not json ",
    '"not json"',
    '{"a":"\\ud800"}',
    '{"a":"\\\\ud800"}',
    "\ud800",
    "[" * 100_000,
    "9" * 5_000,
]


def test_other_arguments_have_another_signature() -> None:
    """Whatever is not the same differs, whether it is JSON or not."""
    assert len({call_signature(text) for text in OTHERS}) == len(OTHERS)
