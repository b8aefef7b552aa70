"""What a digest stands for, and what it leaves out."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import product
from sys import getsizeof

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.codec import decode_message, encode_message
from foldline.history.digest import (
    DIGEST_SIZE,
    EMPTY_DIGEST,
    chain_digest,
    chain_digest_1,
    chain_digest_with_nulls,
    chain_digests,
    follows,
    message_digest,
    prefix_digest,
)
from foldline.history.messages import SUMMARY_KEY, Message, Native, NativeFormat, Role, Usage
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)


CALL = ToolCallPart("call_1", "search", '{"to": "OSL", "days": [1, 2]}')
ANSWER = ToolCallResponsePart("call_1", "3 flights")
BASE = Message(role="assistant", name="bot", parts=(TextPart("looking"), CALL, ANSWER))
SAID = (
    Message.user("How far?", name="ada"),
    Message(role="assistant", parts=(TextPart("I look."), CALL)),
    Message.tool("call_1", "3 flights", name="search"),
)
PINNED_1 = "b8a8d7ec908a6b56f34c8be0e4de83afbd4786ac938f03d49277dd21b7e87cf6"
PINNED_2 = "b2f1047825738474b84777b496fc67ee4dbdd09fb4ce7543b730fcdcc06b4eb2"

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
NAMES = (None, "", "a", "null")
SAYING_NOTHING = (TextPart(""), ToolCallPart("a", "t", ""))
PARTS: tuple[Part, ...] = (
    *(kind(text) for kind in (TextPart, ReasoningPart, CompactionPart) for text in ("", "a")),
    TextPart('"a"'),
    BlobPart("image", "image/png", "a"),
    UriPart("image", "a"),
    FilePart("image", "a"),
    GenericPart("a", "{}"),
    ToolCallResponsePart("a", "a"),
    ToolCallResponsePart("a", ""),
    ToolCallResponsePart("a", ()),
    ToolCallResponsePart("a", (TextPart("a"),)),
    *(
        ToolCallPart("a", "t", arguments)
        for arguments in ("", "{}", "[]", "null", '"null"', "1", "1.0", '"1"', "[1,2]", "[2,1]")
    ),
    ToolCallPart("a", "t", '{"a":null}'),
    ToolCallPart("a", "t", "{'a': None}"),
    ToolCallPart("", "t", "{}"),
    ToolCallPart("a", "", "{}"),
)


def _with_arguments(arguments: str) -> Message:
    return Message.assistant(tool_calls=[ToolCallPart("call_1", "search", arguments)])


def has_answer(parts: tuple[Part, ...]) -> bool:
    return any(isinstance(part, ToolCallResponsePart) for part in parts)


def _below(frames: int, work: Callable[[], bytes]) -> bytes:
    return work() if frames == 0 else _below(frames - 1, work)


def _with(*, call: ToolCallPart = CALL, answer: ToolCallResponsePart = ANSWER) -> Message:
    return msgspec.structs.replace(BASE, parts=(TextPart("looking"), call, answer))


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(BASE, role="user"),
        msgspec.structs.replace(BASE, name="other"),
        msgspec.structs.replace(BASE, name=None),
        msgspec.structs.replace(BASE, parts=(CALL, TextPart("looking"), ANSWER)),
        msgspec.structs.replace(BASE, parts=(TextPart("looking"), CALL)),
        msgspec.structs.replace(BASE, parts=(TextPart("Looking"), CALL, ANSWER)),
        msgspec.structs.replace(BASE, parts=(ReasoningPart("looking"), CALL, ANSWER)),
        _with(call=ToolCallPart("call_2", CALL.name, CALL.arguments)),
        _with(call=ToolCallPart("call_1", "find", CALL.arguments)),
        _with(answer=ToolCallResponsePart("call_2", "3 flights")),
        _with(answer=ToolCallResponsePart("call_1", "4 flights")),
        _with(answer=ToolCallResponsePart("call_1", (TextPart("3 flights"),))),
    ],
)
def test_what_is_said_changes_a_digest(changed: Message) -> None:
    """Role, name, and the parts with their kinds, order and fields are what a digest stands for."""
    assert message_digest(changed) != message_digest(BASE)


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(BASE, id="m1"),
        msgspec.structs.replace(BASE, created_at=datetime(2025, 5, 1, tzinfo=UTC)),
        msgspec.structs.replace(BASE, metadata={SUMMARY_KEY: True}),
        msgspec.structs.replace(BASE, usage=Usage(input_tokens=7)),
        msgspec.structs.replace(BASE, native=Native(format=NativeFormat.OTEL, item="{}")),
    ],
    ids=["id", "time", "metadata", "usage", "native item"],
)
def test_what_stands_beside_it_does_not_change_a_digest(changed: Message) -> None:
    """Identity, time, the owner's values and the vendor's own item are left out."""
    assert message_digest(changed) == message_digest(BASE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"to":"OSL","days":[1,2]}', '{ "days": [1, 2], "to": "OSL"}'),
        ('{"to":"OSL"}', '\n{\n  "to": "\\u004fSL"\n}\n'),
        ("", "{}"),
        ('{"a": 0.10}', '{"a": 0.1}'),
        ('{"a": 1e3}', '{"a": 1000.0}'),
    ],
    ids=["spacing and order of keys", "escapes", "none at all", "a zero", "an exponent"],
)
def test_arguments_are_the_value_that_they_spell(one: str, other: str) -> None:
    """A vendor that holds arguments as objects writes them its own way: the value is what counts."""
    assert message_digest(_with_arguments(one)) == message_digest(_with_arguments(other))


@pytest.mark.parametrize("arguments", ["{'to': 'OSL'}", '{"n": NaN}', '{"n": "\ud800"}'])
def test_arguments_that_are_no_json_enter_as_text(arguments: str) -> None:
    """What a strict reader refuses is hashed letter by letter, spacing included."""
    spaced = message_digest(_with_arguments(f"{arguments} "))

    assert message_digest(_with_arguments(arguments)) != spaced


def test_different_messages_have_different_digests() -> None:
    """No two of more than ten thousand different messages share a digest."""
    parts = [part for part in PARTS if part not in SAYING_NOTHING]
    said = [*((part,) for part in parts), *product(parts, parts)]
    messages = [
        Message(role=role, name=name, parts=parts)
        for role, name, parts in product(ROLES, NAMES, said)
        if role in {"system", "assistant"} or (role == "user" and not has_answer(parts))
    ]

    assert len(messages) > 6_000
    assert len({message_digest(message) for message in messages}) == len(messages)


@pytest.mark.parametrize(
    "text", ["\ud83d" + "\ude00", "\ud83d" + "\ude00\ud800", "\ud800", "\U0001f600", "a\0b"]
)
def test_a_digest_survives_storage(text: str) -> None:
    """A message that comes back from its stored form has the digest that it had before."""
    for message in (Message.user(text), _with_arguments(f'{{"a": "{text}"}}')):
        stored = decode_message(encode_message(message))

        assert message_digest(stored) == message_digest(message)


@pytest.mark.parametrize("depth", [10, 99, 100, 101, 500, 900, 985, 992, 993, 1000, 5000])
def test_a_digest_does_not_depend_on_its_caller(depth: int) -> None:
    """However deep arguments are nested, the digest is the same at every depth of the stack."""
    message = _with_arguments("[" * depth + "]" * depth)
    digest = message_digest(message)

    assert _below(300, lambda: message_digest(message)) == digest
    assert _below(600, lambda: message_digest(message)) == digest


def test_brackets_in_a_text_are_not_nesting() -> None:
    """Arguments that carry source text are a value, however many brackets the text holds."""
    code = "[{" * 1_000

    assert message_digest(_with_arguments(json.dumps({"a": 1, "code": code}))) == message_digest(
        _with_arguments(json.dumps({"code": code, "a": 1}, indent=2))
    )


def test_the_projection_is_pinned() -> None:
    """These bytes are what a digest is made of: changing them needs a new version number."""
    call = '{"id":"call_1","name":"search","type":"tool_call","value":{"days":[1,2],"to":"OSL"}}'
    steps = (
        '[2,"user","ada",[{"content":"How far?","type":"text"}]]',
        '[2,"assistant",null,[{"content":"I look.","type":"text"}]]',
        f'[2,"assistant",null,[{call}]]',
        '[2,"tool",null,[{"id":"call_1","response":"3 flights","type":"tool_call_response"}]]',
    )
    digest = EMPTY_DIGEST
    for step in steps:
        digest = sha256(digest + sha256(step.encode()).digest()).digest()

    assert prefix_digest(SAID) == digest
    assert digest.hex() == PINNED_2


def test_version_1_is_pinned() -> None:
    """What was stored with version 1 can still be recognized: one step for each message, named."""
    digest = EMPTY_DIGEST
    for message in SAID:
        digest = chain_digest_1(digest, message)

    assert digest.hex() == PINNED_1


@pytest.mark.parametrize(
    "pieces",
    [
        [(TextPart("a"), CALL), (ReasoningPart("b"),)],
        [(TextPart("a"),), (CALL,), (ReasoningPart("b"),)],
        [(), (TextPart("a"), TextPart("")), (CALL, ReasoningPart("b"))],
    ],
)
def test_an_answer_in_pieces_is_one(pieces: list[tuple[Part, ...]]) -> None:
    """However an answer is divided into neighboring messages, the digest behind it is the same."""
    messages = [Message(role="assistant", parts=parts) for parts in pieces]
    whole = Message(role="assistant", parts=(TextPart("a"), CALL, ReasoningPart("b")))

    assert prefix_digest(messages) == message_digest(whole)


def test_two_speakers_are_told_apart() -> None:
    """Pieces of an answer are of one assistant: another name is another answer."""
    one, other = Message.assistant("a", name="x"), Message.assistant("a", name="y")

    assert prefix_digest([one, one]) != prefix_digest([one, other])


@pytest.mark.parametrize("role", ["tool", "user"])
def test_results_in_one_message_are_several(role: Role) -> None:
    """Each result is one of its own, and the words behind them are the user's or the tool's."""
    second = ToolCallResponsePart("call_2", "none")
    words = TextPart("go on")
    together = Message(role=role, parts=(ANSWER, second, words))
    apart = [
        Message(role="tool", name="search", parts=(ANSWER,)),
        Message(role="tool", parts=(second,)),
        Message(role=role, parts=(words,)),
    ]

    assert message_digest(together) == prefix_digest(apart)


def test_rows_of_both_versions_are_one_chain() -> None:
    """A link of version 1, one of version 2 behind it and a system message follow; others do not."""
    first, second, system = Message.user("one"), Message.user("two"), Message.system("brief")
    old = chain_digest_1(EMPTY_DIGEST, first)
    new = chain_digest(old, second)

    assert follows(EMPTY_DIGEST, first, old)
    assert follows(old, second, new)
    assert follows(old, system, old)
    assert not follows(old, first, new)
    assert not follows(old, system, new)


def test_the_digest_of_nothing_is_zero_bytes() -> None:
    """A prefix of no messages has a digest of the common size."""
    assert prefix_digest([]) == EMPTY_DIGEST == bytes(DIGEST_SIZE)
    assert len(message_digest(BASE)) == DIGEST_SIZE


def test_system_messages_are_not_part_of_a_prefix() -> None:
    """A prefix digest passes system messages over, wherever they stand."""
    system, first, second = Message.system("brief"), Message.user("one"), Message.user("two")

    assert prefix_digest([system, first, system, second, system]) == prefix_digest([first, second])


@given(st.lists(st.text(max_size=2), max_size=5), st.lists(st.text(max_size=2), max_size=5))
def test_different_prefixes_have_different_digests(left: list[str], right: list[str]) -> None:
    """Texts, their order and their borders are told apart: equal digests mean equal prefixes."""
    digests = [prefix_digest(map(Message.user, texts)) for texts in (left, right)]

    assert (digests[0] == digests[1]) == (left == right)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"to":"OSL"}', '{"to":"BGO"}'),
        ('{"days":[1,2]}', '{"days":[2,1]}'),
        ('{"days":[1,2]}', '{"days":[1,2.0]}'),
        ('{"to":"OSL"}', '{"to":"OSL","back":null}'),
        ('{"days":[1,2]}', '{"days":[1,2]'),
        ('{"price":12345678901234567.89}', '{"price":12345678901234567.12}'),
        ('{"price":0.1}', '{"price":0.10000000000000000001}'),
        ('{"a":1,"a":2}', '{"a":3,"a":2}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":[1e999]}', '{"a":[1e998]}'),
        ('{"a":1e-99999999999999999999}', '{"a":1e-99999999999999999998}'),
    ],
)
def test_other_arguments_have_digests_of_their_own(one: str, other: str) -> None:
    """Each value counts, also fractions that a float would round alike and keys that occur twice."""
    assert message_digest(_with_arguments(one)) != message_digest(_with_arguments(other))


@pytest.mark.parametrize("text", ["caf\xe9", "\u2019", "a \U0001f600"])
def test_a_hashed_text_takes_no_more_memory(text: str) -> None:
    """The UTF-8 form that is hashed is not kept in the text."""
    said = " ".join([text] * 3)
    before = getsizeof(said)
    results = Message.tool("c1", said)
    chain_digests(EMPTY_DIGEST, [Message.user(said), Message.user(said, name="a"), results])
    assert getsizeof(said) == before


def test_a_null_of_a_tool_of_the_vendor_says_nothing() -> None:
    """A key that is null is as one that is missing, at any depth; an element of a list stays."""
    written = GenericPart("web", '{"a":[null,{"b":null,"c":"\u00e9"}],"d":{"e":null},"f":null}')
    bare = GenericPart("web", '{"a":[null,{"c":"\u00e9"}],"d":{}}')
    asked = [ToolCallPart("a", "shell_call", text) for text in ('{"a":1,"b":null}', '{"a":1}')]
    found = [ToolCallResponsePart("a", (part,)) for part in (written, bare)]

    for one, other in ([written, bare], asked, found):
        first, second = (Message(role="assistant", parts=(part,)) for part in (one, other))
        assert message_digest(first) == message_digest(second)
    assert message_digest(Message(role="tool", parts=(found[0],))) == message_digest(
        Message(role="tool", parts=(found[1],))
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ToolCallPart("a", "find", '{"b":null}'), ToolCallPart("a", "find", "{}")),
        (GenericPart("x", '{"b":null}', opaque=True), GenericPart("x", "{}", opaque=True)),
        (GenericPart("x", '{"b":[null]}'), GenericPart("x", '{"b":[]}')),
        (GenericPart("x", "null"), GenericPart("x", "")),
    ],
)
def test_a_null_that_somebody_wrote_is_said(one: Part, other: Part) -> None:
    """Arguments of a function, values of a program and elements of lists are what they are."""
    first, second = (Message(role="assistant", parts=(part,)) for part in (one, other))

    assert message_digest(first) != message_digest(second)


@pytest.mark.parametrize("depth", [99, 101, 900, 1000, 5000])
def test_nulls_in_the_depth_do_not_depend_on_the_caller(depth: int) -> None:
    """However deep an item is nested, its digest is the same at every depth of the stack."""
    nested = '{"a":' * depth + "null" + "}" * depth
    message = Message(role="assistant", parts=(GenericPart("x", nested),))

    assert _below(600, lambda: message_digest(message)) == message_digest(message)


def test_a_row_from_before_the_nulls_went_is_recognized() -> None:
    """What was stored with the nulls in its digest still follows what is before it."""
    message = Message(role="assistant", parts=(GenericPart("web", '{"a":null}'),))
    old = chain_digest_with_nulls(EMPTY_DIGEST, message)

    assert old != chain_digest(EMPTY_DIGEST, message)
    assert follows(EMPTY_DIGEST, message, old)
