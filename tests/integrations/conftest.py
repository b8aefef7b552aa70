"""The guest under test is named on the command line: each has a virtual environment of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integrations.player import Guest, guest_of
from tests.integrations.recipe import RECIPES


pytest_plugins = ["tests.offline"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the name of a guest: `--guest langchain`."""
    parser.addoption("--guest", required=True, help="the guest under test")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what others have: a file in `own` is of one guest, and a recipe has no adapter."""
    name, guest = collection_path.stem, config.option.guest
    if collection_path.parent.name == "own" and collection_path.suffix == ".py":
        return True if name != f"test_{guest}" else None
    left_out = "test_table" if guest in RECIPES else "test_recipe"
    return True if name == left_out else None


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest) -> Guest:
    """Return the guest under test."""
    return guest_of(str(request.config.getoption("--guest")))


@pytest.fixture(scope="session", autouse=True)
def _silent() -> Iterator[None]:
    """Keep the frameworks from reporting home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
        patch.setenv("CREWAI_DISABLE_TELEMETRY", "true")
        patch.setenv("CREWAI_TRACING_ENABLED", "false")
        patch.setenv("HAYSTACK_TELEMETRY_ENABLED", "false")
        for name in [one for one in os.environ if one.startswith(("LANGSMITH_", "LANGCHAIN_"))]:
            patch.delenv(name)
        yield
