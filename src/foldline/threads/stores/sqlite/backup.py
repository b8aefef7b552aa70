"""A copy of a SQLite store, made while others write to it."""

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import StoreError, UsageError
from foldline.threads.stores.sqlite.damaged_log import keep_log, kept_logs
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, store_error
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.flush import flush
from foldline.threads.stores.sqlite.header import check_log, copied, number_in, set_number
from foldline.threads.stores.sqlite.inspection import broken_seals, look_into
from foldline.threads.stores.statements import statements


__all__ = ["Backup", "back_up"]


_PACKAGE = "foldline.threads.stores.sqlite"
_PAGES = 1024


class Backup(Struct, frozen=True, kw_only=True):
    """A copy that was made."""

    path: str
    """Where it lies."""

    size: int
    """Its size in bytes."""

    threads: int
    """How many threads are in it."""

    problems: tuple[str, ...] = ()
    """What is damaged in it, as it is in the store; empty where nothing is."""

    stray: tuple[str, ...] = ()
    """What belongs to nothing in it, as in the store, and harms no thread."""

    logs: tuple[str, ...] = ()
    """The names of the copies of damaged logs beside the store; what they hold is not in it."""


def back_up(
    source: Path, target: Path, *, on_step: Callable[[int, int], None] | None = None
) -> Backup:
    """
    Copy the store *source* into the new file *target*, as one moment saw it, and check the copy.

    Writers go on meanwhile. The file appears whole, or not at all.

    Args:
        source: The file of the store.
        target: The file to make.
        on_step: What is called with the pages that remain and those that there are.

    Raises:
        UsageError: *target* is there already, or its folder is not.
        StoreError: A file cannot be read or written, or *source* is no store.
        StoreCorruptError: The log beside *source* was written beside another file.
    """
    if target.exists():
        raise _taken(target)
    # A link is another name of the file, whose log lies beside the file itself.
    source = source.resolve()
    check_log(source)
    keep_log(source)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}"
        raise UsageError(message) from error
    os.close(handle)
    draft = Path(name)
    try:
        _copy(source, draft, on_step or _ignore)
        backup = replace(_checked(draft, target), logs=tuple(kept_logs(source)))
        _place(draft, target)
    except SQLITE_ERRORS as error:
        # The error of Python may quote what is stored.
        raise store_error(error) from None
    except OSError as error:
        message = f"cannot write {target}: {error.strerror}"
        raise StoreError(message) from error
    finally:
        for rest in (draft, *(Path(f"{draft}{end}") for end in ("-wal", "-shm", "-journal"))):
            rest.unlink(missing_ok=True)
    return backup


def _ignore(remaining: int, total: int) -> None:
    pass


def _taken(target: Path) -> UsageError:
    return UsageError(f"{target} is there already: name a new file, backups are never overwritten")


def _copy(source: Path, draft: Path, on_step: Callable[[int, int], None]) -> None:
    with closing(_open(source)) as reader, closing(_open(draft)) as writer:
        # One moment for all pages: without it every commit of others would begin the copy anew.
        reader.execute("BEGIN")
        (mark,) = reader.execute("PRAGMA application_id").fetchone()
        if mark != APPLICATION_ID:
            message = f"{source.name} is no store of foldline"
            raise StoreError(message)
        reader.execute("SELECT count(*) FROM threads").fetchone()
        reader.backup(
            writer,
            pages=_PAGES,
            progress=lambda _, remaining, total: on_step(remaining, total),
        )
        # A log of the store is none of the copy, where that once takes its place.
        set_number(writer, copied(number_in(writer)))
        # The copy is one file; whoever opens it as a store makes a log for it.
        writer.execute("PRAGMA journal_mode = DELETE")


def _open(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _checked(draft: Path, target: Path) -> Backup:
    sql = statements(_PACKAGE)
    with closing(_open(draft)) as connection:
        found = look_into(connection, sql)
        problems = (*found.broken, *found.index, *broken_seals(connection, sql))
        (threads,) = connection.execute("SELECT count(*) FROM threads").fetchone()
    return Backup(
        path=str(target),
        size=draft.stat().st_size,
        threads=threads,
        problems=problems,
        stray=found.stray,
    )


def _place(draft: Path, target: Path) -> None:
    """Give *draft* its name, unless somebody has taken it in the meantime."""
    flush(draft)
    try:
        os.link(draft, target)
    except FileExistsError:
        raise _taken(target) from None
    except OSError:
        # A file system without second names.
        if target.exists():
            raise _taken(target) from None
        draft.rename(target)
    with suppress(OSError):
        flush(target.parent)
