"""What was read from lists of dictionaries or objects, so that the next call reads what is new."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import count
from operator import attrgetter
from sys import getsizeof
from threading import Lock
from typing import TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from foldline.agent.blocks import (
    BLOCK,
    Block,
    Copies,
    SeenOnce,
    are_blocks,
    blocks_of,
    copies_in,
    seen_again,
    seen_once,
    size_of,
    written,
)
from foldline.agent.written_view import WrittenView
from foldline.history.formats.detect import Witnesses
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import Part, ReasoningPart, TextPart, ToolCallPart, ToolCallResponsePart


__all__ = ["KNOWN_BYTES", "Conversion", "KnownList", "KnownLists"]


KNOWN_BYTES = 256 * 1024 * 1024
"""How many bytes of plain lists a reducer remembers by default."""

_LEAST = 8
"""A shorter list is read faster than it is looked up."""

_HEAD = 2
"""By how many items the lists are told apart first."""

_MESSAGE_BYTES = 480
"""What a message takes beside its texts, with the headers of these, and its item beside its bytes."""

_ROW_BYTES = 120
"""What is the list's own of a message that a longer list holds as well."""


_FORMAT = NativeFormat | str | None
_Head: TypeAlias = tuple[_FORMAT, bytes]


class Conversion(Struct, frozen=True, kw_only=True, eq=False):
    """What was read from a list of dictionaries or objects; nothing in it is the caller's own."""

    history: History
    """The messages; never appended to."""

    wire: NativeFormat = NativeFormat.OTEL
    """The format of dictionaries; objects have that of our own parts."""

    witnesses: Witnesses | None = None
    """What the items say of their format; None if the caller named it."""

    places: Sequence[int] = ()
    """The place of the first item of each message; several messages of one item have the same."""

    views: list[WrittenView] = field(default_factory=list[WrittenView])
    """The view that was written last of the very same list, or of its beginning, if one was."""

    @property
    def messages(self) -> list[Message]:
        """The messages, system messages at their places."""
        return self.history.everything()


class KnownList(Struct, frozen=True, kw_only=True, eq=False):
    """
    A list of a call, in blocks that nobody else has, and what was read from it; see `blocks`.

    What is no JSON at all has no block: such a list is not remembered.
    """

    number: int
    head: _Head
    size: int
    """The number of items."""

    blocks: Sequence[Block]
    conversion: Conversion
    grown_from: int | None
    """The number of the list that is the beginning of this one."""

    weight: int
    """About how many bytes it takes."""

    def begins(self, items: Sequence[object]) -> bool:
        """Whether *items* begin with this list."""
        size, last = self.size, self.blocks[-1]
        if len(items) < size or (isinstance(last, Copies) and items[size - 1] != last.items[-1]):
            return False
        return are_blocks(self.blocks, items, size)


_SIZE = attrgetter("size")
_Made = TypeVar("_Made", bound=Conversion | None)


class KnownLists:
    """
    A bounded memory of the lists that a reducer was called with; the least recently used go first.

    Of a conversation it has the newest list and the one that it has grown from, since the last
    message is what callers take back.
    """

    def __init__(self, most_bytes: int = KNOWN_BYTES) -> None:
        """Remember lists of about *most_bytes* together."""
        self._most_bytes = most_bytes
        self._lists: OrderedDict[int, KnownList] = OrderedDict()
        self._weights: dict[int, int] = {}
        self._alike: dict[_Head, list[KnownList]] = {}
        self._last: KnownList | None = None
        self._grown: dict[int, int] = {}
        self._numbers = count()
        self._weight = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._lists)

    @property
    def weight(self) -> int:
        """About how many bytes the lists take."""
        return self._weight

    def find(self, items: Sequence[object], format: _FORMAT) -> KnownList | None:
        """
        Return the longest list that *items*, read as *format*, begin with; None if none is known.

        One of the conversation of the last call comes before all others.
        """
        if len(items) < _LEAST or not self._lists:
            return None
        last = self._last
        if last is not None:
            for number in (self._grown.get(last.number), last.number, last.grown_from):
                known = None if number is None else self._lists.get(number)
                if known is not None and known.head[0] == format and known.begins(items):
                    return self._used(known, items)
        head = _head(items, format)
        if head is None:
            return None
        with self._lock:
            alike = sorted(self._alike.get(head, ()), key=_SIZE, reverse=True)
        found = next((one for one in alike if one.begins(items)), None)
        return None if found is None else self._used(found, items)

    def _used(self, known: KnownList, items: Sequence[object]) -> KnownList:
        blocks = known.blocks
        if isinstance(blocks[0], SeenOnce):
            # It is given again, so it is worth copies, which are compared faster.
            blocks = seen_again(blocks, items[: known.size])
        with self._lock:
            if self._lists.get(known.number) is known:
                self._lists.move_to_end(known.number)
                if blocks is not known.blocks:
                    known = self._with_blocks(known, blocks)
                self._last = known
                self._keep_bound()
        return known

    def _with_blocks(self, known: KnownList, blocks: Sequence[Block]) -> KnownList:
        more = sum(map(size_of, blocks)) - sum(map(size_of, known.blocks))
        made = replace(known, blocks=blocks, weight=known.weight + more)
        alike = self._alike[known.head]
        alike[alike.index(known)] = self._lists[known.number] = made
        self._weigh(made, self._weights[known.number] + more)
        return made

    def keeping(
        self,
        items: Sequence[object],
        format: _FORMAT,
        read: Callable[[Sequence[object] | None], _Made],
        *,
        grown_from: KnownList | None = None,
        reads_copies: bool = False,
    ) -> _Made:
        """
        Return what *read* makes of *items*, read as *format*, and remember it unless it is None.

        Their beginning *grown_from* is known. It is given copies of the others, which hold no
        objects, or None. What another thread has edited meanwhile is not remembered, unless *read*
        *reads_copies*: nobody knows whether it was read before or after that.
        """
        if len(items) < _LEAST or self._most_bytes < _MESSAGE_BYTES * len(items):
            return read(None)
        before: Sequence[Block] = () if grown_from is None else grown_from.blocks
        size = 0 if grown_from is None else grown_from.size
        head = _head(items, format) if grown_from is None else grown_from.head
        kept = size // BLOCK
        rest = items[kept * BLOCK :]
        once = seen_once(rest) if grown_from is None else None
        blocks, copies = once or _blocks(rest, before[kept:], size - kept * BLOCK)
        made = read(copies)
        if made is None or head is None or blocks is None:
            return made
        is_read = reads_copies and copies is not None
        if not is_read and not are_blocks(blocks, rest, len(rest)):
            return made
        known = KnownList(
            number=next(self._numbers),
            head=head,
            size=len(items),
            blocks=[*before[:kept], *blocks],
            conversion=made,
            grown_from=None if grown_from is None else grown_from.number,
            weight=_weight(blocks, kept, made, grown_from),
        )
        with self._lock:
            self._put(known, grown_from)
        return made

    def _put(self, known: KnownList, grown_from: KnownList | None) -> None:
        alike = self._alike.setdefault(known.head, [])
        for one in alike:
            # Two calls at once may have read the same list.
            if one.size == known.size and one.blocks == known.blocks:
                return
        alike.append(known)
        self._lists[known.number] = self._last = known
        self._weigh(known, known.weight)
        if grown_from is not None and grown_from.number in self._lists:
            self._drop_number(grown_from.grown_from)
            self._drop_number(self._grown.get(grown_from.number))
            self._grown[grown_from.number] = known.number
            self._weigh(grown_from, _ROW_BYTES * grown_from.size)
        self._keep_bound()

    def _keep_bound(self) -> None:
        while self._weight > self._most_bytes:
            oldest = next(iter(self._lists.values()))
            self._drop(oldest)
            # It was weighed as a part of the longer one.
            self._drop_number(oldest.grown_from)

    def _weigh(self, known: KnownList, weight: int) -> None:
        self._weight += weight - self._weights.get(known.number, 0)
        self._weights[known.number] = weight

    def _drop_number(self, number: int | None) -> None:
        known = None if number is None else self._lists.get(number)
        if known is not None:
            self._drop(known)

    def _drop(self, known: KnownList) -> None:
        del self._lists[known.number]
        self._weight -= self._weights.pop(known.number)
        self._grown.pop(known.number, None)
        alike = self._alike[known.head]
        alike.remove(known)
        if not alike:
            del self._alike[known.head]
        if self._last is known:
            self._last = None


def _head(items: Sequence[object], format: object) -> _Head | None:
    buffer = bytearray()
    # Another format is refused when the items are read.
    if not isinstance(format, _FORMAT):
        return None
    return (format, bytes(buffer)) if written(items[:_HEAD], buffer) else None


def _blocks(
    items: Sequence[object], known: Sequence[Block], start: int
) -> tuple[Sequence[Block] | None, list[object] | None]:
    """Return the blocks of *items*, of which *start* are *known*, and the copies of the others."""
    blocks = blocks_of(items, known)
    return blocks, None if blocks is None else copies_in(blocks, start)


def _weight(
    blocks: Sequence[Block], kept: int, conversion: Conversion, before: KnownList | None
) -> int:
    """
    Return about how many bytes they take: the blocks, and the messages with their texts.

    The first *kept* blocks are those of the list *before*, and *blocks* come after them.
    """
    history, others, rules, weight = conversion.history, 0, 0, 0
    if before is not None:
        others, rules = len(before.conversion.history), len(before.conversion.history.system)
        weight = before.weight - sum(map(size_of, before.blocks[kept:]))
    new = [*history[others:], *history.system[rules:]]
    weight += sum(map(size_of, blocks)) + _MESSAGE_BYTES * len(new)
    for one in new:
        if one.native is not None:
            weight += getsizeof(one.native.item)
        for part in one.parts:
            said = part.content if type(part) is TextPart else _said(part)
            weight += 0 if said.isascii() else getsizeof(said)
    return weight


def _said(part: Part) -> str:
    """Return the long text of *part*, which takes up to five times its length if it is not ASCII."""
    if isinstance(part, ReasoningPart):
        return part.content
    if isinstance(part, ToolCallPart):
        return part.arguments
    if isinstance(part, ToolCallResponsePart) and isinstance(part.response, str):
        return part.response
    return ""
