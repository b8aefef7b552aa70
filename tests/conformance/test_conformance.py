"""The kit itself: it finds faults, and reports them."""

import asyncio

import pytest

from foldline.errors import FoldlineError, StoreError
from foldline.testing.storage import ConformanceReport, StorageConformance
from foldline.testing.storage.tenants import Lasting
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.stores.memory import MemoryStorage
from tests.conformance.faulty import FAULTS


def _report(storage: MemoryStorage) -> ConformanceReport:
    return asyncio.run(StorageConformance(lambda: storage, is_durable=False).run())


class Failing(MemoryStorage):
    """Cannot load anything."""

    async def load(self, key: ThreadKey) -> StoredThread | None:
        message = "the place is gone"
        raise StoreError(message)


class Hanging(MemoryStorage):
    """Never answers."""

    async def load(self, key: ThreadKey) -> StoredThread | None:
        return await asyncio.Future[StoredThread | None]()


@pytest.mark.parametrize(("kind", "checks"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_found(kind: type[MemoryStorage], checks: str) -> None:
    """A storage with a fault breaks the very promises that speak of it."""
    storage = kind()
    conformance = StorageConformance(lambda: storage, is_durable=False, timeout=0.5)
    for check in conformance.checks():
        if check.name in checks.split():
            with pytest.raises((AssertionError, FoldlineError, TimeoutError)):
                asyncio.run(conformance.prove(check))


def test_there_are_many_checks_each_with_its_fact() -> None:
    """There are at least 50 checks with names of their own, and each says its fact in a sentence."""
    checks = StorageConformance.checks()

    assert len(checks) >= 50
    assert len({one.name for one in checks}) == len(checks)
    assert all(one.fact.endswith(".") and len(one.fact) > 20 for one in checks)
    assert {name for _, names in FAULTS.values() for name in names.split()} < {
        one.name for one in checks
    }


def test_what_does_not_apply_is_neither_kept_nor_broken() -> None:
    """A storage whose data does not outlive it is not asked for the promises of those."""
    report = _report(MemoryStorage())
    left_out = {one.name for one in report.results if one.outcome == "not_applicable"}

    assert left_out == {one.name for one in StorageConformance.checks() if one.group is Lasting}
    assert report.is_conformant, str(report)


def test_nothing_is_left_behind() -> None:
    """After all checks a storage has no thread and no row."""
    storage = MemoryStorage()
    _report(storage)

    assert asyncio.run(storage.tenants()) == []
    assert storage._threads == {}  # pyright: ignore[reportPrivateUsage] - rows have no list


def test_what_a_storage_raises_is_reported() -> None:
    """An error of a storage breaks the promise, is named, and does not end the other checks."""
    report = _report(Failing())

    assert len(report.results) == len(StorageConformance.checks())
    assert not report.is_conformant
    assert "StoreError: the place is gone" in str(report)


def test_a_storage_that_hangs_is_given_up() -> None:
    """A check that takes too long is broken."""
    storage = Hanging()
    conformance = StorageConformance(lambda: storage, timeout=0.01)
    check = conformance.checks()[0]

    with pytest.raises(TimeoutError):
        asyncio.run(conformance.prove(check))
