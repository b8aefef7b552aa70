"""Lists that are edited in every call: a mark that moves along, a prompt that tells the time."""

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from foldline.agent.blocks import goes_on, leading, seen_once
from foldline.agent.known import KnownLists
from foldline.agent.reducer import HistoryReducer
from foldline.agent.wire import read_items
from foldline.errors import FormatError
from foldline.history.messages import NativeFormat
from tests.agent.alike import check_alike
from tests.agent.test_known import (
    KINDS,
    RULES,
    Counting,
    Item,
    Words,
    anthropic,
    facts,
    outcome,
    read,
    reducer,
    text,
    tools,
)


MARK = {"type": "ephemeral"}


def marked(items: list[Item]) -> list[Item]:
    """Put a mark on the last block of *items*, and take it from the others, in place."""
    for item in items[-8:]:
        if isinstance(item["content"], str) and item["role"] == "user":
            item["content"] = [{"type": "text", "text": item["content"]}]
        if isinstance(item["content"], list):
            item["content"][-1].pop("cache_control", None)
    last = next(item for item in reversed(items) if isinstance(item["content"], list))
    last["content"][-1]["cache_control"] = MARK
    return items


def at_noon(turn: int) -> Item:
    """Make a system message that says what time it is in this turn."""
    return {"role": "system", "content": f"Be brief. It is 12:{turn:02d}."}


def edited(items: list[Item], rng: random.Random, turn: int) -> None:
    """Edit *items* as applications do between two calls, and let them go on."""
    if rng.random() < 0.7:
        marked(items)
    if items[0]["role"] == "system" and rng.random() < 0.7:
        said = rng.choice([f"It is 12:{turn:02d}.", "", " ", "\ud800", "größer", Words("so"), None])
        items[0] = {"role": rng.choice(["system", "system", "developer"]), "content": said}
        if rng.random() < 0.2:
            items[0]["name"] = "Ann"
    if rng.random() < 0.3:
        old = items[max(1, len(items) - 40)]
        old["content"] = "cleared" if isinstance(old["content"], str) else old["content"]
    if rng.random() < 0.2:
        del items[-rng.randrange(1, 12) :]
    if rng.random() < 0.2:
        answer: Item = {"role": "assistant", "content": f"So it is {rng.random()}."}
        items += [answer] * rng.choice([1, 2])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(8))
def test_edits_in_every_call_read_as_if_nothing_were_known(
    kind: Callable[..., list[Item]], seed: int
) -> None:
    """Digests, counts and errors are those of a fresh reading, of several conversations in turn."""
    rng, known = random.Random(seed), KnownLists()
    front = [at_noon(0)] if seed % 2 else []
    wholes = [[*copy.deepcopy(front), *kind(220, name)] for name in ("a", "b")]
    sizes = [rng.choice([30, 90, 126, 140]) for _ in wholes]
    lists = [whole[:size] for whole, size in zip(wholes, sizes, strict=True)]
    for turn in range(16):
        at = rng.randrange(2)
        items = lists[at]
        items += wholes[at][sizes[at] : sizes[at] + 4]
        sizes[at] += 4
        edited(items, rng, turn)

        assert repr(outcome(items, known)) == repr(outcome(items, KnownLists(0)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_rules", [False, True])
@pytest.mark.parametrize("format", [None, NativeFormat.ANTHROPIC, NativeFormat.OPENAI_CHAT])
def test_views_of_edited_lists_are_the_same_bytes(
    kind: Callable[..., list[Item]], format: NativeFormat | None, *, has_rules: bool
) -> None:
    """They are those of a reducer without memory, in the caller's own objects of now."""
    remembers, forgets = reducer(), reducer(known_bytes=0)
    whole, items, state = kind(200), list[Item](), None
    for turn, stop in enumerate(range(40, 200, 4)):
        items += whole[len(items) - (has_rules and turn > 0) : stop]
        if has_rules:
            items[: int(turn > 0)] = [at_noon(turn // 2)]
        marked(items)
        try:
            theirs = forgets.reduce_sync(items, state=state, format=format)
        except FormatError:
            return
        ours = remembers.reduce_sync(items, state=state, format=format)
        state = theirs.state

        check_alike(ours.messages, theirs.messages, items)


@pytest.mark.parametrize("kind", [tools, anthropic])
@pytest.mark.parametrize("start", [60, 400])
def test_a_mark_that_moves_along_costs_the_last_items(
    kind: Callable[..., list[Item]], start: int
) -> None:
    """Of a list whose newest items are edited in each call, the newest alone are read."""
    whole, counter, known = kind(start + 80), Counting(), KnownLists()
    items = whole[:start]
    for stop in range(start, start + 80, 4):
        items += whole[len(items) : stop]
        read_items(marked(items), None, counter, known)
        if stop == start + 4:
            counter.texts = 0

    assert counter.texts < 18 * 120
    assert len(known) == 2


def test_older_versions_of_a_list_are_not_kept() -> None:
    """After many calls a list with a moving mark takes what it takes without one."""
    plain, known, items = KnownLists(), KnownLists(), anthropic(400)
    for stop in range(360, 400, 4):
        read(items[:stop], plain)
        read(marked(items[:stop]), known)

    assert known.weight < 1.1 * plain.weight


def test_two_edits_that_are_far_from_the_end_are_followed() -> None:
    """Results that an application clears at a distance are read again with what is behind them."""
    known, items, counter = KnownLists(), tools(600), Counting()
    for stop in range(400, 600, 4):
        items[stop - 62]["content"] = "cleared"
        read_items(items[:stop], None, counter, known)
        if stop == 404:
            counter.texts = 0

    assert counter.texts < 48 * 300
    assert len(known) == 2


def test_a_branch_of_a_list_is_another_conversation() -> None:
    """One with the same beginning that has gone on otherwise for long does not take its place."""
    known, front = KnownLists(), text(60)
    first, second = [*front, *text(40, "one")], [*front, *text(40, "two")]
    read(first, known)
    read(second, known)

    assert known.find(first, None) is not None
    assert known.find(second, None) is not None
    assert len(known) == 2


def test_a_prompt_that_tells_the_time_is_read_alone() -> None:
    """A list with another text in front is the one that was known, and its view has that text."""
    one, items, counter = reducer(), text(80), Counting()
    known = KnownLists()
    state = one.reduce_sync([at_noon(0), *items]).state
    for turn in range(1, 9):
        rules = at_noon(turn)
        items += text(2, f"turn {turn}")
        shown = one.reduce_sync([rules, *items], state=state).messages
        before = counter.texts
        made = read_items([rules, *items], None, counter, known)

        assert shown[0] is rules
        assert turn == 1 or counter.texts - before < 20
        assert made.history.system[0].text == rules["content"]
    assert len(one._known) == 2  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("content", ["", " ", "\ud800", Words("Be brief."), None])
@pytest.mark.parametrize("role", ["system", "developer"])
def test_an_unusual_message_in_front_is_compared_as_it_is(content: Any, role: str) -> None:
    """It is never taken for one of the same shape that has another text."""
    known, items = KnownLists(), text(20)
    read([RULES, *items], known)
    for rules in ({"role": role, "content": content}, {"content": "Be brief.", "role": role}):
        assert repr(outcome([rules, *items], known)) == repr(
            outcome([rules, *items], KnownLists(0))
        )
        assert facts(read([RULES, *items], known)) == facts(read([RULES, *items], KnownLists(0)))


def test_a_shown_prompt_of_a_known_view_is_the_one_of_now() -> None:
    """A view that is written again, of the very same list but its prompt, has that prompt."""
    whole = HistoryReducer()
    items = text(40)
    for turn in range(4):
        rules = at_noon(turn)

        assert whole.reduce_sync([rules, *items]).messages == [rules, *items]


class Said(str):
    """A text that knows how often it was compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Said.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def compared(conversations: int) -> int:
    """Return how many texts are compared to find one of *conversations* with the same beginning."""
    known, front = KnownLists(), text(9)
    for at in range(conversations):
        items = [*front, *text(16, f"conversation {at}")]
        for _ in range(2):
            read(items, known)
    items = [*front, *text(18, "conversation 1")]
    asked = [{**item, "content": Said(item["content"])} for item in items]
    Said.compared = 0
    found = known.find(asked, None)

    assert found is not None
    assert found.size == 25
    return Said.compared


def test_many_conversations_with_the_same_beginning_are_not_tried() -> None:
    """One of them is found in the same time, however many there are."""
    assert 0 < compared(300) == compared(30)


def test_a_list_of_objects_has_no_items_to_compare_with() -> None:
    """Nothing is said of how far blocks of mere bytes go on, but that they do not."""
    assert leading([b"\x90"], text(4), 0) == 0
    assert not goes_on([b"\x90"], text(4), 4)


def test_what_was_seen_once_is_compared_by_its_items() -> None:
    """How far a list goes on is known before there are copies of it."""
    items = text(200)
    once = seen_once(items)
    assert once is not None
    blocks, _ = once
    other = copy.deepcopy(items)
    other[150]["content"] = "edited"

    assert leading(blocks, other, 0) == 150
    assert leading(blocks, other, 140) == 150
    assert leading(blocks, items[:100], 0) == 100
    assert leading(blocks, items, 0) == 200
    assert goes_on(blocks, other, 200)
    assert not goes_on(blocks, other[:150], 200)
