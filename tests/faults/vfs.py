"""
The hook in the default file system of SQLite.

It changes two pointers of `sqlite3_vfs`, and gives each file opened meanwhile a copy of its method
table in which three pointers are ours. Reads, locks and the shared memory of the WAL index go
their usual ways; so do temporary files, which no crash leaves behind. A memory map changes
nothing, for SQLite writes through `xWrite` all the same.
"""

import ctypes
import sqlite3
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from functools import cache, partial
from typing import NamedTuple

from tests.faults.library import (
    DeleteCall,
    MethodTable,
    OpenCall,
    SyncCall,
    TruncateCall,
    UnhookableError,
    WriteCall,
    copy_of_methods,
    default_vfs,
)
from tests.faults.operation import Interposer, Kind, Operation
from tests.faults.scratch import scratch


_DELETE_ON_CLOSE = 0x8


class HookError(Exception):
    """The hook was used wrongly, or its interposer raised an error."""


class _Methods(NamedTuple):
    # A method table with our calls, and the originals of these.

    table: MethodTable
    write: Callable[..., int]
    truncate: Callable[..., int]
    sync: Callable[..., int]


class _File(NamedTuple):
    path: str
    methods: _Methods


class _Hook:
    """
    The one hook of the process.

    It lives as long as the process: a file opened under it may be used, and call back, after its
    removal, and then finds no interposer.
    """

    def __init__(self) -> None:
        self._vfs = default_vfs()
        self._originals = (self._vfs.open, self._vfs.delete)
        self._open, self._delete = OpenCall(self._vfs.open), DeleteCall(self._vfs.delete)
        self._our_open, self._our_delete = OpenCall(self._on_open), DeleteCall(self._on_delete)
        self._our_write = WriteCall(self._on_write)
        self._our_truncate = TruncateCall(self._on_truncate)
        self._our_sync = SyncCall(self._on_sync)
        self._lock = threading.Lock()
        self._methods: dict[int, _Methods] = {}
        self._files: dict[int, _File] = {}
        self._interposer: Interposer | None = None
        self._failures: list[BaseException] = []

    def install(self, interposer: Interposer) -> None:
        with self._lock:
            if self._interposer is not None:
                message = "SQLite is hooked already"
                raise HookError(message)
            self._failures.clear()
            self._interposer = interposer
            self._vfs.open, self._vfs.delete = _address(self._our_open), _address(self._our_delete)

    def remove(self) -> None:
        with self._lock:
            self._vfs.open, self._vfs.delete = self._originals
            self._interposer = None
        if self._failures:
            message = "the interposer raised an error; SQLite was told about an I/O error"
            raise HookError(message) from self._failures[0]

    def _ask(self, operation: Operation) -> int:
        interposer = self._interposer
        if interposer is None:
            return operation.perform()
        try:
            return interposer(operation)
        except BaseException as error:  # noqa: BLE001 # an error cannot pass through C
            self._failures.append(error)
            return sqlite3.SQLITE_IOERR

    def _on_open(
        self, vfs: int, name: int | None, file: int, flags: int, out_flags: int | None
    ) -> int:
        arguments = (vfs, name, file, flags, out_flags)
        if name is None or flags & _DELETE_ON_CLOSE:
            code: int = self._open(*arguments)
            return code
        path = _text(name)
        methods = ctypes.c_void_p.from_address(file)
        # SQLite closes a file that failed to open only where it has methods.
        methods.value = None
        code = self._ask(Operation(Kind.OPEN, path, file, self._open, arguments, flags=flags))
        if code == sqlite3.SQLITE_OK and methods.value is not None:
            ours = self._hooked_methods(methods.value)
            self._files[file] = _File(path, ours)
            methods.value = ctypes.addressof(ours.table)
        return code

    def _hooked_methods(self, address: int) -> _Methods:
        found = self._methods.get(address)
        if found is None:
            table = copy_of_methods(address)
            found = _Methods(
                table, WriteCall(table.write), TruncateCall(table.truncate), SyncCall(table.sync)
            )
            table.write = _address(self._our_write)
            table.truncate = _address(self._our_truncate)
            table.sync = _address(self._our_sync)
            # Another thread may have been faster; a table must not be freed once it is in use.
            found = self._methods.setdefault(address, found)
        return found

    def _on_delete(self, vfs: int, name: int, sync_folder: int) -> int:
        arguments = (vfs, name, sync_folder)
        return self._ask(
            Operation(Kind.DELETE, _text(name), 0, self._delete, arguments, flags=sync_folder)
        )

    def _on_write(self, file: int, buffer: int, size: int, offset: int) -> int:
        path, methods = self._files[file]
        return self._ask(
            Operation(
                kind=Kind.WRITE,
                path=path,
                handle=file,
                call=methods.write,
                arguments=(file, buffer, size, offset),
                data=partial(ctypes.string_at, buffer, size),
                offset=offset,
                size=size,
            )
        )

    def _on_truncate(self, file: int, size: int) -> int:
        path, methods = self._files[file]
        return self._ask(
            Operation(Kind.TRUNCATE, path, file, methods.truncate, (file, size), size=size)
        )

    def _on_sync(self, file: int, flags: int) -> int:
        path, methods = self._files[file]
        return self._ask(Operation(Kind.SYNC, path, file, methods.sync, (file, flags), flags=flags))


@contextmanager
def hooked(interposer: Interposer) -> Generator[None, None, None]:
    """
    Send the file operations of every connection opened inside to *interposer*.

    A connection that outlives the block works on, without the interposer.
    """
    hook = _hook()
    hook.install(interposer)
    try:
        yield
    finally:
        hook.remove()


@cache
def why_unhookable() -> str | None:
    """Return the reason why the SQLite of this interpreter cannot be hooked, or none if it can."""
    seen: list[Operation] = []

    def look(operation: Operation) -> int:
        seen.append(operation)
        return operation.perform()

    try:
        with scratch() as folder, hooked(look), closing(sqlite3.connect(folder / "probe")) as probe:
            probe.execute("PRAGMA user_version = 1")
    except UnhookableError as error:
        return str(error)
    return None if seen else "the module sqlite3 does not call the SQLite that ctypes finds"


@cache
def _hook() -> _Hook:
    return _Hook()


def _address(callback: object) -> int:
    address = ctypes.cast(callback, ctypes.c_void_p).value  # type: ignore[arg-type] # a pointer
    assert address is not None
    return address


def _text(name: int) -> str:
    return ctypes.string_at(name).decode("utf-8", "surrogateescape")
