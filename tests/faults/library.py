"""
The SQLite that the module `sqlite3` runs on, reached through ctypes.

The layouts are those of `sqlite3.h`. They only grow at their ends, with the version in front.
"""

import _sqlite3
import ctypes
import sqlite3
from contextlib import closing


OpenCall = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_void_p,
)
DeleteCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
WriteCall = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
)
TruncateCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
SyncCall = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)

_METHODS = (
    *("close", "read", "write", "truncate", "sync", "size", "lock", "unlock", "is_reserved"),
    *("control", "sector_size", "characteristics"),
    *("shm_map", "shm_lock", "shm_barrier", "shm_unmap"),
    *("fetch", "unfetch"),
)
_METHODS_OF_VERSION = {1: 12, 2: 16, 3: 18}


class UnhookableError(Exception):
    """The SQLite of this interpreter cannot be reached; the message says why."""


class VfsTable(ctypes.Structure):
    """
    `sqlite3_vfs`, as far as the hook reads it. It is never copied, so its tail may be unknown.
    """

    _fields_ = (
        ("version", ctypes.c_int),
        ("size_of_file", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("open", ctypes.c_void_p),
        ("delete", ctypes.c_void_p),
    )

    open: int
    delete: int


class MethodTable(ctypes.Structure):
    """`sqlite3_io_methods` of version 3."""

    _fields_ = (
        ("version", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in _METHODS),
    )

    version: int
    write: int
    truncate: int
    sync: int


def copy_of_methods(address: int) -> MethodTable:
    """Return a copy of the method table at *address*."""
    version = ctypes.c_int.from_address(address).value
    if version not in _METHODS_OF_VERSION:
        message = f"SQLite uses version {version} of its method table; versions 1 to 3 are known"
        raise UnhookableError(message)
    table = MethodTable()
    # An older table ends earlier: what lies behind it belongs to somebody else.
    head = MethodTable.close.offset
    size = head + _METHODS_OF_VERSION[version] * ctypes.sizeof(ctypes.c_void_p)
    ctypes.memmove(ctypes.addressof(table), address, size)
    return table


def default_vfs() -> VfsTable:
    """Return the default file system of SQLite, in place."""
    library = _library()
    try:
        find, source = library.sqlite3_vfs_find, library.sqlite3_sourceid
    except AttributeError as error:
        message = "SQLite is linked into the interpreter with hidden symbols"
        raise UnhookableError(message) from error
    source.restype = ctypes.c_char_p
    found, used = source().decode(), _used_source()
    if found != used:
        message = f"ctypes finds another SQLite than the module sqlite3: {found!r}, not {used!r}"
        raise UnhookableError(message)
    find.restype = ctypes.c_void_p
    address = find(None)
    if address is None:
        message = "SQLite has no default file system"
        raise UnhookableError(message)
    return VfsTable.from_address(address)


def _library() -> ctypes.CDLL:
    # A symbol is looked up in the extension module and in the libraries that it was linked with,
    # hence in the very one that it calls. A module without a file is part of the interpreter.
    path: str | None = getattr(_sqlite3, "__file__", None)
    try:
        return ctypes.CDLL(path)
    except (OSError, TypeError) as error:
        message = f"the extension module of sqlite3 cannot be loaded by ctypes: {error}"
        raise UnhookableError(message) from error


def _used_source() -> str:
    with closing(sqlite3.connect(":memory:")) as connection:
        source: str = connection.execute("SELECT sqlite_source_id()").fetchone()[0]
        return source
