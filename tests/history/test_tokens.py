"""Tokens without a tokenizer."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.history.media import MEDIA_TOKENS
from foldline.history.messages import Message, Native, NativeFormat
from foldline.history.parts import (
    CompactionPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.token_weights import HIGHEST_LEVEL, LEVELS, SEAM, SEAMS, START, UNITS
from foldline.history.tokens import (
    MESSAGE_TOKENS,
    REASONING_TOKENS,
    TOOL_CALL_TOKENS,
    TOOL_RESPONSE_TOKENS,
    TokenEstimator,
    count_message,
)
from tests.history.words import Letters


ESTIMATOR = TokenEstimator()
TEXTS = st.text(st.characters())
PLAIN = st.text(st.sampled_from("aeXQ07 \t\n.,(=-_"), max_size=60)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        (" ", 1),
        ("\n", 1),
        ("\0", 1),
        ("\ud800", 1),
        ("hello", 2),
        ("Hello, world!", 6),
        ("to be or not to be", 3),
        ("def f(x):\n    return x + 1\n", 11),
        ("2026-11-21", 6),
        ("0" * 60, 21),
        ("HTTP", 2),
        ("=" * 80, 4),
        ("\n" * 640, 347),
        ("сжатие", 2),
        ("压缩历史", 3),
        ("🎉", 2),
        ("naïve café", 4),
    ],
)
def test_small_texts_keep_their_estimates(text: str, tokens: int) -> None:
    """The weights are frozen, as sums of older estimates are kept: changing one is a decision."""
    assert ESTIMATOR.count(text) == tokens


@given(TEXTS)
def test_any_text_has_a_count(text: str) -> None:
    """Every text, lone surrogates and NUL included, has a count that is 0 only for no text."""
    counted = ESTIMATOR.count(text)

    assert (counted == 0) == (text == "")
    assert counted >= 0
    assert counted == TokenEstimator().count(text)


@given(TEXTS)
def test_a_text_is_never_dearer_than_its_bytes(text: str) -> None:
    """An estimate stays below four tokens a byte of UTF-8."""
    assert ESTIMATOR.count(text) <= 4 * len(text.encode("utf-8", "surrogatepass"))


@given(PLAIN | TEXTS, PLAIN | TEXTS)
def test_a_longer_text_is_never_cheaper(before: str, after: str) -> None:
    """Appending text does not lower a count."""
    assert ESTIMATOR.count(before + after) >= ESTIMATOR.count(before)


def test_every_byte_costs() -> None:
    """No byte is free, and none costs more than the sums of a whole piece have room for."""
    assert len(LEVELS) == 256
    assert min(LEVELS) > 0
    assert max(LEVELS) <= HIGHEST_LEVEL
    assert SEAM > 0


def test_no_byte_is_on_both_sides_of_a_seam() -> None:
    """The two sides of a seam have no byte in common: a byte alone would count as a seam."""
    assert not any(set(seam.before) & set(seam.after) for seam in SEAMS)


@given(PLAIN | TEXTS)
def test_the_sums_say_what_a_loop_says(text: str) -> None:
    """The checksum and the bit count find the same levels and seams as reading byte after byte."""
    assert ESTIMATOR.count(text) == max(1, int(_slowly(text) / UNITS + 0.5)) * bool(text)


@pytest.mark.parametrize("size", [1_039, 1_040, 1_041, 2_080, 5_000])
def test_no_sum_is_too_large(size: int) -> None:
    """Text of nothing but the dearest byte is counted exactly, over any number of pieces."""
    dearest = max(range(128), key=LEVELS.__getitem__)

    assert ESTIMATOR.count(chr(dearest) * size) == int(
        (START + size * LEVELS[dearest]) / UNITS + 0.5
    )


def _slowly(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    seams = sum(
        before in seam.before and after in seam.after
        for before, after in pairwise(data)
        for seam in SEAMS
    )
    return START + sum(LEVELS[byte] for byte in data) + SEAM * seams


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (TextPart("12345"), 5),
        (CompactionPart("12345"), 5),
        (CompactionPart(""), 0),
        (ReasoningPart("12345"), REASONING_TOKENS + 5),
        (ToolCallPart("an id is free", "name", "{}"), TOOL_CALL_TOKENS + 6),
        (ToolCallResponsePart("an id is free", "12345"), TOOL_RESPONSE_TOKENS + 5),
        (ToolCallResponsePart("1", ()), TOOL_RESPONSE_TOKENS),
        (
            ToolCallResponsePart("1", (TextPart("12345"), UriPart("image", "https://x"))),
            TOOL_RESPONSE_TOKENS + 5 + MEDIA_TOKENS["image"],
        ),
        (GenericPart("kind", '{"a":1}'), 7),
        (UriPart("image", "https://x"), MEDIA_TOKENS["image"]),
    ],
)
def test_each_part_has_its_price(part: Part, tokens: int) -> None:
    """Texts are counted, ids are free, and content that is not text has a price of its own."""
    message = Message(role="user", parts=(part,))

    assert count_message(message, Letters()) == MESSAGE_TOKENS + tokens


def test_a_message_is_the_sum_of_its_parts() -> None:
    """The format's own tokens are paid once a message, and a name is text."""
    message = Message(role="user", name="ann", parts=(TextPart("12"), TextPart("345")))

    assert count_message(message, Letters()) == MESSAGE_TOKENS + 5 + 3
    assert count_message(Message(role="user"), Letters()) == MESSAGE_TOKENS


def test_the_name_of_a_tool_result_costs_nothing() -> None:
    """Only some wire forms name the tool beside its result, and all have the same cuts."""
    named = Message.tool("call", "12", name="weather")

    assert count_message(named, Letters()) == MESSAGE_TOKENS + TOOL_RESPONSE_TOKENS + 2


@pytest.mark.parametrize("space", ["", " "])
def test_a_sealed_compaction_costs_what_is_sealed(space: str) -> None:
    """Nobody else can read it, so a token is taken for four of its characters."""
    item = f'{{"type": "compaction", "encrypted_content":{space}"{"gAAA" * 1000}"}}'
    native = Native(format=NativeFormat.OPENAI_RESPONSES, item=item)
    message = Message(role="assistant", parts=(CompactionPart(""),), native=native)

    assert count_message(message, ESTIMATOR) == MESSAGE_TOKENS + 1000


def test_what_is_not_sent_costs_nothing() -> None:
    """Metadata, ids and the vendor's own item do not change a count."""
    bare = Message.user("hello")
    native = Native(format=NativeFormat.OPENAI_CHAT, item="{}" * 500)
    laden = Message(
        role="user", parts=bare.parts, id="m" * 500, metadata={"k": "v" * 500}, native=native
    )

    assert count_message(laden, ESTIMATOR) == count_message(bare, ESTIMATOR)
