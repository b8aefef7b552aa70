"""Folders for databases that live for one case."""

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


_MEMORY = Path("/dev/shm")


@contextmanager
def scratch() -> Generator[Path, None, None]:
    """
    Give a new folder, in memory where the system offers that, and remove it at the end.

    What is lost in a crash is decided by the harness, so real flushes would only cost time.
    """
    parent = _MEMORY if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="foldline-", dir=parent) as folder:
        yield Path(folder).resolve()
