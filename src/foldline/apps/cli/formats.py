"""`foldline formats`, and the formats in which `--json` and `--output` write a view."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated

from msgspec import Struct
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import FormatOption, JsonOption, SourceOptions, argument, takes
from foldline.apps.cli.sources import sessions_of
from foldline.apps.cli.terminal import clean, first_line, output_console, plain_table
from foldline.checks import expect_choice
from foldline.history.codec import encode_history, encode_json
from foldline.history.formats.renderings import (
    render_anthropic,
    render_openai_chat,
    render_openai_responses,
)
from foldline.history.messages import Message
from foldline.logs.importer import Session
from foldline.logs.sessions import FORMATS


_DEFAULT_TARGET = "openai-chat"
# Reasoning that nothing of the model follows is not written.
_ANSWER = Message.assistant("answer")


def _anthropic(view: Sequence[Message]) -> bytes:
    rendered = render_anthropic(view)
    system = {"system": rendered.system} if rendered.system else {}
    return encode_json({**system, "messages": rendered.messages})


TARGETS: Mapping[str, Callable[[Sequence[Message]], bytes]] = MappingProxyType(
    {
        "openai-chat": lambda view: encode_json(render_openai_chat(view)),
        "openai-responses": lambda view: encode_json(render_openai_responses(view)),
        "anthropic": _anthropic,
        "foldline": encode_history,
    }
)
"""What writes a view as JSON in each format, valid for its vendor."""


def target_format(wanted: str | None, *, source: str) -> str:
    """Return the *wanted* format to write in, else that of the *source* if it is a target."""
    if wanted is None:
        return source if source in TARGETS else _DEFAULT_TARGET
    expect_choice("--to", wanted, tuple(TARGETS))
    return wanted


def left_out_note(view: Sequence[Message], target: str) -> tuple[int, str]:
    """Return how many messages of *view* the format *target* has no place for, and a note of it."""
    written = TARGETS[target]
    left = [one for one in view if written([one, _ANSWER]) == written([_ANSWER])]
    if not left:
        return 0, ""
    held = " and ".join(sorted({kind for one in left for kind in _held(one)}))
    which = "1 message is" if len(left) == 1 else f"{len(left):,} messages are"
    return len(left), f"{which} left out: {target} has no place for {held} alone"


def _held(message: Message) -> set[str]:
    kinds = {str(part.__struct_config__.tag) for part in message.parts}
    # Any other text is written everywhere.
    return kinds - {"text"} or {"blank text"}


class _FormatsOptions(Struct, frozen=True, kw_only=True):
    file: Annotated[str | None, argument("FILE", "List the sessions of this file instead.")] = None
    format: FormatOption = None
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
    if len(sessions) > 1:
        console.print("--session takes a number of this list first, else an id")
    for session in sessions:
        for text in session.notes:
            console.print(Text(f"note: {clean(session.id)}: {clean(text)}", style="dim"))
