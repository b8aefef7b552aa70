"""`foldline verify`, `backup`, `restore` and `doctor`: whether a store is sound, and its copies."""

import asyncio
import platform
import sys
from collections.abc import AsyncIterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from foldline.apps.cli.files import check_targets, print_json
from foldline.apps.cli.options import JsonOption, argument, flag, option, takes
from foldline.apps.cli.program import version_of
from foldline.apps.cli.stores import (
    DAMAGED,
    KeyFileOption,
    KeyOptions,
    StoreOptions,
    address_of,
    as_id,
    file_of,
    path_of,
    server_of,
    tenants_note,
    with_store,
    with_way_forward,
)
from foldline.apps.cli.terminal import (
    clean,
    confirm,
    note,
    output_console,
    plain_table,
    progress,
    say,
)
from foldline.errors import StoreCorruptError, StoreError, ThreadNotFoundError, UsageError
from foldline.replay.numbers import counted
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.storage import Fact
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.backup import Backup, back_up
from foldline.threads.stores.sqlite.doctor import DAMAGED_FILE, sqlite_facts
from foldline.threads.verify import Verified, list_keys, verify_store, verify_thread


_NO_FILE = (
    "only SQLite files can be copied: back up PostgreSQL with pg_dump, and Redis by its persistence "
    "(BGSAVE or its AOF)"
)
# The package that shows whether an extra is installed.
_EXTRAS = {
    "anthropic": "anthropic",
    "cli": "typer",
    "crypto": "cryptography",
    "llm": "pydantic_ai",
    "openai": "openai",
    "otel": "opentelemetry",
    "postgres": "psycopg",
    "redis": "redis",
    "workers": "procrastinate",
}


class _VerifyOptions(KeyOptions, frozen=True, kw_only=True):
    id: Annotated[str | None, argument("ID", "Only this thread.", callback=as_id)] = None
    tenant: Annotated[
        str | None, option("NAME", "The owner of the threads; all tenants by default.")
    ] = None


@takes(_VerifyOptions)
def verify(options: _VerifyOptions) -> None:
    """
    Recompute the chain hashes of everything stored, and name what is not as it was written.

    Of each damaged thread the first bad row is named, or else the first bad document; of a SQLite
    file also what its own integrity check finds. Nothing is repaired. The exit code is 1 if
    anything is damaged.

    With --json: an object with "threads", "messages", "is_whole", "damaged", a list of threads with
    all their "faults", and "store", the faults of the database itself.
    """
    found = with_store(options, lambda store: _verified(store, options))
    damaged = [(one.key, one) for one in found if one.key is not None and one.faults]
    below = [fault for one in found if one.key is None for fault in one.faults]
    threads = sum(one.key is not None for one in found)
    messages = sum(one.messages for one in found)
    if options.json:
        facts = {"threads": threads, "messages": messages, "is_whole": not (damaged or below)}
        listed = [
            {
                "tenant": key.tenant,
                "id": key.id,
                "whole_messages": one.messages,
                "faults": one.faults,
            }
            for key, one in damaged
        ]
        print_json({**facts, "damaged": listed, "store": below})
    else:
        for line in _damage(found):
            say(line, style="red")
        say(
            f"{counted(threads, 'thread')} with {counted(messages, 'whole message')}, "
            f"{len(damaged):,} damaged"
        )
        if damaged or below:
            say(f"what to do: {DAMAGED_FILE}")
    if damaged or below:
        raise typer.Exit(DAMAGED)


def _damage(found: Sequence[Verified]) -> list[str]:
    lines: list[str] = []
    for one in found:
        if one.key is None:
            lines += [f"the store itself: {fault}" for fault in one.faults]
        elif one.faults:
            first, *others = one.faults
            more = f" (and {len(others):,} more)" if others else ""
            lines.append(f"thread {one.key.id} of tenant {one.key.tenant}: {first}{more}")
    return lines


async def _verified(store: ThreadStore, options: _VerifyOptions) -> list[Verified]:
    if options.id is not None:
        key = ThreadKey(options.tenant or DEFAULT_TENANT, options.id)
        one = await verify_thread(store.context, key)
        if one is None:
            raise ThreadNotFoundError(thread_id=options.id)
        return [one]
    found: list[Verified] = []
    with progress("verifying", len(await list_keys(store, tenant=options.tenant))) as advance:
        async for one in verify_store(store, tenant=options.tenant):
            found.append(one)
            advance()
    if options.tenant is not None and not found:
        message = f"no threads of tenant {options.tenant!r}: {tenants_note(await store.tenants())}"
        raise UsageError(message)
    return found


class _BackupOptions(KeyOptions, frozen=True, kw_only=True):
    target: Annotated[str, argument("TARGET", "The file to create; it must not exist.")]


@takes(_BackupOptions)
def backup(options: _BackupOptions) -> None:
    """
    Copy a SQLite store into a new file, as of one moment, while others keep writing.

    The copy is checked as `foldline verify` does: SQLite's integrity check, and the chain hash of
    every message. What is damaged is damaged in the store too, and makes the exit code 1. An
    encrypted store can be copied without its key; a note says then that only SQLite's check was
    made. PostgreSQL and Redis have programs of their own for this.

    With --json: an object with "file", "bytes", "threads", "problems" and "is_checked".
    """
    source = file_of(options)
    if source is None:
        raise UsageError(_NO_FILE)
    _finish(_copied(source, path_of(options.target), options.key_file), as_json=options.json)


class _RestoreOptions(Struct, frozen=True, kw_only=True):
    source: Annotated[str, argument("BACKUP", "A file that `foldline backup` made.")]
    target: Annotated[str, argument("STORE", "The file of the store; programs must close it.")]
    force: Annotated[bool, flag("--force", "Overwrite without asking.")] = False
    json: JsonOption = False
    key_file: KeyFileOption = None


@takes(_RestoreOptions)
def restore(options: _RestoreOptions) -> None:
    """
    Bring a backup of a SQLite store back.

    An existing STORE is overwritten, after a question on a terminal or with --force. Its `-wal` and
    `-shm` files, which SQLite would apply to the backup, are renamed to end in `.stale`. What is
    restored is checked as by `foldline backup`; damage makes the exit code 1.

    With --json: an object with "file", "bytes", "threads", "problems" and "is_checked".
    """
    if "://" not in options.source and not path_of(options.source).exists():
        raise UsageError(
            f"no backup at {options.source}: check the path (`foldline backup` makes a backup)"
        )
    source = file_of(StoreOptions(store=options.source))
    if source is None:
        raise UsageError(_NO_FILE)
    if "://" in options.target:
        raise UsageError("STORE must be a path, got an address: only SQLite stores can be restored")
    target = path_of(options.target).resolve()
    if target.exists() and not options.force:
        question = f"Overwrite {target}?"
        confirm(question, f"{target} exists already: add --force to overwrite it")
    draft = target.with_name(f".{target.name}.restored")
    draft.unlink(missing_ok=True)
    check_targets({"STORE": str(target)}, reads=[str(source)])
    try:
        made = _copied(source, draft, options.key_file)
        for end in ("-wal", "-shm"):
            _move_away(target.with_name(target.name + end))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    _finish(made, as_json=options.json, path=target)


def _copied(source: Path, target: Path, key_file: str | None) -> Backup:
    check_targets({"TARGET": str(target)}, reads=[str(source)])
    with progress("copying") as step:
        try:
            made = back_up(source, target, on_step=lambda left, size: step(size - left, size))
        except StoreCorruptError as error:
            raise with_way_forward(error) from error
    try:
        return replace(made, problems=_problems(target, key_file), is_checked=True)
    except StoreCorruptError as error:
        return replace(made, problems=made.problems or (str(error),), is_checked=True)
    except (OSError, StoreError, UsageError) as error:
        if key_file is not None and isinstance(error, UsageError):
            target.unlink()
            raise
        note(f"the messages of the copy were not checked: {error}")
        return made


def _problems(path: Path, key_file: str | None) -> tuple[str, ...]:
    # Opening a store makes a log for it, and may migrate it: the copy stays as it was made.
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        file = Path(folder) / "checked"
        copyfile(path, file)
        options = _VerifyOptions(store=str(file), key_file=key_file)
        return tuple(_damage(with_store(options, lambda store: _verified(store, options))))


def _move_away(path: Path) -> None:
    if not path.exists():
        return
    stale, number = path.with_name(f"{path.name}.stale"), 1
    while stale.exists():
        number += 1
        stale = path.with_name(f"{path.name}.stale{number}")
    path.rename(stale)
    note(f"{path.name} of the old store is now {stale.name}: delete it if you do not need it")


def _finish(made: Backup, *, as_json: bool, path: Path | None = None) -> None:
    file = str(path or made.path)
    if as_json:
        facts = {"file": file, "bytes": made.size, "threads": made.threads}
        print_json({**facts, "problems": made.problems, "is_checked": made.is_checked})
    else:
        for problem in made.problems:
            say(problem, style="red")
        whole = "no damage found" if made.is_checked else "messages not checked"
        state = "damaged" if made.problems else whole
        say(f"{file}: {counted(made.threads, 'thread')}, {made.size:,} bytes, {state}")
    if made.problems:
        raise typer.Exit(DAMAGED)


@takes(StoreOptions)
def doctor(options: StoreOptions) -> None:
    """
    Check a store's environment: versions, modes, locks, sizes and the disk.

    Nothing is changed. What may lose data is reported as a danger, and makes the exit code 1. For a
    SQLite file, SQLite's quick check is run too; `foldline verify` checks the data.

    With --json: an object with "facts", each with "name", "value", "advice" and "is_danger".
    """
    facts = [*_programs(), *_store(options)]
    if options.json:
        print_json({"facts": facts})
    else:
        table = plain_table()
        for one in facts:
            text = clean(f"{one.value}: {one.advice}" if one.advice else one.value)
            style = "bold red" if one.is_danger else "yellow" if one.advice else ""
            table.add_row(one.name, Text(text, style=style))
        output_console().print(table)
    if any(one.is_danger for one in facts):
        raise typer.Exit(DAMAGED)


def _programs() -> list[Fact]:
    missing = sorted(name for name, package in _EXTRAS.items() if find_spec(package) is None)
    there = sorted(set(_EXTRAS) - set(missing))
    return [
        Fact(name="foldline", value=version_of("foldline")),
        Fact(name="Python", value=f"{platform.python_version()} on {sys.platform}"),
        Fact(name="msgspec", value=version_of("msgspec")),
        Fact(name="extras", value=f"{', '.join(there)}; missing: {', '.join(missing) or 'none'}"),
    ]


def _store(options: StoreOptions) -> list[Fact]:
    path = file_of(options)
    if path is not None:
        return list(sqlite_facts(path))
    address = address_of(options)
    name = server_of(address)
    doctor = import_module(f"foldline.threads.stores.{name}.doctor")
    facts: AsyncIterator[Fact] = getattr(doctor, f"{name}_facts")(address)

    async def _all() -> list[Fact]:
        return [one async for one in facts]

    return asyncio.run(_all())
