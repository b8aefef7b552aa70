"""Messages to JSON and back."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.errors import FormatError
from foldline.history.codec import (
    canonical_json,
    decode_history,
    decode_json,
    decode_message,
    encode_history,
    encode_json,
    encode_message,
    unwritable,
    without_values,
)
from foldline.history.messages import Message, Native, NativeFormat, Role, Usage
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


SECRET = "swordfish"
LONE = "\ud800"
HALVES = "\ud83d" + "\ude00"
NOT_FINITE = [math.nan, math.inf, -math.inf]

# Lone surrogates and NUL are in; both halves of a pair are not, since JSON would join them.
TEXTS = st.text(st.characters(exclude_characters=[chr(c) for c in range(0xDC00, 0xE000)]))
CONTENTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(BlobPart, TEXTS, TEXTS, TEXTS),
    st.builds(UriPart, TEXTS, TEXTS),
    st.builds(FilePart, TEXTS, TEXTS),
    st.builds(GenericPart, TEXTS, TEXTS),
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    CONTENTS,
    st.builds(ToolCallPart, TEXTS, TEXTS, TEXTS),
    st.builds(ToolCallResponsePart, TEXTS, TEXTS | st.lists(CONTENTS, max_size=2).map(tuple)),
    st.builds(ReasoningPart, TEXTS),
    st.builds(CompactionPart, TEXTS),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
ROLES: list[Role] = ["system", "user", "assistant", "tool"]
COUNTS = st.integers(min_value=0, max_value=10**12)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(ROLES),
    parts=st.lists(PARTS, max_size=3).map(tuple),
    id=st.none() | TEXTS,
    name=st.none() | TEXTS,
    created_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    metadata=st.none() | st.dictionaries(TEXTS, VALUES, max_size=2),
    usage=st.none() | st.builds(Usage, input_tokens=COUNTS, reasoning_tokens=COUNTS),
    native=st.none() | st.builds(Native, format=st.sampled_from(NativeFormat), item=TEXTS),
)


@given(st.lists(MESSAGES, max_size=3))
def test_a_history_comes_back_equal(messages: list[Message]) -> None:
    """Every message with every kind of part and value is equal after a round trip."""
    assert decode_history(encode_history(messages)) == tuple(messages)


@given(VALUES)
def test_a_value_comes_back_equal(value: object) -> None:
    """Every value of a vendor's unknown field is equal after a round trip."""
    assert decode_json(encode_json(value)) == value


def test_text_reads_like_bytes() -> None:
    """Every reader takes text as well as bytes."""
    message = Message.user("hé")

    assert decode_message(encode_message(message).decode()) == message
    assert decode_history(encode_history([message]).decode()) == (message,)
    assert decode_json('{"a": 1}') == decode_json(b'{"a": 1}') == {"a": 1}


def test_the_halves_of_a_pair_come_back_as_one_character() -> None:
    """JSON has no form for a surrogate pair in two halves: reading joins it."""
    assert decode_message(encode_message(Message.user(HALVES))).text == "\U0001f600"


@pytest.mark.parametrize("number", NOT_FINITE)
def test_numbers_that_are_not_finite_survive_in_unknown_values(number: float) -> None:
    """`NaN` and infinities come back in a value and in the metadata of a message."""
    message = Message(role="user", metadata={"scores": [number, None]})
    value = decode_json(encode_json({"b": number, "a": None}))
    metadata = decode_message(encode_message(message)).metadata

    assert repr(value) == repr({"b": number, "a": None})
    assert repr(metadata) == repr(message.metadata)


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**70), 10**400])
def test_big_integers_survive(number: int) -> None:
    """Integers of any size come back exactly."""
    message = Message(role="user", metadata={"n": number})

    assert decode_json(encode_json(number)) == number
    assert decode_message(encode_message(message)) == message


def test_a_time_keeps_its_moment() -> None:
    """A time in any zone comes back as the same moment, with a zone."""
    moment = datetime(2025, 5, 1, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    back = decode_message(encode_message(Message(role="user", created_at=moment))).created_at

    assert back == moment
    assert back is not None
    assert back.tzinfo is not None


def test_an_empty_field_is_not_written() -> None:
    """A message costs what it holds: fields that are not set take no bytes."""
    assert encode_message(Message(role="user")) == b'{"role":"user"}'


def test_the_order_of_keys_is_kept_in_a_value() -> None:
    """`encode_json` keeps the order of keys, with `NaN` among the values too."""
    assert encode_json({"b": 1, "a": 2}) == b'{"b":1,"a":2}'
    assert encode_json({"b": math.nan, "a": 2}) == b'{"b":NaN,"a":2}'
    assert encode_json({"b": LONE, "a": 2}) == b'{"b":"\\ud800","a":2}'


def test_the_canonical_form_sorts_keys_and_has_no_spaces() -> None:
    """`canonical_json` gives equal mappings the same bytes, in UTF-8."""
    assert canonical_json({"b": [1, 2], "a": "é"}) == '{"a":"é","b":[1,2]}'.encode()


@pytest.mark.parametrize("number", NOT_FINITE)
def test_the_canonical_form_has_no_number_that_is_not_finite(number: float) -> None:
    """The canonical form is for the values that JSON has; any other number is its null."""
    assert canonical_json([number]) == b"[null]"


def test_the_canonical_form_with_a_surrogate_is_no_json() -> None:
    """What has no UTF-8 form never shares its canonical form with the escapes spelt out."""
    form = canonical_json({"b": LONE, "a": 1})

    assert form == b'\\{"a":1,"b":"\\ud800"}'
    with pytest.raises(ValueError, match="char 0"):
        json.loads(form)


def test_a_newer_format_is_refused_whatever_its_messages_look_like() -> None:
    """A document of a newer foldline is not called broken because its messages have a new shape."""
    data = b'{"format":2,"messages":[{"role":"user","parts":[{"type":"hologram"}]}]}'

    with pytest.raises(FormatError, match="history format 2 is newer than 1"):
        decode_history(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[]", "Expected `object`, got `array`"),
        (b'{"messages":[]}', "missing required field `format`"),
        (b'{"format":1}', "missing required field `messages`"),
        (b'{"format":"1","messages":[]}', r"Expected `int`, got `str` - at `\$.format`"),
        (b'{"format":1,"messages":{}}', r"Expected `array`, got `object` - at `\$.messages`"),
        (b'{"format":1,"messages":[{"parts":[]}]}', "missing required field `role`"),
        (b'{"format":1,"messages":[{"role":7}]}', r"`\$.messages\[0\].role`"),
    ],
)
def test_a_wrong_shape_names_field_and_types(data: bytes, reason: str) -> None:
    """The error of a document in a wrong shape says where and what was expected."""
    with pytest.raises(FormatError, match=f"not a foldline document: .*{reason}"):
        decode_history(data)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"role":"swordfish"}', "$.role"),
        (b'{"role":"user","parts":[{"type":"swordfish"}]}', "$.parts[0].type"),
        (b'{"role":"user","created_at":"swordfish"}', "$.created_at"),
        (b'{"role":"swordfish - at the \'gate\'"}', "$.role"),
    ],
)
def test_an_error_never_quotes_a_value(data: bytes, place: str) -> None:
    """A forbidden value is named by its place; it might be text of a conversation."""
    with pytest.raises(FormatError, match="not a foldline message: Invalid") as caught:
        decode_message(data)

    assert SECRET not in "".join(map(str, (caught.value, caught.value.__cause__)))
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON: line 1, column 1"),
        (b'{"a": ', "not JSON: line 1, column 7"),
        (b"\xff", "not JSON: byte 0 is not UTF-8"),
        ("[" * 100_000, "not readable JSON: nested too deeply"),
        ("1" * 5_000, "not readable JSON: a number has too many digits"),
    ],
    ids=["empty", "cut off", "not utf-8", "deep", "long number"],
)
def test_what_is_no_json_is_refused(data: bytes | str, reason: str) -> None:
    """Every reader names what is wrong with the text, in one line and without quoting it."""
    for read in (decode_json, decode_message, decode_history):
        with pytest.raises(FormatError) as caught:
            read(data)
        assert str(caught.value) == reason


def test_unknown_fields_of_a_message_are_passed_over() -> None:
    """A field that this version does not know is no error: a later one may have added it."""
    assert decode_message(b'{"role":"user","colour":"red"}') == Message(role="user")


def test_a_message_with_surrogates_is_checked_like_any_other() -> None:
    """The slower way that reads surrogates refuses the same shapes."""
    with pytest.raises(FormatError, match=r"Expected `str \| null`, got `int`"):
        decode_message(b'{"role":"user","id":"\\ud800","name":1}')
    with pytest.raises(FormatError, match=r"Expected `str \| null`, got `int`"):
        decode_history(b'{"format":1,"messages":[{"role":"user","id":"\\ud800","name":1}]}')


def test_a_document_is_a_number_and_messages() -> None:
    """The stored form of an empty history is pinned."""
    assert encode_history([]) == b'{"format":1,"messages":[]}'
    assert msgspec.json.decode(encode_history(iter([Message.user("a")])))["format"] == 1


def test_a_text_in_place_of_an_object_is_refused_with_any_text() -> None:
    """A lone surrogate where a part should be is a format error like any other text there."""
    with pytest.raises(FormatError, match="a str where an object should be"):
        decode_message(rb'{"role":"user","parts":["\ud800"]}')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Invalid enum value 'a' - at `$.role`", "Invalid enum value - at `$.role`"),
        ("Invalid enum value 'it's' - at 'x'", "Invalid enum value"),
        ("Expected `str`, got `null`", "Expected `str`, got `null`"),
        ("Invalid value 'a' of \"b\" in c", "Invalid value 'a' of \"b\" in c"),
    ],
)
def test_a_quoted_value_is_left_out(text: str, expected: str) -> None:
    """What msgspec quotes goes, up to its last quote that a path or nothing follows."""
    assert without_values(ValueError(text)) == expected


@pytest.mark.parametrize(
    ("part", "stored"),
    [
        (TextPart("hi"), {"type": "text", "content": "hi"}),
        (
            ToolCallPart("1", "search", "{}"),
            {"type": "tool_call", "id": "1", "name": "search", "arguments": "{}"},
        ),
        (
            ToolCallResponsePart("1", (TextPart("ok"),)),
            {
                "type": "tool_call_response",
                "id": "1",
                "response": [{"type": "text", "content": "ok"}],
            },
        ),
        (ReasoningPart("hm"), {"type": "reasoning", "content": "hm"}),
        (
            BlobPart("image", "image/png", "AAAA"),
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "AAAA"},
        ),
        (UriPart("image", "a:b"), {"type": "uri", "modality": "image", "uri": "a:b"}),
        (FilePart("image", "f1"), {"type": "file", "modality": "image", "file_id": "f1"}),
        (CompactionPart("so far"), {"type": "compaction", "content": "so far"}),
        (GenericPart("new", "{}"), {"type": "generic", "kind": "new", "data": "{}"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_stored_form_of_a_part_is_pinned(part: Part, stored: dict[str, object]) -> None:
    """Names and fields of a part are those of the schema, and the union finds its kind again."""
    assert decode_json(encode_json(part)) == stored
    assert msgspec.convert(stored, Part) == part


def test_what_cannot_be_written_is_found() -> None:
    """It is named by its field; a message that can be written, and what has no fields, have none."""
    odd = Message(role="user", metadata={"a": object()})

    assert [unwritable(one) for one in (odd, Message.user("hi"), "text")] == ["metadata", "", ""]
