"""Plain lists that are compared with those of earlier calls, not read again."""

import copy
import enum
import json
import random
from collections.abc import Callable
from typing import Any, TypeAlias
from uuid import UUID

import pytest
from anthropic.types import TextBlock

from foldline.agent.known import KNOWN_BYTES, Conversion, KnownLists
from foldline.agent.reducer import HistoryReducer
from foldline.agent.wire import Items, read_items
from foldline.errors import ConfigError, FormatError
from foldline.history.messages import Message, NativeFormat
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.testing.summarizer import ScriptedSummarizer


Item: TypeAlias = dict[str, Any]

CONFIG = HistoryReductionConfig(
    counting_unit="messages", target_count=10, summarization_threshold=10
)
RULES: Item = {"role": "system", "content": "Be brief."}


class Words(str):
    """A str of another type."""

    __slots__ = ()


class Counting:
    """A counter that knows how many texts it was asked for."""

    def __init__(self) -> None:
        self.texts = 0

    def count(self, text: str) -> int:
        """Count the words of *text*."""
        self.texts += 1
        return len(text.split()) + 1


def text(count: int, name: str = "it") -> list[Item]:
    """Make a conversation about *name* in plain text."""
    return [
        {"role": "assistant" if at % 2 else "user", "content": f"{at} was said of {name} in 1900"}
        for at in range(count)
    ]


def tools(count: int, name: str = "it") -> list[Item]:
    """Make a conversation of OpenAI Chat with calls, whose arguments and fields are nested."""
    items: list[Item] = []
    for at in range(count):
        function = {"name": "find", "arguments": json.dumps({"n": at, "of": name})}
        call = {"id": f"c{at}", "type": "function", "function": function, "index": 1}
        content = [{"type": "text", "text": f"find {at}", "weight": 1, "share": 0.0}]
        items += [
            {"role": "user", "content": content},
            {"role": "assistant", "content": None, "tool_calls": [call], "more": [1, {"a": True}]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": f"{name} {at}"},
            {"role": "assistant", "content": f"That is {at}."},
        ]
    return items[:count]


def anthropic(count: int, name: str = "it") -> list[Item]:
    """Make a conversation of Anthropic with two results and words in one item."""
    items: list[Item] = []
    for at in range(count):
        uses = [
            {"type": "tool_use", "id": f"t{at}{n}", "name": "find", "input": {"n": n, "x": [1]}}
            for n in range(2)
        ]
        results = [
            {"type": "tool_result", "tool_use_id": f"t{at}{n}", "content": f"{name} {at}"}
            for n in range(2)
        ]
        items += [
            {"role": "user", "content": f"find {at}"},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *uses]},
            {"role": "user", "content": [*results, {"type": "text", "text": "So?"}]},
            {"role": "assistant", "content": f"That is {at}."},
        ]
    return items[:count]


KINDS: list[Callable[..., list[Item]]] = [text, tools, anthropic]


def reducer(**options: Any) -> HistoryReducer:
    """Make a reducer whose summarizer answers at once."""
    return HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat="It was said."), **options)


def read(items: list[Item], known: KnownLists, format: NativeFormat | None = None) -> Items:
    """Read *items* as a reducer does that has been asked before."""
    return read_items(items, format, None, known)


def made_of(items: Items) -> Conversion:
    """Return what was read of *items*, which were dictionaries."""
    assert items.writing is not None
    return items.writing.made


def facts(items: Items) -> tuple[object, ...]:
    """Return all that a reduction of *items* depends on."""
    history, made = items.history, made_of(items)
    return (
        history.everything(),
        [history.digest(at) for at in range(len(history) + 1)],
        [history.tokens(at) for at in range(len(history))],
        [history.largest(at) for at in range(len(history))],
        [history.reach(at) for at in range(len(history))],
        list(history.whole_indexes(len(history), 0)),
        [history.is_damaged(at) for at in range(len(history))],
        history.exchanges(),
        history.first_open_call(),
        history.has_reasoning(0),
        history.system_tokens,
        history.last_user(),
        made.wire,
        list(made.messages),
        list(made.places),
        items.writing and items.writing.writer,
    )


def leaves(value: Any) -> list[tuple[Any, Any]]:
    """Return the container and the key of each value in *value*, however deep."""
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    inner = [leaf for _, one in pairs if isinstance(one, dict | list) for leaf in leaves(one)]
    return [(value, key) for key, _ in pairs] + inner


def edit(items: list[Item], rng: random.Random) -> None:
    """Change one value of *items* in place, perhaps its type alone, or the keys around it."""
    place = rng.randrange(len(items))
    holder, key = rng.choice(leaves(items[place]))
    value = holder[key]
    if isinstance(value, bool):
        holder[key] = rng.choice([int(value), float(value), not value])
    elif isinstance(value, int):
        holder[key] = rng.choice([bool(value), float(value), value + 1, -value - 1])
    elif isinstance(value, float):
        holder[key] = rng.choice([-value, int(value), bool(value), float("nan")])
    elif isinstance(value, str):
        edited = "".join([*value[:-1], "\ud800"])
        holder[key] = rng.choice([value + ".", edited, Words(value), None, [value]])
    elif rng.random() < 0.5:
        holder[key] = rng.choice([None, "new", 0])
    else:
        del items[place]


def outcome(items: list[Item], known: KnownLists) -> object:
    """Return the facts of *items*, or the error that they are refused with."""
    try:
        return facts(read(items, known))
    except FormatError as error:
        return str(error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(60))
def test_every_edit_of_a_known_list_is_noticed(kind: Callable[..., list[Item]], seed: int) -> None:
    """What was edited in place, also its type alone, reads as if no list had been known."""
    rng, known = random.Random(seed), KnownLists()
    items = kind(150 if seed % 10 == 0 else 20)
    for turn in range(4):
        # What was given twice is held as copies.
        for _ in range(1 + (seed + turn) % 2):
            outcome(items, known)
        edit(items, rng)
        more = rng.choice([[], [{"role": "user", "content": f"more {rng.random()}"}]])
        items += more

        assert repr(outcome(items, known)) == repr(outcome(items, KnownLists(0)))


def test_a_subclass_of_str_is_its_text() -> None:
    """It is read, remembered and shown as the str that it is."""
    known, items = KnownLists(), text(12)
    read(items, known)
    plain = repr(facts(read(items, known)))
    items[5]["content"] = Words(items[5]["content"])

    assert known.find(items, None) is not None
    assert repr(facts(read(items, KnownLists(0)))) == plain


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [True, 1.0, Words("one"), UUID(int=1), "1", None, [1], 2**70, -1])
@pytest.mark.parametrize("is_copied", [True, False])
def test_an_edit_of_type_alone_is_another_list(
    kind: Callable[..., list[Item]], value: Any, *, is_copied: bool
) -> None:
    """A nested 1 that became true, 1.0 or a str is no known list, with copies of it or without yet."""
    known, items = KnownLists(), kind(12)
    inner: Item = {"n": 1}
    items[4]["extra"] = {"deep": [0, inner]}
    read(items, known)
    # The second look makes copies.
    assert not is_copied or known.find(items, None) is not None
    inner["n"] = value

    assert known.find(items, None) is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", [8, 31, 127, 128, 129])
def test_a_list_that_grows_reads_as_if_it_were_new(
    kind: Callable[..., list[Item]], start: int
) -> None:
    """Whatever is appended, by one, two and three items, also the next part of an answer."""
    known, whole = KnownLists(), [RULES, *kind(start + 60)]
    for step, stop in enumerate(range(start, len(whole), 3)):
        items = copy.deepcopy(whole[: stop - step % 2])

        assert facts(read(items, known)) == facts(read(items, KnownLists(0)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_known_is_not_counted_again(kind: Callable[..., list[Item]]) -> None:
    """A call that knows the beginning counts the texts of the new items alone."""
    items, counter = kind(201), Counting()
    one = reducer(counter=counter)
    state = one.reduce_sync(items).state
    before = counter.texts
    one.reduce_sync(items, state=state)
    once = counter.texts - before
    items += kind(205)[201:]
    one.reduce_sync(items, state=state)

    assert before > 150
    assert once <= 5
    assert counter.texts - before - once <= 40


def conversion(items: list[Item]) -> Conversion:
    """Read *items* as if nothing were known."""
    one = made_of(read(items, KnownLists(0)))
    return Conversion(history=one.history, wire=one.wire, witnesses=None, places=one.places)


@pytest.mark.parametrize("start", [0, 12])
def test_what_is_edited_while_it_is_read_is_not_remembered(start: int) -> None:
    """A list that another thread edits meanwhile is read again by the next call."""
    known, items = KnownLists(), text(20)
    before, said = None, items[-1]["content"]
    if start:
        read(items[:start], known)
        before = known.find(items, None)

    def reading(_: object) -> Conversion:
        items[-1]["content"] = "edited meanwhile"
        return conversion(items)

    known.keeping(items, None, reading, grown_from=before)
    for content in (said, "edited meanwhile"):
        items[-1]["content"] = content

        assert known.find(items, None) is before


def test_two_calls_at_once_remember_a_list_once() -> None:
    """Calls that read the same list side by side leave it behind once."""
    known, items = KnownLists(), text(20)

    def reading(_: object) -> Conversion:
        return known.keeping(items, None, lambda _: conversion(items))

    known.keeping(items, None, reading)

    assert len(known) == 1
    assert known.find(items, None) is not None


def test_a_message_among_dictionaries_is_refused_as_before() -> None:
    """A `Message` in place of a known dictionary, or after it, is named with its place."""
    known, items = KnownLists(), text(20)
    read(items, known)
    changed, longer = [list[Any](items), list[Any](items)]
    changed[5] = Message.user("5")
    longer.append(Message.user("so"))

    for mixed, place in ((changed, 5), (longer, 20)):
        with pytest.raises(FormatError, match=rf"messages\[{place}\] must be a dictionary"):
            read(mixed, known)


def test_a_tuple_is_the_list_of_its_items() -> None:
    """A caller may pass a tuple, or a list that was made again."""
    known, items = KnownLists(), tools(20)
    first = read(items, known)
    other = read_items(tuple(copy.deepcopy(items)), None, None, known)

    assert other.history is first.history


@pytest.mark.parametrize("kind", KINDS)
def test_views_are_the_same_bytes_with_and_without_memory(
    kind: Callable[..., list[Item]],
) -> None:
    """A reducer that remembers sends what one without memory sends, in the caller's own objects."""
    remembers, forgets = reducer(), reducer(known_bytes=0)
    whole, state, other = kind(90), None, None
    for stop in range(20, len(whole), 3):
        items = copy.deepcopy(whole[:stop])
        ours, theirs = (
            remembers.reduce_sync(items, state=state),
            forgets.reduce_sync(items, state=other),
        )
        state, other = ours.state, theirs.state

        assert json.dumps(ours.messages) == json.dumps(theirs.messages)
        assert [id(one) in map(id, items) for one in ours.messages] == [
            id(one) in map(id, items) for one in theirs.messages
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_that_was_written_before_is_written_again(
    kind: Callable[..., list[Item]],
) -> None:
    """It is that of the caller's list of now, and what a caller did to the summary stays there."""
    one, items = reducer(), kind(60)
    first = one.reduce_sync(items)
    state, wanted = first.state, json.dumps(first.messages)
    for reduced in (first, one.reduce_sync(items, state=state)):
        for message in reduced.messages:
            if all(message is not own for own in items):
                message["content"] = "changed by the caller"
                message["cache_control"] = {"type": "ephemeral"}
    copied = copy.deepcopy(items)
    again = one.reduce_sync(copied, state=state)
    own = set(map(id, copied))

    assert json.dumps(again.messages) == wanted
    assert sum(id(one) in own for one in again.messages) >= 8
    assert not any(id(one) in map(id, items) for one in again.messages)


def test_another_view_of_the_same_list_is_written_for_itself() -> None:
    """With another reduction, or none, the same list has another view."""
    one, items = reducer(), text(60)
    state = one.reduce_sync(items).state
    reduced = one.reduce_sync(items, state=state)
    whole = HistoryReducer(HistoryReductionConfig(enabled=False))
    skipping = AgentRunConfig(skip_history_reduction=True)
    other = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat="It was told."))
    told = other.reduce_sync(items)

    assert one.reduce_sync(items, state=told.state).messages == told.messages
    assert told.messages != reduced.messages
    assert one.reduce_sync(items, state=state, overrides=skipping).messages == items
    assert one.reduce_sync(items, state=state).messages == reduced.messages
    assert whole.reduce_sync(items).messages == items


def test_a_list_with_what_is_no_json_is_not_remembered() -> None:
    """It is refused, and leaves nothing behind."""
    known, items = KnownLists(), text(12)
    items[5] = {"role": "user", "content": "so", "extra": enum.auto()}
    with pytest.raises(FormatError, match="message 5"):
        read(items, known)
    assert len(known) == 0


@pytest.mark.parametrize("value", ["\ud800", 2**80])
def test_a_list_with_surrogates_and_long_numbers_is_remembered(value: Any) -> None:
    """What msgpack has no form for is compared all the same."""
    known, items = KnownLists(), text(12)
    block = {"type": "x", "value": value}
    items[5] = {"role": "user", "content": [block]}
    read(items, known)

    assert known.find(copy.deepcopy(items), None) is not None
    block["value"] = "\ud801"
    assert known.find(items, None) is None


def test_objects_beside_a_lone_surrogate_are_remembered() -> None:
    """The answers of an SDK and the output of a tool with a broken name are one list of many."""
    known, items = KnownLists(), text(12)
    answer = TextBlock(type="text", text="Listed.")
    items[3] = {"role": "assistant", "content": [answer]}
    items[4] = {"role": "user", "content": "name \udcff"}
    grown: list[Any] = [*items, *text(2)]
    read(items, known)

    found = known.find(grown, None)
    assert found is not None
    assert found.size == 12
    answer.text = "Edited."
    assert known.find(grown, None) is None


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("text", "messages[12] must be a dictionary or an object of an SDK, got str"),
        ({"role": "nobody", "content": ""}, "message 12"),
        ({"parts": [], "role": "user"}, "message 12 is otel"),
        ({"role": "user", "content": enum.auto()}, "message 12"),
    ],
)
def test_an_error_in_what_is_new_names_its_place_in_the_whole(new: Any, words: str) -> None:
    """The same error is raised whether the beginning is known or not."""
    known, items = KnownLists(), text(12)
    read(items, known)
    with pytest.raises(FormatError) as with_memory:
        read([*items, new], known)
    with pytest.raises(FormatError) as without:
        read([*items, new], KnownLists(0))

    assert str(with_memory.value) == str(without.value)
    assert words in str(with_memory.value)


def test_the_format_may_be_known_later() -> None:
    """Plain text that turns out to be OpenAI's is read again; a named format is another list."""
    known, items = KnownLists(), text(13)
    read(items, known)
    tool = {"role": "tool", "tool_call_id": "c", "content": "r"}

    assert facts(read([*items, tool], known)) == facts(read([*items, tool], KnownLists(0)))
    assert known.find(items, NativeFormat.OPENAI_CHAT) is None
    read(items, known, NativeFormat.OPENAI_CHAT)
    longer = [*items, tool]
    named = read(longer, known, NativeFormat.OPENAI_CHAT)
    assert facts(named) == facts(read(longer, KnownLists(0), NativeFormat.OPENAI_CHAT))


@pytest.mark.parametrize("format", ["other", [], 5])
def test_a_wrong_format_is_refused_as_before(format: Any) -> None:
    """A format that is none is a FormatError, also if the list is known."""
    known, items = KnownLists(), text(12)
    read(items, known)

    with pytest.raises(FormatError, match="format must be one of"):
        read(items, known, format)


def test_an_answer_that_goes_on_is_one_message() -> None:
    """Calls that continue the answer at the end of a known list join it."""
    known, items, chat = KnownLists(), text(12), NativeFormat.OPENAI_CHAT
    read(items, known, chat)
    function = {"name": "find", "arguments": "{}"}
    call = {"id": "c", "type": "function", "function": function}
    longer = [*items, {"role": "assistant", "content": None, "tool_calls": [call]}]

    assert len(made_of(read(longer, known, chat)).messages) == 12
    assert facts(read(longer, known, chat)) == facts(read(longer, KnownLists(0), chat))


def test_a_history_that_was_known_is_not_changed_by_a_longer_call() -> None:
    """Each call has a history of its own length, so a fold that is under way is not disturbed."""
    known, items = KnownLists(), tools(21)
    first = read(items, known)
    before = facts(first)
    read([*items, *tools(29)[21:]], known)
    read([*items, *tools(25)[21:]], known)

    assert facts(first) == before


def test_short_lists_are_not_remembered() -> None:
    """A list that is read faster than looked up leaves nothing behind."""
    known = KnownLists()
    read(text(7), known)

    assert len(known) == 0


def test_the_bound_is_a_whole_number() -> None:
    """The default is a constant, and 0 turns the memory off."""
    assert KNOWN_BYTES == 256 * 1024 * 1024
    with pytest.raises(ConfigError, match="known_bytes"):
        reducer(known_bytes=-1)


def test_messages_are_not_remembered() -> None:
    """Lists of messages are read as before."""
    one = reducer()
    one.reduce_sync([Message.user(f"{at}") for at in range(12)])

    assert len(one._known) == 0  # pyright: ignore[reportPrivateUsage]
