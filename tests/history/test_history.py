"""Every answer of a history against the slow and obvious one over a plain list."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import FormatError
from foldline.history.digest import DIGEST_SIZE, EMPTY_DIGEST, prefix_digest
from foldline.history.history import History
from foldline.history.messages import Message, Role
from foldline.history.parts import (
    CompactionPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.tokens import TokenCounter, TokenEstimator, count_message
from foldline.history.units import CountingUnit
from tests.histories import COUNTING_UNITS
from tests.history.words import Letters, is_one_answer, pairs_of


COUNTER: TokenCounter = Letters()
ROLES: list[Role] = ["system", "user", "assistant", "tool"]
IDS = st.sampled_from(["", "a", "b"])
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, st.text(max_size=9)),
    st.builds(ToolCallPart, IDS, st.just("t"), st.just("{}")),
    st.builds(ToolCallResponsePart, IDS, st.just("ok")),
)
MESSAGES = st.lists(
    st.builds(Message, role=st.sampled_from(ROLES), parts=st.lists(PARTS, max_size=3).map(tuple)),
    max_size=12,
)


def _visible(messages: Sequence[Message]) -> list[Message]:
    return [message for message in messages if message.role != "system"]


def _tokens(messages: Sequence[Message]) -> int:
    return sum(count_message(message, COUNTER) for message in messages)


def _size(unit: CountingUnit, messages: Sequence[Message]) -> int:
    if unit == "messages":
        return len(messages)
    if unit == "tokens":
        return _tokens(messages)
    return max(sum(message.role == "user" for message in messages), min(len(messages), 1))


@given(MESSAGES)
def test_it_is_the_sequence_of_what_is_not_system(messages: list[Message]) -> None:
    """Length, iteration, index, slice and membership leave system messages out."""
    history, visible = History(messages), _visible(messages)

    assert len(history) == len(visible)
    assert list(history) == visible
    assert [history[at] for at in range(-len(visible), len(visible))] == visible * 2
    assert history[1:-1] == visible[1:-1]
    assert all(message in history for message in visible)


@given(MESSAGES)
def test_everything_gives_back_what_went_in(messages: list[Message]) -> None:
    """All messages come back in order, system messages at their places, at once and one by one."""
    history = History(messages)

    assert history.everything() == messages
    assert [history.at(index) for index in range(history.total)] == messages
    with pytest.raises(IndexError):
        history.at(len(messages))


@given(MESSAGES)
def test_system_messages_are_held_apart(messages: list[Message]) -> None:
    """System messages are given in order, with their tokens in a count of their own."""
    history = History(messages, counter=COUNTER)
    system = [message for message in messages if message.role == "system"]

    assert history.system == tuple(system)
    assert history.system_tokens == _tokens(system)


@given(MESSAGES)
def test_every_prefix_has_its_digest(messages: list[Message]) -> None:
    """The digest at each index is that of the prefix, computed from the start."""
    history, visible = History(messages), _visible(messages)

    for index in range(len(visible) + 1):
        assert history.digest(index) == prefix_digest(visible[:index])
    assert history.digest() == prefix_digest(visible)


@given(MESSAGES)
def test_tokens_are_the_sum_over_the_messages(messages: list[Message]) -> None:
    """The tokens of every stretch are those of its messages, one by one."""
    history, visible = History(messages, counter=COUNTER), _visible(messages)

    for stop in range(len(visible) + 1):
        for start in range(stop + 1):
            assert history.tokens(start, stop) == _tokens(visible[start:stop])
    assert history.tokens() == _tokens(visible)


@given(MESSAGES)
def test_a_tail_counts_like_a_history_of_its_own(messages: list[Message]) -> None:
    """In every unit, the messages from an index on count as if nothing had stood before them."""
    history, visible = History(messages, counter=COUNTER), _visible(messages)

    for start in range(len(visible) + 1):
        for unit in COUNTING_UNITS:
            assert history.count(unit, start) == _size(unit, visible[start:])
        assert history.exchanges(start) == _size("exchanges", visible[start:])


@given(MESSAGES, st.integers(0, 40))
def test_index_keeping_is_the_first_that_fits(messages: list[Message], drawn: int) -> None:
    """It is the first index behind which at most the size lies, an exchange being kept whole."""
    history, visible = History(messages, counter=COUNTER), _visible(messages)

    for unit, size in product(COUNTING_UNITS, (0, 1, 2, 3, drawn)):
        fitting = (
            index
            for index, message in enumerate(visible)
            if _size(unit, visible[index:]) <= size
            and (unit != "exchanges" or index == 0 or message.role == "user")
        )
        expected = next(fitting, max(0, len(visible) - 1))
        assert history.index_keeping(unit, size) == expected


@given(MESSAGES, st.integers(0, 40))
def test_index_within_is_the_last_that_fits(messages: list[Message], tokens: int) -> None:
    """It is the last index up to which at most the tokens lie, but never less than one message."""
    history, visible = History(messages, counter=COUNTER), _visible(messages)

    for start in range(len(visible) + 1):
        stops = range(start + 1, len(visible) + 1)
        fitting = [stop for stop in stops if _tokens(visible[start:stop]) <= tokens]
        at_least = min(start + 1, len(visible))
        assert history.index_within(start, tokens) == max(fitting, default=at_least)


@given(MESSAGES)
def test_the_last_user_is_found(messages: list[Message]) -> None:
    """`last_user` is the highest index of a user message, or None."""
    users = [at for at, message in enumerate(_visible(messages)) if message.role == "user"]

    assert History(messages).last_user() == (users[-1] if users else None)


@given(MESSAGES)
def test_a_message_reaches_to_the_earliest_call_that_it_answers(messages: list[Message]) -> None:
    """An answer is of the newest waiting call of its id; the earliest such call is the reach."""
    history, visible = History(messages), _visible(messages)
    pairs, _ = pairs_of(visible)

    for index in range(len(visible)):
        calls = [call for call, answer in pairs if answer == index]
        assert history.reach(index) == min(calls, default=index)


@given(MESSAGES)
def test_a_whole_index_parts_nothing(messages: list[Message]) -> None:
    """No call and its result, and no two pieces of an answer, span a whole index."""
    history, visible = History(messages), _visible(messages)
    pairs, _ = pairs_of(visible)
    whole = [
        index
        for index in range(len(visible), -1, -1)
        if not any(call < index <= answer for call, answer in pairs)
        and not (0 < index < len(visible) and is_one_answer(*visible[index - 1 : index + 1]))
    ]

    for top in range(len(visible) + 1):
        for above in range(-1, top + 1):
            expected = [index for index in whole if above < index <= top]
            assert list(history.whole_indexes(top, above)) == expected


@given(MESSAGES)
def test_the_first_open_call_is_of_the_newest_exchange(messages: list[Message]) -> None:
    """Of the calls that nobody answered, those behind the last user message still wait."""
    history, visible = History(messages), _visible(messages)
    _, waiting = pairs_of(visible)
    open_calls = [call for call in waiting if call >= (history.last_user() or 0)]

    assert history.first_open_call() == min(open_calls, default=len(visible))


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_a_prefix_that_is_not_there_is_an_error(index: int) -> None:
    """The error names the prefix that was asked for and the length that there is."""
    history = History([Message.user("one"), Message.user("two")])
    reason = f"no prefix of {index} messages in a history of 2"

    with pytest.raises(IndexError, match=reason):
        history.digest(index)


def test_an_empty_history_answers_everything() -> None:
    """A history of nothing has no tokens, no user and the digest of nothing."""
    history = History()

    assert history.digest() == history.digest(0) == EMPTY_DIGEST
    assert [history.count(unit) for unit in COUNTING_UNITS] == [0, 0, 0]
    assert [history.index_keeping(unit, 5) for unit in COUNTING_UNITS] == [0, 0, 0]
    assert (history.last_user(), history.first_open_call(), history.is_damaged(0)) == (
        None,
        0,
        False,
    )


def test_tokens_are_estimated_where_no_counter_is_given() -> None:
    """A history without a counter of its own estimates."""
    assert History().counter == TokenEstimator()


def test_its_picture_holds_sizes_only() -> None:
    """`repr` shows counts, never what was said."""
    history = History([Message.system("rules"), Message.user("hush")], counter=COUNTER)

    assert repr(history) == "<History messages=1 system=1 tokens=8>"


def unchecked(value: object) -> Any:
    return value


class Words(str):
    """What a framework gives where a str is wanted."""

    __slots__ = ()


def test_what_is_no_message_is_named_with_its_place() -> None:
    """Among several the error says which one it is."""
    with pytest.raises(FormatError, match=r"^messages\[1\] must be a Message, got int: convert a"):
        History([Message.user("a"), unchecked(1)])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("text", "in foldline.formats, a text with `Message.user`"),
        (None, "message must be a Message, got NoneType"),
        ({"role": "user"}, "got dict: convert a vendor's items with `from_openai_chat`"),
        (
            Message(role="user", name=Words("x")),
            "objects of type Words is unsupported - at `$.name`",
        ),
        (Message(role="user", parts=unchecked(None)), "got `null` - at `$.parts`"),
        (Message(role="user", parts=unchecked(("x",))), "got `str` - at `$.parts[0]`"),
        (Message(role="user", name=unchecked(3)), "got `int` - at `$.name`"),
    ],
)
def test_what_is_no_message_is_refused(wrong: Any, told: str) -> None:
    """The error names the field and the type, and the history stays as it was."""
    history = History([Message.user("hi")])
    with pytest.raises(FormatError) as caught:
        history.append(wrong)

    assert told in str(caught.value)
    assert len(history) == 1


def test_a_counter_that_fails_is_named_as_it_is() -> None:
    """What is wrong with a counter is not said of the message."""

    class Broken:
        def count(self, text: str) -> int:
            raise TypeError(text)

    with pytest.raises(TypeError, match="hi"):
        History([Message.user("hi")], counter=Broken())


def test_a_counter_that_fails_once_keeps_nothing_out() -> None:
    """Messages that come together are then counted one by one, and each is held once."""

    class Flaky(Letters):
        def count(self, text: str) -> int:
            if text not in tried:
                tried.add(text)
                raise TypeError(text)
            return super().count(text)

    tried: set[str] = set()
    history = History([Message.user("hi")], counter=Flaky())

    assert [*history] == [Message.user("hi")]
    assert history.tokens() == _tokens([*history])


@given(MESSAGES, MESSAGES, MESSAGES, st.integers(0, 36))
def test_digests_come_in_any_order(
    first: list[Message], known: list[Message], last: list[Message], asked: int
) -> None:
    """What is hashed when it is asked for, and what came with its digest, are one chain."""
    everything = [*first, *known, *last]
    sizes = [count_message(one, COUNTER) for one in known]
    digests = [
        prefix_digest(everything[: at + 1]) for at in range(len(first), len(first) + len(known))
    ]
    history = History(first, counter=COUNTER)
    history.extend_known(zip(known, sizes, digests, strict=True))
    history.extend(last)
    branch, visible = history.copy(), _visible(everything)
    asked = min(asked, len(visible))

    assert history.digest(asked) == prefix_digest(visible[:asked])
    assert branch.digest() == history.digest() == prefix_digest(everything)
    assert [branch.digest(at) for at in range(len(visible) + 1)] == [
        prefix_digest(visible[:at]) for at in range(len(visible) + 1)
    ]


def test_what_copies_have_in_common_is_hashed_once() -> None:
    """Of a history that was never asked for a digest each copy would hash all of it again."""
    history = History([Message.user(str(at)) for at in range(100)])
    history.copy()

    assert len(vars(history)["_chain"]) > 90 * DIGEST_SIZE


def _noted(history: History) -> dict[str, object]:
    noted = vars(history)
    return noted | {"_pairing": vars(noted["_pairing"])}


@given(MESSAGES)
def test_many_at_once_are_held_as_one_by_one(messages: list[Message]) -> None:
    """However messages come, the history knows the same of them."""
    grown = History()
    for message in messages:
        grown.append(message)

    assert _noted(History(messages)) == _noted(grown)


def test_messages_of_tools_are_found() -> None:
    """Calls and what tools say are known by place and size."""
    call = Message.assistant("so", tool_calls=[ToolCallPart("c", "find", "{}")])
    printed = Message(role="tool", parts=(TextPart("printed"),))
    history = History([Message.user("so"), call, Message.tool("c", "word " * 90), printed])

    assert [*history.tools(0, 0)] == [1, 2, 3]
    assert history.tools(50, 0) == {2: history.tokens(2, 3)}
    assert [*history.tools(0, 2)] == [2, 3]


def test_pins_and_compactions_are_found() -> None:
    """What a fold looks for is known by place: pins and compactions."""
    compacted = Message(role="assistant", parts=(CompactionPart(""),))
    pinned = Message.user("so", pin=True)
    history = History([Message.user("so"), pinned, compacted, Message.assistant("so")])

    assert [*history.marked(0)] == [1, 2]
    assert [*history.marked(2)] == [2]


def test_a_copy_grows_on_its_own() -> None:
    """What is appended to a copy, also the answer to a call, leaves the first history as it was."""
    call = Message.assistant(tool_calls=[ToolCallPart("c", "f", "{}")])
    history = History([Message.user("hi"), call])
    copied = history.copy()
    copied.extend([Message.tool("c", "r"), Message.system("rules"), Message.user("so")])
    grown = History([Message.user("hi"), call])
    history.append(Message.tool("c", "r"))
    grown.append(Message.tool("c", "r"))

    assert len(copied) == 4
    assert copied.reach(2) == 1
    assert history.everything() == grown.everything()
    assert history.digest() == grown.digest()
    assert (history.reach(2), history.is_damaged(0)) == (grown.reach(2), grown.is_damaged(0))
    assert (history.system_tokens, history.first_open_call()) == (0, grown.first_open_call())


def test_a_history_with_other_rules_in_front_is_the_one_that_is_made_with_them() -> None:
    """The first system message alone is another one, with its tokens; the first history stays."""
    said = [Message.user("a"), Message.system("Later."), Message.assistant("b")]
    first = History([Message.system("Be brief."), *said])
    other = first.opened_with(Message.system("Be brief. It is late, and the office is closed."))

    assert other.everything() == [other.system[0], *said]
    assert other.digest() == first.digest()
    assert other.system_tokens == History(other.everything()).system_tokens > first.system_tokens
    assert first.system[0] == Message.system("Be brief.")
