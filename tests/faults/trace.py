"""What a workload did to its files, in order."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from tests.faults.operation import Kind, Operation
from tests.faults.vfs import hooked


_CREATE = 0x4
# SQLite flushes the folder with the first sync of these: rollback, super-journal and WAL.
_JOURNALS = 0x800 | 0x4000 | 0x80000


class Created(Struct, frozen=True):
    """A file came into being."""

    file: int
    name: str


class Written(Struct, frozen=True):
    """Bytes were written."""

    file: int
    offset: int
    data: bytes


class Truncated(Struct, frozen=True):
    """A file was cut."""

    file: int
    size: int


class Synced(Struct, frozen=True):
    """A file was flushed."""

    file: int
    since: int
    with_folder: bool


class Deleted(Struct, frozen=True):
    """A name was removed."""

    name: str
    since: int
    with_folder: bool


class Acked(Struct, frozen=True):
    """The workload acknowledged something."""

    text: str


Event: TypeAlias = Created | Written | Truncated | Synced | Deleted | Acked


class Trace:
    """
    The events of one workload, and the files that it found.

    Events are noted when they are over, each in one step, so any thread may cause them.
    """

    def __init__(self, folder: Path) -> None:
        self.events: list[Event] = []
        self.found: dict[str, bytes] = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.endswith("-shm")
        }
        """What lay in the folder before. It counts as durable; `found` number i is file i."""
        self._folder = folder
        self._files = {name: number for number, name in enumerate(self.found)}
        self._numbers = len(self._files)
        self._handles: dict[int, int] = {}
        self._lock = threading.Lock()
        self._names_to_sync: set[int] = set()

    def ack(self, text: str) -> None:
        """Note that *text* was acknowledged."""
        self.events.append(Acked(text))

    def __call__(self, operation: Operation) -> int:
        """Perform *operation* and note it if it succeeded on a file of the folder."""
        if operation.kind is Kind.OPEN:
            return self._open(operation)
        if operation.kind is Kind.DELETE:
            return self._delete(operation)
        since = len(self.events)
        # Copied before: the buffer is SQLite's.
        data = operation.data()
        code = operation.perform()
        if code == 0 and (event := self._event(operation, since, data)) is not None:
            self.events.append(event)
        return code

    def _open(self, operation: Operation) -> int:
        path, handle = Path(operation.path), operation.handle
        # Two threads that open a new file at once must find one file, not two.
        with self._lock:
            self._handles.pop(handle, None)
            self._names_to_sync.discard(handle)
            if not path.is_relative_to(self._folder):
                return operation.perform()
            name = path.relative_to(self._folder).as_posix()
            content = self._content(name)
            code = operation.perform()
            if code == 0:
                self._handles[handle] = self._file(name, content)
                if operation.flags & _CREATE and operation.flags & _JOURNALS:
                    self._names_to_sync.add(handle)
            return code

    def _content(self, name: str) -> bytes | None:
        path = self._folder / name
        if not path.exists():
            return None
        # To read a file that SQLite has open would drop its locks, by the rules of POSIX.
        return b"" if name in self._files else path.read_bytes()

    def _file(self, name: str, content: bytes | None) -> int:
        known = self._files.get(name)
        if known is not None and content is not None:
            return known
        if known is not None:
            self.events.append(Deleted(name, len(self.events), with_folder=False))
        number = self._files[name] = self._numbers
        self._numbers += 1
        self.events.append(Created(number, name))
        if content:
            self.events.append(Written(number, 0, content))
        return number

    def _event(self, operation: Operation, since: int, data: bytes) -> Event | None:
        file = self._handles.get(operation.handle)
        if file is None:
            return None
        if operation.kind is Kind.WRITE:
            return Written(file, operation.offset, data)
        if operation.kind is Kind.TRUNCATE:
            return Truncated(file, operation.size)
        with_folder = operation.handle in self._names_to_sync
        self._names_to_sync.discard(operation.handle)
        return Synced(file, since, with_folder)

    def _delete(self, operation: Operation) -> int:
        path = Path(operation.path)
        if not path.is_relative_to(self._folder):
            return operation.perform()
        name = path.relative_to(self._folder).as_posix()
        with self._lock:
            since = len(self.events)
            code = operation.perform()
            if code == 0 and self._files.pop(name, None) is not None:
                self.events.append(Deleted(name, since, bool(operation.flags)))
            return code


@contextmanager
def record(folder: Path) -> Generator[Trace, None, None]:
    """
    Give the trace of the connections that are opened inside to databases in *folder*.

    No connection to them may be open before. A file that something else than SQLite makes or removes
    is noticed when SQLite opens it.
    """
    trace = Trace(folder.resolve())
    with hooked(trace):
        yield trace
