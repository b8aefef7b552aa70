"""
Reading what the command line names, and writing so that a failure leaves nothing behind.
"""

import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from foldline.errors import ExternalError, UsageError


__all__ = ["STANDARD_INPUT", "check_target", "print_document", "read_file", "write_files"]


STANDARD_INPUT = "-"
"""The name that stands for the standard input."""

_USUAL_MODE = 0o666
_CALLERS = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)


def read_file(name: str) -> bytes:
    """
    Return what the file *name* holds, or the standard input.

    Raises:
        UsageError: It cannot be read as a file.
        ExternalError: Reading it failed.
    """
    try:
        return sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        what = f"read {name}"
        raise _failure(what, error) from error


def check_target(name: str, *, source: str = STANDARD_INPUT) -> None:
    """
    Refuse *name* as a file to write, before any work is done.

    Args:
        name: The file to write.
        source: The file that is read, which is never written over.

    Raises:
        UsageError: Its folder does not exist, or it is a folder itself, or what is read.
    """
    path = Path(name)
    is_file = source != STANDARD_INPUT and Path(source).exists()
    if is_file and path.exists() and path.samefile(source):
        message = f"cannot write {name}: it is the conversation itself; name another file"
        raise UsageError(message)
    if path.is_dir():
        message = f"cannot write {name}: it is a folder"
        raise UsageError(message)
    if not path.parent.is_dir():
        message = f"cannot write {name}: its folder does not exist"
        raise UsageError(message)


def write_files(contents: Mapping[str, bytes]) -> None:
    """
    Write every file of *contents* whole; a file that is there stays as it is until then.

    Raises:
        UsageError: A name cannot be written to.
        ExternalError: Writing failed; no file was changed.
    """
    drafts: dict[Path, Path] = {}
    name = ""
    try:
        for name, data in contents.items():
            target = Path(os.path.realpath(name))
            if target.exists() and not target.is_file():
                target.write_bytes(data)
            else:
                drafts[target] = _draft(target, data)
        for target, draft in drafts.items():
            name = str(target)
            draft.replace(target)
    except OSError as error:
        what = f"write {name}"
        raise _failure(what, error) from error
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _draft(target: Path, data: bytes) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(_mode(target))
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    return draft


def _mode(target: Path) -> int:
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return _USUAL_MODE & ~mask


def print_document(data: bytes) -> None:
    """
    Write *data* to the standard output, as it is, with a newline behind it.
    """
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")
    sys.stdout.buffer.flush()


def _failure(what: str, error: Exception) -> UsageError | ExternalError:
    reason = getattr(error, "strerror", None) or "the name is not allowed"
    message = f"cannot {what}: {reason}"
    if isinstance(error, (*_CALLERS, ValueError)):
        return UsageError(message)
    return ExternalError(message)
