"""
Bringing a Redis store of layout 1 up to date, in which threads shared rows on branches.

Thread by thread, the script copies the rows that a thread reads to rows of its own. The branches are
deleted after the last one, and then the number of the layout changes: an open that follows a kill
continues, and meanwhile the store refuses every other program.
"""

from collections.abc import AsyncIterator, Container, Iterable
from typing import Final, cast

from foldline.threads.stores.flatten import Branch, flatten
from foldline.threads.stores.redis.link import RedisLink, Word


FORMAT: Final = b"2"
"""The number of the layout that this program reads and writes."""

OLD_FORMATS: Final = (b"1", b"migrating")
"""What an earlier layout is marked with, and one that is being migrated."""

_PAGE: Final = 1000
# What only layout 1 has.
_OLD_KEYS: Final = ("branch/*", "children/*", "owned/*", "rows/*", "system/*", "epoch")


async def migrate(link: RedisLink, base: str) -> None:
    """Bring all threads up to date, whose keys begin with *base*."""
    await link.run(base, "begin", "")
    async for key in _keys(link, f"{base}/thread/*"):
        tenant, id = key.decode().split("/")[-2:]
        await _flatten(link, base, tenant, id)
    for pattern in _OLD_KEYS:
        async for key in _keys(link, f"{base}/{pattern}"):
            await link.ask("UNLINK", key)
    await link.ask("SET", f"{base}/format", FORMAT)


async def _keys(link: RedisLink, pattern: str) -> AsyncIterator[bytes]:
    cursor: int | None = None
    while cursor != 0:
        cursor, keys = await link.ask("SCAN", cursor or 0, "MATCH", pattern, "COUNT", _PAGE)
        for key in cast("list[bytes]", keys):
            yield key


async def _flatten(link: RedisLink, base: str, tenant: str, id: str) -> None:
    """Copy what a thread reads to rows of its own, all of it in one script."""
    current = await link.ask("HGET", f"{base}/thread/{tenant}/{id}", "branch")
    if current is None:
        return
    owned = await link.ask("SMEMBERS", f"{base}/owned/{tenant}/{id}")
    names = {name.decode() for name in (current, *owned)}
    branches, owners = await _branches(link, base, tenant, names)
    mine = {name for name in names if owners.get(name) == id} | {current.decode()}
    own = ordered([one for name, one in branches.items() if name in mine], current.decode())
    parts = list(flatten(own, branches)) if own else []
    starts = {epoch: spans[0].start for epoch, spans in parts if spans}
    if own:
        starts[own[0].name] = 0
    opened = (f"{one.name}{starts.get(one.name, one.at)}" for one in own)
    words: list[Word] = [id, len(own), *opened]
    for epoch, spans in parts:
        target = "" if epoch == own[0].name else str(epoch)
        for span in spans:
            name = str(span.branch)
            origin, first = bytes.fromhex(name), branches[name].at
            words += [target, name, origin, first, span.start, span.stop]
    await link.run(base, "flatten", tenant, *words, str(own[-1].name) if own else "")


async def _branches(
    link: RedisLink, base: str, tenant: str, names: Iterable[str]
) -> tuple[dict[int | str, Branch], dict[str, str]]:
    """Return *names* and the branches that they share rows of, and the owner of each."""
    branches, owners = dict[int | str, Branch](), dict[str, str]()
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        fields = await link.ask("HMGET", f"{base}/branch/{tenant}/{name}", "parent", "at", "owner")
        parent, at, owner = (None if one is None else one.decode() for one in fields)
        # A lost one makes the threads that read it shorter than their heads say.
        if name not in branches and at is not None:
            count = await link.ask("LLEN", f"{base}/rows/{tenant}/{name}")
            branches[name] = Branch(name, parent or None, int(at), int(at) + count)
            owners[name] = owner or ""
            waiting += [parent] if parent else []
    return branches, owners


def ordered(own: Iterable[Branch], current: str) -> list[Branch]:
    """
    Return *own* in the order in which a thread opened them.

    Each was opened where the one before it had been left, so they are a tree in the order of a walk:
    of those that begin on the same branch, the later begin with smaller numbers. *current* is the
    name of the newest one.
    """
    known = {branch.name: branch for branch in own}
    newest, name = set[int | str](), known[current].name if current in known else None
    while name in known and name not in newest:
        newest.add(name)
        name = known[name].parent
    children: dict[int | str | None, list[Branch]] = {}
    for branch in known.values():
        children.setdefault(branch.parent if branch.parent in known else None, []).append(branch)
    found: list[Branch] = []
    # The last one is visited first.
    waiting = _sorted(children.get(None, []), newest)
    while waiting:
        found.append(waiting.pop())
        waiting += _sorted(children.get(found[-1].name, []), newest)
    return found


def _sorted(begun: Iterable[Branch], newest: Container[int | str]) -> list[Branch]:
    return sorted(begun, key=lambda one: (one.at, one.name not in newest))
