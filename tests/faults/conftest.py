"""What every test of the harness needs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.scratch import scratch
from tests.faults.vfs import why_unhookable


@pytest.fixture(autouse=True)
def hookable() -> None:
    """Skip where SQLite cannot be hooked."""
    reason = why_unhookable()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a new folder in memory."""
    with scratch() as path:
        yield path
