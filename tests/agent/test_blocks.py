"""Blocks of the items of a list: bytes at first, copies once the list is given again."""

import copy
from collections import OrderedDict
from typing import Any

import pytest

from foldline.agent.blocks import Copies, seen_again, seen_once
from foldline.agent.known import KnownLists
from tests.agent.test_known import read, text, tools


def test_a_list_that_is_given_again_is_held_as_copies() -> None:
    """Of a list that was given once there are bytes, which cost less to make and more to compare."""
    known, items = KnownLists(), tools(300)
    read(items, known)
    held = known.find(items, None)

    assert held is not None
    assert all(isinstance(block, Copies) for block in held.blocks)
    assert known.find(items, None) is held
    assert len(known) == 1


def test_numbers_that_come_later_are_compared_with_their_types() -> None:
    """A list that grows is known with each number of it, whether it came early or late."""
    known, items = KnownLists(), tools(60)
    for stop in range(20, 61, 4):
        read(items[:stop], known)
    whole = known.find(items, None)
    assert whole is not None
    assert whole.size == 60

    for item in items[::4]:
        item["content"][0]["weight"] = True
        assert known.find(items, None) is not whole
        item["content"][0]["weight"] = 1
    assert known.find(items, None) is whole


@pytest.mark.parametrize("value", [float("nan"), ("a", 1), {1: "a"}, OrderedDict(a="b")])
def test_what_cannot_be_copied_is_known_all_the_same(value: Any) -> None:
    """It is given as often as anybody likes, and an edit of it is noticed."""
    known, items = KnownLists(), text(12)
    items[4]["extra"] = value
    read(items, known)

    assert all(known.find(items, None) is not None for _ in range(3))
    items[4]["extra"] = "gone"
    assert known.find(items, None) is None


def test_what_is_edited_while_it_is_copied_stays_as_it_was_given() -> None:
    """Copies of something else are not taken for the items that were read."""
    items = text(200)
    once = seen_once(items)
    assert once is not None
    blocks, _ = once
    items[150]["content"] = "edited meanwhile"
    found = seen_again(blocks, items)

    assert isinstance(found[0], Copies)
    assert found[1] is blocks[1]


def test_a_nan_and_a_negative_zero_are_compared() -> None:
    """Keys in another order are an edit, though the dictionaries are equal; the same NaN is none."""
    known, items = KnownLists(), text(12)
    items[4]["extra"] = {"a": float("nan"), "b": -0.0}
    read(items, known)
    copied = copy.deepcopy(items)
    copied[4]["extra"] = {"a": float("nan"), "b": -0.0}

    assert known.find(copied, None) is not None
    copied[4]["extra"] = {"a": float("nan"), "b": 0.0}
    assert known.find(copied, None) is None


def test_the_order_of_keys_is_no_edit() -> None:
    """The same JSON with its keys in another order is the list that was known."""
    known, items = KnownLists(), text(12)
    read(items, known)
    items[4] = dict(reversed(items[4].items()))

    assert known.find(items, None) is not None
