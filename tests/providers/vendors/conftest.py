"""The vendor that the bindings are tested against."""

from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from tests.servers.vendor import Recorded, VendorServer, read_recordings


@pytest.fixture(autouse=True)
def _direct(no_proxy: None) -> None:
    """Use no proxy."""


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no client wait before it asks again; return how long each would have waited."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    return found


@pytest.fixture
def vendor() -> Iterator[VendorServer]:
    with VendorServer() as server:
        yield server


@pytest.fixture
def recordings(shared_data: Path) -> Callable[[str], list[Recorded]]:
    """Return what reads the recorded exchanges of a name."""
    folder = shared_data / "provider-cassettes"

    def read(name: str) -> list[Recorded]:
        file = folder / f"{name}.yaml"
        if not file.is_file():
            pytest.skip(f"recorded exchanges are absent: no {file.name}")
        return read_recordings(file)

    return read
