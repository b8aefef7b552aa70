"""The environment of a SQLite store: library, file, log, disk."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from foldline.errors import StoreCorruptError, StoreError
from foldline.threads.storage import Fact
from foldline.threads.stores.sqlite.faults import SQLITE_ERRORS, store_error
from foldline.threads.stores.sqlite.file import APPLICATION_ID, needs_lock
from foldline.threads.stores.sqlite.identity import check_log, log_of, number_in
from foldline.threads.stores.sqlite.migration import NEWEST_SCHEMA
from foldline.threads.stores.sqlite.store import quick_check


DAMAGED_FILE: Final = (
    "restore a backup (`foldline restore BACKUP STORE`), or save what can be read (`foldline "
    "threads export ID --whole-rows`); if that fails too, `sqlite3 STORE .recover | sqlite3 NEW` "
    "is the last resort"
)
"""What to do about a damaged file."""

_MEGABYTE: Final = 1024 * 1024
_LEAST_FREE: Final = 100 * _MEGABYTE
_UNWRITABLE: Final = "make the file and its folder writable, or copy it to a folder that is"


def sqlite_facts(path: Path) -> Iterator[Fact]:
    """Yield the facts about the store at *path*, which is not changed."""
    path = path.resolve()
    value, advice = sqlite3.sqlite_version, ""
    if needs_lock():
        value += " has the WAL-reset bug; foldline keeps writers apart by a lock file"
        advice = "let no other program write to the file"
    yield Fact(name="SQLite", value=value, advice=advice)
    if not all(os.access(place, os.W_OK) for place in (path, path.parent)):
        value = "the file or its folder is not writable"
        yield Fact(name="file", value=value, advice=_UNWRITABLE, is_danger=True)
    try:
        check_log(path)
        uri = f"{path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            yield from _inside(connection)
    except StoreError as error:
        yield Fact(name="file", value=str(error), is_danger=True)
    except SQLITE_ERRORS as error:
        found = store_error(error)
        advice = DAMAGED_FILE if isinstance(found, StoreCorruptError) else _UNWRITABLE
        yield Fact(name="file", value=str(found), advice=advice, is_danger=True)
    yield from _outside(path)


def _inside(connection: sqlite3.Connection) -> Iterator[Fact]:
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    if mark != APPLICATION_ID:
        value = "a SQLite database, but not a store of foldline"
        yield Fact(name="file", value=value, advice="check the path", is_danger=True)
        return
    schema = number_in(connection).schema
    value, advice = str(schema), ""
    if schema > NEWEST_SCHEMA:
        value, advice = f"{schema}, newer than {NEWEST_SCHEMA}", "upgrade foldline"
    elif schema < NEWEST_SCHEMA:
        value, advice = f"{schema}, older than {NEWEST_SCHEMA}", "opening the store migrates it"
    yield Fact(name="schema", value=value, advice=advice, is_danger=schema > NEWEST_SCHEMA)
    for name, table in (("threads", "threads"), ("messages", "rows")):
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        yield Fact(name=name, value=f"{count:,}")
    problems = quick_check(connection)
    value, advice = (problems[0], DAMAGED_FILE) if problems else ("no damage found", "")
    yield Fact(name="quick check", value=value, advice=advice, is_danger=bool(problems))


def _outside(path: Path) -> Iterator[Fact]:
    for name, file in (("file size", path), ("log size", log_of(path))):
        size = file.stat().st_size if file.exists() else 0
        yield Fact(name=name, value=f"{size / _MEGABYTE:,.1f} MiB")
    free = shutil.disk_usage(path.parent).free
    is_low = free < _LEAST_FREE
    advice = "make room: writes will fail" if is_low else ""
    value = f"{free / _MEGABYTE:,.0f} MiB"
    yield Fact(name="free disk", value=value, advice=advice, is_danger=is_low)
    mode = path.stat().st_mode
    value, advice = stat.filemode(mode), ""
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        value += ": other users of this machine can open it"
        advice = f"chmod 600 {path.name}"
    is_danger = bool(advice and mode & (stat.S_IWGRP | stat.S_IWOTH))
    yield Fact(name="permissions", value=value, advice=advice, is_danger=is_danger)
