"""The store for many machines that share a PostgreSQL."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import inf
from operator import attrgetter, itemgetter
from typing import Any, Final, TypeAlias, Unpack, cast

from foldline.checks import expect_whole
from foldline.errors import (
    CommitUnknownError,
    StoreBusyError,
    StoreError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.lease import Lease, lease_at
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread, judge
from foldline.threads.store import StoreOptions, ThreadStore
from foldline.threads.stores.line import MOST_WAITING, Job, Line
from foldline.threads.stores.postgres.link import Answer, Broken, Durability, PostgresLink
from foldline.threads.stores.postgres.values import (
    SEVERAL,
    Values,
    keys_of,
    one_commit,
    room_of,
    several_commits,
    several_reads,
)


_MOST_NUMBER: Final = (1 << 32) - 1
_GONE: Final = -1
_MOST_COMMITS: Final = 256
_MOST_BYTES: Final = 4_000_000
_MOST_WRITERS: Final = 4
# So many small reads of one kind are made together; a result waits until all have come.
_MOST_READS: Final = 64
_SMALL: Final = 64

# A commit, or a read by the name of its statement.
_Commit: TypeAlias = tuple[ThreadKey, Change]
_Read: TypeAlias = tuple[str, Values]


class PostgresStorage:
    """
    Rows and documents in tables.

    A commit is one call of one function. Those that wait while others are made are made together, by
    one statement, if they only append and change documents; a read of a few rows is too.
    """

    ends_commits = True
    """Whether a commit that has begun ends even if its task is cancelled."""

    def __init__(self, link: PostgresLink, *, max_waiting: int) -> None:
        self.link = link
        expect_whole("max_waiting", max_waiting, 1)
        self._max_waiting = max_waiting
        self._commits, self._reads = self._lines()

    def _lines(self) -> tuple[Line[_Commit], Line[_Read]]:
        half = max(1, self.link.pool_size // 2)
        commits = Line(
            self._commit_all,
            workers=min(_MOST_WRITERS, half),
            most_jobs=_MOST_COMMITS,
            most_size=_MOST_BYTES,
            most_waiting=self._max_waiting,
            ends=True,
        )
        reads = Line(
            self._read_all,
            workers=half,
            most_jobs=_MOST_READS,
            most_size=_MOST_READS * _SMALL,
            most_waiting=self._max_waiting,
        )
        return commits, reads

    async def open(self) -> None:
        """Connect, and bring the tables up to date."""
        if await self.link.open():
            # Those of a closed event loop wait for nobody.
            self._commits, self._reads = self._lines()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as of one moment, or None if there is none."""
        found = await self._read("load", {"tenant": key.tenant, "id": key.id}, size=1)
        return _stored(key, found) if found else None

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Do everything in *change*, durably, or nothing."""
        self.link.opened()
        await self._commits.put((key, change), key=key, size=room_of(change))

    async def _commit_all(self, jobs: Sequence[Job[_Commit]]) -> Iterable[Job[_Commit]]:
        """Make several commits in one transaction; return those that must be tried alone."""
        if len(jobs) == 1:
            await self._commit_alone(jobs[0])
            return ()
        try:
            values = several_commits([job.given for job in jobs])
            answer = await self.link.write("commit_several", values)
        except StoreBusyError:
            raise
        except (StoreError, UnicodeError):
            # Nothing of it is done, because of one of them or of all.
            return jobs
        if isinstance(answer, Broken):
            await self._settle(jobs, answer)
            return ()
        done = {place for (place,) in answer}
        for place, job in enumerate(jobs, 1):
            if place in done:
                job.succeed()
        return [job for place, job in enumerate(jobs, 1) if place not in done]

    async def _commit_alone(self, job: Job[_Commit]) -> None:
        key, change = job.given
        answer = await self.link.write("commit", one_commit(key, change))
        if isinstance(answer, Broken):
            await self._settle([job], answer)
            return
        ((actual,),) = answer
        if actual == _GONE:
            raise ThreadNotFoundError(thread_id=key.id)
        if actual is not None:
            raise ThreadConflictError(thread_id=key.id, expected=change.revision, actual=actual)
        job.succeed()

    async def _settle(self, jobs: Sequence[Job[_Commit]], broken: Broken) -> None:
        """Find out which commits were made whose answer was lost with the connection."""
        try:
            outcomes, reason = await self._outcomes([job.given[0] for job in jobs], broken)
        except StoreError:
            if broken.is_late:
                self._commits.give_up(jobs, StoreError(broken.reason))
            raise
        for job, (revision, head) in zip(jobs, outcomes, strict=True):
            key, change = job.given
            try:
                judge(key, change, revision=revision, head=head, reason=reason)
            except (StoreError, ThreadConflictError) as error:
                job.fail(error)
            else:
                job.succeed()

    async def _read(self, name: str, values: Values, *, size: int = 0) -> Answer:
        self.link.opened()
        return cast("Answer", await self._reads.put((name, values), size=size))

    async def _read_all(self, jobs: Sequence[Job[_Read]]) -> Iterable[Job[_Read]]:
        """Make several reads; return those that must be tried alone."""
        again: list[Job[_Read]] = []
        for name in dict.fromkeys(job.given[0] for job in jobs):
            again += await self._read_same(name, [job for job in jobs if job.given[0] == name])
        return again

    async def _read_same(self, name: str, jobs: Sequence[Job[_Read]]) -> Sequence[Job[_Read]]:
        reads, is_one = [job.given[1] for job in jobs], len(jobs) == 1
        try:
            asked = (name, reads[0]) if is_one else (SEVERAL[name], several_reads(reads))
            answer = await self.link.ask(*asked)
        except (StoreError, UnicodeError) as error:
            if is_one or isinstance(error, StoreBusyError):
                raise
            return jobs
        if isinstance(answer, Broken):
            broken = StoreError(answer.reason)
            if answer.is_late:
                self._reads.give_up(jobs, broken)
            raise broken
        found = [answer] if is_one else _by_place(answer, len(jobs))
        for job, rows in zip(jobs, found, strict=True):
            job.succeed(rows)
        return ()

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        first, last = (max(0, min(number, _MOST_NUMBER)) for number in (start, stop))
        values = {"tenant": key.tenant, "id": key.id, "epoch": epoch, "start": first, "stop": last}
        name, count = "system_rows" if system else "rows", last - first
        size = max(1, count) if count <= _SMALL and not system else 0
        found = await self._read(name, values, size=size)
        if not found:
            # The epoch is not the current one.
            found = await self._read("rows_at", values)
        rows = [
            StoredRow(number, is_system, data)
            for number, is_system, data, *_ in found
            if number is not None and (is_system or not system)
        ]
        # The server would sort whole rows, on its disk if there are many.
        rows.sort(key=attrgetter("seq"))
        return rows

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        values = {"tenant": key.tenant, "id": key.id, "kind": kind, "limit": limit}
        return _documents(await self._read("documents", values))

    async def document(self, key: ThreadKey, kind: DocumentKind, name: str) -> Document | None:
        """Return one document, or None if there is none."""
        named = name.encode("utf-8", "surrogatepass")
        values = {"tenant": key.tenant, "id": key.id, "kind": kind, "name": named}
        found = _documents(await self._read("document", values))
        return found[0] if found else None

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Let *lease* last as long from now on, by the server's clock, if its holder still has it."""
        place = {"tenant": key.tenant, "id": key.id}
        values = {**place, "holder": lease.holder, "seconds": float(lease.seconds)}
        answer = await self.link.ask("hold", values)
        if isinstance(answer, Broken):
            raise StoreError(answer.reason)
        return bool(answer)

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids after *after*, in order of their ids."""
        found = await self._read("threads", {"tenant": tenant, "after": after, "limit": limit})
        found.sort(key=itemgetter(0))
        return [
            _stored(key, [row[1:] for row in group])
            for id, group in groupby(found, key=itemgetter(0))
            if (key := listed_key(tenant, id)) is not None
        ]

    async def folds_due(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return since when folds of *tenant* are due, and the ids, the oldest first."""
        since, id = after or (-inf, "")
        values = {"tenant": tenant, "since": since, "id": id, "limit": limit}
        return [(due_at, id) for due_at, id in await self._read("folds_due", values)]

    async def latest(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return when threads of *tenant* were last active, and the ids, the newest first."""
        since, id = after or (inf, "")
        values = {"tenant": tenant, "since": since, "id": id, "limit": limit}
        return [(active_at, id) for active_at, id in await self._read("latest", values)]

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return [name_of(tenant) for (tenant,) in await self._read("tenants", {})]

    async def check(self) -> list[str]:
        """Find nothing: PostgreSQL reports damage when it reads it."""
        return []

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete a thread with everything stored for it; False if there is none."""
        place = {"tenant": key.tenant, "id": key.id}
        revision, head = (None, None) if expected is None else (expected.revision, expected.head)
        answer = await self.link.write("delete", {**place, "expected": revision, "head": head})
        if isinstance(answer, Broken):
            ((revision, _),), reason = await self._outcomes([key], answer)
            if revision:
                raise StoreError(f"{reason}: nothing was deleted")
            return True
        ((actual, is_expected),) = answer
        if revision is not None and not is_expected:
            # At the same revision, it was deleted and made again.
            actual = 0 if actual == revision else actual
            raise ThreadConflictError(thread_id=key.id, expected=revision, actual=actual)
        return bool(actual)

    async def _outcomes(
        self, keys: Sequence[ThreadKey], broken: Broken
    ) -> tuple[list[tuple[int, bytes]], str]:
        """Return what threads are after a write whose answer was lost, and why it was."""
        if not broken.session:
            raise StoreError(broken.reason)
        found = await self.link.settle(broken, "outcomes", keys_of(keys))
        reason = f"the connection broke: {broken.reason}"
        if found is None:
            unknown = CommitUnknownError(reason)
            unknown.may_arrive = True
            raise unknown
        known = {place: (revision, head) for place, revision, head in found}
        return [known.get(place, (0, b"")) for place in range(1, len(keys) + 1)], reason


def _by_place(answer: Answer, count: int) -> list[Answer]:
    """Return the rows of each of *count* places, which is the last column."""
    found: list[Answer] = [[] for _ in range(count)]
    for row in answer:
        place: int = row[-1]
        found[place - 1].append(row)
    return found


def _documents(found: Iterable[tuple[Any, ...]]) -> list[Document]:
    return [
        Document(kind, name.decode("utf-8", "surrogatepass"), data) for kind, name, data in found
    ]


def _stored(key: ThreadKey, found: Sequence[tuple[Any, ...]]) -> StoredThread:
    revision, head, expires_at, holder, left, *_ = found[0]
    # A thread without documents comes as one row without one.
    documents = _documents(row[5:8] for row in found if row[5] is not None)
    return StoredThread(
        key=key,
        revision=revision,
        head=head,
        documents=documents,
        expires_at=expires_at,
        lease=lease_at(holder, left, 0.0),
    )


class PostgresStore(ThreadStore):
    """
    Threads in one PostgreSQL database, shared by any number of tasks, processes and machines.

    An open store belongs to the event loop in which it was opened: another loop or a forked process
    must open its own.
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "foldline",
        pool_size: int = 8,
        timeout: float = 10.0,
        durability: Durability = "full",
        max_waiting: int = MOST_WAITING,
        **options: Unpack[StoreOptions],
    ) -> None:
        """
        Use the database at *dsn*; its tables are created when it is first opened.

        Args:
            dsn: Its address: a `postgresql://` URL or a connection string of libpq. A pooler there
                must run in session mode.
            schema: The schema of the tables, created if missing; each schema is a store.
            pool_size: How many connections are open at most.
            timeout: How many seconds the server may take to be reached, and as many to answer. The
                time in which a call waits for others of this store does not count.
            durability: `full` flushes each commit to the server's disk, so that a crash loses
                nothing. `relaxed` does not: a crash of the server may lose the newest commits.
            max_waiting: How many commits, and how many reads, may wait for others of this store.
                One more raises StoreBusyError at once.
            options: What every store takes; see `ThreadStore`.

        Raises:
            ConfigError: An argument is invalid.
            MissingExtraError: The `postgres` extra is not installed.
        """
        link = PostgresLink(
            dsn, schema=schema, pool_size=pool_size, timeout=timeout, durability=durability
        )
        super().__init__(PostgresStorage(link, max_waiting=max_waiting), **options)
