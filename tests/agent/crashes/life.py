"""A process that ends at a chosen moment, as far as its store and its tools can see."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread, ThreadStorage


Meeting: TypeAlias = Callable[[int, str], Awaitable[None]]
"""Is told the number and the name of each moment that is lived through."""


class Killed(BaseException):
    """The process is gone; whatever still runs in it is refused everything."""


class Life:
    """The moments of one process: it can end at each of them."""

    def __init__(self, *, end: int | None = None, meet: Meeting | None = None) -> None:
        self._end = end
        self._meet = meet
        self.count = 0
        """How many moments it has had."""
        self.last_moment: str | None = None
        """The name of the moment at which it ended, if it has."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.last_moment is not None

    def go_on(self) -> None:
        """Check that it has not ended."""
        if self.is_over:
            raise Killed(self.last_moment)

    def pass_by(self, name: str) -> None:
        """Live through the moment *name*, or end at it."""
        self.go_on()
        self.count += 1
        if self.count == self._end:
            self.last_moment = name
            raise Killed(name)

    async def moment(self, name: str) -> None:
        """Do the same, and let somebody else act at that moment."""
        self.pass_by(name)
        if self._meet is not None:
            await self._meet(self.count, name)


class MortalStorage:
    """A storage that a life uses: there is a moment before and after each of its commits."""

    def __init__(self, inner: ThreadStorage, life: Life) -> None:
        self._inner = inner
        self._life = life
        self.ends_commits = inner.ends_commits

    async def open(self) -> None:
        """Open what is inside."""
        await self._inner.open()

    async def close(self) -> None:
        """Close what is inside: the system does it for a process that is gone."""
        await self._inner.close()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        self._life.go_on()
        return await self._inner.load(key)

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Do what the storage inside does, between two moments."""
        await self._life.moment("before a commit")
        await self._inner.commit(key, change)
        await self._life.moment("after a commit")

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        self._life.go_on()
        return await self._inner.rows(key, epoch, start, stop, system=system)

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        self._life.go_on()
        return await self._inner.documents(key, kind, limit=limit)

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        self._life.go_on()
        return await self._inner.threads(tenant, after=after, limit=limit)

    async def tenants(self) -> list[str]:
        self._life.go_on()
        return await self._inner.tenants()

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        self._life.go_on()
        return await self._inner.delete(key, expected=expected)

    async def check(self) -> list[str]:
        self._life.go_on()
        return await self._inner.check()
