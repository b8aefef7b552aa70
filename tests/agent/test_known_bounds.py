"""How much of plain lists is remembered, and what goes first."""

import gc
import json
import tracemalloc
import weakref
from collections.abc import Callable

import pytest

from foldline.agent.known import KnownLists
from tests.agent.test_known import KINDS, RULES, Item, facts, read, reducer, text


def test_a_list_may_be_taken_back_and_go_on_otherwise() -> None:
    """The list that the newest has grown from is known too, so another answer is read alone."""
    known, items = KnownLists(), text(30)
    read(items, known)
    for word in ("one", "two", "three"):
        branch = [*items, *text(2, word)]
        found = known.find(branch, None)

        assert found is not None
        assert found.size == 30
        assert facts(read(branch, known)) == facts(read(branch, KnownLists(0)))
        assert len(known) == 2


def test_a_list_that_goes_on_is_held_twice_at_most() -> None:
    """Of a conversation that grows for long, the last two lists are kept."""
    known, items = KnownLists(), text(10)
    for at in range(50):
        read(items, known)
        items.append({"role": "user", "content": f"more {at}"})

    assert len(known) == 2


def test_conversations_alternate() -> None:
    """Several conversations, also with the same beginning and length, are each known."""
    known = KnownLists()
    lists = [[text(1)[0], RULES, *kind(20, name)] for kind in KINDS for name in ("a", "b", "c")]
    for _ in range(3):
        for items in lists:
            read(items, known)
            items.append({"role": "user", "content": "and now?"})
    for items in lists:
        found = known.find(items, None)
        assert found is not None
        assert found.size == len(items) - 1


def test_conversations_that_have_gone_on_apart_are_each_found() -> None:
    """Each is found by what it has grown to, and not by the beginning that all of them have."""
    known, front = KnownLists(), text(30)
    lists = [[*front, *text(40, name)] for name in "abc"]
    for items in lists:
        for stop in range(30, 70, 3):
            read(items[:stop], known)
    found = [known.find(items, None) for items in lists]

    assert [one and one.size for one in found] == [69, 69, 69]
    assert len(known) == 6


def test_the_least_recently_used_lists_go_first() -> None:
    """What is remembered stays below its bound, and what was used last stays."""
    one = KnownLists()
    read(text(100), one)
    known = KnownLists(int(one.weight * 3.5))
    first, *others = [text(100, name) for name in "abcdef"]
    for items in others:
        read(first, known)
        read(items, known)

        assert known.weight <= one.weight * 3.5
    assert known.find(first, None) is not None
    assert [known.find(items, None) is not None for items in others] == [False] * 3 + [True] * 2


def test_lists_that_grew_go_together() -> None:
    """The list that another has grown from does not stay when that one is dropped."""
    one = KnownLists()
    read(text(100), one)
    known = KnownLists(one.weight * 3 // 2)
    read(text(100, "a"), known)
    read([*text(100, "a"), {"role": "user", "content": "more"}], known)
    shorter = known.find(text(100, "a"), None)
    read(text(100, "b"), known)

    assert shorter is not None
    assert known.find(text(100, "a"), None) is None
    assert len(known) == 1


def test_a_list_over_the_bound_is_not_kept() -> None:
    """One list alone over the bound leaves nothing behind."""
    known = KnownLists(40_000)
    read(text(100, "so many words " * 50), known)

    assert (len(known), known.weight) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mark", ["", "\xe9", "\u201c", "\U0001f600"])
@pytest.mark.parametrize("is_again", [False, True])
def test_the_weight_is_about_the_memory(
    kind: Callable[..., list[Item]], mark: str, *, is_again: bool
) -> None:
    """What the lists take is not over what is said of it, also if the caller's own texts go."""
    items = kind(2_000, mark + "some words of a usual length that were said here " * 6)
    known = KnownLists()
    gc.collect()
    tracemalloc.start()
    copied = json.loads(json.dumps(items))
    read(copied, known)
    if is_again:
        read([*copied, RULES], known)
    del copied
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 0.4 * known.weight < taken <= known.weight


def test_a_list_that_is_given_again_counts_with_its_copies() -> None:
    """They take more than the bytes of before, so that another list may have to go."""
    known = KnownLists()
    first, second = text(100), text(100, "that")
    read(first, known)
    read(second, known)
    bounded = KnownLists(known.weight)
    read(first, bounded)
    read(second, bounded)
    before = len(bounded)
    bounded.find(second, None)

    assert (before, len(bounded)) == (2, 1)
    assert bounded.find(second, None) is not None


def test_what_is_remembered_goes_with_the_reducer() -> None:
    """Nothing else refers to the messages that were read."""
    one, items = reducer(), text(12)
    one.reduce_sync(items)
    known = weakref.ref(one._known)  # pyright: ignore[reportPrivateUsage]
    del one
    gc.collect()

    assert known() is None
