"""
What endangers a SQLite store, seen from outside: the library, the file, the disk, other programs.
"""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from foldline.errors import StoreBusyError, StoreCorruptError, StoreError
from foldline.threads.finding import Finding
from foldline.threads.stores.sqlite.damaged_log import (
    KEPT_ADVICE,
    kept_logs,
    name_of_copy,
    unread_text,
)
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, primary_code, store_error
from foldline.threads.stores.sqlite.file import APPLICATION_ID, StoreFile
from foldline.threads.stores.sqlite.frames import unread_commits
from foldline.threads.stores.sqlite.header import check_log, lock_of, log_of, number_in, schema_of
from foldline.threads.stores.sqlite.inspection import count_broken_words
from foldline.threads.stores.sqlite.lock import FileLock, can_lock
from foldline.threads.stores.sqlite.lost_end import way_without_end
from foldline.threads.stores.statements import migrations, statements


__all__ = ["diagnose_file", "diagnose_library"]


_PACKAGE: Final = "foldline.threads.stores.sqlite"
_UNWRITABLE = "make the file and its folder writable, or copy it to a folder that is"
# Nothing is damaged behind these: the system does not let the file be opened or written to.
_REFUSED = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM})
_WAY_FORWARD = (
    "restore a backup (`foldline backup` made one), or save what can be read with "
    "`foldline threads export ID --whole-rows`"
)
_MEGABYTE = 1024 * 1024
_LONG_LOG = 256 * _MEGABYTE
_LEAST_FREE = 100 * _MEGABYTE
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH


def diagnose_library() -> Iterator[Finding]:
    """Give the findings about the SQLite that this Python has."""
    yield Finding(name="SQLite", value=sqlite3.sqlite_version)
    file = StoreFile(Path("library"), durability="full", busy_timeout=1)
    if not file.needs_lock:
        yield Finding(name="WAL-reset bug", value="mended in this SQLite")
    elif can_lock():
        yield Finding(
            name="WAL-reset bug",
            value="in this SQLite; foldline keeps writers apart by a lock of its own",
            weight="note",
            advice="no other program may write to the file; SQLite 3.51.3 or later has no bug",
        )
    else:
        yield Finding(
            name="WAL-reset bug",
            value="in this SQLite, and this system has no lock to keep writers apart",
            weight="danger",
            advice="let one process alone write, or use a Python with SQLite 3.51.3 or later",
        )


def diagnose_file(path: Path) -> Iterator[Finding]:
    """Give the findings about the store at *path*, which is not changed."""
    path = path.resolve()
    if not _may_write(path.parent):
        yield Finding(
            name="folder",
            value="may not be written to: a store writes a log and a lock beside its file",
            weight="danger",
            advice=_UNWRITABLE,
        )
    if not _may_write(path):
        # SQLite does not refuse to open it, and begins a write there as if it were a read.
        yield Finding(
            name="file", value="may not be written to", weight="danger", advice=_UNWRITABLE
        )
    try:
        check_log(path)
    except StoreCorruptError as error:
        # Whatever opened the file to write would fold that log into it.
        value = "does not belong to the file"
        yield Finding(name="log", value=value, weight="danger", advice=str(error))
        return
    yield from _logs(path)
    try:
        with closing(_open(path, "ro")) as connection:
            yield from _inside(connection)
            # It is not the last to close, so that it folds no log back into the file.
            with closing(_open(path, "rw")) as writer:
                yield _writers(writer)
    except SQLITE_ERRORS as error:
        yield Finding(
            name="file",
            value=str(store_error(error)),
            weight="danger",
            advice=_advice(error, path),
        )
    yield _lock(path)
    yield from _sizes(path)
    yield _mode(path)
    yield _checked(path)


def _logs(path: Path) -> Iterator[Finding]:
    """
    Give what was committed and SQLite does not take: in the log, and in the copies of earlier ones.
    """
    unread = unread_commits(log_of(path))
    if unread is not None:
        copy = name_of_copy(path, unread)
        yield Finding(
            name="log",
            value=unread_text(unread),
            weight="danger" if unread.is_lost else "fine",
            advice=f"restore a backup, or go on without: opening the store copies the log to {copy}"
            if unread.is_lost
            else "",
        )
    for name in kept_logs(path):
        value = f"{name} is the copy of a damaged one"
        yield Finding(name="log", value=value, weight="danger", advice=KEPT_ADVICE)


def _may_write(place: Path) -> bool:
    # Who may do it is decided by whom this process acts for, where the system tells that apart.
    acts = os.access in os.supports_effective_ids
    return os.access(place, os.W_OK, effective_ids=acts)


def _advice(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> str:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    if primary_code(code) in _REFUSED:
        return _UNWRITABLE
    return way_without_end(path) or _WAY_FORWARD


def _open(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)


def _inside(connection: sqlite3.Connection) -> Iterator[Finding]:
    if _pragma(connection, "application_id") != str(APPLICATION_ID):
        yield Finding(
            name="file",
            value="a SQLite database, but no store of foldline",
            weight="danger",
            advice="name another file",
        )
        return
    yield _schema(schema_of(number_in(connection)))
    mode = _pragma(connection, "journal_mode")
    yield Finding(
        name="journal mode",
        value=mode,
        weight="fine" if mode == "wal" else "note",
        advice="" if mode == "wal" else "the next program that opens the store sets it to wal",
    )
    yield Finding(
        name="synchronous", value="FULL unless a program opens the store with durability='relaxed'"
    )
    for table in ("threads", "rows"):
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        yield Finding(name={"rows": "messages"}.get(table, table), value=f"{count:,}")
    yield from _words(connection)


def _words(connection: sqlite3.Connection) -> Iterator[Finding]:
    if count_broken_words(connection, statements(_PACKAGE)):
        yield Finding(
            name="index of words",
            value="not as it was written: searches may miss messages",
            weight="danger",
            advice="searches may miss messages; reading does not",
        )


def _checked(path: Path) -> Finding:
    try:
        with closing(_open(path, "ro")) as connection:
            said = _pragma(connection, "quick_check(1)")
    except SQLITE_ERRORS as error:
        # What SQLite says of it may quote what is stored.
        said, advice = str(store_error(error)), _advice(error, path)
    else:
        if said == "ok":
            return Finding(name="quick check", value="nothing is damaged")
        said, advice = " ".join(said.split()), _WAY_FORWARD
    return Finding(name="quick check", value=said, weight="danger", advice=advice)


def _pragma(connection: sqlite3.Connection, name: str) -> str:
    return str(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _schema(found: int) -> Finding:
    newest = migrations(_PACKAGE)[-1][0]
    if found > newest:
        return Finding(
            name="schema",
            value=f"{found}, newer than {newest}",
            weight="danger",
            advice="upgrade foldline: this one cannot use the store",
        )
    if found < newest:
        return Finding(
            name="schema",
            value=f"{found}, older than {newest}",
            weight="note",
            advice="the next program that opens the store brings it up to date",
        )
    return Finding(name="schema", value=str(found))


def _writers(connection: sqlite3.Connection) -> Finding:
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if isinstance(store_error(error), StoreBusyError):
            return Finding(name="writers", value="another program is writing now", weight="note")
        return Finding(
            name="writers",
            value=f"the file may not be written to ({name})",
            weight="danger",
            advice=_UNWRITABLE,
        )
    return Finding(name="writers", value="nobody else is writing now")


def _lock(path: Path) -> Finding:
    place = lock_of(path)
    if not place.exists():
        return Finding(name="lock", value="free")
    lock = FileLock(place, timeout=0)
    try:
        with lock:
            return Finding(name="lock", value="free")
    except StoreBusyError:
        return Finding(name="lock", value="held by another program now", weight="note")
    except StoreError as error:
        advice = f"mend the permissions of {place.name}, or make the store's folder writable"
        return Finding(name="lock", value=str(error), weight="danger", advice=advice)
    finally:
        lock.close()


def _sizes(path: Path) -> Iterator[Finding]:
    size = path.stat().st_size
    yield Finding(name="file size", value=_bytes(size))
    log = log_of(path)
    logged = log.stat().st_size if log.exists() else 0
    is_long = logged > _LONG_LOG
    yield Finding(
        name="log size",
        value=_bytes(logged),
        weight="note" if is_long else "fine",
        advice="a program reads for very long: end it, so that the log can be folded back"
        if is_long
        else "",
    )
    free = shutil.disk_usage(path.parent).free
    is_low = free < _LEAST_FREE
    yield Finding(
        name="free disk",
        value=_bytes(free),
        weight="danger" if is_low else "fine",
        advice="make room: what cannot be written is refused" if is_low else "",
    )


def _bytes(size: int) -> str:
    return f"{size:,} bytes" if size < _MEGABYTE else f"{size / _MEGABYTE:,.1f} MiB"


def _mode(path: Path) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    shown = stat.filemode(path.stat().st_mode)
    if os.name == "posix" and mode & (_OTHERS_WRITE | _OTHERS_READ):
        may = "write to" if mode & _OTHERS_WRITE else "read"
        return Finding(
            name="permissions",
            value=f"{shown}: others of this machine may {may} it",
            weight="danger" if mode & _OTHERS_WRITE else "note",
            advice=f"chmod 600 {path.name}",
        )
    return Finding(name="permissions", value=shown)
