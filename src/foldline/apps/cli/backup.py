"""`foldline backup` and `restore`: a copy of a store, and bringing it back."""

from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from foldline.apps.cli.files import check_targets, print_json
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import (
    DAMAGED,
    StoreOptions,
    file_of,
    path_of,
    with_way_forward,
)
from foldline.apps.cli.terminal import counted, note, progress, say
from foldline.apps.cli.threads_ends import confirm
from foldline.errors import StoreCorruptError, UsageError
from foldline.threads.stores.sqlite.backup import Backup, back_up


__all__ = ["backup", "restore"]


_NO_FILE = (
    "only SQLite files can be copied: back up PostgreSQL with pg_dump, and Redis by its persistence "
    "(BGSAVE or its AOF)"
)


class _BackupOptions(StoreOptions, frozen=True, kw_only=True):
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The file to create; it must not exist.")
    ]
    json: JsonOption = False


@takes(_BackupOptions)
def backup(options: _BackupOptions) -> None:
    """
    Copy a SQLite store into a new file, as of one moment, while others keep writing.

    The copy is checked: SQLite's integrity check, and the chain hash of every message. What is
    damaged is damaged in the store too, and makes the exit code 1. An encrypted store needs no key.
    PostgreSQL and Redis have programs of their own for this.

    With --json: an object with "file", "bytes", "threads" and "problems".
    """
    source = file_of(options)
    if source is None:
        raise UsageError(_NO_FILE)
    _finish(_copied(source, path_of(options.target)), as_json=options.json)


class _RestoreOptions(Struct, frozen=True, kw_only=True):
    source: Annotated[
        str, typer.Argument(metavar="BACKUP", help="A file that `foldline backup` made.")
    ]
    target: Annotated[
        str, typer.Argument(metavar="STORE", help="The file of the store; programs must close it.")
    ]
    force: Annotated[bool, typer.Option("--force", help="Overwrite the store without asking.")] = (
        False
    )
    json: JsonOption = False


@takes(_RestoreOptions)
def restore(options: _RestoreOptions) -> None:
    """
    Bring a backup of a SQLite store back.

    An existing STORE is overwritten, after a question on a terminal or with --force. Its `-wal` and
    `-shm` files, which SQLite would apply to the backup, are renamed to end in `.stale`.

    With --json: an object with "file", "bytes", "threads" and "problems".
    """
    source = file_of(StoreOptions(store=options.source))
    if source is None:
        raise UsageError(_NO_FILE)
    target = path_of(options.target).resolve()
    if target.exists() and not options.force:
        question = f"Overwrite {target}?"
        confirm(question, f"{target} exists already: add --force to overwrite it")
    draft = target.with_name(f".{target.name}.restored")
    draft.unlink(missing_ok=True)
    check_targets({"STORE": str(target)}, reads=[str(source)])
    try:
        made = _copied(source, draft)
        for end in ("-wal", "-shm"):
            _move_away(target.with_name(target.name + end))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    _finish(made, as_json=options.json, path=target)


def _copied(source: Path, target: Path) -> Backup:
    check_targets({"TARGET": str(target)}, reads=[str(source)])
    with progress("copying", 1) as advance:

        def step(remaining: int, total: int) -> None:
            advance.to(total - remaining, total)

        try:
            return back_up(source, target, on_step=step)
        except StoreCorruptError as error:
            raise with_way_forward(error) from error


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
        print_json({**facts, "problems": made.problems})
    else:
        for problem in made.problems:
            say(problem, style="red")
        state = "damaged" if made.problems else "no damage found"
        say(f"{file}: {counted(made.threads, 'thread')}, {made.size:,} bytes, {state}")
    if made.problems:
        raise typer.Exit(DAMAGED)
