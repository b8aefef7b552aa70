"""
A log of which SQLite does not take all that was committed: it is told, and kept beside the file.

SQLite takes the frames before the first damaged one, folds these back, and writes over the rest or
deletes it, without a word. The copy is then all that there is of what was acknowledged behind.
"""

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from foldline.threads.fault import Fault
from foldline.threads.stores.sqlite.faults import place_error
from foldline.threads.stores.sqlite.flush import flush
from foldline.threads.stores.sqlite.frames import Unread, unread_commits
from foldline.threads.stores.sqlite.header import log_of


__all__ = ["KEPT_ADVICE", "keep_log", "kept_faults", "kept_logs", "name_of_copy", "unread_text"]


KEPT_ADVICE: Final = (
    "what was committed behind the damage may be in it alone: restore a backup, or go on without, "
    "and then move the copy away"
)
"""What to do where the copy of a damaged log lies beside a store."""

_LOGGER = logging.getLogger("foldline")


def keep_log(path: Path) -> bool:
    """
    Tell of commits in the log of the file at *path* that SQLite does not take, and keep the log.

    Call it before SQLite opens the file to write. One commit alone may be what a power cut has torn,
    and is only told.

    Returns:
        Whether the log may be emptied, so that it is not told of again.
    """
    unread = unread_commits(log_of(path))
    if unread is None:
        return False
    text = unread_text(unread)
    if not unread.is_lost:
        _LOGGER.warning("the log of %s is %s", path.name, text)
        return True
    try:
        copy = _copied(path)
    except OSError as error:
        trouble = place_error("it cannot be copied", error)
        _LOGGER.warning("the log of %s is %s; %s", path.name, text, trouble)
        return False
    _LOGGER.warning("the log of %s is %s; it was copied to %s", path.name, text, copy.name)
    return True


def name_of_copy(path: Path, number: int | str) -> str:
    """
    Return the name of a copy of the log of the file at *path*.
    """
    return f"{log_of(path).name}.damaged-{number}"


def unread_text(unread: Unread) -> str:
    """
    Return where a log is damaged, and what SQLite does not take for that.
    """
    place = f"at frame {unread.frame}" if unread.frame else "in its header"
    stand = "commit stands" if unread.commits == 1 else "commits stand"
    return f"damaged {place}, and {unread.commits:,} {stand} behind it, which SQLite does not take"


def kept_logs(path: Path) -> list[str]:
    """
    Return the names of the copies of damaged logs beside the file at *path*, the oldest first.
    """
    start = name_of_copy(path, "")
    try:
        found = [one.name for one in path.parent.iterdir() if one.name.startswith(start)]
    except OSError:
        # Whoever may not look there is told so where the file is opened.
        return []
    return sorted(found, key=lambda name: (len(name), name))


def kept_faults(path: Path) -> list[Fault]:
    """
    Return the copies of damaged logs beside the file at *path* as faults.
    """
    return [Fault(kind="log", name=name, problem=KEPT_ADVICE) for name in kept_logs(path)]


def _copied(path: Path) -> Path:
    """
    Copy the log, so that the copy stays whatever comes then, and never over an earlier one.
    """
    copy, handle = _made(path)
    try:
        with os.fdopen(handle, "wb") as target, log_of(path).open("rb") as source:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
    except OSError:
        copy.unlink(missing_ok=True)
        raise
    # Not every system lets a folder be opened.
    with suppress(OSError):
        flush(path.parent)
    return copy


def _made(path: Path) -> tuple[Path, int]:
    # The conversations in it are nobody else's business either.
    flags, mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
    number = 1
    while True:
        copy = path.with_name(name_of_copy(path, number))
        try:
            return copy, os.open(copy, flags, mode)
        except FileExistsError:
            number += 1
