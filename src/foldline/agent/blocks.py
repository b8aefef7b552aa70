"""
Blocks of the items of a list, which tell whether it is still the same.

A caller may change a dictionary in place, so a block has copies of its items, and the bytes of those
with numbers, which tell `1`, `True` and `1.0` apart. What cannot be copied is bytes alone. The order
of keys is no difference.
"""

import marshal
from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import TypeAlias, cast

import msgspec
from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.formats.objects import dumped
from foldline.history.formats.wire import is_list, is_object


__all__ = [
    "BLOCK",
    "Block",
    "Copies",
    "are_blocks",
    "blocks_of",
    "held_by",
    "is_block",
    "size_of",
    "written",
]


BLOCK = 128
"""How many items are compared at once: enough for speed, few enough to copy the last ones again."""


class Copies(Struct, frozen=True):
    """Copies of the items of a block, the places of those with numbers, and these as bytes."""

    items: list[object]
    places: tuple[int, ...]
    numbers: bytes
    weight: int
    """About how many bytes the copies take."""


Block: TypeAlias = Copies | bytes
"""Copies of the items of a block, or all of them as bytes."""


_NO_COPIES = Copies([], (), b"", 0)
_NUMBERS = frozenset({bool, float, int})
_NUMBER_BYTES = 32
_BUILT_IN = (bytes, bytearray, int, float, list, tuple, set, frozenset)
"""Of a subclass of these the fields are not all."""


def _seen(value: object) -> object:
    """Return what tells whether an object has changed, several times as fast as a dump."""
    name = type(value).__qualname__
    # Of those with pydantic's models; to ask for a protocol takes ten times as long.
    told: set[str] | None = getattr(value, "model_fields_set", None)
    if told is not None:
        extra: object = getattr(value, "model_extra", None)
        return name, vars(value), extra, len(told)
    if isinstance(value, str | Mapping):
        return dumped(value)
    if isinstance(value, _BUILT_IN):
        raise TypeError
    return name, vars(value)


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_seen, uuid_format="bytes")
_UNENCODED = (
    FormatError,
    msgspec.MsgspecError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
)
# No msgpack begins with this byte.
_MARSHAL = b"\xc1"
# The version without references: equal values give equal bytes.
_MARSHAL_VERSION = 2


def is_block(block: Block, items: Sequence[object]) -> bool:
    """Whether *items* are those that *block* was made of."""
    told, numbers = items, block
    if isinstance(block, Copies):
        is_same = items == block.items
        if not is_same or not block.places:
            return is_same
        told, numbers = [items[place] for place in block.places], block.numbers
    buffer = bytearray()
    return written(told, buffer) and buffer == numbers


def are_blocks(blocks: Sequence[Block], items: Sequence[object], size: int) -> bool:
    """Whether the first *size* of *items* are those that *blocks* were made of."""
    for number, block in enumerate(blocks):
        at = number * BLOCK
        if not is_block(block, items[at : min(at + BLOCK, size)]):
            return False
    return True


def blocks_of(items: Sequence[object], known: Sequence[Block] = ()) -> list[Block] | None:
    """
    Return the blocks of *items*; None if they are no JSON.

    They begin with those of *known*, one block or none: what it has copies of is not copied again.
    """
    blocks: list[Block] = []
    buffer = bytearray()
    copies = known[0] if known and isinstance(known[0], Copies) else _NO_COPIES
    for at in range(0, len(items), BLOCK):
        block = items[at : at + BLOCK]
        try:
            blocks.append(_copies(block, copies))
        except (TypeError, RecursionError):
            if not written(block, buffer):
                return None
            blocks.append(bytes(buffer))
        copies = _NO_COPIES
    return blocks


def _copies(items: Sequence[object], known: Copies) -> Copies:
    """Return copies of *items*, the first of which are those of *known*."""
    copied, places, size = [*known.items], [*known.places], len(known.items)
    for place, item in enumerate(items[size:], size):
        numbers: list[object] = []
        copied.append(_copied(item, numbers))
        if numbers:
            places.append(place)
    buffer = bytearray()
    # A copy has the types and the order of what it was made of.
    if places and not written([copied[place] for place in places], buffer):
        raise TypeError
    weight = known.weight + sum(map(_size, copied[size:]))
    return Copies(copied, tuple(places), bytes(buffer), weight)


def _copied(value: object, numbers: list[object]) -> object:
    """Return a copy of *value*, add its *numbers*; `TypeError` if equals of it may be something else."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is dict and is_object(value):
        if not all(type(key) is str for key in value):
            raise TypeError
        return {key: _copied(inner, numbers) for key, inner in value.items()}
    if kind is list and is_list(value):
        return [_copied(inner, numbers) for inner in value]
    # A NaN is not its own equal.
    if kind not in _NUMBERS or value != value:  # noqa: PLR0124 - that is what a NaN is
        raise TypeError
    numbers.append(value)
    return value


def written(items: Sequence[object], buffer: bytearray) -> bool:
    """Write *items* into *buffer*, in place of what it holds; False if they are no JSON."""
    try:
        _ENCODER.encode_into(items, buffer)
    except _UNENCODED:
        try:
            # Lone surrogates and numbers of any length.
            buffer[:] = _MARSHAL + marshal.dumps(cast("list[str]", items), _MARSHAL_VERSION)
        except ValueError:
            return False
    return True


def held_by(items: Sequence[object]) -> bytes | None:
    """Return all that *items* hold; None if that cannot be written, so that they are not remembered."""
    buffer = bytearray()
    return bytes(buffer) if written(items, buffer) else None


def size_of(block: Block) -> int:
    """
    Return about how many bytes *block* and the texts of its messages take.

    A copy shares its texts with the messages; those beyond ASCII are not counted here.
    """
    if isinstance(block, bytes):
        return 2 * len(block)
    return block.weight + len(block.numbers)


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else 0
    if is_object(value):
        return getsizeof(value) + sum(map(_size, value.values()))
    if is_list(value):
        return getsizeof(value) + sum(map(_size, value))
    return _NUMBER_BYTES if type(value) in _NUMBERS else 0
