"""A lock between processes."""

import os
import sys
import time
from pathlib import Path

from foldline.errors import StoreBusyError
from foldline.threads.stores.sqlite.faults import place_error


__all__ = ["FileLock"]


_PAUSE = 0.001

if sys.platform == "win32":
    import msvcrt

    def _set(file: int, *, is_locked: bool) -> None:
        # Far after the note in the file, since Windows lets nobody read a locked byte.
        os.lseek(file, 1 << 30, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK if is_locked else msvcrt.LK_UNLCK, 1)

else:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

    _TAKE = LOCK_EX | LOCK_NB

    def _set(file: int, *, is_locked: bool) -> None:
        flock(file, _TAKE if is_locked else LOCK_UN)


class FileLock:
    """A lock on a file beside the database; the system releases it when its process ends."""

    def __init__(self, path: Path, *, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._file: int | None = None

    def take(self, *, waits: bool = True) -> bool:
        """Take the lock; False if another process has it, and StoreBusyError after a wait."""
        file = self._open() if self._file is None else self._file
        until = time.monotonic() + self._timeout
        while True:
            try:
                _set(file, is_locked=True)
            # The second is what Windows raises.
            except (BlockingIOError, PermissionError):
                if not waits:
                    return False
                if time.monotonic() > until:
                    message = f"another process kept {self._path.name} locked for too long"
                    raise StoreBusyError(message) from None
                time.sleep(_PAUSE)
            else:
                return True

    def _open(self) -> int:
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._file = os.open(self._path, flags, 0o600)
        except OSError as error:
            what = f"the lock file {self._path.name} cannot be opened"
            raise place_error(what, error) from error
        return self._file

    def release(self) -> None:
        """Let others have it."""
        if self._file is not None:
            _set(self._file, is_locked=False)

    def close(self) -> None:
        """Close the file of the lock."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
