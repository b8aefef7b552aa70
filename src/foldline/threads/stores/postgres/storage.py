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
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.step import Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.stores.outcome import judge
from foldline.threads.stores.postgres.inspection import look_into
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
# An index of words takes none that is much longer; what is found is read again anyway.
_WORD_SIZE: Final = 128
_BRANCH_GONE: Final = -1


class PostgresStorage:
    """Rows and documents in tables, and an index of words; a commit is one call of one function."""

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "foldline",
        pool_size: int = 8,
        timeout: float = 10.0,
        durability: Durability = "full",
    ) -> None:
        """
        Use the database at *dsn*; nothing is connected yet.

        Args:
            dsn: Its address: a `postgresql://` URL or a connection string of libpq.
            schema: The schema of the tables.
            pool_size: How many connections are open at most.
            timeout: How many seconds a call may take, waiting and connecting included.
            durability: What a crash of the server may take.

        Raises:
            ConfigError: An argument is not allowed.
            MissingExtraError: The `postgres` extra is not installed.
        """
        self.link = PostgresLink(
            dsn, schema=schema, pool_size=pool_size, timeout=timeout, durability=durability
        )
        from psycopg.types.numeric import Int8  # noqa: PLC0415 - an optional package

        # Numbers of one width, so that a statement is prepared once and not for every size.
        self._int8 = Int8

    async def open(self) -> None:
        """
        Connect, and bring the tables up to date.

        Raises:
            StoreError: The database cannot be reached or used.
            StoreVersionError: A newer foldline has written there.
        """
        await self.link.open()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as one moment saw it, or None where there is none."""
        found = await self.link.read("load", {"tenant": key.tenant, "id": key.id})
        return _stored(key, found) if found else None

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """
        Do all of *step*, durably, or nothing.

        Raises:
            ThreadConflictError: The revision is not the expected one.
            ThreadNotFoundError: The branch, or what it is to share, is not there any more, nobody's,
                or another thread's.
            StoreError: The server failed; nothing was written.
            CommitUnknownError: The connection broke, and the server cannot be asked.
        """
        answer = await self.link.write("commit", self._values(key, step))
        if isinstance(answer, Broken):
            await self._settle(key, step, answer)
            return
        ((actual,),) = answer
        if actual == _BRANCH_GONE:
            raise ThreadNotFoundError(thread_id=key.id)
        if actual is not None:
            raise ThreadConflictError(thread_id=key.id, expected=step.expected, actual=actual)

    def _values(self, key: ThreadKey, step: Step) -> Values:
        opens = step.opens
        return {
            "tenant": key.tenant,
            "id": key.id,
            "expected": self._int8(step.expected),
            "head": step.head,
            "branch": step.branch,
            "last_activity": step.last_activity,
            "expires_at": step.expires_at,
            "opens": opens is not None,
            "parent": None if opens is None else opens.parent,
            "at": self._int8(0 if opens is None else opens.at),
            "purge": step.purge,
            "numbers": _some([self._int8(row.seq) for row in step.rows]),
            "systems": _some([row.system for row in step.rows]),
            "rows": _some([row.data for row in step.rows]),
            "drop_kinds": _some([kind for kind, _ in step.drop]),
            "drop_names": _some([None if name is None else _bytes(name) for _, name in step.drop]),
            "kinds": _some([one.kind for one in step.put]),
            "names": _some([_bytes(one.name) for one in step.put]),
            "data": _some([one.data for one in step.put]),
        }

    async def _settle(self, key: ThreadKey, step: Step, broken: Broken) -> None:
        """Find out whether a commit without an answer was made; raise where it was not."""
        values = {"tenant": key.tenant, "id": key.id}
        found = await self.link.settle(broken, "outcome", values)
        reason = f"the connection broke in a commit: {broken.reason}"
        if found is None:
            raise CommitUnknownError(reason)
        revision, head = found[0] if found else (0, b"")
        judge(key, step, revision=revision, head=head, reason=reason)

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop*, shared ones included, in order."""
        values = {
            "tenant": key.tenant,
            "branch": branch,
            "start": self._number(start),
            "stop": self._number(stop),
        }
        found = await self.link.read("system_rows" if system else "rows", values)
        rows = [
            StoredRow(branch=name, seq=seq, system=is_system, data=data)
            for name, seq, is_system, data in found
        ]
        # The server would sort whole rows, and to its disk where there are many.
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
        """Return the threads of *tenant* with ids behind *after*, in order of their ids."""
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

    async def names(self) -> list[tuple[str, str]]:
        """
        Return tenant and id of every thread, in order, allowed or not; what is no text is replaced.
        """
        found = await self.link.read("names", {})
        return [(name_of(tenant), name_of(id)) for tenant, id in found]

    async def branch_of(self, key: ThreadKey) -> bytes | None:
        """
        Return the branch of a thread without reading its head.

        None where that is lost too, or where the thread does not own it.
        """
        found = await self.link.read("branch_of", {"tenant": key.tenant, "id": key.id})
        return found[0][0] if found else None

    async def inspect(self) -> list[Fault]:
        """Return what belongs to nothing in the tables."""
        return await look_into(self.link)

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything that no fork of it shares; False where there is none.

        The server reuses the space when it has vacuumed.

        Raises:
            ThreadConflictError: It is not the thread *expected* any more, where that is given.
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
        ((revision, known),) = answer
        if expected is not None and not known:
            # At the same revision: it was deleted and made anew.
            actual = 0 if revision == expected.revision else revision
            raise ThreadConflictError(thread_id=key.id, expected=expected.revision, actual=actual)
        return bool(revision)

    async def indexed(self, key: ThreadKey, branch: bytes) -> int:
        """Return the number of the first row of *branch* that is not in the index."""
        values = {"tenant": key.tenant, "branch": branch, "stop": self._number(_MOST_NUMBER)}
        upto: int = 0
        spans = sorted(await self.link.read("indexed", values), key=itemgetter(1))
        for at, behind, known in spans:
            upto = at if known is None else max(at, int(known))
            if upto < behind:
                return upto
        return upto

    async def index(self, key: ThreadKey, branch: bytes, words: list[tuple[int, str]]) -> None:
        """Add rows to the index: the number of each, and its words with a space between."""
        if not words:
            return
        values = {
            "tenant": key.tenant,
            "branch": branch,
            "numbers": [self._int8(number) for number, _ in words],
            "words": [" ".join(_indexable(text.split())) for _, text in words],
        }
        await self.link.read("index", values)

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """Return the numbers of the rows below *stop* that hold every one of *words*, in order."""
        values = {
            "tenant": key.tenant,
            "branch": branch,
            "stop": self._number(stop),
            "words": _indexable(words),
        }
        return sorted(number for (number,) in await self.link.read("find", values))

    def _number(self, number: int) -> "Int8":
        return self._int8(max(0, min(number, _MOST_NUMBER)))


def _some(values: Sequence[object]) -> Sequence[object] | None:
    # An array without a value has no type that the driver could tell.
    return values or None


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _indexable(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(word[:_WORD_SIZE] for word in words))


def _documents(found: Answer) -> Iterator[Document]:
    for kind, name, data in found:
        yield Document(kind, _text_of(name), data)


def _text_of(name: bytes) -> str:
    try:
        return name.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        # A document is bound to its name, so that under another one it is refused.
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
