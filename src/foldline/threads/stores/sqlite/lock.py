"""A lock between processes."""

import os
import time
from pathlib import Path
from types import TracebackType

from foldline.errors import StoreBusyError
from foldline.threads.stores.sqlite.faults import place_error


try:
    import fcntl
except ImportError:  # A system without it, as Windows, ships a SQLite that needs no lock.
    fcntl = None  # type: ignore[assignment]


__all__ = ["FileLock", "can_lock"]


_PAUSE = 0.001


def can_lock() -> bool:
    """Whether this system has locks on files."""
    return fcntl is not None


class FileLock:
    """A lock on a file beside the database; the system releases it when its process ends."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        """
        Stand for the lock at *path*.

        Args:
            path: The file, made when it is first locked.
            timeout: How many seconds to wait for others.
        """
        self._path = path
        self._timeout = timeout
        self._file: int | None = None

    def __enter__(self) -> None:
        if fcntl is None:
            return
        if self._file is None:
            self._file = self._opened()
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    message = f"another process kept {self._path.name} locked for too long"
                    raise StoreBusyError(message) from None
                time.sleep(_PAUSE)
            else:
                return

    def _opened(self) -> int:
        try:
            return os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            what = f"the lock file {self._path.name} cannot be opened"
            raise place_error(what, error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._file is not None and fcntl is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
