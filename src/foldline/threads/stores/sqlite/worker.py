"""A thread of its own for a database connection: jobs in transactions, and what failures leave."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from msgspec import Struct

from foldline.errors import (
    CommitUnknownError,
    FoldlineError,
    StoreCorruptError,
    StoreError,
    StoreVersionError,
)
from foldline.threads.stores.home import Home
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, place_error, store_error
from foldline.threads.stores.sqlite.file import StoreFile
from foldline.threads.stores.sqlite.identity import SCHEMA_MASK, number_in
from foldline.threads.stores.sqlite.migration import NEWEST_SCHEMA
from foldline.threads.stores.sqlite.pace import Pace


_Result = TypeVar("_Result")
_MOST_WRITES = 256
_Together: TypeAlias = Callable[[sqlite3.Connection, "Sequence[Job[Any]]"], "Sequence[Job[Any]]"]
# A result waits until all jobs of its transaction are done.
_MOST_READS = 32
# After these the last frame of the commit, which completes it, was not written whole.
_TORN = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})


class Job(Struct, Generic[_Result], eq=False):
    """What is to be done in a transaction, and what came of it."""

    call: Callable[[sqlite3.Connection], _Result]
    result: _Result | None = None
    error: BaseException | None = None


class _Transactions:
    """
    Runs jobs in transactions, one of which ends before the next begins.

    A job that raises an error of foldline must not have written; the others continue. A failure of
    the database undoes all of them.
    """

    def __init__(self, *, write: bool, together: _Together = lambda _, jobs: jobs) -> None:
        self._writes = write
        self._together = together
        self._leaves_rest = False

    def run(self, connection: sqlite3.Connection, jobs: Sequence[Job[Any]]) -> bool:
        """Run *jobs* in one transaction; False if one of several failed and nothing was done."""
        if self._leaves_rest and (rest := self._overwritten(connection)):
            message = "the log may still hold a commit that has failed before"
            raise CommitUnknownError(message) from rest
        cursor = connection.execute("BEGIN IMMEDIATE" if self._writes else "BEGIN")
        try:
            if self._writes:
                # A newer foldline may have brought the file up to date since it was opened.
                (number,) = cursor.execute("PRAGMA user_version").fetchone()
                if number & SCHEMA_MASK > NEWEST_SCHEMA:
                    _refuse(number & SCHEMA_MASK)
            for job in self._together(connection, jobs) if len(jobs) > 1 else jobs:
                try:
                    job.result = job.call(connection)
                except FoldlineError as error:
                    job.error = error
        except BaseException as error:
            connection.rollback()
            if len(jobs) == 1 or not isinstance(error, Exception):
                raise
            return False
        if not self._writes:
            # A commit would report damage again that a job has met and handled.
            connection.rollback()
            return True
        try:
            cursor.execute("COMMIT")
        except sqlite3.Error as error:
            connection.rollback()
            raise CommitUnknownError(str(store_error(error))) from self._rest(connection, error)
        return True

    def _rest(self, connection: sqlite3.Connection, error: sqlite3.Error) -> StoreError | None:
        """Return why the commit that *error* ended may be found after a crash; None if it is gone."""
        rest = self._overwritten(connection)
        if getattr(error, "sqlite_errorcode", None) in _TORN:
            # Half of a frame is a whole one only over an older frame that ends alike.
            rest, self._leaves_rest = None, False
        return rest

    def _overwritten(self, connection: sqlite3.Connection) -> StoreError | None:
        """
        Make sure that a failed commit is not found after a crash; return why not, if so.

        If the flush fails, the frames are all in the log, and only its index in memory does not know
        of them: after a crash they would be taken for a commit. A frame over the first one breaks
        the chain of checksums that holds the others, so a commit that changes nothing is made.
        """
        try:
            connection.execute("BEGIN IMMEDIATE")
            # The number stays the same, and the first page is written.
            number_in(connection).write(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._leaves_rest = True
            connection.rollback()
            return store_error(error)
        self._leaves_rest = False
        return None


def _refuse(schema: int) -> NoReturn:
    raise StoreVersionError(what="the store", found=schema, known=NEWEST_SCHEMA)


def _known_error(error: Exception) -> Exception:
    """Return *error*, which a job or its connection raised, as an error of foldline."""
    if isinstance(error, FoldlineError):
        return error
    if isinstance(error, SQLITE_ERRORS):
        return store_error(error)
    if isinstance(error, TypeError):
        return StoreCorruptError("the database holds a value of the wrong type")
    if isinstance(error, OSError):
        return place_error("the files of the store cannot be used", error)
    known = StoreError(f"SQLite could not be called ({type(error).__name__})")
    known.__cause__ = error
    return known


class _Waiting(Job[_Result], eq=False, kw_only=True):
    """A job and the task that waits for its result."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[_Result | None]
    is_over: bool = False

    async def end(self) -> None:
        """Wait for the end, however often the task is cancelled."""
        while not self.is_over:
            self.future = self.loop.create_future()
            with suppress(asyncio.CancelledError, Exception):
                await self.future


class Worker:
    """
    Runs jobs on one connection, in a thread of its own, in the order in which they come.

    All jobs that wait are put into one transaction, so that many conversations share one flush. Of a
    transaction that fails each job is tried again alone. What flushes nothing may be done in place,
    by the caller, while the thread is idle.
    """

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        *,
        name: str,
        file: StoreFile | None = None,
        tidy: Callable[[sqlite3.Connection], None] | None = None,
        pace: Pace | None = None,
        together: _Together = lambda _, jobs: jobs,
    ) -> None:
        """
        Start the thread, named *name*; without the *file* that they write to, jobs only read.

        Of several jobs *together* does some at once, and returns those that remain.
        """
        self._connect = connect
        self._file = file
        self._writes = file is not None
        self._most_jobs = _MOST_WRITES if self._writes else _MOST_READS
        self._tidy = tidy
        self._pace = pace or Pace()
        self._jobs: queue.SimpleQueue[_Waiting[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._is_closed = False
        # Nothing may be queued after the end: nobody would answer it.
        self._closing = threading.Lock()
        # Held by the one who works on the connection; the thread waits for it, a caller never does.
        self._at_work = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._transactions = _Transactions(write=self._writes, together=together)
        self.home = Home()
        self._thread.start()

    @property
    def is_at_work(self) -> bool:
        """Whether it takes jobs here."""
        return self.home.is_same_process and not self._is_closed

    async def run(self, job: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Return what *job* returns in the thread; a write ends even if it is cancelled."""
        self.home.check()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result | None] = loop.create_future()
        waiting = _Waiting(job, loop=loop, future=future)
        with self._closing:
            if self._is_closed:
                raise StoreError("the store is closed")
            self._jobs.put(waiting)
        try:
            return await waiting.future  # type: ignore[return-value]
        except asyncio.CancelledError as cancelled:
            if not self._writes:
                raise
            await waiting.end()
            raise cancelled from waiting.error

    def stop(self) -> None:
        """Take no more jobs; harmless when repeated, and in another process."""
        # After a fork the lock may be held by a thread that does not exist here.
        if self.home.is_same_process:
            with self._closing:
                if not self._is_closed:
                    self._is_closed = True
                    self._jobs.put(None)

    async def ended(self) -> None:
        """Stop, and wait until all is done and closed, however often the task is cancelled."""
        self.stop()
        if not self.home.is_same_process:
            return
        # Nobody else's jobs are in the way of this one, and nothing is left to be imported.
        waiter = ThreadPoolExecutor(1)
        ended = asyncio.get_running_loop().run_in_executor(waiter, self._thread.join)
        cancelled: asyncio.CancelledError | None = None
        while not ended.done():
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError as error:
                cancelled = error
        waiter.shutdown()
        if cancelled is not None:
            raise cancelled

    def in_place(self, job: Callable[[sqlite3.Connection], _Result]) -> Job[_Result] | None:
        """
        Run *job* here, or return None: the thread is at work, others write, or the disk is slow.

        It waits for nobody. What fails before anything was committed is left to the thread, which
        may wait, and reports what is wrong.
        """
        self.home.check()
        file = self._file
        if file is None or not self._jobs.empty() or not self._at_work.acquire(blocking=False):
            return None
        try:
            connection = self._connection
            if connection is None or self._is_closed or not self._pace.begin() or not file.seize():
                return None
            try:
                return self._run_here(connection, job)
            finally:
                file.release()
                self._pace.end()
        finally:
            self._at_work.release()

    def _run_here(
        self, connection: sqlite3.Connection, call: Callable[[sqlite3.Connection], _Result]
    ) -> Job[_Result] | None:
        job = Job(call)
        try:
            self._transactions.run(connection, [job])
        except CommitUnknownError as error:
            self._forget_connection()
            job.error = error
        except Exception as error:  # noqa: BLE001 - the thread does it again, and raises it
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                self._forget_connection()
            return None
        return job

    def _forget_connection(self) -> None:
        # What a failed flush left in memory cannot be trusted, so the next job gets a new one.
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _work(self) -> None:
        is_open = True
        while is_open:
            jobs, is_open = self._next_jobs()
            if not jobs:
                continue
            with self._at_work:
                try:
                    self._run_all(jobs)
                except Exception as error:  # noqa: BLE001 - a waiting task must get it
                    self._fail(jobs, error)
            _answer(jobs)
        with self._at_work:
            self._forget_connection()

    def _fail(self, jobs: list[_Waiting[Any]], error: Exception) -> None:
        # The thread must not end: tasks wait for it.
        self._forget_connection()
        for waiting in jobs:
            waiting.error = waiting.error or _known_error(error)

    def _next_jobs(self) -> tuple[list[_Waiting[Any]], bool]:
        jobs: list[_Waiting[Any]] = []
        while (job := self._jobs.get()) is not None:
            jobs.append(job)
            if len(jobs) == self._most_jobs or self._jobs.empty():
                return jobs, True
        return jobs, False

    def _run_all(self, jobs: list[_Waiting[Any]]) -> None:
        connection = self._connection = self._connection or self._connect()
        with nullcontext() if self._file is None else self._file.exclusive(connection):
            for waiting in [] if self._transactions.run(connection, jobs) else jobs:
                waiting.error = None
                try:
                    self._transactions.run(connection, [waiting])
                except Exception as error:  # noqa: BLE001 - a waiting task must get it
                    waiting.error = _known_error(error)
            # Other writers are still away.
            if self._tidy is not None:
                self._tidy(connection)


def _answer(jobs: list[_Waiting[Any]]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[_Waiting[Any]]] = {}
    for waiting in jobs:
        loops.setdefault(waiting.loop, []).append(waiting)
    for loop, done in loops.items():
        # Nobody waits in a loop that was closed in the meantime.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, done)


def _settle(jobs: list[_Waiting[Any]]) -> None:
    for waiting in jobs:
        waiting.is_over = True
        if waiting.future.done():
            continue
        if waiting.error is not None:
            waiting.future.set_exception(waiting.error)
        else:
            waiting.future.set_result(waiting.result)
