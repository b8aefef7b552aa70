"""One check of a storage, and what it needs to do its work."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import Random
from typing import Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.threads.change import Change, Copy, DocumentKind, Epoch
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread, ThreadStorage


__all__ = [
    "Check",
    "Lab",
    "Rows",
    "Scribe",
    "StorageCheck",
    "expect",
    "expect_conflict",
    "expect_not_found",
    "facts_of",
]


_EPOCH_SIZE = 16
_COMMIT_SIZE = 8
_NOW = 1_800_000_000.0

Rows: TypeAlias = list[StoredRow]
"""Rows of a thread, in order."""


def expect(actual: object, wanted: object, what: str) -> None:
    """
    Fail unless *actual* is *wanted*.

    Raises:
        AssertionError: It is something else; the message names *what*.
    """
    if actual != wanted:
        message = f"{what}: {_shown(actual)} instead of {_shown(wanted)}"
        raise AssertionError(message)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"


async def expect_conflict(
    attempt: Awaitable[object], *, key: ThreadKey, expected: int, actual: int
) -> None:
    """
    Fail unless *attempt* is refused with a conflict that names both revisions.

    Raises:
        AssertionError: It was not refused, or the error says something else.
    """
    try:
        await attempt
    except ThreadConflictError as error:
        named = (error.thread_id, error.expected, error.actual)
        expect(named, (key.id, expected, actual), "thread and revisions in the error")
        return
    message = "no ThreadConflictError was raised"
    raise AssertionError(message)


async def expect_not_found(attempt: Awaitable[object]) -> None:
    """
    Fail unless *attempt* is refused because what it follows or copies is not there.

    Raises:
        AssertionError: It was not refused.
    """
    try:
        await attempt
    except ThreadNotFoundError:
        return
    message = "no ThreadNotFoundError was raised"
    raise AssertionError(message)


def facts_of(stored: StoredThread | None) -> dict[str, object]:
    """Return what is known of *stored* but its newest rows, which may be read along or not."""
    if stored is None:
        return {}
    documents = sorted((one.kind, one.name, one.data) for one in stored.documents)
    return {
        "key": stored.key,
        "revision": stored.revision,
        "head": stored.head,
        "documents": documents,
        "expires_at": stored.expires_at,
    }


class Scribe:
    """Writes one thread commit by commit, and knows what must be there afterwards."""

    def __init__(self, lab: "Lab", key: ThreadKey) -> None:
        """Write the thread *key*, which the first commit makes."""
        self.key = key
        self.revision = 0
        self.head = b""
        self.epoch = lab.draw(_EPOCH_SIZE)
        self.rows: list[StoredRow] = []
        self.left: dict[bytes, list[StoredRow]] = {}
        """The rows of each epoch that was left, as they were then."""
        self._lab = lab

    def drawn(self, count: int, *, at: int | None = None, system: Iterable[int] = ()) -> Rows:
        """Return *count* rows from number *at* on, by default the next ones."""
        places = frozenset(system)
        start = len(self.rows) if at is None else at
        return [
            StoredRow(start + place, place in places, self._lab.draw(32 + place % 40))
            for place in range(count)
        ]

    def change(self, rows: Sequence[StoredRow] = (), **fields: object) -> Change:
        """Return a commit of *rows* and other *fields* of a `Change`, not yet made."""
        plain = Change(
            id=self._lab.draw(_COMMIT_SIZE),
            revision=self.revision,
            epoch=self.epoch,
            head=self._lab.draw(64),
            rows=rows,
            active_at=_NOW + self.revision,
        )
        return replace(plain, **fields)

    def rewinding(self, at: int, count: int = 0, **fields: object) -> Change:
        """Return a commit that opens an epoch at row *at* and appends *count* rows there."""
        opens = Epoch(self._lab.draw(_EPOCH_SIZE), at)
        return self.change(self.drawn(count, at=at), opens=opens, **fields)

    async def commit(self, change: Change) -> None:
        """Make the commit *change* and remember what it did."""
        await self._lab.storage.commit(self.key, change)
        self.made(change)

    def made(self, change: Change) -> None:
        """Remember what the commit *change* did."""
        self.revision = change.revision + 1
        self.head = change.head
        if change.opens is not None:
            self.left[self.epoch] = list(self.rows)
            self.epoch = change.opens.id
            del self.rows[change.opens.at :]
        if change.clears:
            self.left.clear()
        if change.keeps is not None:
            epochs = [*self.left, self.epoch]
            first = min(epochs.index(one) for one in {*change.keeps, self.epoch} & {*epochs})
            self.left = {epoch: self.left[epoch] for epoch in epochs[first:-1]}
        self.rows += change.rows

    async def write(self, count: int = 0, *, system: Iterable[int] = (), **fields: object) -> None:
        """Commit *count* rows and other *fields* of a `Change`."""
        await self.commit(self.change(self.drawn(count, system=system), **fields))

    async def rewind(self, at: int, count: int = 0, **fields: object) -> None:
        """Replace the rows from number *at* on by *count* new ones."""
        await self.commit(self.rewinding(at, count, **fields))

    async def clear(self) -> None:
        """Delete all rows, those of earlier epochs too."""
        await self.rewind(0, clears=True)

    def copying(self, source: "Scribe", count: int, *, epoch: bytes | None = None) -> Change:
        """Return the commit that makes this thread with the first *count* rows of *source*."""
        copies = Copy(source.key, source.epoch if epoch is None else epoch, count)
        return self.change(copies=copies)

    async def fork(self, id: str, at: int, count: int = 0, *, epoch: bytes | None = None) -> Self:
        """Return the writer of a new thread with the first *at* rows, and *count* more."""
        fork = type(self)(self._lab, ThreadKey(self.key.tenant, id))
        change = fork.copying(self, at, epoch=epoch)
        rows = self.rows if epoch is None else self.left[epoch]
        fork.rows = rows[:at]
        await fork.commit(replace(change, rows=fork.drawn(count)))
        return fork

    async def shown(self) -> dict[str, object]:
        """Return what the storage loads, without the newest rows that it may read along."""
        return facts_of(await self._lab.storage.load(self.key))

    async def read(
        self, start: int = 0, stop: int | None = None, *, epoch: bytes = b"", system: bool = False
    ) -> Rows:
        """Return what the storage has of the rows of the thread, by default at its epoch."""
        stop = len(self.rows) if stop is None else stop
        return await self._lab.storage.rows(
            self.key, epoch or self.epoch, start, stop, system=system
        )

    async def stored(self) -> StoredThread:
        """
        Return the thread as the storage loads it.

        Raises:
            AssertionError: It is gone.
        """
        stored = await self._lab.storage.load(self.key)
        if stored is None:
            message = f"thread {self.key.id} is gone"
            raise AssertionError(message)
        return stored

    async def verify(self) -> None:
        """
        Fail unless the storage has just this thread, as it was written, at every epoch.

        Raises:
            AssertionError: It has something else.
        """
        stored = await self.stored()
        expect(stored.key, self.key, "the key")
        expect(stored.revision, self.revision, "the revision")
        expect(stored.head, self.head, "the head")
        tail = list(stored.tail)
        expect(tail, self.rows[len(self.rows) - len(tail) :], "the rows that were read along")
        # One more is asked for than there is.
        expect(await self.read(0, len(self.rows) + 1), self.rows, "the rows")
        for number, (epoch, rows) in enumerate(self.left.items()):
            found = await self.read(0, len(rows), epoch=epoch)
            expect(found, rows, f"the rows of earlier epoch {number}")


class Lab:
    """A storage, a tenant that nobody else uses, and a source of bytes."""

    def __init__(
        self,
        storage: ThreadStorage,
        make_storage: Callable[[], ThreadStorage],
        *,
        tenant: str,
        is_shared: bool,
    ) -> None:
        """
        Check *storage*.

        Args:
            storage: The storage, open.
            make_storage: What makes another one over the same place.
            tenant: A name that nobody else uses.
            is_shared: Whether such another one finds what the first has written.
        """
        self.storage = storage
        self.make_storage = make_storage
        self.tenant = tenant
        self.is_shared = is_shared
        self.used: set[str] = set()
        self._random = Random(tenant)

    def draw(self, size: int) -> bytes:
        """Return *size* bytes."""
        return self._random.randbytes(size)

    def key(self, id: str = "thread", *, tenant: str = "") -> ThreadKey:
        """
        Return the key of a thread of this check.

        Args:
            id: The id.
            tenant: What distinguishes the tenant from the others of this check.
        """
        name = self.tenant + tenant
        self.used.add(name)
        return ThreadKey(name, id)

    def scribe(self, id: str = "thread", *, tenant: str = "") -> Scribe:
        """Return the writer of a thread of this check."""
        return Scribe(self, self.key(id, tenant=tenant))

    async def documents(self, key: ThreadKey, kind: DocumentKind) -> dict[str, bytes]:
        """Return the content of every document of *kind* by its name."""
        found = await self.storage.documents(key, kind)
        return {one.name: one.data for one in found}

    async def clean(self) -> None:
        """Delete every thread of this check."""
        for tenant in self.used:
            for stored in await self.storage.threads(tenant):
                await self.storage.delete(stored.key)


Check: TypeAlias = Callable[[Lab], Awaitable[None]]
"""Does something with a storage, and fails if the storage does not do what it should."""


class StorageCheck(Struct, frozen=True, kw_only=True):
    """One promise of a storage."""

    name: str
    """Its name."""

    fact: str
    """What it proves, in a sentence."""

    check: Check
    """What proves it."""

    needs_sharing: bool = False
    """Whether it is a promise of a storage whose data outlives it."""
