"""Threads in one Redis."""

import asyncio
import re
from contextlib import AsyncExitStack, suppress
from typing import Final, NamedTuple, cast

from foldline.checks import expect_seconds
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
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey, listed_key, name_of
from foldline.threads.step import Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.stores.outcome import judge
from foldline.threads.stores.redis.inspection import look_into
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.promise import RedisPromise, check_policy, read_promise
from foldline.threads.stores.redis.scripts import scripts
from foldline.threads.stores.redis.wire import (
    Entry,
    Piece,
    commit_words,
    documents_of,
    flag_word,
    listed_thread,
    number_of,
    number_word,
    rows_of,
    stored_thread,
    text_word,
)


__all__ = ["RedisStorage"]


_PREFIX = re.compile(r"[A-Za-z0-9._:-]{1,200}", re.ASCII)
# Redis does nothing else while it answers, so that long answers come in pages.
_PAGE: Final = 500
# One command has at most about a million words.
_MOST_ROWS: Final = 500_000
_ATTEMPTS: Final = 32
_PAUSE: Final = 0.05
_GRACE: Final = 1.0


class _Standing(NamedTuple):
    """
    How a thread stands behind a write whose answer was lost, and which is not under way any more.
    """

    revision: int
    head: bytes
    reason: str


class RedisStorage:
    """
    Rows and documents in one Redis, which any number of machines may share.

    A commit is one script, which Redis runs with nothing else in between. All keys begin with
    `{prefix}`, so that a cluster keeps a store whole, in one slot; no key expires by itself.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "foldline",
        timeout: float = 10.0,
        allow_eviction: bool = False,
    ) -> None:
        """
        Use the Redis at *url*.

        Args:
            url: Its address: `redis://`, `rediss://` or `unix://`.
            prefix: What all keys begin with; stores with other prefixes know nothing of this one.
            timeout: How many seconds a call may take, waiting and connecting included.
            allow_eviction: Whether Redis may drop threads when its memory is full.

        Raises:
            ConfigError: An argument is not allowed.
            MissingExtraError: The `redis` extra is not installed.
        """
        _check_prefix(prefix)
        expect_seconds("timeout", timeout)
        self.link = RedisLink(url, timeout=timeout)
        self._scripts = scripts()
        self._base = b"{%b}" % prefix.encode()
        self._allow_eviction = allow_eviction
        self._timeout = timeout
        # What Redis has may be higher: then it says so, and nothing is written.
        self._epoch = b"0"

    async def open(self) -> None:
        """
        Connect, and see whether Redis keeps what it is given.

        Raises:
            StoreError: It cannot be reached, may drop threads when its memory is full, or lets this
                user run some of the commands that a commit is made of, and others not.
            StoreVersionError: A newer foldline wrote to it.
        """
        was_open = self.link.is_open
        self.link.open()
        if was_open:
            return
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self.link.close)
            await self._run("check", b"")
            if not self._allow_eviction:
                await check_policy(self.link)
            undo.pop_all()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def promise(self) -> RedisPromise:
        """
        Return what this Redis, as it is set up, may lose in a crash.

        Raises:
            StoreError: Redis cannot be reached.
        """
        return await read_promise(self.link)

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as one moment saw it, or None where there is none."""
        (entry,) = await self._run("load", text_word(key.tenant), text_word(key.id))
        return stored_thread(key, cast("Entry", entry))

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """
        Do all of *step*, or nothing.

        It is as durable as `promise` says.

        Raises:
            ThreadConflictError: The revision is not the expected one.
            ThreadNotFoundError: The branch that it goes on from is gone.
            StoreError: Redis failed; nothing was written.
            CommitUnknownError: The connection broke, and Redis cannot be asked.
        """
        if len(step.rows) > _MOST_ROWS:
            message = f"{len(step.rows)} messages in one commit: Redis takes {_MOST_ROWS} at most"
            raise StoreError(message)
        found = await self._write("commit", key, commit_words(key, step), expected=step.expected)
        if isinstance(found, _Standing):
            judge(key, step, revision=found.revision, head=found.head, reason=found.reason)

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop*, shared ones included, in order."""
        found: list[StoredRow] = []
        tenant, name = text_word(key.tenant), branch.hex().encode()
        while start < stop:
            numbers = (
                number_word(start),
                number_word(stop),
                number_word(_PAGE),
                flag_word(is_set=system),
            )
            pieces = await self._run("rows", tenant, name, *numbers)
            page = rows_of(cast("list[Piece]", pieces))
            found += page
            if len(page) < _PAGE:
                break
            start = page[-1].seq + 1
        return found

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the newest *limit* documents of *kind*, the newest first; all without a limit."""
        most = number_word(-1 if limit is None else limit)
        words = (text_word(key.tenant), text_word(key.id), kind.encode(), most)
        (found,) = await self._run("contents", *words)
        return documents_of(cast("list[bytes]", found))

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """
        Return the threads of *tenant* with ids behind *after*, in order of their ids.

        A damaged one is among them without its head, which nobody can take for a whole one.
        """
        found: list[StoredThread] = []
        last = text_word(after)
        while limit is None or len(found) < limit:
            most = _PAGE if limit is None else min(_PAGE, limit - len(found))
            words = (text_word(tenant), last, number_word(most))
            page = cast("list[Entry]", await self._run("threads", *words))
            for entry in page:
                last = entry[0]
                key = listed_key(tenant, name_of(last))
                stored = None if key is None else listed_thread(key, entry)
                if stored is not None:
                    found.append(stored)
            if len(page) < most:
                break
        return found

    async def tenants(self) -> list[str]:
        """Return every tenant that has a thread, in order."""
        (found,) = await self._run("tenants", b"")
        return [name_of(word) for word in cast("list[bytes]", found)]

    async def names(self) -> list[tuple[str, str]]:
        """
        Return tenant and id of every thread, in order, allowed or not; what is no text is replaced.
        """
        (tenants,) = await self._run("tenants", b"")
        return [
            (name_of(tenant), name_of(id))
            for tenant in cast("list[bytes]", tenants)
            for id in await self._ids(tenant)
        ]

    async def _ids(self, tenant: bytes) -> list[bytes]:
        found: list[bytes] = []
        while True:
            last = found[-1] if found else b""
            (page,) = await self._run("names", tenant, last, number_word(_PAGE))
            found += cast("list[bytes]", page)
            if len(cast("list[bytes]", page)) < _PAGE:
                return found

    async def branch_of(self, key: ThreadKey) -> bytes | None:
        """Return the branch of a thread without reading its head; None where that is lost too."""
        place = b"/".join((self._base, b"thread", text_word(key.tenant), text_word(key.id)))
        found = await self.link.ask(b"HGET", place, b"branch")
        try:
            return None if found is None else bytes.fromhex(cast("bytes", found).decode())
        except ValueError:
            return None

    async def inspect(self) -> list[Fault]:
        """Return what of the keys does not fit together, and what belongs to nothing."""
        return await look_into(self.link, self._run, self._base, mends=False)

    async def mend(self) -> list[Fault]:
        """
        Mend of what `inspect` finds all that can only be meant in one way, and return it.

        Rows, heads and what branches say of themselves stay; lists of them are written anew.
        """
        return await look_into(self.link, self._run, self._base, mends=True)

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything that no fork of it shares; False where there is none.

        An append-only file holds its bytes until Redis rewrites it (`BGREWRITEAOF`).

        Raises:
            ThreadConflictError: It is not the thread *expected* any more, where that is given.
            CommitUnknownError: The connection broke, and Redis cannot be asked.
        """
        revision, head = (0, b"") if expected is None else (expected.revision, expected.head)
        words = [text_word(key.id), flag_word(is_set=expected is not None)]
        words += [number_word(revision), head]
        found = await self._write("delete", key, words, expected=revision)
        if isinstance(found, _Standing):
            if found.revision:
                message = f"{found.reason}: nothing was deleted"
                raise StoreError(message)
            return True
        return found == 1

    async def _write(
        self, name: str, key: ThreadKey, words: list[bytes], *, expected: int
    ) -> int | _Standing:
        """
        Return what the script *name* answers, or how the thread stands where no answer came.

        Raises:
            CommitUnknownError: No answer came, and Redis cannot be asked.
        """
        tenant = text_word(key.tenant)
        for _ in range(_ATTEMPTS):
            epoch, until = self._epoch, asyncio.get_running_loop().time() + self._timeout
            try:
                said, value = await self._run(
                    name, tenant, epoch, *words, key=key, expected=expected, writes=True
                )
            except CommitUnknownError as broken:
                return await self._fence(key, epoch, until, str(broken))
            if said == b"done":
                return cast("int", value)
            # Somebody has given up a write; ours was refused with it.
            self._epoch = cast("bytes", value)
        message = "the connections of others have broken again and again"
        raise StoreBusyError(message)

    async def _fence(self, key: ThreadKey, epoch: bytes, until: float, reason: str) -> _Standing:
        """
        See that a write that was sent in *epoch* is refused should it still arrive.

        It may lie in a buffer on the way for any time, so that looking alone would settle nothing.
        """
        until = max(until, asyncio.get_running_loop().time() + _GRACE)
        words = (text_word(key.tenant), epoch, text_word(key.id))
        found: list[object] | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                found = await self._insist("fence", *words, until=until)
        if found is None:
            raise CommitUnknownError(reason)
        now, revision, head = cast("tuple[bytes, bytes, bytes]", tuple(found))
        self._epoch = now
        number = number_of(revision)
        if number is None:
            raise CommitUnknownError(reason)
        return _Standing(number, head, reason)

    async def _insist(self, name: str, *words: bytes, until: float) -> list[object] | None:
        """Return what the script *name* answers, as soon as Redis can be asked."""
        # The driver may take the end of a time limit for that of a connection, so it is asked, too.
        while asyncio.get_running_loop().time() < until:
            with suppress(StoreError):
                return await self._run(name, *words)
            await asyncio.sleep(_PAUSE)
        return None

    async def _run(
        self,
        name: str,
        *words: bytes,
        key: ThreadKey | None = None,
        expected: int = 0,
        writes: bool = False,
    ) -> list[object]:
        """Return what the script *name* answers; *words* begin with the tenant."""
        answer = await self.link.run(self._scripts[name], self._base, *words, writes=writes)
        status, *rest = cast("list[object]", answer)
        if status == b"ok":
            return rest
        if key is not None:
            _check_thread(key, status, rest, expected=expected)
        raise _refusal(status, rest)


def _check_prefix(prefix: object) -> None:
    if not isinstance(prefix, str) or not _PREFIX.fullmatch(prefix):
        message = "prefix: allowed are 1 to 200 of A-Z a-z 0-9 . _ : -"
        raise ConfigError(message)


def _check_thread(key: ThreadKey, status: object, rest: list[object], *, expected: int) -> None:
    """See that a script has not refused to write to a thread as it stands."""
    if status == b"gone":
        # Somebody has deleted or cleared the thread that was to be forked.
        raise ThreadNotFoundError(thread_id=key.id)
    if status == b"conflict":
        actual = number_of(cast("bytes", rest[0]))
        if actual is None:
            message = f"the revision of thread {key.id!r} is damaged"
            raise StoreCorruptError(message)
        raise ThreadConflictError(thread_id=key.id, expected=expected, actual=actual)


def _refusal(status: object, rest: list[object]) -> StoreError:
    if status == b"version":
        found, known = cast("tuple[bytes, int]", tuple(rest))
        number = number_of(found)
        # What is no number was not written by this version either.
        return StoreVersionError(
            what="the store", found=known + 1 if number is None else number, known=known
        )
    if status == b"denied":
        command = cast("bytes", rest[0]).decode()
        return StoreError(
            f"Redis does not let this user run {command}: give it the right to all commands that "
            "read and write, or to none that writes"
        )
    return StoreCorruptError("keys of this thread are missing, or of another program")
