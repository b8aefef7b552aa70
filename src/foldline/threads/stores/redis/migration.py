"""
Bringing a Redis store of layout 1 up to date, in which threads shared rows on branches.

Thread by thread, one script copies the rows that a thread reads to rows of its own; what nobody else
reads is then deleted. The number of the layout comes last: an open that follows a kill continues,
and meanwhile the store refuses every other program.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from foldline.threads.stores.flatten import Branch, flatten
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.wire import number_of, number_word


__all__ = ["FORMAT", "OLD_FORMATS", "migrate", "ordered"]


FORMAT: Final = b"2"
"""The number of the layout that this program reads and writes."""

OLD_FORMATS: Final = (b"1", b"migrating")
"""What an earlier layout is marked with, and one that is being migrated."""

_Run: TypeAlias = Callable[..., Awaitable[list[object]]]
_Branches: TypeAlias = dict[int | str, Branch]

_PAGE: Final = b"1000"
# The kinds of keys that only layout 1 has.
_OLD_KINDS: Final = (b"branch", b"children", b"owned", b"rows", b"system")
_BRANCH_KINDS: Final = (b"branch", b"children", b"rows", b"system")
_NAME: Final = re.compile(r"[0-9a-f]{32}")


async def migrate(link: RedisLink, run: _Run, base: bytes) -> None:
    """
    Bring all threads up to date.

    Args:
        link: The connection to the Redis.
        run: Runs a script by its name.
        base: What all keys begin with.

    Raises:
        StoreError: Redis cannot be reached, or refused.
    """
    await run("begin", b"")
    tenants: dict[bytes, list[bytes]] = {}
    async for key in _keys(link, base + b"/thread/*"):
        tenant, _, id = key.removeprefix(base + b"/thread/").partition(b"/")
        tenants.setdefault(tenant, []).append(id)
    for tenant, ids in tenants.items():
        await _Tenant(link, run, base, tenant).migrate(ids)
    for kind in _OLD_KINDS:
        async for key in _keys(link, base + b"/" + kind + b"/*"):
            await link.ask(b"UNLINK", key)
    await link.ask(b"UNLINK", base + b"/epoch")
    await link.ask(b"SET", base + b"/format", FORMAT)


async def _keys(link: RedisLink, pattern: bytes) -> AsyncIterator[bytes]:
    cursor = b"0"
    while True:
        answer = await link.ask(b"SCAN", cursor, b"MATCH", pattern, b"COUNT", _PAGE)
        cursor, keys = cast("tuple[bytes, list[bytes]]", answer)
        for key in keys:
            yield key
        if cursor == b"0":
            return


class _Tenant:
    """The threads and branches of one tenant."""

    def __init__(self, link: RedisLink, run: _Run, base: bytes, tenant: bytes) -> None:
        self._link = link
        self._run = run
        self._base = base
        self._tenant = tenant
        self._branches: _Branches = {}
        self._owners: dict[str, bytes] = {}

    async def migrate(self, ids: Iterable[bytes]) -> None:
        """Give every thread of *ids* rows of its own that has none yet."""
        found = {id: await self._branches_of(id) for id in ids}
        left = {id: own for id, own in found.items() if own is not None}
        reached = {id: _reached(own, self._branches) for id, own in left.items()}
        readers = Counter(name for names in reached.values() for name in names)
        for id, own in left.items():
            await self._flatten(id, own)
            readers.subtract(reached[id])
            unread = [name for name in reached[id] if not readers[name]]
            gone = [self._of(kind, name.encode()) for name in unread for kind in _BRANCH_KINDS]
            await self._link.ask(b"UNLINK", self._of(b"owned", id), *gone)

    async def _branches_of(self, id: bytes) -> list[Branch] | None:
        """Return the branches that a thread has opened, the oldest first; None if it has rows."""
        found = await self._link.ask(b"HGET", self._of(b"thread", id), b"branch")
        if found is None:
            return None
        current = _name(cast("bytes", found))
        members = await self._link.ask(b"SMEMBERS", self._of(b"owned", id))
        names = {_name(one) for one in cast("list[bytes]", members)} | {current}
        for name in names:
            await self._read(name)
        own = [
            self._branches[name]
            for name in names
            if name in self._branches and (name == current or self._owners[name] == id)
        ]
        return ordered(own, current)

    async def _read(self, name: str) -> None:
        """Read the branch *name*, and those that it shares rows of."""
        while name not in self._branches and _NAME.fullmatch(name):
            key = self._of(b"branch", name.encode())
            fields = await self._link.ask(b"HMGET", key, b"parent", b"at", b"owner")
            parent, at, owner = cast("list[bytes | None]", fields)
            start = number_of(at or b"")
            if start is None:
                # Lost: the threads that read it are shorter than their heads say.
                return
            count = await self._link.ask(b"LLEN", self._of(b"rows", name.encode()))
            before = _name(parent) if parent else None
            self._branches[name] = Branch(name, before, start, start + cast("int", count))
            self._owners[name] = owner or b""
            name = before or ""

    async def _flatten(self, id: bytes, own: Sequence[Branch]) -> None:
        """Copy what a thread reads to rows of its own, all of it in one script."""
        parts = list(flatten(own, self._branches)) if own else []
        starts = {part.epoch: part.spans[0].start for part in parts if part.spans}
        epochs = [_word(one.name) + number_word(starts.get(one.name, one.at)) for one in own]
        if own:
            epochs[0] = _word(own[0].name) + b"0"
        words = [id, number_word(len(epochs)), *epochs]
        for part in parts:
            target = b"" if part.epoch == own[0].name else _word(part.epoch)
            for span in part.spans:
                name = _word(span.branch)
                numbers = (self._branches[span.branch].at, span.start, span.stop)
                words += [target, name, bytes.fromhex(name.decode()), *map(number_word, numbers)]
        last = _word(own[-1].name) if own else b""
        await self._run("flatten", self._tenant, *words, last)

    def _of(self, kind: bytes, name: bytes) -> bytes:
        return b"/".join((self._base, kind, self._tenant, name))


def _name(word: bytes) -> str:
    return word.decode("ascii", "replace")


def _word(name: int | str) -> bytes:
    return str(name).encode()


def _reached(own: Iterable[Branch], branches: Mapping[int | str, Branch]) -> set[str]:
    """Return the names of *own* and of all branches before them."""
    names: set[str] = set()
    for branch in own:
        found: Branch | None = branch
        while found is not None and found.name not in names:
            names.add(str(found.name))
            found = branches.get(found.parent or "")
    return names


def ordered(own: Iterable[Branch], current: str) -> list[Branch]:
    """
    Return *own* in the order in which a thread opened them.

    Each was opened where the one before it had been left, so they are a tree in the order of a walk:
    of those that begin on the same branch, the later begin with smaller numbers.

    Args:
        own: The branches that a thread has opened.
        current: The name of the newest one.
    """
    known = {branch.name: branch for branch in own}
    newest = _reached([known[current]], known) if current in known else set[str]()
    children: dict[int | str | None, list[Branch]] = {}
    for branch in known.values():
        parent = branch.parent if branch.parent in known else None
        children.setdefault(parent, []).append(branch)
    found: list[Branch] = []
    waiting: list[int | str | None] = [None]
    while waiting:
        name = waiting.pop()
        if name is not None:
            found.append(known[name])
        # The last to be put there is visited first.
        begun = sorted(children.get(name, ()), key=lambda one: (one.at, one.name not in newest))
        waiting += [one.name for one in begun]
    return found
