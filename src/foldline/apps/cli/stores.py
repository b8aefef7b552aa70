"""From the command line to a store."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
from msgspec import Struct

from foldline.apps.cli.files import read_file
from foldline.apps.cli.threads_files import check_file, kind_of
from foldline.errors import (
    ConfigError,
    MissingExtraError,
    StoreCorruptError,
    StoreKeyError,
    StoreVersionError,
    ThreadNotFoundError,
    UsageError,
)
from foldline.threads.cipher import AesCipher
from foldline.threads.head import decode_record
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.header import check_log
from foldline.threads.stores.sqlite.lost_end import way_without_end
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


__all__ = [
    "COPY_TABLES",
    "LAST_RESORT",
    "VARIABLE",
    "WAY_FORWARD",
    "KeyOptions",
    "StoreOptions",
    "TenantOptions",
    "address_of",
    "file_of",
    "found_thread",
    "is_server",
    "no_threads_of",
    "path_of",
    "tenants_note",
    "with_store",
    "with_way_forward",
]


_Result = TypeVar("_Result")

# A dump reads the tables without their indexes, and writes nothing where it cannot read one of
# them. The index of words is left out: searches make it anew.
COPY_TABLES: Final = (
    "`sqlite3 -readonly STORE '.dump branches% threads rows% documents' | sqlite3 -bail -cmd "
    "'CREATE TABLE indexed (branch INTEGER PRIMARY KEY, upto INTEGER NOT NULL); CREATE TABLE words "
    "(branch INTEGER NOT NULL, block INTEGER NOT NULL, word BLOB NOT NULL, places BLOB NOT NULL, "
    "PRIMARY KEY (branch, block, word)) WITHOUT ROWID; PRAGMA "
    f"application_id = {APPLICATION_ID}; PRAGMA user_version = 3' NEW`, then `foldline verify "
    "--store NEW`, which has to find no thread fewer"
)
"""What saves all of a file whose tables are whole; a thread that is lost it would hide."""

_RECOVER = (
    "`sqlite3 STORE .recover | sqlite3 NEW` (a sqlite3 built with it), then `foldline verify "
    "--store NEW`"
)

WAY_FORWARD = (
    f"{COPY_TABLES}; else restore a backup (`foldline backup` made one), or save what can be "
    "read by `foldline threads export ID --whole-rows`, which needs no list; where that fails too, "
    f"by {_RECOVER}"
)
"""What to do where the database itself is damaged."""

LAST_RESORT = (
    f"restore a backup (`foldline backup` made one), or let SQLite save what it finds: {_RECOVER}"
)
"""What to do where nothing of foldline can read a damaged file any more."""

VARIABLE: Final = "FOLDLINE_STORE"
"""The environment variable that names the store."""

# What every error that comes from SQLite names.
_RESULT_CODE = "(SQLITE_"
_ADDRESS = re.compile(r"([a-z]+)://", re.IGNORECASE)
_MOST_TENANTS = 5
# The scheme of an address: the module of the store, its class, and the extra that it needs.
_SERVERS = {
    "postgresql": ("postgres", "PostgresStore", "postgres"),
    "postgres": ("postgres", "PostgresStore", "postgres"),
    "redis": ("redis", "RedisStore", "redis"),
    "rediss": ("redis", "RedisStore", "redis"),
    "unix": ("redis", "RedisStore", "redis"),
}
_HEXADECIMAL = re.compile(rb"\s*([0-9a-fA-F]{32}|[0-9a-fA-F]{48}|[0-9a-fA-F]{64})\s*")


class StoreOptions(Struct, frozen=True, kw_only=True):
    """Which store to use."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PATH|URL",
            help="The file of a SQLite store, or a postgresql:// or redis:// address; by default "
            f"what the environment variable {VARIABLE} says.",
            envvar=VARIABLE,
            show_envvar=False,
        ),
    ] = None
    """The path or the address."""


class KeyOptions(StoreOptions, frozen=True, kw_only=True):
    """Which store to use, and how to read what is encrypted in it."""

    key_file: Annotated[
        str | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help="The key of an encrypted store: 16, 24 or 32 bytes, or these in hexadecimal.",
        ),
    ] = None
    """The file of the key."""


class TenantOptions(KeyOptions, frozen=True, kw_only=True):
    """Which store to use, and whose threads."""

    tenant: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The owner of the threads; the tenant `default` where none is named.",
        ),
    ] = DEFAULT_TENANT
    """The owner."""


def with_store(
    options: KeyOptions,
    work: Callable[[ThreadStore], Awaitable[_Result]],
    *,
    may_make: bool = False,
    way: str | None = None,
) -> _Result:
    """
    Open the store that *options* name, do *work* on it, close it and return the result.

    Args:
        options: The store.
        work: What to do.
        may_make: Whether a file that is not there is made.
        way: What to do where SQLite cannot read the file; `WAY_FORWARD` by default.

    Raises:
        UsageError: No store is named, there is no such file, it is none of ours, a newer foldline
            wrote it, or it needs another key.
        StoreError: It cannot be opened.
    """
    path = file_of(options, may_make=may_make)
    store = _store(options, path)

    async def _run() -> _Result:
        try:
            await _opened(store)
            return await work(store)
        finally:
            await store.close()

    try:
        return asyncio.run(_run())
    except (StoreKeyError, StoreVersionError) as error:
        # Nothing has failed: another key, or another foldline, is needed.
        raise UsageError(str(error)) from error
    except StoreCorruptError as error:
        raise with_way_forward(error, way, of=path) from error


async def _opened(store: ThreadStore) -> None:
    try:
        await store.open()
    except StoreCorruptError as error:
        # Nothing of ours can read what cannot even be opened.
        raise with_way_forward(error, LAST_RESORT) from error


def with_way_forward(
    error: StoreCorruptError, way: str | None = None, *, of: Path | None = None
) -> StoreCorruptError:
    """
    Return *error*, with what to do where it is SQLite that cannot read the file.

    Args:
        error: What was raised.
        way: What to do; it takes the place of what was said before. By default that stays, or it
            is `WAY_FORWARD`.
        of: The file, where no store has it open: what to do may depend on what is lost of it.
    """
    text = str(error)
    if _RESULT_CODE not in text:
        return error
    way = (None if of is None else way_without_end(of)) or way
    told = text.removesuffix(f": {WAY_FORWARD}").removesuffix(f": {LAST_RESORT}")
    if way is None and told != text:
        return error
    return StoreCorruptError(f"{told}: {way or WAY_FORWARD}")


def _store(options: KeyOptions, path: Path | None) -> ThreadStore:
    cipher = None if options.key_file is None else _cipher(options.key_file)
    if path is not None:
        return SQLiteStore(path, cipher=cipher)
    address = address_of(options)
    module, name, extra = _SERVERS[_scheme(address)]
    try:
        kind: Any = getattr(import_module(f"foldline.threads.stores.{module}.store"), name)
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(package=error.name or extra, extra=extra) from error
    store: ThreadStore = kind(address, cipher=cipher)
    return store


def address_of(options: StoreOptions) -> str:
    """
    Return what names the store: a path, or an address, which may hold a password.

    Raises:
        UsageError: Nothing does.
    """
    if not options.store:
        message = (
            f"no store is named: give --store PATH or a postgresql:// or redis:// address, or set "
            f"{VARIABLE}"
        )
        raise UsageError(message)
    return options.store


def _scheme(address: str) -> str:
    match = _ADDRESS.match(address)
    return "" if match is None else match[1].lower()


def is_server(options: StoreOptions) -> bool:
    """
    Whether a server is named, and no file.

    The address alone is looked at, so that it may be asked while the store is open.

    Raises:
        UsageError: Nothing is named.
    """
    return _scheme(address_of(options)) in _SERVERS


def file_of(
    options: StoreOptions, *, may_make: bool = False, may_be_newer: bool = False
) -> Path | None:
    """
    Return the file of the store; None where the store is a server.

    Never call it while the store is open: see `check_file`.

    Args:
        options: The store.
        may_make: Whether a file that is not there, or is empty, will do.
        may_be_newer: Whether a store that a newer foldline has written will do.

    Raises:
        UsageError: There is no such file, it may not be looked at, or it is no store that this
            foldline can use.
        StoreCorruptError: There is no such file, and the log of one.
    """
    if is_server(options):
        return None
    address = address_of(options)
    if scheme := _scheme(address):
        message = f"--store {scheme}://…: allowed are a path, postgresql:// and redis://"
        raise UsageError(message)
    path = path_of(address)
    kind = kind_of(path)
    if kind == "folder":
        message = f"{path} is a folder: name the file of the store in it"
        raise UsageError(message)
    if kind_of(path.parent) != "folder":
        what, way = (
            ("cannot make", "make it first") if may_make else ("no store at", "mend the path")
        )
        message = f"{what} {path}: its folder does not exist; {way}"
        raise UsageError(message)
    if kind != "none":
        check_file(path, may_make=may_make, may_be_newer=may_be_newer)
    elif not may_make:
        check_log(path.resolve())
        message = f"no store at {path}: mend the path; `foldline threads import` makes a store"
        raise UsageError(message)
    return path


def path_of(name: str) -> Path:
    """
    Return *name* as a path; `~`, which a shell leaves in `--store=~/x` and in quotes, is the home.
    """
    path = Path(name)
    with suppress(RuntimeError):
        # Raised where there is no such home: then it is a name like any other.
        path = path.expanduser()
    return path


def _cipher(name: str) -> AesCipher:
    data = read_file(str(path_of(name)))
    match = _HEXADECIMAL.fullmatch(data)
    key = data if match is None else bytes.fromhex(match[1].decode())
    try:
        return AesCipher(key)
    except ConfigError as error:
        message = f"{name} holds {len(data)} bytes: a key has 16, 24 or 32, or these in hexadecimal"
        raise UsageError(message) from error


def no_threads_of(tenant: str, others: Sequence[str] = ()) -> UsageError:
    """Return the error where a tenant that was named has no thread, and *others* may have."""
    more = f"; {tenants_note(others)}" if others else ""
    return UsageError(f"no thread of tenant {tenant!r}: mend the name{more}")


def tenants_note(tenants: Sequence[str]) -> str:
    """Return how many *tenants* have threads, the names of the first, and how to name one."""
    named = ", ".join(tenants[:_MOST_TENANTS]) + ", …" * (len(tenants) > _MOST_TENANTS)
    has = "1 tenant has" if len(tenants) == 1 else f"{len(tenants):,} tenants have"
    return f"{has} threads ({named}): name one with --tenant"


async def found_thread(store: ThreadStore, options: TenantOptions, id: str) -> ConversationThread:
    """
    Return the thread of that id.

    Raises:
        ThreadNotFoundError: There is none.
        UsageError: It has expired.
        StoreCorruptError: It is damaged.
    """
    thread = await store.find(id, tenant=options.tenant)
    if thread is not None:
        return thread
    stored = await store.backing.storage.load(ThreadKey(options.tenant, id))
    ended = None if stored is None else decode_record(stored, store.backing.vault).head.expires_at
    if ended is None or ended > store.backing.clock():
        raise ThreadNotFoundError(thread_id=id)
    message = (
        f"thread {id!r} expired on {ended.astimezone():%Y-%m-%d at %H:%M:%S}: it is stored until "
        "`purge_expired` deletes it or a new one takes its id; till then `foldline threads export "
        "--last-good` reads it"
    )
    raise UsageError(message)
