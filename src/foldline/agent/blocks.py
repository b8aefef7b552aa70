"""
Blocks of the items of a list, which tell whether it is still the same.

A caller may change a dictionary in place, so a block has copies of its items, and the bytes of those
with numbers, which tell `1`, `True` and `1.0` apart. What cannot be copied is bytes alone, and so is
at first what was given once. The order of keys is no difference.
"""

import marshal
from collections.abc import Mapping, Sequence
from itertools import compress, count
from operator import eq, ne
from sys import getsizeof
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from foldline.errors import FormatError
from foldline.history.formats.objects import dumped


BLOCK = 128
"""How many items are compared at once: enough for speed, few enough to copy the last ones again."""


class Copies(Struct, frozen=True, kw_only=True):
    """Copies of the items of a block, the places of those with numbers, and these as bytes."""

    items: list[object]
    places: tuple[int, ...]
    numbers: bytes
    # About how many bytes the copies take with their texts, which the messages share.
    weight: int


class SeenOnce(bytes):
    """The items of a block that were given in one call: the next one makes copies of them."""


Block: TypeAlias = Copies | bytes
"""Copies of the items of a block, or all of them as bytes."""


_Container: TypeAlias = dict[Any, Any] | list[Any]

_NO_COPIES = Copies(items=[], places=(), numbers=b"", weight=0)
_NUMBERS = frozenset({bool, float, int})
_TEXTS = frozenset({str})
_BUILT_IN = (bytes, bytearray, int, float, list, tuple, set, frozenset)
"""Of a subclass of these the fields are not all."""


def _seen(value: object) -> object:
    """Return what tells whether an object has changed, several times as fast as a dump."""
    name = type(value).__qualname__
    # Of those with pydantic's models; to ask for a protocol takes ten times as long.
    # The properties of public names cost as much again as all the rest.
    told: set[str] | None = getattr(value, "__pydantic_fields_set__", None)
    if told is not None:
        extra: object = getattr(value, "__pydantic_extra__", None)
        return name, vars(value), extra, len(told)
    if isinstance(value, str | Mapping):
        return dumped(value)
    if isinstance(value, _BUILT_IN):
        raise TypeError
    return name, vars(value)


_NEWEST = 16
"""By how many of its newest items a list is told from another with the same beginning."""

_ENCODER = msgspec.msgpack.Encoder(enc_hook=_seen, uuid_format="bytes")
_SORTED = msgspec.msgpack.Encoder(order="deterministic").encode
_DECODE = msgspec.msgpack.Decoder().decode
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
    if isinstance(block, SeenOnce):
        return _sorted(items) == block
    buffer = bytearray()
    if isinstance(block, bytes):
        return written(items, buffer) and bytes(buffer) == block
    is_same = items == block.items
    if not is_same or not block.places:
        return is_same
    return (
        written([items[place] for place in block.places], buffer) and bytes(buffer) == block.numbers
    )


def are_blocks(blocks: Sequence[Block], items: Sequence[object], size: int) -> bool:
    """Whether the first *size* of *items* are those that *blocks* were made of."""
    # Other lists differ mostly at the end.
    for number in range(len(blocks) - 1, -1, -1):
        block, at = blocks[number], number * BLOCK
        some = items[at : min(at + BLOCK, size)]
        # Most blocks have no numbers.
        if type(block) is Copies and not block.places:
            if some != block.items:
                return False
        elif not is_block(block, some):
            return False
    return True


def blocks_of(items: Sequence[object], known: Sequence[Block] = ()) -> list[Block] | None:
    """Return the blocks of *items*, of which the first may be *known*; None if they are no JSON."""
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


def seen_once(items: Sequence[object]) -> tuple[Sequence[Block], list[object]] | None:
    """Return the blocks of *items* for now, and copies to read; None if one is no dictionary."""
    # Copies that are kept cost several times as much, and many lists are given but once.
    try:
        copies: list[object] = msgspec.to_builtins(items)
        # An object is no equal of its copy.
        is_plain = copies == items and {*map(type, items)} == {dict}
    except (TypeError, RecursionError):
        return None
    held = [_sorted(copies[at : at + BLOCK]) for at in range(0, len(copies), BLOCK)]
    blocks = [SeenOnce(one) for one in held if one is not None]
    return (blocks, copies) if is_plain and len(blocks) == len(held) else None


def _sorted(items: Sequence[object]) -> bytes | None:
    """Return *items* as bytes, whatever the order of their keys; None if these are not all of them."""
    try:
        return _SORTED(items)
    except _UNENCODED:
        return None


def seen_again(blocks: Sequence[Block], items: Sequence[object]) -> list[Block]:
    """Return *blocks*, those that *items* begin with, with copies for what was seen once."""
    found = [*blocks]
    for number, block in enumerate(blocks):
        if isinstance(block, SeenOnce):
            some = items[number * BLOCK : (number + 1) * BLOCK]
            (made,) = blocks_of(some) or (block,)
            # Another thread may have edited them meanwhile.
            if is_block(block, made.items if isinstance(made, Copies) else some):
                found[number] = made
    return found


def _copies(items: Sequence[object], known: Copies) -> Copies:
    """Return copies of *items*, of which *known* are the first; TypeError if equals may differ."""
    copied, places, start = [*known.items], [*known.places], len(known.items)
    containers: list[object] = []
    for item in items[start:]:
        if type(item) is not dict:
            raise TypeError
        made, has_numbers = _copied(cast("_Container", item), containers)
        if has_numbers:
            places.append(len(copied))
        copied.append(made)
    buffer = bytearray()
    if not written(copied[start:], buffer):
        raise TypeError
    weight = known.weight + len(buffer) + sum(map(getsizeof, containers))
    numbers = known.numbers
    if len(places) > len(known.places):
        # A copy has the types and the order of what it was made of.
        if not written([copied[place] for place in places], buffer):
            raise TypeError
        numbers = bytes(buffer)
    return Copies(items=copied, places=tuple(places), numbers=numbers, weight=weight)


def _copied(value: _Container, containers: list[object]) -> tuple[_Container, bool]:
    """Return a copy of *value*, also put into *containers*, and whether it has numbers."""
    made = value.copy()
    containers.append(made)
    has_numbers = False
    inner: Any
    for key, inner in made.items() if isinstance(made, dict) else enumerate(made):
        kind = type(inner)  # pyright: ignore[reportUnknownVariableType] - a cast takes as long as a copy
        if kind is str or inner is None:
            continue
        if kind is dict or kind is list:
            made[key], are_numbers = _copied(inner, containers)
            has_numbers = has_numbers or are_numbers
        # A NaN is not its own equal.
        elif kind in _NUMBERS and inner == inner:  # noqa: PLR0124
            has_numbers = True
        else:
            raise TypeError
    if type(made) is dict and not _TEXTS.issuperset(map(type, made)):
        raise TypeError
    return made, has_numbers


def leading(blocks: Sequence[Block], items: Sequence[object], start: int) -> int:
    """Return with about how many of *items* those of *blocks* begin: the first *start*, or more."""
    # Numbers of another type count as the same.
    at = start - start % BLOCK
    for block in blocks[start // BLOCK :]:
        held = _items_of(block)
        differs = map(ne, held, items[at : at + BLOCK])
        other = next(compress(count(), differs), None)
        if other is not None or not held:
            return at + (other or 0)
        at += len(held)
    return min(at, len(items))


def goes_on(blocks: Sequence[Block], items: Sequence[object], size: int) -> bool:
    """Whether most of the newest of *size* items, those of *blocks*, are where they were in *items*."""
    newest = [one for block in blocks[-2:] for one in _items_of(block)][-_NEWEST:]
    same: int = sum(map(eq, newest, items[max(0, size - len(newest)) : size]))
    return 2 * same >= len(newest) > 0


def _items_of(block: Block) -> Sequence[object]:
    """Return what equals the items of *block*; nothing if these were no dictionaries."""
    if isinstance(block, Copies):
        return block.items
    return cast("list[object]", _DECODE(block)) if isinstance(block, SeenOnce) else ()


def copies_in(blocks: Sequence[Block], start: int) -> list[object] | None:
    """Return the copies in *blocks* from number *start* on; None if one of them is bytes alone."""
    copies: list[object] = []
    for block in blocks:
        if not isinstance(block, Copies):
            return None
        copies += block.items[start:] if start else block.items
        start = max(0, start - BLOCK)
    return copies


def written(items: Sequence[object], buffer: bytearray) -> bool:
    """Write *items* into *buffer*, in place of what it holds; False if they are no JSON."""
    try:
        _ENCODER.encode_into(items, buffer)
    except _UNENCODED:
        try:
            # Lone surrogates and numbers of any length, which an object has no place for.
            told = cast("list[str]", [*map(_told, items)])
            buffer[:] = _MARSHAL + marshal.dumps(told, _MARSHAL_VERSION)
        except ValueError:
            return False
    return True


def _told(item: object) -> object:
    """Return the bytes of *item* alone, or itself if it has none."""
    try:
        return _ENCODER.encode(item)
    except _UNENCODED:
        return item


def held_by(items: Sequence[object]) -> bytes | None:
    """Return all that *items* hold; None if that cannot be written, so that they are not remembered."""
    buffer = bytearray()
    return bytes(buffer) if written(items, buffer) else None


def size_of(block: Block) -> int:
    """Return about how many bytes *block* and the texts of its messages take."""
    return 2 * len(block) if isinstance(block, bytes) else block.weight + len(block.numbers)
