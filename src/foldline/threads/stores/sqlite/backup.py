"""A copy of a SQLite store, made while others write to it."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from foldline.errors import StoreError, UsageError
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, store_error
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.identity import check_log, number_in
from foldline.threads.stores.sqlite.store import quick_check


_PAGES = 1024


class Backup(Struct, frozen=True, kw_only=True):
    """A copy; `problems` are what a quick check finds in it, with `is_checked` in messages too."""

    path: str
    size: int
    threads: int
    problems: tuple[str, ...] = ()
    is_checked: bool = False


def back_up(
    source: Path, target: Path, *, on_step: Callable[[int, int], None] | None = None
) -> Backup:
    """
    Copy the store *source* into the new file *target*, as one moment saw it, and check the copy.

    Writers continue meanwhile. The file appears whole, or not at all. *on_step* is called with the
    pages that remain and those that there are.
    """
    if target.exists():
        raise _exists(target)
    # A link is another name of the file; the log is beside the file itself.
    source = source.resolve()
    check_log(source)
    try:
        folder = TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror}") from error
    try:
        with folder as name:
            draft = Path(name) / "copy"
            draft.touch(0o600)
            _copy(source, draft, on_step)
            with closing(_open(draft)) as connection:
                problems = tuple(quick_check(connection))
                (threads,) = connection.execute("SELECT count(*) FROM threads").fetchone()
            size = draft.stat().st_size
            _place(draft, target)
    except SQLITE_ERRORS as error:
        # Python's error may quote what is stored.
        raise store_error(error) from None
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from error
    return Backup(path=str(target), size=size, threads=threads, problems=problems)


def _exists(target: Path) -> UsageError:
    return UsageError(f"{target} exists: name a new file, since a backup is never overwritten")


def _copy(source: Path, draft: Path, on_step: Callable[[int, int], None] | None) -> None:
    def _progress(_: int, remaining: int, total: int) -> None:
        if on_step is not None:
            on_step(remaining, total)

    with closing(_open(source)) as reader, closing(_open(draft)) as writer:
        # One moment for all pages: otherwise each commit of others would restart the copy.
        reader.execute("BEGIN")
        (mark,) = reader.execute("PRAGMA application_id").fetchone()
        if mark != APPLICATION_ID:
            raise StoreError(f"{source.name} is not a store of foldline")
        reader.execute("SELECT count(*) FROM threads").fetchone()
        reader.backup(writer, pages=_PAGES, progress=_progress)
        # The log of the store is not the copy's, should that take the store's place one day.
        number_in(writer)._replace(own=0).write(writer)
        # The copy is one file; opening it as a store makes a log for it.
        writer.execute("PRAGMA journal_mode = DELETE")


def _open(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _place(draft: Path, target: Path) -> None:
    """Give *draft* its name, unless another program has taken it in the meantime."""
    _flush(draft)
    try:
        os.link(draft, target)
    except OSError as error:
        # Or a file system without second names.
        if isinstance(error, FileExistsError) or target.exists():
            raise _exists(target) from None
        draft.rename(target)
    with suppress(OSError):
        _flush(target.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
