"""
How many tokens a str or a message is, without a tokenizer.

**Theory of operation.** An estimate is a sum of whole numbers: one for each byte of the text in
UTF-8, and one for each seam between neighboring bytes where a token is likely to end
(`token_weights` has them). A loop in Python would cost more than a tokenizer, and `bytes.count` is
slow on real text, where the processor cannot guess the next branch. So each sum is made by calls
that take the same short time for any text:

- `bytes.translate` turns each byte into its units, and `zlib.adler32` adds them up: the lower half
  of that checksum is the sum of all bytes modulo 65,521. Longer texts are summed in pieces.
- A second table turns each byte into eight bits: before which of the four seams it may stand, and
  after which. As one large integer, shifted by four bits and laid over itself, they show both
  sides of a seam in the same place, and `int.bit_count` counts them.

A byte always adds something, whatever it follows, so a longer text is never cheaper.

What a vendor really charged corrects the estimate of a whole request: see `reduction.budget`. Where
exact counts are wanted, anything with a `count` method can take the estimator's place.
"""

import re
from collections.abc import Iterable
from types import NoneType
from typing import Final, Protocol, assert_never, runtime_checkable
from zlib import adler32

from msgspec import Struct

from foldline.history.media import media_inside, media_tokens
from foldline.history.messages import Message, Native
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
    is_opaque,
)
from foldline.history.token_weights import HIGHEST_LEVEL, LEVELS, SEAM, SEAMS, START, UNITS


MESSAGE_TOKENS: Final = 4
"""
What a message costs beside its parts.

Source: the chat markup of OpenAI's models, a start sign, the role, a separator and an end sign.
"""

REASONING_TOKENS: Final = 4
"""What a reasoning part adds: in OpenAI's harmony format it is a message of its own."""

TOOL_CALL_TOKENS: Final = 8
"""
What a tool call adds to its name and arguments.

Source: OpenAI's harmony format, `<|channel|>commentary to=functions.… <|constrain|>json`.
"""

TOOL_RESPONSE_TOKENS: Final = 6
"""
What a tool's answer adds to its content.

Source: OpenAI's harmony format, `functions.… to=assistant<|channel|>commentary`.
"""

# What is sealed in a compaction, and how many of its characters are taken for a token.
_SEALED = r'"encrypted_content":\s*"([^"]*)"'
_SEALED_CHARACTERS = 4

# In a piece of so many bytes the sum stays below the modulus of adler32, so it is exact.
_PIECE = 65_520 // HIGHEST_LEVEL
_LOWER_HALF = 0xFFFF
_ROUNDED = START + UNITS // 2

_NAMES = frozenset({str, NoneType})

_from_bytes = int.from_bytes


def _seam_bits() -> bytes:
    bits = bytearray(256)
    for bit, seam in enumerate(SEAMS):
        for byte in seam.before:
            bits[byte] |= 1 << bit
        for byte in seam.after:
            bits[byte] |= 16 << bit
    return bytes(bits)


_SEAM_BITS = _seam_bits()


@runtime_checkable
class TokenCounter(Protocol):
    """
    Counts the tokens of a str: the estimator, or an exact tokenizer.

    It is not promised that the counts of two texts add up to the count of both together. Folds
    count in worker threads, several at the same time.
    """

    def count(self, text: str) -> int:
        """Return the tokens of *text*: 0 for no text, else at least 1, and always the same."""
        ...


class TokenEstimator(Struct, frozen=True):
    """
    An estimate of the tokens of a str, from the standard library alone.

    It is fitted to OpenAI's o200k vocabulary and mostly within 5 % of it on some hundred words.
    """

    def count(self, text: str) -> int:
        """Return the estimated tokens of *text*: 0 for no text, else at least 1."""
        if not text:
            return 0
        try:
            # Without arguments it is twice as fast.
            data = text.encode()
        except UnicodeEncodeError:
            data = text.encode("utf-8", "surrogatepass")
        if len(data) <= _PIECE:
            # As `_units` says, without the call: this is what a new message costs most.
            sides = _from_bytes(data.translate(_SEAM_BITS))
            seams = (sides & sides >> 4).bit_count()
            units = SEAM * seams + (adler32(data.translate(LEVELS), 0) & _LOWER_HALF)
        else:
            units = sum(_units(data[at : at + _PIECE]) for at in range(0, len(data), _PIECE))
        return (units + _ROUNDED) // UNITS or 1


def _units(data: bytes) -> int:
    sides = int.from_bytes(data.translate(_SEAM_BITS))
    # The upper four bits of a byte meet the lower four of the byte before it; its own lower four
    # meet its own upper four, which share none, since no byte is on both sides of a seam.
    seams = (sides & sides >> 4).bit_count()
    return SEAM * seams + (adler32(data.translate(LEVELS), 0) & _LOWER_HALF)


def count_message(message: Message, counter: TokenCounter) -> int:
    """
    Return the tokens of *message*: its parts and what the chat format spends around them.

    Content that is not text costs what the vendor whose format the message has charges for it, see
    `history.media`. A compaction that its vendor keeps sealed costs a token for four characters of
    what is sealed. Metadata, ids and other native items are not sent as text and cost nothing, nor
    do opaque parts and a message of nothing else.
    """
    total = MESSAGE_TOKENS
    for part in message.parts:
        if type(part) is TextPart:
            total += counter.count(part.content)
        else:
            total += _count_part(part, counter, message.native)
    if total == MESSAGE_TOKENS and message.is_opaque:
        return 0
    # Not every vendor names the tool beside its result, and the cuts have to be the same.
    if message.name is None or message.role == "tool":
        return total
    return total + counter.count(message.name)


def checked_counts(messages: Iterable[Message], counter: TokenCounter) -> list[int]:
    """Return the tokens of each of *messages*; TypeError if a role or a name is no mere str."""
    found: list[int] = []
    count = counter.count
    for message in messages:
        name, parts = message.name, message.parts
        if type(message.role) is not str or type(name) not in _NAMES:
            raise TypeError
        # Most messages are one text: this saves the call of `count_message`.
        if name is None and len(parts) == 1 and type(parts[0]) is TextPart:
            found.append(MESSAGE_TOKENS + count(parts[0].content))
        else:
            found.append(count_message(message, counter))
    return found


def _count_part(part: Part, counter: TokenCounter, native: Native | None) -> int:
    match part:
        case ToolCallPart():
            named = counter.count(part.name) + counter.count(part.arguments)
            return TOOL_CALL_TOKENS + named
        case ToolCallResponsePart():
            return TOOL_RESPONSE_TOKENS + _count_response(part, counter, native)
        case CompactionPart(content="") if native is not None:
            return sum(map(len, re.findall(_SEALED, native.item))) // _SEALED_CHARACTERS
        case GenericPart():
            return 0 if is_opaque(part) else _count_generic(part, counter, native)
        case TextPart(content=text) | CompactionPart(content=text) | ReasoningPart(content=text):
            around = REASONING_TOKENS if isinstance(part, ReasoningPart) else 0
            return around + counter.count(text)
        case BlobPart() | UriPart() | FilePart():
            return media_tokens(part, native.format if native else None)
    assert_never(part)


def _count_generic(part: GenericPart, counter: TokenCounter, native: Native | None) -> int:
    """Return the tokens of *part*: an image that a model has made is in it, or a page it has fetched."""
    text, media = media_inside(part.data)
    vendor = native.format if native else None
    return counter.count(text) + sum(media_tokens(one, vendor) for one in media)


def _count_response(
    part: ToolCallResponsePart, counter: TokenCounter, native: Native | None
) -> int:
    if isinstance(part.response, str):
        return counter.count(part.response)
    total = 0
    for said in part.response:
        if type(said) is TextPart:
            total += counter.count(said.content)
        else:
            total += _count_part(said, counter, native)
    return total
