"""
Blocks of the items of a list, which tell whether it is still the same.

A caller may change a dictionary in place, so a block is a copy of its items; or, where a value is no
text, bytes, which tell `1`, `True` and `1.0` apart. The order of keys is no difference.
"""

import marshal
from collections.abc import Mapping, Sequence
from sys import getsizeof
from typing import TypeAlias, cast

import msgspec

from foldline.errors import FormatError
from foldline.history.formats.objects import dumped
from foldline.history.formats.wire import is_list, is_object


__all__ = ["BLOCK", "Block", "blocks_of", "held_by", "is_block", "size_of", "written"]


BLOCK = 128
"""How many items are compared at once: enough for speed, few enough to copy the last ones again."""

Block: TypeAlias = "list[object] | bytes"
"""Copies of the items of a block, or all of them as bytes."""


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
    if isinstance(block, list):
        return items == block
    buffer = bytearray()
    return written(items, buffer) and bytes(buffer) == block


def blocks_of(items: Sequence[object], first: int) -> list[Block] | None:
    """Return the blocks of *items* from number *first* on; None if they are no JSON."""
    blocks: list[Block] = []
    buffer = bytearray()
    for at in range(first * BLOCK, len(items), BLOCK):
        block = items[at : at + BLOCK]
        try:
            blocks.append([_copied(one) for one in block])
        except (TypeError, RecursionError):
            if not written(block, buffer):
                return None
            blocks.append(bytes(buffer))
    return blocks


def _copied(value: object) -> object:
    """Return a copy of *value*, whose equals are what it is; `TypeError` if it is not all text."""
    kind = type(value)
    if kind is str or value is None:
        return value
    if kind is dict and is_object(value):
        return {_copied(key): _copied(inner) for key, inner in value.items()}
    if kind is list and is_list(value):
        return [_copied(inner) for inner in value]
    raise TypeError


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
    return 2 * len(block) if isinstance(block, bytes) else sum(map(_size, block))


def _size(value: object) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else 0
    if is_object(value):
        return getsizeof(value) + sum(map(_size, value.values()))
    if is_list(value):
        return getsizeof(value) + sum(map(_size, value))
    return 0
