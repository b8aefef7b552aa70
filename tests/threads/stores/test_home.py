"""An open store works where it was opened, and says so elsewhere."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from foldline.errors import StoreError
from foldline.threads.key import ThreadKey
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStorage
from foldline.threads.stores.sqlite.worker import Worker


KEY = ThreadKey("acme", "one")
KINDS: dict[str, Callable[[str], ThreadStorage]] = {
    "postgres_dsn": lambda dsn: PostgresStore(dsn).context.storage,
    "redis_url": lambda url: RedisStore(url).context.storage,
}


@pytest.fixture(params=["sqlite", *KINDS])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> ThreadStorage:
    """Return a storage of each kind that has threads or sockets."""
    if request.param == "sqlite":
        return SQLiteStorage(tmp_path / "threads.db")
    return KINDS[request.param](request.getfixturevalue(request.param))


def in_child(ask: Callable[[], str]) -> str:
    """Return what *ask* says in a forked process."""
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(target, ask().encode())
        finally:
            os._exit(0)
    os.close(target)
    with os.fdopen(source) as answer:
        told = answer.read()
    os.waitpid(child, 0)
    return told


def refusal(attempt: Callable[[], Coroutine[object, object, object]]) -> str:
    """Return the error that *attempt* ends with in an event loop of its own."""

    async def run() -> None:
        async with asyncio.timeout(30):
            await attempt()

    try:
        asyncio.run(run())
    except StoreError as error:
        return str(error)
    except BaseException as error:  # noqa: BLE001 - it is reported
        return repr(error)
    return "no error"


def test_a_forked_process_is_refused(storage: ThreadStorage) -> None:
    """In a fork calls are refused until the store was closed there; that of the parent goes on."""

    async def begin_anew() -> None:
        await storage.close()
        await storage.open()
        assert await storage.tenants() == []
        await storage.close()

    attempts = (lambda: storage.load(KEY), lambda: storage.delete(KEY), storage.open, begin_anew)
    with asyncio.Runner() as runner:
        runner.run(storage.open())
        told = in_child(lambda: "|".join(refusal(attempt) for attempt in attempts)).split("|")
        still = runner.run(storage.load(KEY)), runner.run(storage.delete(KEY))
        runner.run(storage.close())

    assert all("opened in another process" in one for one in told[:3])
    assert told[3:] == ["no error"]
    assert still == (None, False)


@pytest.mark.parametrize("kind", KINDS)
def test_another_event_loop_is_refused(kind: str, request: pytest.FixtureRequest) -> None:
    """
    In another loop calls and closing are refused; closing works where the first loop is closed.
    """
    storage = KINDS[kind](request.getfixturevalue(kind))
    told: list[str] = []
    with asyncio.Runner() as runner:
        runner.run(storage.open())
        for attempt in (lambda: storage.load(KEY), storage.open, storage.close):
            other = threading.Thread(target=lambda one=attempt: told.append(refusal(one)))
            other.start()
            other.join()
        still = runner.run(storage.load(KEY))
        runner.run(storage.close())

    assert ["opened in another event loop" in one for one in told] == [True] * 3
    assert still is None


def test_sqlite_serves_every_loop(tmp_path: Path) -> None:
    """A SQLite store that was opened in one loop answers in the next one."""
    storage = SQLiteStorage(tmp_path / "threads.db")
    asyncio.run(storage.open())
    found = asyncio.run(storage.load(KEY))
    asyncio.run(storage.close())

    assert found is None


async def test_a_job_is_answered_or_refused() -> None:
    """However a stop from another thread falls together with calls, each of them ends."""

    async def ask(worker: Worker) -> bool:
        try:
            return await worker.run(lambda connection: connection.in_transaction)
        except StoreError:
            return False

    for _ in range(10):
        worker = Worker(lambda: sqlite3.connect(":memory:", check_same_thread=False), name="race")
        stopping = threading.Thread(target=worker.stop)
        stopping.start()
        async with asyncio.timeout(30):
            await asyncio.gather(*(ask(worker) for _ in range(20)))
        stopping.join()
        await worker.ended()
