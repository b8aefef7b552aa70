"""What LangGraph writes, as rows of a thread."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError, ThreadConflictError
from foldline.history.messages import Message
from foldline.history.parts import GenericPart
from foldline.threads.change import Change
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.thread import ConversationThread


NAME_KEY = "langgraph_thread_id"
"""The key of a thread's metadata for the id that LangGraph has for it, any text."""

_KIND = "langgraph"

_Version: TypeAlias = str | int | float
_Typed: TypeAlias = tuple[str, bytes]


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of LangGraph; or, of a checkpoint that was deleted, the values that others need."""

    call: Literal["put", "writes", "values"]
    ns: str
    id: str
    """The id of the checkpoint."""

    parent: str | None = None
    run: str | None = None
    at: dict[str, tuple[_Version, int]] = {}
    """The rows that have the values of the channels that this checkpoint has not changed."""

    own: dict[str, tuple[_Version, _Typed]] = {}
    """The values of the channels that it has changed."""

    value: _Typed = ("", b"")
    """What is given in the call beside the values."""

    @property
    def message(self) -> Message:
        """The row as an opaque message, which counts no tokens."""
        part = GenericPart(_KIND, msgspec.json.encode(self).decode(), opaque=True)
        return Message(role="user", parts=(part,))

    def indexed(self, number: int) -> "Row":
        """Return the row number *number* with the places of all values, and without its own."""
        own = {channel: (version, number) for channel, (version, _) in self.own.items()}
        return replace(self, at=self.at | own, own={}, value=("", b""))


def _no_checkpoints(thread: ReadOnlyThread) -> FormatError:
    message = (
        f"thread {thread.id!r} holds messages that are no checkpoints of LangGraph: give LangGraph "
        "another thread_id, or the FoldlineSaver another tenant"
    )
    return FormatError(message)


async def read_range(thread: ReadOnlyThread, start: int, stop: int) -> list[Row]:
    """Return the rows from number *start* up to *stop*; raise FormatError if not all of them are rows."""
    parts = (part for one in await thread.get_range(start, stop) for part in one.parts)
    data = [one.data for one in parts if isinstance(one, GenericPart) and one.kind == _KIND]
    if len(data) != stop - start:
        raise _no_checkpoints(thread)
    return [msgspec.json.decode(one, type=Row) for one in data]


async def read_rows(thread: ReadOnlyThread, numbers: Iterable[int]) -> dict[int, Row]:
    """Return rows by their numbers; those that are side by side are read at once."""
    found: dict[int, Row] = {}
    wanted = sorted(set(numbers))
    while wanted:
        start = wanted[0]
        size = next((at for at, one in enumerate(wanted) if one > start + at), len(wanted))
        found.update(enumerate(await read_range(thread, start, start + size), start))
        wanted = wanted[size:]
    return found


async def append(thread: ConversationThread, row: Row, name: str) -> None:
    """Append *row* to *thread*, which LangGraph calls *name*, unless a prune has moved its rows."""
    epoch = thread.head.epoch

    def _decide(one: ConversationThread) -> Change:
        if one.head.epoch != epoch:
            raise ThreadConflictError(thread_id=one.id, expected=0, actual=one.head.revision)
        if one.count and NAME_KEY not in one.metadata:
            raise _no_checkpoints(one)
        named = {**one.metadata, NAME_KEY: name}
        metadata = None if named == one.metadata else named
        return Change(messages=[row.message], metadata=metadata, source="input")

    await thread.retry(_decide)


async def rewrite(
    thread: ConversationThread, choose: Callable[[Sequence[Row]], set[tuple[str, str]]]
) -> bool:
    """Delete all checkpoints but those that *choose* names, and say whether any is left."""
    rows = await read_range(thread, 0, thread.count)
    names = choose(rows)
    kept = {at for at, row in enumerate(rows) if (row.ns, row.id) in names and row.call != "values"}
    needed = {number for at in kept for _, number in rows[at].at.values()}
    order = sorted(kept | needed)
    places = {old: new for new, old in enumerate(order)}
    if len(order) < len(rows):
        moved = (_moved(rows[at], places if at in kept else None) for at in order)
        await thread.replace([row.message for row in moved])
        # Nobody reads what was replaced.
        await thread.commit(Change(keeps=[]))
    return bool(kept)


def _moved(row: Row, places: Mapping[int, int] | None) -> Row:
    if places is None:
        return Row(call="values", ns=row.ns, id=row.id, own=row.own)
    at = {name: (version, places[number]) for name, (version, number) in row.at.items()}
    return replace(row, at=at)
