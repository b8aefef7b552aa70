"""The store for many machines that share a PostgreSQL."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final, Unpack

from foldline.errors import (
    CommitUnknownError,
    StoreError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread, judge
from foldline.threads.store import StoreOptions, ThreadStore
from foldline.threads.stores.postgres.link import Broken, Durability, PostgresLink, Values


__all__ = ["PostgresStorage", "PostgresStore"]


_MOST_NUMBER: Final = (1 << 32) - 1
_GONE: Final = -1


class PostgresStorage:
    """Rows and documents in tables; a commit is one call of one function."""

    ends_commits = False
    """Whether a commit that has begun ends even if its task is cancelled."""

    def __init__(self, link: PostgresLink) -> None:
        """Use the database that *link* leads to."""
        self.link = link

    async def open(self) -> None:
        """Connect, and bring the tables up to date."""
        await self.link.open()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as of one moment, or None if there is none."""
        found = await self.link.read("load", {"tenant": key.tenant, "id": key.id})
        return _stored(key, found) if found else None

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Do everything in *change*, durably, or nothing."""
        values = {"tenant": key.tenant, "id": key.id, **_values(change)}
        answer = await self.link.write("commit", values)
        if isinstance(answer, Broken):
            revision, head, reason = await self._outcome(key, answer)
            judge(key, change, revision=revision, head=head, reason=reason)
            return
        ((actual,),) = answer
        if actual == _GONE:
            raise ThreadNotFoundError(thread_id=key.id)
        if actual is not None:
            raise ThreadConflictError(thread_id=key.id, expected=change.revision, actual=actual)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        values = {
            "tenant": key.tenant,
            "id": key.id,
            "epoch": epoch,
            "start": max(0, min(start, _MOST_NUMBER)),
            "stop": max(0, min(stop, _MOST_NUMBER)),
        }
        found = await self.link.read("system_rows" if system else "rows", values)
        if not found:
            # The epoch is not the current one.
            found = await self.link.read("rows_at", values)
        rows = [StoredRow(*one) for one in found if one[0] is not None and (one[1] or not system)]
        # The server would sort whole rows, on its disk if there are many.
        rows.sort(key=attrgetter("seq"))
        return rows

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        values = {"tenant": key.tenant, "id": key.id, "kind": kind, "limit": limit}
        return _documents(await self.link.read("documents", values))

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids after *after*, in order of their ids."""
        values = {"tenant": tenant, "after": after, "limit": limit}
        found = await self.link.read("threads", values)
        found.sort(key=itemgetter(0))
        return [
            _stored(key, [row[1:] for row in group])
            for id, group in groupby(found, key=itemgetter(0))
            if (key := listed_key(tenant, id)) is not None
        ]

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        return [name_of(tenant) for (tenant,) in await self.link.read("tenants", {})]

    async def check(self) -> list[str]:
        """Find nothing: PostgreSQL reports damage when it reads it."""
        return []

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything stored for it; False if there is none.

        The server reuses the space after a vacuum.
        """
        place = {"tenant": key.tenant, "id": key.id}
        revision, head = (None, None) if expected is None else (expected.revision, expected.head)
        answer = await self.link.write("delete", {**place, "expected": revision, "head": head})
        if isinstance(answer, Broken):
            revision, _, reason = await self._outcome(key, answer)
            if revision:
                message = f"{reason}: nothing was deleted"
                raise StoreError(message)
            return True
        ((actual, is_expected),) = answer
        if revision is not None and not is_expected:
            # At the same revision, it was deleted and made again.
            actual = 0 if actual == revision else actual
            raise ThreadConflictError(thread_id=key.id, expected=revision, actual=actual)
        return bool(actual)

    async def _outcome(self, key: ThreadKey, broken: Broken) -> tuple[int, bytes, str]:
        """Return what a thread is after a write whose answer was lost, and why it was."""
        found = await self.link.settle(broken, "outcome", {"tenant": key.tenant, "id": key.id})
        reason = f"the connection broke: {broken.reason}"
        if found is None:
            raise CommitUnknownError(reason)
        revision, head = found[0] if found else (0, b"")
        return revision, head, reason


def _values(change: Change) -> Values:
    opens, copies, rows, put = change.opens, change.copies, change.rows, change.put
    names = [None if name is None else _bytes(name) for _, name in change.drop]
    return {
        "revision": change.revision,
        "epoch": change.epoch,
        "after": change.current_epoch,
        "head": change.head,
        "active_at": change.active_at,
        "gone_at": change.gone_at,
        "at": None if opens is None else opens.at,
        "clears": change.clears,
        "source": None if copies is None else copies.source.id,
        "source_epoch": None if copies is None else copies.epoch,
        "count": None if copies is None else copies.count,
        # An empty array would have no type, so it is null; no epoch has an empty id.
        "keeps": None if change.keeps is None else [b"", *change.keeps],
        "numbers": [row.seq for row in rows] or None,
        "systems": [row.system for row in rows] or None,
        "rows": [row.data for row in rows] or None,
        "drop_kinds": [kind for kind, _ in change.drop] or None,
        "drop_names": names or None,
        "kinds": [one.kind for one in put] or None,
        "names": [_bytes(one.name) for one in put] or None,
        "data": [one.data for one in put] or None,
    }


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _documents(found: Iterable[tuple[Any, ...]]) -> list[Document]:
    return [
        Document(kind, name.decode("utf-8", "surrogatepass"), data) for kind, name, data in found
    ]


def _stored(key: ThreadKey, found: Sequence[tuple[Any, ...]]) -> StoredThread:
    revision, head, expires_at, *_ = found[0]
    # A thread without documents comes as one row without one.
    documents = _documents(row[3:] for row in found if row[3] is not None)
    return StoredThread(
        key=key, revision=revision, head=head, documents=documents, expires_at=expires_at
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
        **options: Unpack[StoreOptions],
    ) -> None:
        """
        Use the database at *dsn*; its tables are created when it is first opened.

        Args:
            dsn: Its address: a `postgresql://` URL or a connection string of libpq.
            schema: The schema of the tables, created if missing; each schema is a store.
            pool_size: How many connections are open at most.
            timeout: How many seconds a call may take, waiting and connecting included.
            durability: `full` flushes each commit to the server's disk, so that a crash loses
                nothing. `relaxed` does not: a crash of the server may lose the newest commits.
            options: What every store takes; see `ThreadStore`.

        Raises:
            ConfigError: An argument is invalid.
            MissingExtraError: The `postgres` extra is not installed.
        """
        link = PostgresLink(
            dsn, schema=schema, pool_size=pool_size, timeout=timeout, durability=durability
        )
        super().__init__(PostgresStorage(link), **options)
