"""The guest under test is named on the command line: each has a virtual environment of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integrations.player import Guest, guest_of


pytest_plugins = ["tests.offline"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the name of a guest: `--guest langchain`."""
    parser.addoption("--guest", required=True, help="the guest under test")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what another guest alone has: its file in `own` is run inside that one."""
    is_own = collection_path.parent.name == "own" and collection_path.suffix == ".py"
    return True if is_own and collection_path.stem != f"test_{config.option.guest}" else None


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest) -> Guest:
    """Return the guest under test."""
    return guest_of(str(request.config.getoption("--guest")))


@pytest.fixture(scope="session", autouse=True)
def _silent() -> Iterator[None]:
    """Keep the frameworks from reporting home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        for name in [one for one in os.environ if one.startswith(("LANGSMITH_", "LANGCHAIN_"))]:
            patch.delenv(name)
        yield
