"""The kit for storages refuses what is no storage at all."""

import asyncio
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from foldline.errors import ConfigError
from foldline.testing.storage import StorageConformance
from foldline.threads.storage import ThreadStorage
from foldline.threads.stores.memory import MemoryStorage


class Door:
    """Opens and closes, and nothing more."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class Mute(MemoryStorage):
    """Has a value where a method belongs."""

    rows = None  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]


def _run(make: Callable[[], Any]) -> None:
    asyncio.run(StorageConformance(make, is_durable=False).run())


def _prove(make: Callable[[], Any]) -> None:
    check = StorageConformance.checks()[0]
    asyncio.run(StorageConformance(make, is_durable=False).prove(check))


@pytest.mark.parametrize("use", [_run, _prove])
def test_what_is_no_storage_is_refused_at_once(use: Callable[[Callable[[], Any]], None]) -> None:
    """Instead of one failure for each check there is one error, which names what it lacks."""
    missing = (
        "load, commit, rows, documents, document, hold, threads, folds_due, latest, tenants, delete"
    )
    text = f"Door is not a ThreadStorage: it lacks {missing}, check, ends_commits"

    for make, told in ((Door, text), (Mute, "Mute is not a ThreadStorage: it lacks rows")):
        with pytest.raises(ConfigError, match=f"^{told}$"):
            use(make)


@pytest.mark.parametrize("use", [_run, _prove])
def test_a_class_is_no_storage(use: Callable[[Callable[[], Any]], None]) -> None:
    """A maker that returns the class itself is told so, and so is what is no maker."""
    with pytest.raises(ConfigError, match=r"^make_storage must return a storage, got the class M"):
        use(lambda: MemoryStorage)
    with pytest.raises(ConfigError, match=r"^make_storage must be callable, got MemoryStorage"):
        use(MemoryStorage())  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_the_protocol_names_the_kit() -> None:
    """The name of the kit in the docstring of `ThreadStorage` can be imported."""
    found = re.search(r"`([\w.]+)\.(\w+Conformance)`", ThreadStorage.__doc__ or "")

    assert found is not None
    assert getattr(import_module(found[1]), found[2]) is StorageConformance
