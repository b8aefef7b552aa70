"""What a digest stands for, and what it leaves out."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.codec import decode_message, encode_message
from foldline.history.digest import (
    DIGEST_SIZE,
    EMPTY_DIGEST,
    chain_digest,
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
PINNED = "5fd63492716586e2c3df4cde84c4fda65a1d8af459ebf5da8e1d5c313a4e755b"

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
NAMES = (None, "", "a", "null")
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


def _below(frames: int, work: Callable[[], bytes]) -> bytes:
    return work() if frames == 0 else _below(frames - 1, work)


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
    ],
    ids=["role", "name", "no name", "order", "part left out", "text", "kind of part"],
)
def test_what_is_said_changes_a_digest(changed: Message) -> None:
    """Role, name, and the parts with their kinds and order are what a digest stands for."""
    assert message_digest(changed) != message_digest(BASE)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "call_2"),
        ("name", "find"),
        ("arguments", '{"to": "BGO", "days": [1, 2]}'),
        ("arguments", '{"to": "OSL", "days": [2, 1]}'),
        ("arguments", '{"to": "OSL", "days": [1, 2.0]}'),
        ("arguments", '{"to": "OSL", "days": [1, 2], "back": null}'),
        ("arguments", '{"to": "OSL", "days": [1, 2]'),
    ],
)
def test_every_field_of_a_call_changes_a_digest(field: str, value: str) -> None:
    """The id, the tool and each value among the arguments are part of what was said."""
    call = msgspec.structs.replace(CALL, **{field: value})
    changed = msgspec.structs.replace(BASE, parts=(TextPart("looking"), call, ANSWER))

    assert message_digest(changed) != message_digest(BASE)


@pytest.mark.parametrize(
    "answer",
    [
        ToolCallResponsePart("call_2", "3 flights"),
        ToolCallResponsePart("call_1", "4 flights"),
        ToolCallResponsePart("call_1", (TextPart("3 flights"),)),
    ],
)
def test_every_field_of_an_answer_changes_a_digest(answer: ToolCallResponsePart) -> None:
    """The id that is answered and the result, with its shape, are part of what was said."""
    changed = msgspec.structs.replace(BASE, parts=(TextPart("looking"), CALL, answer))

    assert message_digest(changed) != message_digest(BASE)


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(BASE, id="m1"),
        msgspec.structs.replace(BASE, created_at=datetime(2025, 5, 1, tzinfo=UTC)),
        msgspec.structs.replace(BASE, metadata={SUMMARY_KEY: True}),
        msgspec.structs.replace(BASE, usage=Usage(input_tokens=7)),
        msgspec.structs.replace(BASE, native=Native(NativeFormat.OTEL, "{}")),
    ],
    ids=["id", "time", "metadata", "usage", "native item"],
)
def test_what_stands_beside_it_does_not_change_a_digest(changed: Message) -> None:
    """Identity, time, the owner's values and the vendor's own item are left out."""
    assert message_digest(changed) == message_digest(BASE)


@pytest.mark.parametrize(
    "arguments",
    [
        '{"to":"OSL","days":[1,2]}',
        '{"days": [1, 2], "to": "OSL"}',
        '\n{\n  "to": "\\u004fSL",\n  "days": [1, 2]\n}\n',
    ],
    ids=["spacing", "order of keys", "escapes"],
)
def test_the_spelling_of_arguments_does_not_change_a_digest(arguments: str) -> None:
    """Arguments enter as the value they stand for, however they are written."""
    assert message_digest(_with_arguments(arguments)) == message_digest(
        _with_arguments(CALL.arguments)
    )


@pytest.mark.parametrize("arguments", ["{'to': 'OSL'}", '{"n": NaN}', '{"n": "\ud800"}'])
def test_arguments_that_are_no_json_enter_as_text(arguments: str) -> None:
    """What a strict reader refuses is hashed letter by letter, spacing included."""
    spaced = message_digest(_with_arguments(f"{arguments} "))

    assert message_digest(_with_arguments(arguments)) != spaced


def test_different_messages_have_different_digests() -> None:
    """No two of more than thirteen thousand different messages share a digest."""
    said = [(), *((part,) for part in PARTS), *product(PARTS, PARTS)]
    messages = [
        Message(role=role, name=name, parts=parts)
        for role, name, parts in product(ROLES, NAMES, said)
    ]

    assert len(messages) > 13_000
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
    """
    The bytes behind a digest are written out here: a change of them needs a new version number.
    """
    form = (
        '[1,"assistant","bot",[{"content":"looking","type":"text"},'
        '{"id":"call_1","name":"search","type":"tool_call","value":{"days":[1,2],"to":"OSL"}},'
        '{"id":"call_1","response":"3 flights","type":"tool_call_response"}]]'
    )

    assert message_digest(BASE) == sha256(form.encode()).digest()
    assert message_digest(BASE).hex() == PINNED


def test_a_prefix_digest_is_a_chain() -> None:
    """Each link is the SHA-256 of the digest before it and of the message's own."""
    first, second = Message.user("one"), Message.assistant("two")
    link = sha256(bytes(32) + message_digest(first)).digest()

    assert chain_digest(EMPTY_DIGEST, first) == link
    assert prefix_digest([first, second]) == sha256(link + message_digest(second)).digest()


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
        ('{"price":12345678901234567.89}', '{"price":12345678901234567.12}'),
        ('{"price":0.1}', '{"price":0.10000000000000000001}'),
        ('{"a":1,"a":2}', '{"a":3,"a":2}'),
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":[1e999]}', '{"a":[1e998]}'),
    ],
)
def test_arguments_that_only_look_equal_have_digests_of_their_own(one: str, other: str) -> None:
    """Fractions that a float would round alike and keys that stand twice are told apart."""
    calls = [Message.assistant(tool_calls=[ToolCallPart("1", "f", text)]) for text in (one, other)]

    assert message_digest(calls[0]) != message_digest(calls[1])
