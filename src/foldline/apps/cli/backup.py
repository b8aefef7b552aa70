"""`foldline backup`: a copy of a store, made while others write to it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.faults import STRAY_NOTE
from foldline.apps.cli.files import check_targets, print_document
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import (
    StoreOptions,
    address_of,
    file_of,
    path_of,
    with_way_forward,
)
from foldline.apps.cli.terminal import clean, output_console, progress
from foldline.apps.cli.threads_counts import counted
from foldline.apps.cli.threads_damage import DAMAGED
from foldline.errors import StoreCorruptError, UsageError
from foldline.threads.stores.sqlite.backup import back_up
from foldline.threads.stores.sqlite.damaged_log import KEPT_ADVICE


__all__ = ["BackupOptions", "backup"]


class BackupOptions(StoreOptions, frozen=True, kw_only=True):
    """What to copy, and where to."""

    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The file to make, which must not be there.")
    ]
    """The file to make."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(BackupOptions)
def backup(options: BackupOptions) -> None:
    """
    Copy a SQLite store into a new file, as one moment saw it, while others go on writing.

    The copy is checked: by the integrity check of SQLite, and every seal of its messages; all else
    of a thread `foldline verify` checks. What is found damaged is so in the store too, is told, and
    makes the exit code 1, as does the copy of a damaged log beside the store; what is stray belongs
    to nothing, is told, and does not. No key is needed for an encrypted store. Servers have programs
    of their own for this.

    With --json: an object with "file", "bytes", "threads", "problems", "stray" and "logs".
    """
    path = file_of(options)
    if path is None:
        raise UsageError(_advice(address_of(options)))
    target = path_of(options.target)
    # As it was written, where it ends with a slash.
    named = options.target if target == Path(options.target) else str(target)
    check_targets({"TARGET": named}, source=str(path))
    with progress("copying", 1) as advance:

        def step(remaining: int, total: int) -> None:
            advance.to(total - remaining, total)

        try:
            made = back_up(path, target, on_step=step)
        except StoreCorruptError as error:
            raise with_way_forward(error, of=path) from error
    if options.json:
        facts = {"file": made.path, "bytes": made.size, "threads": made.threads}
        rest = {"problems": made.problems, "stray": made.stray, "logs": made.logs}
        print_document(json_document({**facts, **rest}))
    else:
        console = output_console()
        for problem in made.problems:
            console.print(Text(clean(problem), style="red"), soft_wrap=True)
        for name in made.logs:
            console.print(Text(f"{clean(name)}: {KEPT_ADVICE}", style="red"), soft_wrap=True)
        if made.stray:
            console.print(f"{'; '.join(made.stray)}: {STRAY_NOTE}", soft_wrap=True)
        whole = "damaged as the store is" if made.problems else "every message whole"
        text = f"{made.path}: {counted(made.threads, 'thread')}, {made.size:,} bytes, {whole}"
        console.print(text, soft_wrap=True)
    if made.problems or made.logs:
        raise typer.Exit(DAMAGED)


def _advice(address: str) -> str:
    if address.lower().startswith("postgres"):
        return "backup copies SQLite files: make a backup of PostgreSQL with pg_dump"
    return (
        "backup copies SQLite files: make a backup of Redis by its persistence (BGSAVE, then copy "
        "the dump file, or the folder of its append-only file)"
    )
