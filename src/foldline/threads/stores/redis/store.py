"""The store for many machines that share a Redis."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from heapq import nlargest
from math import ceil
from typing import Any, Final, TypeAlias, Unpack, cast

import msgspec

from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import (
    CommitUnknownError,
    ConfigError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreVersionError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.change import Change, Document, DocumentKind
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.lease import Lease
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread, judge
from foldline.threads.store import StoreOptions, ThreadStore
from foldline.threads.stores.line import MOST_WAITING
from foldline.threads.stores.redis.doctor import check_policy
from foldline.threads.stores.redis.link import RedisLink, Word
from foldline.threads.stores.redis.migration import FORMAT, OLD_FORMATS, migrate


_PREFIX = re.compile(r"[A-Za-z0-9._:-]{1,200}", re.ASCII)
# Redis does nothing else while it answers, so long answers come in pages.
_PAGE: Final = 500
_ATTEMPTS: Final = 32
_PAUSE: Final = 0.05
_GRACE: Final = 1.0
_SYSTEM: Final = b"s"
_OTHER: Final = b"m"

# The revision and the head of a thread after a write that can no longer arrive, and what broke.
_Outcome: TypeAlias = tuple[int, bytes, str]


class RedisStorage:
    """
    Rows and documents in one Redis, which any number of machines may share.

    A commit is one script, which Redis runs alone; see `store.lua` for what could stop it halfway. All
    keys begin with `{prefix}`, so that a cluster keeps a store in one slot; only leases expire by themselves.
    """

    ends_commits = False
    """Whether a commit that has begun ends even if its task is cancelled."""

    def __init__(
        self, url: str, *, prefix: str, timeout: float, allow_eviction: bool, max_waiting: int
    ) -> None:
        expect("prefix", prefix, str)
        if not _PREFIX.fullmatch(prefix):
            raise ConfigError("prefix must be 1 to 200 characters of A-Z a-z 0-9 . _ : -")
        expect_seconds("timeout", timeout)
        expect_whole("max_waiting", max_waiting, 1)
        self.link = RedisLink(url, timeout=timeout, max_waiting=max_waiting)
        self._base = f"{{{prefix}}}"
        self._allow_eviction = allow_eviction
        self._timeout = timeout
        # If the one in Redis is higher, a write does nothing and returns it.
        self._fence = b"0"

    async def open(self) -> None:
        """Connect, check that Redis keeps what it is given, and bring the store up to date."""
        if not self.link.open():
            return
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self.link.close)
            status, found = await self._ask("check", "")
            if status == b"denied":
                raise StoreError(
                    f"Redis does not let this user run {found.decode()}: give it the right to all "
                    "commands that read and write, or to none that writes"
                )
            if found is not None and found not in {FORMAT, *OLD_FORMATS}:
                raise _newer(found)
            if not self._allow_eviction:
                await check_policy(self.link)
            if found in OLD_FORMATS:
                await migrate(self.link, self._base)
            undo.pop_all()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as of one moment, or None if there is none."""
        _, entry = await self._ask("load", key.tenant, key.id)
        return _stored(key, entry)

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Do everything in *change*, or nothing; `foldline doctor` says how durable it is."""
        words = [_plan(change), change.head, *_contents(change)]
        found = await self._write("commit", key, words, expected=change.revision)
        if isinstance(found, tuple):
            judge(key, change, revision=found[0], head=found[1], reason=found[2])

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        found: list[StoredRow] = []
        place = ("rows", key.tenant, key.id, epoch.hex())
        while start < stop:
            end = stop if system else min(stop, start + _PAGE)
            _, *pieces = await self._ask(*place, start, end, int(system))
            page = [
                StoredRow(number, data[:1] == _SYSTEM, data[1:])
                for first, rows in pieces
                for number, data in enumerate(rows, first)
            ]
            found += [row for row in page if row.system] if system else page
            if len(page) < end - start:
                break
            start = end
        return found

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first."""
        most = -1 if limit is None else limit
        _, found = await self._ask("documents", key.tenant, key.id, kind, most)
        if None in found:
            raise _damaged(key)
        return _documents(found)

    async def document(self, key: ThreadKey, kind: DocumentKind, name: str) -> Document | None:
        """Return one document, or None if there is none."""
        _, found = await self._ask("document", key.tenant, key.id, f"{kind}/{name}")
        return None if found is None else Document(kind, name, found)

    async def hold(self, key: ThreadKey, lease: Lease) -> bool:
        """Let *lease* last as long from now on, by the clock of Redis, if its holder still has it."""
        # Harmless when repeated or late, so it has no fence.
        words = (key.tenant, key.id, lease.holder, ceil(1000 * lease.seconds))
        _, is_held = await self._ask("hold", *words)
        return bool(is_held)

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads of *tenant* with ids after *after*, in order of their ids."""
        found: list[StoredThread] = []
        last: Word = after
        while limit is None or len(found) < limit:
            most = _PAGE if limit is None else min(_PAGE, limit - len(found))
            _, *page = await self._ask("threads", tenant, last, most)
            for entry in page:
                last = entry[0]
                key = listed_key(tenant, name_of(entry[0]))
                stored = None if key is None else _listed(key, entry)
                if stored is not None:
                    found.append(stored)
            if len(page) < most:
                break
        return found

    async def folds_due(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return since when folds of *tenant* are due, and the ids, the oldest first."""
        since, id = ("-inf", "") if after is None else (repr(after[0]), after[1])
        _, *found = await self._ask("due", tenant, since, id, limit)
        return [(float(due_at), name_of(name)) for name, due_at in found]

    async def latest(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        """Return when threads of *tenant* were last active, and the ids, the newest first."""
        found: list[tuple[float, str]] = []
        last: Word = ""
        while True:
            _, *page = await self._ask("active", tenant, last, _PAGE)
            times = ((float(active_at or 0), name_of(name)) for name, active_at in page)
            found += (one for one in times if after is None or one < after)
            found = nlargest(limit, found)
            if len(page) < _PAGE:
                return found
            last = page[-1][0]

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        _, found = await self._ask("tenants", "")
        return [name_of(tenant) for tenant in found]

    async def check(self) -> list[str]:
        """Find nothing: a thread that has lost keys is reported when it is read."""
        return []

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete a thread with everything stored for it; False if there is none."""
        revision, head = (-1, b"") if expected is None else (expected.revision, expected.head)
        found = await self._write("delete", key, [revision, head], expected=revision)
        if not isinstance(found, tuple):
            return found == 1
        if found[0]:
            raise StoreError(f"{found[2]}: nothing was deleted")
        return True

    async def _write(
        self, name: str, key: ThreadKey, words: Sequence[Word], *, expected: int
    ) -> int | _Outcome:
        """Return the answer of the action *name*, or what the thread is if no answer came."""
        for _ in range(_ATTEMPTS):
            fence = self._fence
            try:
                status, value = await self._ask(
                    name, key.tenant, fence, key.id, *words, writes=True
                )
            except CommitUnknownError as broken:
                return await self._give_up(key, fence, str(broken))
            if status == b"done":
                return cast("int", value)
            if status == b"gone":
                raise ThreadNotFoundError(thread_id=key.id)
            if status == b"conflict":
                raise ThreadConflictError(thread_id=key.id, expected=expected, actual=value)
            # Another program has given up a write, and ours was refused with it.
            self._fence = cast("bytes", value)
        raise StoreBusyError("the connections of other programs broke repeatedly: try again")

    async def _give_up(self, key: ThreadKey, fence: bytes, reason: str) -> _Outcome:
        """Make Redis refuse a write that was sent with *fence* and may still come; return the outcome."""
        # It may be on the way for any length of time, so reading once proves nothing.
        clock = asyncio.get_running_loop().time
        until = clock() + max(self._timeout, _GRACE)
        # The driver may hide the end of a time limit, so the time is compared too.
        while clock() < until:
            with suppress(StoreError, TimeoutError):
                async with asyncio.timeout_at(until):
                    answer = await self._ask("fence", key.tenant, fence, key.id)
                _, self._fence, revision, head = answer
                return revision, head, reason
            await asyncio.sleep(_PAUSE)
        raise CommitUnknownError(reason)

    async def _ask(self, *words: Word, writes: bool = False) -> list[Any]:
        answer = await self.link.run(self._base, *words, writes=writes)
        if answer[0] == b"version":
            raise _newer(answer[1])
        if answer[0] == b"damaged":
            raise StoreCorruptError("keys of this thread are missing")
        return answer


def _newer(found: bytes) -> StoreVersionError:
    known = int(FORMAT)
    # This version writes a number; anything else was not written by it.
    number = int(found[:9]) if found.isdigit() else known + 1
    return StoreVersionError(what="the store", found=number, known=known)


def _plan(change: Change) -> bytes:
    """Return what the script needs of *change* beside its bytes."""
    opens, copies = change.opens, change.copies
    keeps = {one.hex(): True for one in (*(change.keeps or ()), change.current_epoch)}
    plan = {
        "revision": change.revision,
        "epoch": change.epoch.hex(),
        "after": change.current_epoch.hex(),
        "active": change.active_at,
        "expires": change.gone_at,
        "due": None if change.due_at is None else repr(change.due_at),
        "at": None if opens is None else opens.at,
        "clears": change.clears,
        "source": None if copies is None else copies.source.id,
        "source_epoch": None if copies is None else copies.epoch.hex(),
        "count": None if copies is None else copies.count,
        "keeps": None if change.keeps is None else keeps,
        "first": change.rows[0].seq if change.rows else None,
        "drops": len(change.drop),
        "puts": len(change.put),
        "holder": None if change.lease is None else change.lease.holder,
        "lease": None if change.lease is None else ceil(1000 * change.lease.seconds),
    }
    # A null would be a value in Lua.
    return msgspec.json.encode({name: one for name, one in plan.items() if one is not None})


def _contents(change: Change) -> Iterator[Word]:
    for kind, name in change.drop:
        yield kind if name is None else f"{kind}/{name}"
    for one in change.put:
        yield f"{one.kind}/{one.name}"
        yield one.data
    for row in change.rows:
        yield (_SYSTEM if row.system else _OTHER) + row.data


def _stored(key: ThreadKey, entry: Sequence[Any]) -> StoredThread | None:
    """Return the thread in *entry*, or None if there is none; raise if a part is missing."""
    if len(entry) == 1:
        return None
    _, revision, head, expires, strays, found, holder, left = entry
    if strays or None in (revision, head, expires, *found):
        raise _damaged(key)
    return StoredThread(
        key=key,
        revision=int(revision),
        head=head,
        documents=_documents(found),
        expires_at=float(expires) if expires else None,
        lease=Lease(holder.decode(), left / 1000) if holder and left > 0 else None,
    )


def _listed(key: ThreadKey, entry: Sequence[Any]) -> StoredThread | None:
    """Return the same, without a head if it is damaged: it is reported when it is read."""
    try:
        return _stored(key, entry)
    except StoreCorruptError:
        return StoredThread(key=key, revision=0, head=b"")


def _documents(found: Sequence[bytes]) -> list[Document]:
    """Return the documents in *found*, which has the name and the content of each in turn."""
    names = (field.decode("utf-8", "surrogatepass").partition("/") for field in found[::2])
    return [
        Document(cast("DocumentKind", kind), name, data)
        for (kind, _, name), data in zip(names, found[1::2], strict=True)
    ]


def _damaged(key: ThreadKey) -> StoreCorruptError:
    return StoreCorruptError(
        f"thread {key.id!r} has lost some of its keys: set maxmemory-policy to noeviction"
    )


class RedisStore(ThreadStore):
    """
    Threads in one Redis, shared by any number of tasks, processes and machines.

    A commit is made whole or not at all, as long as no other program writes keys under this prefix
    and the user keeps its right to all of them. Whether a crash of Redis may lose the newest
    commits is a matter of its settings: with `appendonly yes` and `appendfsync always` it loses
    none; `foldline doctor` says which it has. A failover loses what the replica has not received. Once the old primary
    refuses a write, that write and every later call go where the address leads then; until then the
    old primary answers reads.

    An open store belongs to the event loop in which it was opened: another loop or a forked process
    must open its own.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "foldline",
        timeout: float = 10.0,
        allow_eviction: bool = False,
        max_waiting: int = MOST_WAITING,
        **options: Unpack[StoreOptions],
    ) -> None:
        """
        Use the Redis at *url*.

        Args:
            url: Its address: `redis://`, `rediss://` or `unix://`.
            prefix: What all keys begin with; each prefix is a store.
            timeout: How many seconds Redis may take to answer, connecting included. The time in
                which a call waits for others of this store does not count.
            allow_eviction: Whether Redis may drop threads when its memory is full.
            max_waiting: How many writes, and how many reads, may wait for others of this store. One
                more raises StoreBusyError at once.
            options: What every store takes; see `ThreadStore`.

        Raises:
            ConfigError: An argument is invalid.
            MissingExtraError: The `redis` extra is not installed.
        """
        storage = RedisStorage(
            url,
            prefix=prefix,
            timeout=timeout,
            allow_eviction=allow_eviction,
            max_waiting=max_waiting,
        )
        super().__init__(storage, **options)
