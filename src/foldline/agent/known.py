"""What was read from lists of dictionaries or objects, so that the next call reads what is new."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from sys import getsizeof
from threading import Lock
from typing import NamedTuple, TypeVar

from msgspec import Struct
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


class Conversion(Struct, frozen=True, kw_only=True, eq=False):
    """What was read from a list of dictionaries or objects; nothing in it is the caller's own."""

    # Never appended to.
    history: History
    # Of dictionaries; objects have that of our own parts.
    wire: NativeFormat = NativeFormat.OTEL
    # What the items say of their format; None if the caller named it.
    witnesses: Witnesses | None = None
    # Where the first item of each message is; several messages of one item have the same.
    places: Sequence[int] = ()
    # The one that was written last of the very same list, or of its beginning, if one was.
    views: list[WrittenView] = []

    @property
    def messages(self) -> list[Message]:
        """The messages, system messages at their places."""
        return self.history.everything()

    def newest(self, count: int) -> list[Message]:
        """Return the last *count* messages, system messages among them."""
        history = self.history
        start = len(history) - count
        # Most lists have rules in front alone.
        if start > 0 and history.at(history.total - count) is history[start]:
            return history[start:]
        return self.messages[-count:]

    def turn_before(self, size: int) -> int:
        """Return the last place up to *size* where another than the assistant begins to speak."""
        messages, at = self.messages, bisect_right(self.places, size) - 1
        while at > 0 and messages[at].role == "assistant":
            at -= 1
        return self.places[at]


class KnownList(Struct, frozen=True, kw_only=True, eq=False):
    """A list of a call, in blocks that nobody else has, and what was read from it; see `blocks`."""

    # The number of its conversation.
    line: int
    # What its items were read as: lists of two kinds are never the same.
    kind: object
    # What tells it from others by the items before some places of it, as far as these were made.
    marks: dict[int, int]
    size: int
    blocks: Sequence[Block]
    # Whether all blocks are copies, from which the other marks are made when they are needed.
    has_copies: bool
    conversion: Conversion
    # About how many bytes it takes.
    weight: int

    def begins(self, items: Sequence[object]) -> bool:
        """Whether *items* begin with this list."""
        size, last = self.size, self.blocks[-1]
        if len(items) < size or (isinstance(last, Copies) and items[size - 1] != last.items[-1]):
            return False
        return are_blocks(self.blocks, items, size)

    def marked(self) -> Mapping[int, int]:
        """Return all marks; those that are missing are made of the copies."""
        if self.size not in self.marks:
            made = dict(_marks(partial(_copies, self.blocks), self.size, self.kind, self.marks))
            self.marks.clear()
            self.marks.update(made)
        return self.marks


class _Line(NamedTuple):
    """What is known of a conversation: its newest list, and the one that this has grown from."""

    newest: KnownList
    before: KnownList | None = None

    @property
    def lists(self) -> list[KnownList]:
        """One list or both."""
        return [self.newest] if self.before is None else [self.newest, self.before]

    @property
    def weight(self) -> int:
        """About how many bytes they take together."""
        return self.newest.weight + (0 if self.before is None else _ROW_BYTES * self.before.size)


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
        self._lines: OrderedDict[int, _Line] = OrderedDict()
        self._last: _Line | None = None
        self._marked: dict[int, int] = {}
        self._marks: dict[int, list[int]] = {}
        self._unmarked: set[int] = set()
        self._numbers = count()
        self.weight = 0
        """About how many bytes the lists take."""
        self._lock = Lock()

    def __len__(self) -> int:
        return sum(len(line.lists) for line in self._lines.values())

    def find(self, items: Sequence[object], kind: object) -> KnownList | None:
        """Return the longest known list that *items*, read as *kind*, begin with, or None."""
        if len(items) < _LEAST or not self._lines:
            return None
        last = self._last
        found = None if last is None else _begun(last, items, kind)
        if found is None:
            near = (_begun(one, items, kind) for one in self._near(items, kind))
            found = next((one for one in near if one is not None), None)
        return None if found is None else self._used(found, items)

    def _near(self, items: Sequence[object], kind: object) -> Iterator[_Line]:
        """Yield the conversations that had the same as *items* at some places, the nearest first."""
        with self._lock:
            self._mark_all()
        seen: set[int] = set()
        for _, mark in _marks(items.__getitem__, len(items), kind, {}, near=_NEAR):
            number = self._marked.get(mark, -1)
            line = None if number in seen else self._lines.get(number)
            seen.add(number)
            if line is not None:
                yield line

    def _mark_all(self) -> None:
        """Note what conversations are found by that have gone on since they were marked."""
        for number in self._unmarked:
            self._unmark(number)
            marks: list[int] = []
            self._marks[number] = marks
            for known in self._lines[number].lists:
                marks += known.marked().values()
            self._marked |= dict.fromkeys(marks, number)
        self._unmarked.clear()

    def _unmark(self, number: int) -> None:
        for mark in self._marks.pop(number, ()):
            if self._marked.get(mark) == number:
                del self._marked[mark]

    def _used(self, known: KnownList, items: Sequence[object]) -> KnownList:
        last, made = self._last, known
        is_first = isinstance(known.blocks[0], SeenOnce)
        if is_first:
            # It is given again, so it is worth copies, which are compared faster.
            blocks = seen_again(known.blocks, items[: known.size])
            more = sum(map(size_of, blocks)) - sum(map(size_of, known.blocks))
            copied = copies_in(blocks, 0) is not None
            made = replace(known, blocks=blocks, has_copies=copied, weight=known.weight + more)
        elif last is not None and known in last:
            return known
        with self._lock:
            line = self._lines.get(known.line)
            if line is not None and known in line:
                newest, before = line
                self._put(_Line(made, before) if newest is known else _Line(newest, made))
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
            line = self._lines.get(edited.line)
            if line is not None and edited is line.newest:
                self._drop(edited.line)
                if before is not None:
                    self._put(_Line(before))
        return size

    def _edited(
        self, items: Sequence[object], kind: object, before: KnownList | None
    ) -> KnownList | None:
        if before is None:
            is_long = len(items) >= _WORTH and self._lines
            line = next(self._near(items, kind), None) if is_long else None
        else:
            line = self._lines.get(before.line)
        return None if line is None or line.newest is before else line.newest

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
        marks = {} if grown_from is None else grown_from.marks.copy()
        has_copies = copies is not None and grown_from is not None and grown_from.has_copies
        if not has_copies:
            marks = dict(_marks(items.__getitem__, len(items), kind, marks))
        known = KnownList(
            line=next(self._numbers) if grown_from is None else grown_from.line,
            kind=kind,
            marks=marks,
            size=len(items),
            blocks=[*before[:kept], *blocks],
            has_copies=has_copies,
            conversion=made,
            weight=_weight(blocks, kept, made, grown_from),
        )
        with self._lock:
            self._keep(known, grown_from)
        return made

    def _keep(self, known: KnownList, grown_from: KnownList | None) -> None:
        line = None if grown_from is None else self._lines.get(grown_from.line)
        if line is not None and grown_from in line:
            self._put(_Line(known, grown_from))
        elif grown_from is not None:
            # Another thread has gone on.
            self._put(_Line(replace(known, line=next(self._numbers))))
        elif not self._has(known):
            self._put(_Line(known))

    def _has(self, known: KnownList) -> bool:
        """Whether another call has read the same list at the same time."""
        self._mark_all()
        line = self._lines.get(self._marked.get(known.marked()[known.size], -1))
        newest = None if line is None else line.newest
        return newest is not None and newest.size == known.size and newest.blocks == known.blocks

    def _put(self, line: _Line) -> None:
        """Put *line*, which was used last, in place of what is known of that conversation."""
        number = line.newest.line
        before = self._lines.get(number)
        self._lines[number] = self._last = line
        self._lines.move_to_end(number)
        self._unmarked.add(number)
        self.weight += line.weight - (0 if before is None else before.weight)
        while self.weight > self._most_bytes:
            self._drop(next(iter(self._lines)))

    def _drop(self, number: int) -> None:
        line = self._lines.pop(number)
        self.weight -= line.weight
        self._unmarked.discard(number)
        self._unmark(number)
        if self._last is line:
            self._last = None


def _begun(line: _Line, items: Sequence[object], kind: object) -> KnownList | None:
    newest, before = line
    if newest.kind != kind:
        return None
    if newest.begins(items):
        return newest
    return before if before is not None and before.begins(items) else None


def _places(size: int, near: int) -> list[int]:
    """Return where a list is looked for: its head, and the *near* last places of each distance."""
    # An edit near the end leaves those of a greater distance.
    places: list[int] = []
    step = 1
    while step <= size:
        last = size - size % step
        places += range(last, max(last - near * step, _HEAD), -step)
        step *= _STEP
    places.append(_HEAD)
    return places


def _copies(blocks: Sequence[Block], part: slice) -> Sequence[object]:
    """Return that *part* of the items of *blocks*, all of which are copies."""
    start, stop = part.start, part.stop
    copies = copies_in(blocks[start // BLOCK : (stop - 1) // BLOCK + 1], start % BLOCK)
    return () if copies is None else copies[: stop - start]


def _marks(
    items: Callable[[slice], Sequence[object]],
    size: int,
    kind: object,
    known: Mapping[int, int],
    *,
    near: int = 1,
) -> Iterator[tuple[int, int]]:
    """Yield these places, and what the items before them are known by, as far as not by *known*."""
    buffer, first = bytearray(), known.get(_HEAD)
    if first is None:
        written(items(slice(0, _HEAD)), buffer)
        # A format that is none may have no hash.
        first = hash((repr(kind), bytes(buffer)))
    for at in _places(size, near):
        mark = first if at == _HEAD else known.get(at)
        if mark is None:
            written(items(slice(max(0, at - _SPAN), at)), buffer)
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
    """Return about how many bytes *blocks* take, behind the *kept* ones of the list *before*."""
    history, others, rules, weight = conversion.history, 0, 0, 0
    if before is not None:
        others = len(before.conversion.history)
        rules = before.conversion.history.total - others
        weight = before.weight - sum(map(size_of, before.blocks[kept:]))
    new = [*history[others:], *history.system[rules:]]
    weight += sum(map(size_of, blocks)) + _MESSAGE_BYTES * len(new)
    for one in new:
        if one.native is not None:
            weight += getsizeof(one.native.item)
        # The text of one in front is in no block, if the application writes it again each time.
        if one.role == "system":
            weight += getsizeof(one.text)
        for part in one.parts:
            said = part.content if type(part) is TextPart else _said(part)
            if not said.isascii():
                weight += getsizeof(said)
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
