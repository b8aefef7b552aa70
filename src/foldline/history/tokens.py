"""
How many tokens a text or a message is, without a tokenizer.

**Theory of operation.** An estimate is a sum of whole numbers: one for each byte of the text in
UTF-8, and one for each of eight patterns of neighbouring bytes (`token_weights` has them). A loop in
Python would cost more than a tokenizer, and `bytes.count` is slow on real text, where the processor
cannot guess the next branch. So a text becomes one large integer with eight bits a byte, and is
read by shifts, ands and `int.bit_count`, which take the same short time for any text:

- `bytes.translate` turns each byte into as many set bits as it has units. Three bits count once,
  three count four times and two count sixteen times, which makes 0 to 47; three bit counts read
  the sum over the whole text.
- A second table turns each byte into the bits of its classes: letter, digit, blank, sign, ruler,
  capital, line end, small letter. Shifted by eight bits and laid over itself, the integer shows
  which classes stand side by side.

A byte never adds less than nothing, whatever it follows, so a longer text is never cheaper.

What a vendor really charged corrects the estimate: see `TokenEstimator.calibrated`. Where exact
counts are wanted, anything with a `count` method stands in for it.
"""

import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Protocol, assert_never, runtime_checkable

from msgspec import Struct

from foldline.errors import ConfigError
from foldline.history.messages import Message
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
from foldline.history.token_weights import LEVELS, PATTERNS, START, UNITS


__all__ = [
    "MEDIA_TOKENS",
    "MESSAGE_TOKENS",
    "REASONING_TOKENS",
    "TOOL_CALL_TOKENS",
    "TOOL_RESPONSE_TOKENS",
    "TokenCounter",
    "TokenEstimator",
    "count_message",
]


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

MEDIA_TOKENS: Final[Mapping[str, int]] = MappingProxyType(
    {"image": 1_600, "audio": 2_000, "video": 18_000, "document": 3_000}
)
"""
What content that is not text costs, whatever its size.

Sources: Anthropic's guide to vision (at most about 1,600 tokens an image; OpenAI's detailed tiles
stay below it for one of 1,024 by 1,024), Google's guide to tokens (32 a second of sound, near 300
a second of video; a minute of either is meant), Anthropic's guide to PDF (1,500 to 3,000 a page).
"""

# Longer texts are read in pieces: an integer should stay in the processor's cache.
_PIECE = 8_192
_ONES = int.from_bytes(b"\x01" * _PIECE, "little")
_FOURS = _ONES * 0b00_111_000
_SIXTEENS = _ONES * 0b11_000_000

# The classes of a byte, in the order of their bits.
_CLASSES = (
    string.ascii_letters,
    string.digits,
    " \t",
    string.punctuation,
    "-=*#~",
    string.ascii_uppercase,
    "\n\r",
    string.ascii_lowercase,
)
_LETTER, _DIGIT, _BLANK, _, _RULER, _CAPITAL, _LINE_END, _ = (
    _ONES << bit for bit in range(len(_CLASSES))
)

# No vocabulary has a token for more blanks or signs in a row than about this.
_LONGEST_TOKEN = 64

_LOWEST_SCALE = 0.25
_HIGHEST_SCALE = 4.0
_TRUSTED_TOKENS = 1_000


def _set_bits(level: int) -> int:
    ones = (1 << level % 4) - 1
    fours = (1 << level // 4 % 4) - 1
    sixteens = (1 << level // 16) - 1
    return ones | fours << 3 | sixteens << 6


def _class_bits(byte: int) -> int:
    return sum((chr(byte) in members) << bit for bit, members in enumerate(_CLASSES))


_LEVEL_BITS = bytes(map(_set_bits, LEVELS))
_CLASS_BITS = bytes(map(_class_bits, range(256)))


@runtime_checkable
class TokenCounter(Protocol):
    """
    Whatever says how many tokens a text is: the estimator, or an exact tokenizer.

    It is not promised that the counts of two texts add up to the count of both together.
    """

    def count(self, text: str) -> int:
        """
        Return the tokens of *text*: 0 for no text, else at least 1, and always the same.
        """
        ...


class TokenEstimator(Struct, frozen=True, kw_only=True):
    """
    An estimate of the tokens of a text, from the standard library alone.

    It is fitted to OpenAI's o200k vocabulary and mostly within 5 % of it on a text of some
    hundred words; `calibrated` fits it to another model.
    """

    scale: float = 1.0
    """What every estimate is multiplied with, learnt from the usage that a vendor reported."""

    def __post_init__(self) -> None:
        if not _LOWEST_SCALE <= self.scale <= _HIGHEST_SCALE:
            message = f"scale is {self.scale}: choose {_LOWEST_SCALE} to {_HIGHEST_SCALE}"
            raise ConfigError(message)

    def count(self, text: str) -> int:
        """
        Return the estimated tokens of *text*: 0 for no text, else at least 1.
        """
        if not text:
            return 0
        data = text.encode("utf-8", "surrogatepass")
        size = len(data)
        units = START + _units(data[:_PIECE])
        for at in range(_PIECE, size, _PIECE):
            units += _units(data[at : at + _PIECE])
        return max(-(-size // _LONGEST_TOKEN), int(units * self.scale / UNITS + 0.5))

    def calibrated(self, *, reported: int, estimated: int) -> "TokenEstimator":
        """
        Return an estimator that a vendor's usage has corrected.

        The correction is damped as if 1,000 tokens had been estimated exactly before, so that a
        short request with its fixed costs does not move it much, and `scale` stays between 0.25
        and 4. Figures that are not positive change nothing.

        Args:
            reported: The tokens that the vendor counted.
            estimated: What this estimator said of the same texts.
        """
        if reported <= 0 or estimated <= 0:
            return self
        ratio = (min(reported, 16 * estimated) + _TRUSTED_TOKENS) / (estimated + _TRUSTED_TOKENS)
        scale = min(max(self.scale * ratio, _LOWEST_SCALE), _HIGHEST_SCALE)
        return TokenEstimator(scale=scale)


def _units(data: bytes) -> int:
    levels = int.from_bytes(data.translate(_LEVEL_BITS), "little")
    classes = int.from_bytes(data.translate(_CLASS_BITS), "little")
    # A shift by eight lays the next byte over each; one or two more or less lay the bit of
    # another class over that of the mask.
    same = classes & classes >> 8
    return (
        levels.bit_count()
        + 3 * (levels & _FOURS).bit_count()
        + 15 * (levels & _SIXTEENS).bit_count()
        + PATTERNS.two_digits * (same & _DIGIT).bit_count()
        + PATTERNS.two_rulers * (same & _RULER).bit_count()
        + PATTERNS.two_line_ends * (same & _LINE_END).bit_count()
        + PATTERNS.three_letters * (same & classes >> 16 & _LETTER).bit_count()
        + PATTERNS.blank_digit * (classes & classes >> 7 & _BLANK).bit_count()
        + PATTERNS.blank_sign * (classes & classes >> 9 & _BLANK).bit_count()
        + PATTERNS.word_two_blanks * (classes & same >> 10 & _LETTER).bit_count()
        + PATTERNS.mixed_case * (classes & classes >> 10 & classes >> 16 & _CAPITAL).bit_count()
    )


def count_message(message: Message, counter: TokenCounter) -> int:
    """
    Return the tokens of *message*: its parts and what the chat format spends around them.

    Content that is not text has a fixed price: its base64 is never read. Metadata, ids and native
    items are not sent as text and cost nothing.
    """
    total = MESSAGE_TOKENS + sum(_count_part(part, counter) for part in message.parts)
    return total if message.name is None else total + counter.count(message.name)


def _count_part(part: Part, counter: TokenCounter) -> int:
    match part:
        case TextPart(content=text) | CompactionPart(content=text):
            return counter.count(text)
        case ToolCallPart():
            named = counter.count(part.name) + counter.count(part.arguments)
            return TOOL_CALL_TOKENS + named
        case ToolCallResponsePart():
            return TOOL_RESPONSE_TOKENS + _count_response(part, counter)
        case ReasoningPart():
            return REASONING_TOKENS + counter.count(part.content)
        case GenericPart():
            return counter.count(part.data)
        case BlobPart() | UriPart() | FilePart():
            return MEDIA_TOKENS.get(part.modality, MEDIA_TOKENS["document"])
    assert_never(part)


def _count_response(part: ToolCallResponsePart, counter: TokenCounter) -> int:
    if isinstance(part.response, str):
        return counter.count(part.response)
    return sum(_count_part(content, counter) for content in part.response)
