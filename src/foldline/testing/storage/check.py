"""One check of a storage, and what it needs to do its work."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import Random
from typing import TypeAlias

from msgspec import Struct

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.threads.key import ThreadKey
from foldline.threads.step import Branch, Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.storage import ThreadStorage


__all__ = [
    "Check",
    "Lab",
    "Scribe",
    "StorageCheck",
    "expect",
    "expect_conflict",
    "expect_not_found",
    "facts_of",
]


_BRANCH_SIZE = 16
_STEP_SIZE = 8
_NOW = 1_800_000_000.0


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
    Fail unless *attempt* is refused with a conflict that tells both revisions.

    Raises:
        AssertionError: It was not refused, or the error tells something else.
    """
    try:
        await attempt
    except ThreadConflictError as error:
        told = (error.thread_id, error.expected, error.actual)
        expect(told, (key.id, expected, actual), "thread and revisions in the error")
        return
    message = "no ThreadConflictError was raised"
    raise AssertionError(message)


async def expect_not_found(attempt: Awaitable[object]) -> None:
    """
    Fail unless *attempt* is refused because what it shares is not there.

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
    """Writes one thread step by step, and knows what must be there afterwards."""

    def __init__(self, lab: "Lab", key: ThreadKey) -> None:
        """Write the thread *key*, which is made with the first step."""
        self.key = key
        self.revision = 0
        self.head = b""
        self.branch = lab.draw(_BRANCH_SIZE)
        self.rows: list[StoredRow] = []
        self._lab = lab
        self._opens: Branch | None = Branch(self.branch, None, 0)

    def drawn(self, count: int, *, system: Iterable[int] = ()) -> list[StoredRow]:
        """
        Return the next *count* rows, of which those at the places *system* are system messages.
        """
        places = frozenset(system)
        start = len(self.rows)
        return [
            StoredRow(
                branch=self.branch,
                seq=start + at,
                system=at in places,
                data=self._lab.draw(24 + at % 40),
            )
            for at in range(count)
        ]

    def step(
        self,
        rows: Sequence[StoredRow] = (),
        *,
        put: Sequence[Document] = (),
        drop: Sequence[tuple[DocumentKind, str | None]] = (),
        expected: int | None = None,
        expires_at: float | None = None,
        purge: bool = False,
    ) -> Step:
        """Return the next step, not yet committed."""
        return Step(
            id=self._lab.draw(_STEP_SIZE),
            expected=self.revision if expected is None else expected,
            head=self._lab.draw(64),
            branch=self.branch,
            opens=self._opens,
            rows=rows,
            put=put,
            drop=drop,
            last_activity=_NOW + self.revision,
            expires_at=expires_at,
            purge=purge,
        )

    async def commit(self, step: Step) -> None:
        """Commit *step* and remember what it did."""
        await self._lab.storage.commit(self.key, step)
        self.revision = step.expected + 1
        self.head = step.head
        self.rows += step.rows
        self._opens = None

    async def write(
        self,
        count: int = 0,
        *,
        system: Iterable[int] = (),
        put: Sequence[Document] = (),
        drop: Sequence[tuple[DocumentKind, str | None]] = (),
        expires_at: float | None = None,
    ) -> None:
        """Commit *count* rows and the documents in one step."""
        rows = self.drawn(count, system=system)
        await self.commit(self.step(rows, put=put, drop=drop, expires_at=expires_at))

    async def rewind(self, at: int, count: int = 0, *, purge: bool = False) -> None:
        """Go on behind the first *at* rows along a new branch, with *count* rows."""
        self._leave(self, at)
        await self.commit(self.step(self.drawn(count), purge=purge))

    async def clear(self) -> None:
        """Go on along a new branch that shares nothing, and delete what nobody shares."""
        self.branch = self._lab.draw(_BRANCH_SIZE)
        self._opens = Branch(self.branch, None, 0)
        self.rows = []
        await self.commit(self.step(purge=True))

    async def fork(self, id: str, at: int, count: int = 0) -> "Scribe":
        """
        Return the writer of a new thread that shares the first *at* rows and has *count* more.
        """
        fork = Scribe(self._lab, ThreadKey(self.key.tenant, id))
        fork._leave(self, at)
        await fork.write(count)
        return fork

    def sharing(self, source: "Scribe", at: int) -> "Scribe":
        """Return this writer, made to share the first *at* rows of *source* with its next step."""
        self._leave(source, at)
        return self

    def _leave(self, source: "Scribe", at: int) -> None:
        parent, rows = source.branch, source.rows[:at]
        self.branch = self._lab.draw(_BRANCH_SIZE)
        self._opens = Branch(self.branch, parent, at)
        self.rows = rows

    async def shown(self) -> dict[str, object]:
        """Return what the storage loads, without the newest rows that it may read along."""
        return facts_of(await self._lab.storage.load(self.key))

    async def read(self, start: int = 0, stop: int | None = None) -> list[StoredRow]:
        """Return what the storage has of the thread's rows."""
        stop = len(self.rows) if stop is None else stop
        return await self._lab.storage.rows(self.key, self.branch, start, stop)

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
        Fail unless the storage has just this thread, as it was written.

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
"""Does something with a storage, and fails where it does not do what it should."""


class StorageCheck(Struct, frozen=True, kw_only=True):
    """One promise of a storage."""

    name: str
    """Its name."""

    fact: str
    """What it proves, in a sentence."""

    check: Check
    """What proves it."""

    needs_words: bool = False
    """Whether it is a promise of a `WordIndex`."""

    needs_sharing: bool = False
    """Whether it is a promise of a storage whose data outlives it."""
