"""What a check of a storage needs to do its work, and what it is."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import Random
from typing import Self

from msgspec.structs import replace

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.testing.report import Check
from foldline.threads.change import COMMIT_ID_SIZE, Change, Copy, DocumentKind, Epoch
from foldline.threads.key import ThreadKey
from foldline.threads.row import ORIGIN_SIZE, StoredRow
from foldline.threads.storage import StoredThread, ThreadStorage


_NOW = 1_800_000_000.0
_SHOWN = 200


def expect(actual: object, wanted: object, what: str) -> None:
    """Fail unless *actual* is *wanted*; the message names *what*."""
    if actual != wanted:
        texts = [repr(value) for value in (actual, wanted)]
        short = [f"{one[:_SHOWN]}... ({len(one)})" if len(one) > _SHOWN else one for one in texts]
        raise AssertionError(f"{what}: {short[0]} instead of {short[1]}")


async def expect_error(
    attempt: Awaitable[object], key: ThreadKey, revisions: Sequence[int] = ()
) -> None:
    """Fail unless *attempt* is refused: with a conflict of *revisions*, or as nothing is there."""
    try:
        await attempt
    except ThreadConflictError as error:
        found = [error.thread_id, error.expected, error.actual]
    except ThreadNotFoundError:
        found = [key.id]
    else:
        found = ["no error"]
    expect(found, [key.id, *revisions], "thread and revisions in the error")


def facts_of(stored: StoredThread) -> StoredThread:
    """Return *stored* without its newest rows, which may be read along or not."""
    documents = sorted(stored.documents, key=lambda one: (one.kind, one.name))
    return replace(stored, documents=documents, tail=())


class Scribe:
    """Writes one thread commit by commit, and knows what must be there afterwards."""

    def __init__(self, lab: "Lab", key: ThreadKey) -> None:
        """Write the thread *key*, which the first commit makes."""
        self.key = key
        self.revision = 0
        self.head = b""
        self.epoch = lab.draw(ORIGIN_SIZE)
        self.rows: list[StoredRow] = []
        self.left: dict[bytes, list[StoredRow]] = {}
        """The rows of each epoch that was left, as they were then."""
        self._lab = lab

    def drawn(
        self, count: int, *, at: int | None = None, system: Iterable[int] = ()
    ) -> list[StoredRow]:
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
            id=self._lab.draw(COMMIT_ID_SIZE),
            revision=self.revision,
            epoch=self.epoch,
            head=self._lab.draw(64),
            rows=rows,
            active_at=_NOW + self.revision,
        )
        return replace(plain, **fields)

    def rewinding(self, at: int, count: int = 0, **fields: object) -> Change:
        """Return a commit that opens an epoch at row *at* and appends *count* rows there."""
        opens = Epoch(self._lab.draw(ORIGIN_SIZE), at)
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

    def copying(self, source: "Scribe", count: int, *, epoch: bytes | None = None) -> Change:
        """Return the commit that makes this thread with the first *count* rows of *source*."""
        return self.change(copies=Copy(source.key, epoch or source.epoch, count))

    async def fork(self, id: str, at: int, count: int = 0, *, epoch: bytes | None = None) -> Self:
        """Return the writer of a new thread with the first *at* rows, and *count* more."""
        fork = type(self)(self._lab, ThreadKey(self.key.tenant, id))
        change = fork.copying(self, at, epoch=epoch)
        fork.rows = (self.rows if epoch is None else self.left[epoch])[:at]
        await fork.commit(replace(change, rows=fork.drawn(count)))
        return fork

    async def refuses(self, change: Change, *revisions: int) -> None:
        """Fail unless the commit *change* is refused, with a conflict of *revisions* if any."""
        await expect_error(self._lab.storage.commit(self.key, change), self.key, revisions)

    async def read(
        self, start: int = 0, stop: int | None = None, *, epoch: bytes = b"", system: bool = False
    ) -> list[StoredRow]:
        """Return what the storage has of the rows of the thread, by default at its epoch."""
        stop = len(self.rows) if stop is None else stop
        return await self._lab.storage.rows(
            self.key, epoch or self.epoch, start, stop, system=system
        )

    async def documents(self, kind: DocumentKind = "tool") -> dict[str, bytes]:
        """Return the content of every document of *kind* by its name."""
        found = await self._lab.storage.documents(self.key, kind)
        return {one.name: one.data for one in found}

    async def stored(self) -> StoredThread:
        """Return the thread as the storage loads it; fail if it is gone."""
        stored = await self._lab.storage.load(self.key)
        if stored is None:
            raise AssertionError(f"thread {self.key.id} is gone")
        return stored

    async def verify(self) -> None:
        """Fail unless the storage has just this thread, as it was written, at every epoch."""
        stored = await self.stored()
        shown = (stored.key, stored.revision, stored.head)
        expect(shown, (self.key, self.revision, self.head), "key, revision and head")
        tail = list(stored.tail)
        expect(tail, self.rows[len(self.rows) - len(tail) :], "the rows that were read along")
        # One more is asked for than there is.
        expect(await self.read(0, len(self.rows) + 1), self.rows, "the rows")
        for number, (epoch, rows) in enumerate(self.left.items()):
            found = await self.read(0, len(rows), epoch=epoch)
            expect(found, rows, f"the rows of earlier epoch {number}")

    async def verify_gone(self, *epochs: bytes) -> None:
        """Fail unless the storage has no rows at *epochs*."""
        for epoch in epochs:
            expect(await self.read(0, 99, epoch=epoch), [], "the rows of an epoch that is gone")


class Lab:
    """
    A storage, a tenant that nobody else uses, and a source of bytes.

    The public methods of its subclasses are the checks; what each proves is its docstring.
    """

    def __init__(
        self, storage: ThreadStorage, make_storage: Callable[[], ThreadStorage], *, tenant: str
    ) -> None:
        """Check *storage*, which is open; *make_storage* makes another one over the same place."""
        self.storage = storage
        self.make_storage = make_storage
        self.tenant = tenant
        self._used: set[str] = set()
        self._random = Random(tenant)

    def draw(self, size: int) -> bytes:
        """Return *size* bytes."""
        return self._random.randbytes(size)

    def key(self, id: str = "thread", *, tenant: str = "") -> ThreadKey:
        """Return the key of a thread of this check; *tenant* tells its tenants apart."""
        name = self.tenant + tenant
        self._used.add(name)
        return ThreadKey(name, id)

    def scribe(self, id: str = "thread", *, tenant: str = "") -> Scribe:
        """Return the writer of a thread of this check."""
        return Scribe(self, self.key(id, tenant=tenant))

    async def clean(self) -> None:
        """Delete every thread of this check."""
        for tenant in self._used:
            for stored in await self.storage.threads(tenant):
                await self.storage.delete(stored.key)


class StorageCheck(Check, frozen=True, kw_only=True):
    """One promise of a storage."""

    group: type[Lab]
    """The class with the method that proves it."""

    check: Callable[..., Awaitable[None]]
    """The method."""
