"""Threads in a PostgreSQL database."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final

from foldline.errors import (
    CommitUnknownError,
    StoreError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.outcome import judge
from foldline.threads.stores.postgres.link import (
    Answer,
    Broken,
    Durability,
    PostgresLink,
    Values,
)


if TYPE_CHECKING:
    from psycopg.types.numeric import Int8


__all__ = ["PostgresStorage"]


_MOST_NUMBER: Final = (1 << 32) - 1
_GONE: Final = -1


class PostgresStorage:
    """Rows and documents in tables; a commit is one call of one function."""

    ends_commits = False
    """Whether a commit that has begun ends even if its task is cancelled."""

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "foldline",
        pool_size: int = 8,
        timeout: float = 10.0,
        durability: Durability = "full",
    ) -> None:
        """Use the database at *dsn*, not yet connected; see `PostgresStore` for the options."""
        self.link = PostgresLink(
            dsn, schema=schema, pool_size=pool_size, timeout=timeout, durability=durability
        )
        from psycopg.types.numeric import Int8  # noqa: PLC0415 - an optional package

        # Numbers of one type, so that a statement is prepared once and not for each size.
        self._int8 = Int8

    async def open(self) -> None:
        """
        Connect, and bring the tables up to date.

        Raises:
            StoreError: The database cannot be reached or used.
            StoreVersionError: The tables were made by a newer foldline.
        """
        await self.link.open()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as of one moment, or None if there is none."""
        found = await self.link.read("load", {"tenant": key.tenant, "id": key.id})
        return _stored(key, found) if found else None

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """
        Do everything in *change*, durably, or nothing.

        Raises:
            ThreadConflictError: The thread is at another revision.
            ThreadNotFoundError: It was made again, or there is nothing to copy.
            StoreError: The server failed; nothing was written.
            CommitUnknownError: The connection broke, and the server cannot be asked.
        """
        values = {"tenant": key.tenant, "id": key.id, **self._values(change)}
        answer = await self.link.write("commit", values)
        if isinstance(answer, Broken):
            await self._settle(key, change, answer)
            return
        ((actual,),) = answer
        if actual == _GONE:
            raise ThreadNotFoundError(thread_id=key.id)
        if actual is not None:
            raise ThreadConflictError(thread_id=key.id, expected=change.revision, actual=actual)

    def _values(self, change: Change) -> Values:
        opens, copies = change.opens, change.copies
        return {
            "revision": self._int8(change.revision),
            "epoch": change.epoch,
            "after": change.current_epoch,
            "head": change.head,
            "active_at": change.active_at,
            "gone_at": change.gone_at,
            "at": None if opens is None else self._int8(opens.at),
            "clears": change.clears,
            "source": None if copies is None else copies.source.id,
            "source_epoch": None if copies is None else copies.epoch,
            "count": None if copies is None else self._int8(copies.count),
            # No epoch has an empty id; an empty array would have no type.
            "keeps": None if change.keeps is None else [b"", *change.keeps],
            "numbers": _some([self._int8(row.seq) for row in change.rows]),
            "systems": _some([row.system for row in change.rows]),
            "rows": _some([row.data for row in change.rows]),
            "drop_kinds": _some([kind for kind, _ in change.drop]),
            "drop_names": _some(
                [None if name is None else _bytes(name) for _, name in change.drop]
            ),
            "kinds": _some([one.kind for one in change.put]),
            "names": _some([_bytes(one.name) for one in change.put]),
            "data": _some([one.data for one in change.put]),
        }

    async def _settle(self, key: ThreadKey, change: Change, broken: Broken) -> None:
        """Check that a commit whose answer was lost was made."""
        values = {"tenant": key.tenant, "id": key.id}
        found = await self.link.settle(broken, "outcome", values)
        reason = f"the connection broke in a commit: {broken.reason}"
        if found is None:
            raise CommitUnknownError(reason)
        revision, head = found[0] if found else (0, b"")
        judge(key, change, revision=revision, head=head, reason=reason)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        values = {
            "tenant": key.tenant,
            "id": key.id,
            "epoch": epoch,
            "start": self._number(start),
            "stop": self._number(stop),
        }
        found = await self.link.read("system_rows" if system else "rows", values)
        if not found:
            # The epoch is not the current one.
            found = await self.link.read("rows_at", values)
            found = [row for row in found if row[1] or not system]
        rows = [StoredRow(*row) for row in found if row[0] is not None]
        # The server would sort whole rows, on its disk if there are many.
        rows.sort(key=attrgetter("seq"))
        return rows

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        values = {
            "tenant": key.tenant,
            "id": key.id,
            "kind": kind,
            "limit": None if limit is None else self._int8(limit),
        }
        return list(_documents(await self.link.read("documents", values)))

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids after *after*, in order of their ids."""
        values = {
            "tenant": tenant,
            "after": after,
            "limit": None if limit is None else self._int8(limit),
        }
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

        Raises:
            ThreadConflictError: It is not as *expected*.
            CommitUnknownError: The connection broke, and the server cannot be asked.
        """
        place = {"tenant": key.tenant, "id": key.id}
        values = {
            **place,
            "expected": None if expected is None else self._int8(expected.revision),
            "head": None if expected is None else expected.head,
        }
        answer = await self.link.write("delete", values)
        if isinstance(answer, Broken):
            found = await self.link.settle(answer, "outcome", place)
            if found is None:
                message = f"the connection broke in a deletion: {answer.reason}"
                raise CommitUnknownError(message)
            if found:
                message = f"the connection broke, nothing was deleted: {answer.reason}"
                raise StoreError(message)
            return True
        ((revision, is_expected),) = answer
        if expected is not None and not is_expected:
            # At the same revision, it was deleted and made again.
            actual = 0 if revision == expected.revision else revision
            raise ThreadConflictError(thread_id=key.id, expected=expected.revision, actual=actual)
        return bool(revision)

    def _number(self, number: int) -> "Int8":
        return self._int8(max(0, min(number, _MOST_NUMBER)))


def _some(values: Sequence[object]) -> Sequence[object] | None:
    # An empty array has no type for the driver.
    return values or None


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _documents(found: Answer) -> Iterator[Document]:
    for kind, name, data in found:
        yield Document(kind, _text_of(name), data)


def _text_of(name: bytes) -> str:
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # The name is part of what is verified, so a changed one is refused.
        return name_of(name)


def _stored(key: ThreadKey, found: Sequence[tuple[Any, ...]]) -> StoredThread:
    revision, head, expires_at, *_ = found[0]
    # A thread without documents comes as one row without one.
    documents = [row[3:] for row in found if row[3] is not None]
    return StoredThread(
        key=key,
        revision=revision,
        head=head,
        documents=list(_documents(documents)),
        expires_at=expires_at,
    )
