"""Keeping what was written, whatever comes then."""

import os
from pathlib import Path


__all__ = ["flush"]


def flush(path: Path) -> None:
    """
    Have the disk keep the file at *path*, or the names in the folder that is there.

    Raises:
        OSError: It cannot.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
