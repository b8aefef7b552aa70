"""Whether a storage keeps the promises of `ThreadStorage`."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from inspect import isfunction

from foldline.errors import ConfigError
from foldline.testing.report import CheckOutcome, CheckResult, ConformanceReport
from foldline.testing.storage.check import Lab, StorageCheck
from foldline.testing.storage.commits import Commits
from foldline.testing.storage.contents import Contents
from foldline.testing.storage.epochs import Epochs
from foldline.testing.storage.leases import Leases
from foldline.testing.storage.tenants import Folds, Lasting, Tenants
from foldline.threads.storage import ThreadStorage


def _checks_of(group: type[Lab]) -> Iterator[StorageCheck]:
    for name, check in vars(group).items():
        if isfunction(check) and not name.startswith("_"):
            fact = " ".join((check.__doc__ or "").split())
            yield StorageCheck(name=name, fact=fact, group=group, check=check)


class StorageConformance:
    """
    The promises of `ThreadStorage`, one check for each, to run on a storage of one's own.

    ```python
    report = await StorageConformance(lambda: MyStorage("place")).run()
    assert report.is_conformant, str(report)
    ```

    With pytest, one test a check:

    ```python
    @pytest.mark.parametrize("check", StorageConformance.checks(), ids=lambda one: one.name)
    def test_storage(check):
        asyncio.run(StorageConformance(lambda: MyStorage("place")).prove(check))
    ```

    Every check uses tenants of its own with random names and deletes their threads, so that a
    storage that others use can be checked as well.
    """

    def __init__(
        self,
        make_storage: Callable[[], ThreadStorage],
        *,
        is_durable: bool = True,
        timeout: float = 60.0,
    ) -> None:
        """
        Check the storages that *make_storage* makes.

        Args:
            make_storage: What makes a storage, not yet open. All of them are over the same place.
            is_durable: Whether one of them finds what another has written.
            timeout: How many seconds a check may take.

        Raises:
            ConfigError: *make_storage* cannot be called.
        """
        if not callable(make_storage):
            kind = type(make_storage).__name__
            raise ConfigError(f"make_storage must be callable, got {kind}: pass lambda: storage")
        self._make_storage = make_storage
        self._is_durable = is_durable
        self._timeout = timeout

    @staticmethod
    def checks() -> tuple[StorageCheck, ...]:
        """Return every check."""
        groups = (Commits, Contents, Epochs, Folds, Leases, Tenants, Lasting)
        return tuple(check for group in groups for check in _checks_of(group))

    async def run(self) -> ConformanceReport:
        """
        Run every check and return what each has shown; none of them ends the others.

        Raises:
            ConfigError: What was made is not a `ThreadStorage`; the message names what it lacks.
        """
        _check_storage(self._make_storage())
        return ConformanceReport(tuple([await self._result(check) for check in self.checks()]))

    async def _result(self, check: StorageCheck) -> CheckResult:
        # Whatever a storage raises is what the check has shown.
        (shown,) = await asyncio.gather(self.prove(check), return_exceptions=True)
        outcome: CheckOutcome = "kept" if shown else "not_applicable"
        reason = ""
        if isinstance(shown, BaseException):
            outcome, reason = "broken", f"{type(shown).__name__}: {shown}"
        return CheckResult(name=check.name, fact=check.fact, outcome=outcome, reason=reason)

    async def prove(self, check: StorageCheck) -> bool:
        """
        Run one check; False says that it does not apply to this storage.

        Raises:
            AssertionError: The promise is broken.
            ConfigError: What was made is not a `ThreadStorage`; the message names what it lacks.
            Exception: The storage raised something else.
        """
        storage = self._make_storage()
        _check_storage(storage)
        if check.group is Lasting and not self._is_durable:
            return False
        tenant = f"check-{secrets.token_hex(8)}"
        async with asyncio.timeout(self._timeout):
            await storage.open()
            lab = check.group(storage, self._make_storage, tenant=tenant)
            try:
                (shown,) = await asyncio.gather(check.check(lab), return_exceptions=True)
                (cleaned,) = await asyncio.gather(lab.clean(), return_exceptions=True)
            finally:
                await lab.storage.close()
        # What the check has shown says more than what came of cleaning up after it.
        for error in (shown, cleaned):
            if isinstance(error, BaseException):
                raise error
        return True


def _check_storage(storage: object) -> None:
    if isinstance(storage, type):
        raise ConfigError(f"make_storage must return a storage, got the class {storage.__name__}")
    methods = [name for name, method in vars(ThreadStorage).items() if isfunction(method)]
    public = [name for name in methods if not name.startswith("_")]
    missing = [name for name in public if not callable(getattr(storage, name, None))]
    if not isinstance(getattr(storage, "ends_commits", None), bool):
        missing.append("ends_commits")
    if missing:
        message = f"{type(storage).__name__} is not a ThreadStorage: it lacks {', '.join(missing)}"
        raise ConfigError(message)
