"""From the command line to a store."""

import asyncio
import re
import stat
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from msgspec import Struct

from foldline.apps.cli.files import read_file
from foldline.apps.cli.options import JsonOption, argument, option
from foldline.errors import (
    ConfigError,
    StoreCorruptError,
    StoreKeyError,
    StoreVersionError,
    ThreadNotFoundError,
    UsageError,
)
from foldline.reduction.state import HistoryReductionState
from foldline.threads.cipher import AesCipher
from foldline.threads.key import DEFAULT_TENANT, ThreadKey, listed_key
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.doctor import DAMAGED_FILE
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.identity import check_log, log_of
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


DAMAGED: Final = 1
"""The exit code if something is damaged."""

_VARIABLE: Final = "FOLDLINE_STORE"
_Result = TypeVar("_Result")

# Part of every error that comes from SQLite.
_RESULT_CODE = "(SQLITE_"
_MAGIC = b"SQLite format 3\0"
_HEADER_SIZE = 100
_MARK = slice(68, 72)
_ADDRESS = re.compile(r"([a-z]+)://", re.IGNORECASE).match
_MOST_TENANTS = 5
# The scheme of an address: the package of its store, which is the name of the extra too.
_SERVERS = {
    "postgresql": "postgres",
    "postgres": "postgres",
    "redis": "redis",
    "rediss": "redis",
    "unix": "redis",
}
_HEXADECIMAL = re.compile(
    rb"\s*(?:(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{48}|[0-9a-fA-F]{64})(?:\s+|\Z))+"
).fullmatch


def as_id(text: str | None) -> str | None:
    """Return *text* if it is the id of a thread, else the id that `ThreadKey.named` gives it."""
    if text is None:
        return None
    # What `named` has made is an id, and here somebody has copied it from a list.
    return (listed_key(DEFAULT_TENANT, text) or ThreadKey.named(text)).id


KeyFileOption = Annotated[
    str | None,
    option(
        "FILE",
        "The key of an encrypted store: 16, 24 or 32 bytes, or these in hexadecimal; after it, on "
        "lines of their own, older keys in hexadecimal.",
    ),
]
"""The option of what reads an encrypted store."""


class StoreOptions(Struct, frozen=True, kw_only=True):
    """Which store to use."""

    store: Annotated[
        str | None,
        option(
            "PATH|URL",
            "The file of a SQLite store, or a postgresql:// or redis:// address; by default "
            f"what the environment variable {_VARIABLE} says.",
            envvar=_VARIABLE,
            show_envvar=False,
        ),
    ] = None
    json: JsonOption = False


class KeyOptions(StoreOptions, frozen=True, kw_only=True):
    """Which store to use, and how to read what is encrypted in it."""

    key_file: KeyFileOption = None


class TenantOptions(KeyOptions, frozen=True, kw_only=True):
    """Which store to use, and whose threads."""

    tenant: Annotated[
        str, option("NAME", "The owner of the threads; the tenant `default` by default.")
    ] = DEFAULT_TENANT


class ThreadOptions(TenantOptions, frozen=True, kw_only=True):
    """Which thread of which store."""

    id: Annotated[str, argument("ID", "The id of the thread.", callback=as_id)]


@contextmanager
def opened_store(
    options: KeyOptions, *, may_make: bool = False
) -> Generator[tuple[asyncio.Runner, ThreadStore]]:
    """Open the store that *options* name, and close it; with *may_make* a new file is created."""
    store = _store(options, file_of(options, may_make=may_make))
    try:
        with asyncio.Runner() as runner:
            try:
                runner.run(store.open())
                yield runner, store
            finally:
                runner.run(store.close())
    except StoreKeyError as error:
        # Nothing has failed: another key, or a newer foldline, is needed.
        raise UsageError(f"{error} (option --key-file)") from error
    except StoreVersionError as error:
        raise UsageError(str(error)) from error
    except StoreCorruptError as error:
        raise with_way_forward(error) from error


def with_store(
    options: KeyOptions,
    work: Callable[[ThreadStore], Coroutine[object, object, _Result]],
    *,
    may_make: bool = False,
) -> _Result:
    """Do *work* on the store that *options* name and return the result; see `opened_store`."""
    with opened_store(options, may_make=may_make) as (runner, store):
        return runner.run(work(store))


def with_way_forward(error: StoreCorruptError) -> StoreCorruptError:
    """Return *error*, with what to do if it is SQLite that cannot read the file."""
    text = str(error)
    if _RESULT_CODE not in text or DAMAGED_FILE in text:
        return error
    return StoreCorruptError(f"{text}: {DAMAGED_FILE}")


def _store(options: KeyOptions, path: Path | None) -> ThreadStore:
    cipher = None if options.key_file is None else _ciphers(options.key_file)
    if path is not None:
        return SQLiteStore(path, cipher=cipher)
    address = address_of(options)
    name = server_of(address)
    module: Any = import_module(f"foldline.threads.stores.{name}.store")
    store: ThreadStore = getattr(module, f"{name.capitalize()}Store")(address, cipher=cipher)
    return store


def _ciphers(name: str) -> list[AesCipher]:
    data = read_file(str(path_of(name)))
    words = data.split() if _HEXADECIMAL(data) else []
    try:
        return [
            AesCipher(key) for key in [bytes.fromhex(word.decode()) for word in words] or [data]
        ]
    except ConfigError as error:
        message = f"{name} holds {len(data)} bytes: a key has 16, 24 or 32, or these in hexadecimal"
        raise UsageError(message) from error


def address_of(options: StoreOptions) -> str:
    """Return what names the store: a path, or an address, which may hold a password."""
    if not options.store:
        raise UsageError(
            "no store is named: give --store PATH (a chat without one is in chat.db) or a "
            f"postgresql:// or redis:// address, or set {_VARIABLE}"
        )
    return options.store


def server_of(address: str) -> str:
    """Return the package of `foldline.threads.stores` that has the store at *address*."""
    return _SERVERS[_scheme(address)]


def _scheme(address: str) -> str:
    match = _ADDRESS(address)
    return "" if match is None else match[1].lower()


def file_of(options: StoreOptions, *, may_make: bool = False) -> Path | None:
    """
    Return the file of the store; None if the store is a server.

    Never call it while this process has the store open: closing a file drops every lock that the
    process holds on it, and another one could then delete the log of the store.

    With *may_make* a file that does not exist, or is empty, will do.
    """
    address = address_of(options)
    scheme = _scheme(address)
    if scheme in _SERVERS:
        return None
    if scheme:
        message = f"--store must be a path or a postgresql:// or redis:// address, got {scheme}://…"
        raise UsageError(message)
    path = path_of(address)
    try:
        _check_file(path, may_make=may_make)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    return path


def _check_file(path: Path, *, may_make: bool) -> None:
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        _check_place(path, may_make=may_make)
        return
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is not a file: name the file of a store")
    # A link is another name of the file, and the log lies beside the file itself.
    if log_of(path.resolve()).exists():
        check_log(path.resolve())
        return
    with path.open("rb") as file:
        header = file.read(_HEADER_SIZE)
    if not header and may_make:
        return
    if not header.startswith(_MAGIC):
        raise UsageError(f"{path} is not a SQLite database: check the path, or restore a backup")
    if int.from_bytes(header[_MARK], "big") != APPLICATION_ID:
        message = f"{path} is a SQLite database of another program: name the file of a store"
        raise UsageError(message)


def _check_place(path: Path, *, may_make: bool) -> None:
    if not path.parent.is_dir():
        raise UsageError(f"no store at {path}: its folder does not exist; check the path")
    if not may_make:
        check_log(path.resolve())
        message = f"no store at {path}: check the path (`foldline threads import` creates a store)"
        raise UsageError(message)


def path_of(name: str) -> Path:
    """Return *name* as a path; `~`, which a shell leaves in `--store=~/x`, is the home folder."""
    path = Path(name)
    with suppress(RuntimeError):
        # Raised if there is no such home: then it is a name like any other.
        path = path.expanduser()
    return path


def tenants_note(tenants: Sequence[str]) -> str:
    """Return how many *tenants* have threads, the names of the first, and how to name one."""
    if not tenants:
        return "the store has none"
    named = ", ".join(tenants[:_MOST_TENANTS]) + ", …" * (len(tenants) > _MOST_TENANTS)
    has = "1 tenant has" if len(tenants) == 1 else f"{len(tenants):,} tenants have"
    return f"{has} threads ({named}): name one with --tenant"


async def found_thread(store: ThreadStore, id: str, tenant: str) -> ConversationThread:
    """Return the thread *id* of *tenant*, or raise ThreadNotFoundError."""
    thread = await store.find(id, tenant=tenant)
    if thread is None:
        raise ThreadNotFoundError(thread_id=id)
    return thread


def folded_in(reduction: HistoryReductionState | None) -> int:
    """Return how many messages *reduction* covers; 0 without one."""
    return 0 if reduction is None else reduction.summarized_up_to_index
