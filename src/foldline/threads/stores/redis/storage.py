"""Threads in one Redis."""

import asyncio
import re
from contextlib import AsyncExitStack, suppress
from typing import Final, NamedTuple, cast

from foldline.checks import expect, expect_seconds
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
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.outcome import judge
from foldline.threads.stores.redis.link import RedisLink
from foldline.threads.stores.redis.migration import FORMAT, OLD_FORMATS, migrate
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
# Redis does nothing else while it answers, so long answers come in pages.
_PAGE: Final = 500
# One command has at most about a million words.
_MOST_ROWS: Final = 500_000
_ATTEMPTS: Final = 32
_PAUSE: Final = 0.05
_GRACE: Final = 1.0


class _Outcome(NamedTuple):
    """What a thread is after a write whose answer was lost, and which can no longer arrive."""

    revision: int
    head: bytes
    reason: str


class RedisStorage:
    """
    Rows and documents in one Redis, which any number of machines may share.

    A commit is one script, which Redis runs alone. All keys begin with `{prefix}`, so that a cluster
    keeps a store in one slot; no key expires by itself.
    """

    ends_commits = False
    """Whether a commit that has begun ends even if its task is cancelled."""

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "foldline",
        timeout: float = 10.0,
        allow_eviction: bool = False,
    ) -> None:
        """Use the Redis at *url*, not yet connected; see `RedisStore` for the options."""
        expect("prefix", prefix, str)
        if not _PREFIX.fullmatch(prefix):
            message = "prefix must be 1 to 200 of A-Z a-z 0-9 . _ : -"
            raise ConfigError(message)
        expect_seconds("timeout", timeout)
        self.link = RedisLink(url, timeout=timeout)
        self._scripts = scripts()
        self._base = b"{%b}" % prefix.encode()
        self._allow_eviction = allow_eviction
        self._timeout = timeout
        # If the one in Redis is higher, a write does nothing and returns it.
        self._fence = b"0"

    async def open(self) -> None:
        """
        Connect, check that Redis keeps what it is given, and bring the store up to date.

        Raises:
            StoreError: Redis cannot be reached, may drop threads when its memory is full, or lets
                this user run only some of the commands of a commit.
            StoreVersionError: The store was made by a newer foldline.
        """
        was_open = self.link.is_open
        self.link.open()
        if was_open:
            return
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self.link.close)
            (found,) = cast("list[bytes | None]", await self._run("check", b""))
            if found is not None and found not in {FORMAT, *OLD_FORMATS}:
                raise _newer(found)
            if not self._allow_eviction:
                await check_policy(self.link)
            if found in OLD_FORMATS:
                await migrate(self.link, self._run, self._base)
            undo.pop_all()

    async def close(self) -> None:
        """Close all connections; harmless when repeated."""
        await self.link.close()

    async def promise(self) -> RedisPromise:
        """
        Return what this Redis, with its settings, may lose in a crash.

        Raises:
            StoreError: Redis cannot be reached.
        """
        return await read_promise(self.link)

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Return a thread as of one moment, or None if there is none."""
        (entry,) = await self._run("load", text_word(key.tenant), text_word(key.id))
        return stored_thread(key, cast("Entry", entry))

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """
        Do everything in *change*, or nothing; `promise` says how durable it is.

        Raises:
            ThreadConflictError: The thread is at another revision.
            ThreadNotFoundError: It was made again, or there is nothing to copy.
            StoreError: Redis failed; nothing was written.
            CommitUnknownError: The connection broke, and Redis cannot be asked.
        """
        if len(change.rows) > _MOST_ROWS:
            message = (
                f"a commit to Redis must have at most {_MOST_ROWS} messages, got {len(change.rows)}"
            )
            raise StoreError(message)
        words = commit_words(key, change)
        found = await self._write("commit", key, words, expected=change.revision)
        if isinstance(found, _Outcome):
            judge(key, change, revision=found.revision, head=found.head, reason=found.reason)

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows from number *start* up to *stop* as they were at *epoch*, in order."""
        found: list[StoredRow] = []
        place = (text_word(key.tenant), text_word(key.id), epoch.hex().encode())
        while start < stop:
            numbers = (number_word(start), number_word(stop), number_word(_PAGE))
            pieces = await self._run("rows", *place, *numbers, flag_word(is_set=system))
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
        (found,) = await self._run("documents", *words)
        return documents_of(cast("list[bytes]", found))

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """
        Return the threads of *tenant* with ids after *after*, in order of their ids.

        A damaged one is listed without its head.
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

    async def check(self) -> list[str]:
        """Find nothing: a thread that has lost keys is reported when it is read."""
        return []

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """
        Delete a thread with everything stored for it; False if there is none.

        An append-only file keeps its bytes until Redis rewrites it (`BGREWRITEAOF`).

        Raises:
            ThreadConflictError: It is not as *expected*.
            CommitUnknownError: The connection broke, and Redis cannot be asked.
        """
        revision, head = (0, b"") if expected is None else (expected.revision, expected.head)
        words = [text_word(key.id), flag_word(is_set=expected is not None)]
        words += [number_word(revision), head]
        found = await self._write("delete", key, words, expected=revision)
        if isinstance(found, _Outcome):
            if found.revision:
                message = f"{found.reason}: nothing was deleted"
                raise StoreError(message)
            return True
        return found == 1

    async def _write(
        self, name: str, key: ThreadKey, words: list[bytes], *, expected: int
    ) -> int | _Outcome:
        """
        Return the answer of the script *name*, or what the thread is if no answer came.

        Raises:
            CommitUnknownError: No answer came, and Redis cannot be asked.
        """
        tenant = text_word(key.tenant)
        for _ in range(_ATTEMPTS):
            fence, until = self._fence, asyncio.get_running_loop().time() + self._timeout
            try:
                said, value = await self._run(
                    name, tenant, fence, *words, key=key, expected=expected, writes=True
                )
            except CommitUnknownError as broken:
                return await self._give_up(key, fence, until, str(broken))
            if said == b"done":
                return cast("int", value)
            # Another program has given up a write, and ours was refused with it.
            self._fence = cast("bytes", value)
        message = "the connections of other programs broke repeatedly: try again"
        raise StoreBusyError(message)

    async def _give_up(self, key: ThreadKey, fence: bytes, until: float, reason: str) -> _Outcome:
        """
        Have a write that was sent with *fence* refused if it still arrives, and return the outcome.

        It may wait in a buffer on the way for any time, so a read alone would settle nothing.
        """
        until = max(until, asyncio.get_running_loop().time() + _GRACE)
        words = (text_word(key.tenant), fence, text_word(key.id))
        found: list[object] | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                found = await self._insist("fence", *words, until=until)
        if found is None:
            raise CommitUnknownError(reason)
        now, revision, head = cast("tuple[bytes, bytes, bytes]", tuple(found))
        self._fence = now
        number = number_of(revision)
        if number is None:
            raise CommitUnknownError(reason)
        return _Outcome(number, head, reason)

    async def _insist(self, name: str, *words: bytes, until: float) -> list[object] | None:
        """Return the answer of the script *name* as soon as Redis can be asked."""
        # The driver may hide the end of a time limit, so the time is compared too.
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
        """Return the answer of the script *name*; *words* begin with the tenant."""
        answer = await self.link.run(self._scripts[name], self._base, *words, writes=writes)
        status, *rest = cast("list[object]", answer)
        if status == b"ok":
            return rest
        if key is not None:
            _check_thread(key, status, rest, expected=expected)
        raise _refusal(status, rest)


def _check_thread(key: ThreadKey, status: object, rest: list[object], *, expected: int) -> None:
    """Check that a script has not refused to write to a thread as it is."""
    if status == b"gone":
        raise ThreadNotFoundError(thread_id=key.id)
    if status == b"conflict":
        actual = number_of(cast("bytes", rest[0]))
        if actual is None:
            message = f"the revision of thread {key.id!r} is damaged"
            raise StoreCorruptError(message)
        raise ThreadConflictError(thread_id=key.id, expected=expected, actual=actual)


def _newer(found: bytes) -> StoreVersionError:
    number, known = number_of(found), int(FORMAT)
    # What is not a number was not written by this version either.
    return StoreVersionError(
        what="the store", found=known + 1 if number is None else number, known=known
    )


def _refusal(status: object, rest: list[object]) -> StoreError:
    if status == b"version":
        return _newer(cast("bytes", rest[0]))
    if status == b"denied":
        command = cast("bytes", rest[0]).decode()
        return StoreError(
            f"Redis does not let this user run {command}: give it the right to all commands that "
            "read and write, or to none that writes"
        )
    return StoreCorruptError("keys of this thread are missing, or of another program")
