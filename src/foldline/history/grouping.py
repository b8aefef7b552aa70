"""Items that are lists of blocks, as messages: each result of a tool outside an answer is one."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from foldline.history.parts import Part, ToolCallResponsePart


_Block = TypeVar("_Block")

Group: TypeAlias = list[tuple[_Block, tuple[Part, ...]]]
"""Blocks with what each says, which are one message together."""


def grouped(blocks: Iterable[tuple[_Block, Iterable[Part]]]) -> list[Group[_Block]]:
    """
    Return *blocks*, given with what they say, in groups: a result, or what is between results.

    A block that says nothing, such as the mark of a cache, goes with the one before it. Blocks that
    all say nothing are no group.
    """
    groups: list[Group[_Block]] = []
    last: bool | None = None
    for block, said in blocks:
        parts = tuple(said)
        kind = is_result(parts) if parts else None
        if groups and (kind is None or last is None or not (kind or last)):
            groups[-1].append((block, parts))
        else:
            groups.append([(block, parts)])
        last = last if kind is None else kind
    return [] if last is None else groups


def is_result(parts: Sequence[Part]) -> bool:
    """Whether *parts* are a result of a tool."""
    return bool(parts) and isinstance(parts[0], ToolCallResponsePart)
