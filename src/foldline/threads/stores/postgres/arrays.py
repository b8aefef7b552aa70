"""
Arrays as PostgreSQL reads them, packed here: the driver takes five times as long for each.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from struct import pack
from typing import Final


__all__ = ["Packed", "booleans", "doubles", "integers", "strings", "texts"]


# The numbers of the types of their elements.
_BOOL: Final = 16
_BYTEA: Final = 17
_INT8: Final = 20
_TEXT: Final = 25
_FLOAT8: Final = 701


class Packed(bytes):
    """An array in its binary form, whose type the statement says."""

    __slots__ = ()


def integers(values: Sequence[int]) -> Packed:
    """Return *values* as an array of `bigint`."""
    sized = chain.from_iterable((8, value) for value in values)
    return Packed(_head(_INT8, len(values)) + pack(">" + "iq" * len(values), *sized))


def booleans(values: Sequence[bool]) -> Packed:
    """Return *values* as an array of `boolean`."""
    sized = chain.from_iterable((1, value) for value in values)
    return Packed(_head(_BOOL, len(values)) + pack(">" + "i?" * len(values), *sized))


def doubles(values: Sequence[float | None]) -> Packed:
    """Return *values* as an array of `double precision`."""
    return strings([None if one is None else pack(">d", one) for one in values], kind=_FLOAT8)


def texts(values: Iterable[str | None]) -> Packed:
    """Return *values* as an array of `text`; one with a lone surrogate raises UnicodeError."""
    return strings([None if one is None else one.encode() for one in values], kind=_TEXT)


def strings(values: Sequence[bytes | None], *, kind: int = _BYTEA) -> Packed:
    """Return *values* as an array of `bytea`."""
    if not values:
        return Packed(_head(kind, 0))
    pieces = [_head(kind, len(values))]
    for value in values:
        pieces.append(pack(">i", -1 if value is None else len(value)))
        pieces.append(value or b"")
    return Packed(b"".join(pieces))


def _head(kind: int, length: int) -> bytes:
    # The number of dimensions, whether there may be nulls, the type; then length and first index.
    return pack(">iiiii", 1, 1, kind, length, 1) if length else pack(">iii", 0, 0, kind)
