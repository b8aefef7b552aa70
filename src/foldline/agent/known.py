"""What was read from lists of dictionaries or objects, so that the next call reads what is new."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from sys import getsizeof
from threading import Lock
from types import MappingProxyType
from typing import TypeVar

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
    goes_on,
    leading,
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

_SPAN = 4
"""By how many items before a place they are told apart there."""

_STEP = 8
"""How much farther apart the next places are than those before."""

_NEAR = 9
"""At how many places of the same distance a list is looked for."""

_WORTH = 32
"""How many more items have to stay as they are, for them to be remembered as a list of their own."""

_MESSAGE_BYTES = 480
"""What a message takes beside its texts, with the headers of these, and its item beside its bytes."""

_ROW_BYTES = 120
"""What is the list's own of a message that a longer list holds as well."""


_NO_MARKS: Mapping[int, int] = MappingProxyType({})


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

    def turn_before(self, size: int) -> int:
        """Return the last place up to *size* where another than the assistant begins to speak."""
        messages, at = self.messages, bisect_right(self.places, size) - 1
        while at > 0 and messages[at].role == "assistant":
            at -= 1
        return self.places[at]


class KnownList(Struct, frozen=True, kw_only=True, eq=False):
    """
    A list of a call, in blocks that nobody else has, and what was read from it; see `blocks`.

    What is no JSON at all has no block: such a list is not remembered.
    """

    number: int
    kind: object
    """What its items were read as: lists of two kinds are never the same."""

    marks: dict[int, int]
    """What tells it from others by the items before some places of it, by these places."""

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
        self._marked: dict[int, int] = {}
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

    def find(self, items: Sequence[object], kind: object) -> KnownList | None:
        """
        Return the longest list of a conversation that *items*, read as *kind*, begin with, or None.

        That of the last call comes before all others, and then those with the same items at the
        same places: however many there are, a few of them are compared.
        """
        if len(items) < _LEAST or not self._lists:
            return None
        last = self._last
        found = None if last is None else self._begun(last, items, kind)
        if found is None:
            near = (self._begun(one, items, kind) for one in self._near(items, kind))
            found = next((one for one in near if one is not None), None)
        return None if found is None else self._used(found, items)

    def _begun(self, near: KnownList, items: Sequence[object], kind: object) -> KnownList | None:
        for number in (self._grown.get(near.number), near.number, near.grown_from):
            known = None if number is None else self._lists.get(number)
            if known is not None and known.kind == kind and known.begins(items):
                return known
        return None

    def _near(self, items: Sequence[object], kind: object) -> Iterator[KnownList]:
        """Yield the last lists that had the same as *items* at some places, the nearest first."""
        seen: set[int] = set()
        for _, mark in _marks(items, kind, _NEAR):
            number = self._marked.get(mark, -1)
            known = None if number in seen else self._lists.get(number)
            seen.add(number)
            if known is not None:
                yield known

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
        self._lists[known.number] = made
        self._weigh(made, self._weights[known.number] + more)
        return made

    def unedited(self, items: Sequence[object], kind: object, before: KnownList | None) -> int:
        """
        Return with how many items a known list, edited behind these, still begins; 0 for too few.

        They are worth to be remembered as a list of their own, since the next edit is mostly behind
        them as well. The edited list is forgotten. That *items* begin with *before* is known.
        """
        edited = self._edited(items, kind, before)
        start = 0 if before is None else before.size
        least = 0 if edited is None else max(start + _WORTH, edited.size // 2)
        if edited is None or min(edited.size, len(items)) < least:
            return 0
        size = leading(edited.blocks, items, start)
        if size < least or not goes_on(edited.blocks, items, edited.size):
            return 0
        size = edited.conversion.turn_before(size)
        if size < least:
            return 0
        with self._lock:
            for number in (edited.number, edited.grown_from):
                if before is None or number != before.number:
                    self._drop_number(number)
        return size

    def _edited(
        self, items: Sequence[object], kind: object, before: KnownList | None
    ) -> KnownList | None:
        if before is not None:
            number = self._grown.get(before.number)
            return None if number is None else self._lists.get(number)
        if len(items) < _WORTH or not self._lists:
            return None
        return next(self._near(items, kind), None)

    def keeping(
        self,
        items: Sequence[object],
        kind: object,
        read: Callable[[Sequence[object] | None], _Made],
        *,
        grown_from: KnownList | None = None,
        reads_copies: bool = False,
    ) -> _Made:
        """
        Return what *read* makes of *items*, read as *kind*, and remember it unless it is None.

        Their beginning *grown_from* is known. It is given copies of the others, which hold no
        objects, or None. What another thread has edited meanwhile is not remembered, unless *read*
        *reads_copies*: nobody knows whether it was read before or after that.
        """
        if len(items) < _LEAST or self._most_bytes < _MESSAGE_BYTES * len(items):
            return read(None)
        before: Sequence[Block] = () if grown_from is None else grown_from.blocks
        size = 0 if grown_from is None else grown_from.size
        kept = size // BLOCK
        rest = items[kept * BLOCK :]
        once = seen_once(rest) if grown_from is None else None
        blocks, copies = once or _blocks(rest, before[kept:], size - kept * BLOCK)
        made = read(copies)
        if made is None or blocks is None:
            return made
        is_read = reads_copies and copies is not None
        if not is_read and not are_blocks(blocks, rest, len(rest)):
            return made
        known = KnownList(
            number=next(self._numbers),
            kind=kind,
            marks=dict(_marks(items, kind, 1, {} if grown_from is None else grown_from.marks)),
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
        same = self._lists.get(self._marked.get(known.marks[known.size], -1))
        # Two calls at once may have read the same list.
        if same is not None and same.size == known.size and same.blocks == known.blocks:
            return
        self._marked.update(dict.fromkeys(known.marks.values(), known.number))
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
        for mark in known.marks.values():
            if self._marked.get(mark) == known.number:
                del self._marked[mark]
        if self._last is known:
            self._last = None


def _places(size: int, near: int) -> list[int]:
    """
    Return where a list is looked for: the *near* last places of each distance, and its head.

    An edit near the end leaves those of a greater distance.
    """
    places, step = list[int](), 1
    while step <= size:
        last = size - size % step
        places += range(last, max(last - near * step, _HEAD), -step)
        step *= _STEP
    places.append(_HEAD)
    return places


def _marks(
    items: Sequence[object], kind: object, near: int, known: Mapping[int, int] = _NO_MARKS
) -> Iterator[tuple[int, int]]:
    """Yield these places, and what the items before them are known by, as far as not by *known*."""
    buffer, first = bytearray(), known.get(_HEAD)
    if first is None:
        written(items[:_HEAD], buffer)
        # A format that is none may have no hash.
        first = hash((repr(kind), bytes(buffer)))
    for at in _places(len(items), near):
        mark = first if at == _HEAD else known.get(at)
        if mark is None:
            written(items[max(0, at - _SPAN) : at], buffer)
            mark = hash((first, at, bytes(buffer)))
        yield at, mark


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
        # The text of one in front is in no block, if the application writes it again each time.
        weight += getsizeof(one.text) if one.role == "system" else 0
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
