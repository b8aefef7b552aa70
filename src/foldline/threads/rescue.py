"""Whole rows out of a damaged thread: what is left of it, in order, with a marker in each gap."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import StoreCorruptError, StoreError, StoreKeyError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.threads.cipher import Vault
from foldline.threads.head import Head, ThreadRecord, open_head, record_of
from foldline.threads.key import ThreadKey
from foldline.threads.row import (
    NO_SEAL,
    ORIGIN_SIZE,
    SEAL_SIZE,
    KnownRow,
    StoredRow,
    read_body,
    read_row,
    seal_of,
)
from foldline.threads.snapshot import encode_snapshot
from foldline.threads.storage import StoreContext, StoredThread
from foldline.threads.verify import readable_rows, verify_thread


GAP_KEY = "__gap__"
"""The metadata key of a marker: the numbers of the first and the last message that are missing."""

_PAGE = 512
_MOST = 1 << 32


class WholeRows(Struct, frozen=True, kw_only=True):
    """Every whole message of a thread by its number, and what is known of the rest."""

    record: ThreadRecord
    messages: Mapping[int, Message]
    # The numbers of the pinned ones.
    pinned: frozenset[int]
    # None if the head is damaged.
    total: int | None
    faults: tuple[str, ...]

    def gaps(self) -> list[tuple[int, int]]:
        """Return the first and the last number of each run of messages that are missing."""
        found: list[tuple[int, int]] = []
        expected = 0
        for number in (*self.messages, *(() if self.total is None else (self.total,))):
            if number > expected:
                found.append((expected, number - 1))
            expected = number + 1
        return found

    def marked(self) -> list[Message]:
        """Return the messages, and in each gap a system message that says what is missing."""
        numbered = [(first, _marker(first, last)) for first, last in self.gaps()]
        numbered += self.messages.items()
        return [message for _, message in sorted(numbered, key=lambda one: one[0])]

    def to_snapshot(self) -> bytes:
        """Return the marked messages, with the thread's name and metadata, as a snapshot."""
        # The cuts and counts of everything else are those of a history without gaps.
        spoken = (number for number, one in self.messages.items() if one.role != "system")
        pins = tuple([at for at, number in enumerate(spoken) if number in self.pinned])
        head = replace(self.record.head, archived=0, pins=pins)
        record = replace(self.record, head=head, execution=None, reduction=None, tools=())
        return encode_snapshot(record, self.marked())


def _marker(first: int, last: int) -> Message:
    count = last - first + 1
    what = f"{count:,} messages are missing here: numbers {first} to {last} were"
    if count == 1:
        what = f"1 message is missing here: number {first} was"
    text = f"[{what} damaged in the store]"
    return Message(role="system", parts=(TextPart(text),), metadata={GAP_KEY: [first, last]})


async def whole_rows(context: StoreContext, key: ThreadKey) -> WholeRows:
    """
    Return every message of the thread *key* that is whole, also those after damaged ones.

    A row is compared with the chain hash of the one before it. After a row that is missing or lost
    its own chain hash, there is nothing to compare with, and a row is believed if it can be read;
    with a cipher every row is authenticated by itself.
    """
    verified = await verify_thread(context, key)
    stored = await context.storage.load(key)
    if verified is None or stored is None:
        raise ThreadNotFoundError(thread_id=key.id)
    try:
        head = open_head(context.vault, stored)
    except StoreCorruptError:
        head = None
    rows = list[StoredRow]()
    # Without a head nobody knows the epoch, for which an empty one is the current one, or the end.
    epoch = b"" if head is None else head.epoch
    for first in range(0, _MOST if head is None else head.count, _PAGE):
        stop = first + _PAGE if head is None else min(first + _PAGE, head.count)
        page = await readable_rows(context, key, epoch, first, stop)
        if head is None and not page:
            break
        rows += page
    whole = list(_whole(rows, context.vault))
    return WholeRows(
        record=_named(context, stored, head),
        messages={known.row.seq: known.message for known in whole},
        pinned=frozenset([known.row.seq for known in whole if _is_pinned(known, head)]),
        total=None if head is None else head.count,
        faults=verified.faults,
    )


def _is_pinned(known: KnownRow, head: Head | None) -> bool:
    if known.message.role == "system":
        return False
    return known.message.is_pinned if head is None else known.counts.position in head.pins


def _named(context: StoreContext, stored: StoredThread, head: Head | None) -> ThreadRecord:
    key, now = stored.key, context.clock()
    head = head or Head(epoch=b"", created_at=now, last_activity=now)
    named = [one for one in stored.documents if one.kind == "metadata"]
    try:
        return record_of(context.vault, key, head, named)
    except (StoreError, StoreKeyError):
        return ThreadRecord(key=key, head=head)


def _whole(rows: Iterable[StoredRow], vault: Vault) -> Iterator[KnownRow]:
    seals: tuple[bytes, ...] = (NO_SEAL,)
    following, is_proven = 0, True
    for row in rows:
        if row.seq < following:
            continue
        before = seals if row.seq == following else ()
        origin, payload = row.data[:ORIGIN_SIZE], row.data[ORIGIN_SIZE + SEAL_SIZE :]
        right = [seal_of(one, origin, row.seq, payload) for one in before]
        is_right = row.seal in right
        # After a bad or a missing row there is nothing to compare with.
        is_damaged = bool(before) and is_proven and not is_right
        # The next row continues from what this one was, which a flipped bit may have changed.
        seals, following, is_proven = (row.seal, *right[:1]), row.seq + 1, is_right
        if vault.encrypts or not is_damaged:
            with suppress(StoreCorruptError):
                counts = read_row(row, vault)
                yield KnownRow(row, counts, read_body(counts.body))
