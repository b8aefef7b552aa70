"""
A log of which SQLite does not take all that was committed: it is told, and kept beside the file.

SQLite takes the frames before the first damaged one, folds these back, and writes over the rest or
deletes it, without a word. The copy is then all that there is of what was acknowledged behind.
"""

import logging
import os
import shutil
import tempfile
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

    Call it before SQLite opens the file to write. One commit alone may be what was never finished,
    and is only told.

    Returns:
        Whether the log was kept: it may be emptied, so that it is not told of again.
    """
    unread = unread_commits(log_of(path))
    if unread is None:
        return False
    text = unread_text(unread)
    if not unread.is_lost:
        _LOGGER.info("the log of %s is %s", path.name, text)
        return False
    try:
        copy = _kept(path, unread)
    except OSError as error:
        trouble = place_error("it cannot be copied", error)
        _LOGGER.warning("the log of %s is %s; %s", path.name, text, trouble)
        return False
    _LOGGER.warning("the log of %s is %s; its copy is %s", path.name, text, copy.name)
    return True


def name_of_copy(path: Path, unread: Unread) -> str:
    """Return the name of the copy of the log of the file at *path*: one damage has one copy."""
    return f"{_start(path)}{unread.salts.hex()}-{unread.frame}"


def _start(path: Path) -> str:
    return f"{log_of(path).name}.damaged-"


def unread_text(unread: Unread) -> str:
    """Return from where on SQLite does not take a log, what stands behind, and what that may be."""
    what = "1 commit" if unread.commits == 1 else f"{unread.commits:,} commits"
    stand = "stands" if unread.commits == 1 else "stand"
    if unread.is_lost:
        place = f"at frame {unread.frame}" if unread.frame else "in its header"
        return f"damaged {place}, and {what} {stand} behind it, which SQLite does not take"
    place = f"frame {unread.frame}" if unread.frame else "its header"
    return (
        f"not taken by SQLite from {place} on: {what} {stand} behind it, as a killed program or a "
        "power cut may leave it unfinished"
    )


def kept_logs(path: Path) -> list[str]:
    """Return the names of the copies of damaged logs beside the file at *path*, in order."""
    start = _start(path)
    try:
        return sorted(one.name for one in path.parent.iterdir() if one.name.startswith(start))
    except OSError:
        # Whoever may not look there is told so where the file is opened.
        return []


def kept_faults(path: Path) -> list[Fault]:
    """Return the copies of damaged logs beside the file at *path* as faults."""
    return [Fault(kind="log", name=name, problem=KEPT_ADVICE) for name in kept_logs(path)]


def _kept(path: Path, unread: Unread) -> Path:
    """
    Return the copy of the log, which is made where there is none, or one with fewer commits.

    A program to which SQLite still gives all that is in a damaged log may write more to its end. It
    does not change what was committed in the same round, so that the longer copy has the other.
    """
    copy = path.with_name(name_of_copy(path, unread))
    known = unread_commits(copy)
    if known is None or known.commits < unread.commits:
        _copy(log_of(path), copy)
    return copy


def _copy(log: Path, copy: Path) -> None:
    """Copy the log, so that the copy is whole or not there, and stays whatever comes then."""
    # The conversations in it are nobody else's business either: nobody else may read the draft.
    handle, name = tempfile.mkstemp(prefix=f".{copy.name}.", dir=copy.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as target, log.open("rb") as source:
            shutil.copyfileobj(source, target)
            target.flush()
            os.fsync(target.fileno())
        draft.replace(copy)
    finally:
        draft.unlink(missing_ok=True)
    # Not every system lets a folder be opened.
    with suppress(OSError):
        flush(copy.parent)
