"""What the tests of threads share: stores and a clock."""

from pathlib import Path

import pytest

from foldline.threads.store import ThreadStore
from tests.threads.clock import Clock
from tests.threads.stores_by_name import EVERY, store_by_name


@pytest.fixture
def clock() -> Clock:
    """Return a clock of this test."""
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ThreadStore:
    """Return a store in memory or in a file."""
    return store_by_name(request, tmp_path, clock)


@pytest.fixture(params=EVERY)
def any_store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> ThreadStore:
    """Return a store of each kind."""
    return store_by_name(request, tmp_path, clock)
