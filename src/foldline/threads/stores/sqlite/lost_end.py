"""
The end of a SQLite file that a copy has lost, where it was interrupted or the disk was full.

The layout is that of "The Database Header" in SQLite's documentation. SQLite reads nothing of a file
that is shorter than its header says, however much of it is whole.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from foldline.threads.stores.sqlite.faults import primary_code
from foldline.threads.stores.sqlite.header import has_log, number_in


__all__ = ["way_without_end"]


_HEADER: Final = 100
_PAGE_SIZE: Final = slice(16, 18)
# The largest size has no place in the two bytes of the field, which then say 1.
_LARGEST: Final = 65536
_PAGES: Final = slice(28, 32)
# The number of pages holds where these two are equal; something else wrote to the file otherwise.
_CHANGES: Final = slice(24, 28)
_CHANGES_COUNTED: Final = slice(92, 96)


def way_without_end(path: Path) -> str | None:
    """
    Return what to do where SQLite refuses the file at *path* because its end is lost, else None.

    Never call it while this process has the file open: closing a file drops every lock that the
    process holds on it.
    """
    try:
        size, whole = path.stat().st_size, _whole_size(path)
    except OSError:
        return None
    if size >= whole or not _is_refused(path.resolve()):
        return None
    return (
        f"its end is lost, {size:,} of {whole:,} bytes are there: restore a backup (`foldline backup` "
        f"made one), or make a copy that can be opened: `cp STORE NEW && truncate -s {whole} NEW`, "
        "then `foldline verify --store NEW`, which tells what is whole, and `foldline threads export "
        "ID --whole-rows --store NEW`, which saves it"
    )


def _whole_size(path: Path) -> int:
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if header[_CHANGES] != header[_CHANGES_COUNTED]:
        return 0
    page = int.from_bytes(header[_PAGE_SIZE], "big")
    return int.from_bytes(header[_PAGES], "big") * (_LARGEST if page == 1 else page)


def _is_refused(path: Path) -> bool:
    """
    Whether SQLite finds the file damaged on opening it; one whose log has the end it does not.
    """
    # Nothing is made beside a file that has no log.
    how = "mode=ro" if has_log(path) else "immutable=1"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?{how}", uri=True)) as connection:
            number_in(connection)
    except sqlite3.Error as error:
        return primary_code(getattr(error, "sqlite_errorcode", 0)) == sqlite3.SQLITE_CORRUPT
    return False
