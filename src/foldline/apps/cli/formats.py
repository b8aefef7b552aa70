"""`foldline formats`: which formats can be read, and what a file holds."""

from collections.abc import Sequence
from typing import Annotated

import typer
from msgspec import Struct
from rich.text import Text

from foldline.apps.cli.documents import TARGETS
from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import JsonOption, SourceOptions, takes
from foldline.apps.cli.sources import sessions_of
from foldline.apps.cli.terminal import clean, first_line, output_console, plain_table
from foldline.logs.importer import Session
from foldline.logs.sessions import FORMATS


__all__ = ["formats"]


class _FormatsOptions(Struct, frozen=True, kw_only=True):
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="List the sessions of this file instead."),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The format of FILE if it is not detected."),
    ] = None
    json: JsonOption = False


@takes(_FormatsOptions)
def formats(options: _FormatsOptions) -> None:
    """List the formats that can be read, or the sessions in a file."""
    if options.file is None:
        _list_formats(as_json=options.json)
        return
    source = SourceOptions(file=options.file, format=options.format)
    _list_sessions(sessions_of(source), as_json=options.json)


def _list_formats(*, as_json: bool) -> None:
    if as_json:
        known = [{"name": one.name, "description": one.description} for one in FORMATS]
        print_json({"formats": known, "targets": list(TARGETS)})
        return
    table = plain_table("format", "description")
    for one in FORMATS:
        table.add_row(one.name, one.description)
    console = output_console()
    console.print(table)
    console.print("The format of a file is detected; --format names it if that fails.")


def _list_sessions(sessions: Sequence[Session], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {
                "number": number,
                "id": session.id,
                "format": session.format,
                "title": session.title,
                "messages": len(session.messages),
                "notes": session.notes,
            }
            for number, session in enumerate(sessions, 1)
        ]
        print_json({"sessions": listed})
        return
    table = plain_table("no.", "id", "messages", "title")
    for number, session in enumerate(sessions, start=1):
        count = f"{len(session.messages):,}"
        title = first_line(session.title, most=60)
        table.add_row(str(number), Text(clean(session.id)), count, Text(title))
    console = output_console()
    console.print(f"format: {sessions[0].format}")
    console.print(table)
    for session in sessions:
        for text in session.notes:
            console.print(Text(f"note: {clean(session.id)}: {clean(text)}", style="dim"))
