"""A process that ends at a chosen moment, as far as its store and its tools can see."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.storage import ThreadStorage


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
        return self.last_moment is not None

    def go_on(self) -> None:
        if self.is_over:
            raise Killed(self.last_moment)

    def pass_by(self, name: str) -> None:
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


def _lived(name: str) -> Callable[..., Any]:
    async def method(self: "MortalStorage", *given: object, **options: object) -> Any:
        self.life.go_on()
        return await getattr(self.inner, name)(*given, **options)

    return method


class MortalStorage:
    """A storage that a life uses: there is a moment before and after each of its commits."""

    def __init__(self, inner: ThreadStorage, life: Life) -> None:
        self.inner = inner
        self.life = life
        self.ends_commits = inner.ends_commits

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        """Close what is inside: the system does it for a process that is gone."""
        await self.inner.close()

    async def commit(self, key: ThreadKey, change: Change) -> None:
        await self.life.moment("before a commit")
        await self.inner.commit(key, change)
        await self.life.moment("after a commit")

    load = _lived("load")
    rows = _lived("rows")
    documents = _lived("documents")
    document = _lived("document")
    hold = _lived("hold")
    threads = _lived("threads")
    folds_due = _lived("folds_due")
    latest = _lived("latest")
    tenants = _lived("tenants")
    delete = _lived("delete")
    check = _lived("check")
