"""What the tests of threads share: stores, a clock, and tests that are coroutines."""

import asyncio
from contextlib import AsyncExitStack
from inspect import iscoroutinefunction, signature
from pathlib import Path

import pytest

from foldline.threads.store import ThreadStore
from tests.threads.clock import Clock
from tests.threads.stores_by_name import store_by_name


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine, with the stores among its arguments open."""
    if not iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in signature(pyfuncitem.obj).parameters}

    async def run() -> None:
        async with AsyncExitStack() as stores:
            for one in given.values():
                if isinstance(one, ThreadStore):
                    await stores.enter_async_context(one)
            await pyfuncitem.obj(**given)

    asyncio.run(run())
    return True


@pytest.fixture
def clock() -> Clock:
    """Return a clock of this test."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ThreadStore:
    """Return a store in memory or in a file."""
    return store_by_name(request, tmp_path, clock)
