"""`foldline threads export`: a thread into a file, or what is left of a damaged one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from foldline.apps.cli.documents import (
    TARGETS,
    json_document,
    left_out,
    left_out_note,
    view_document,
)
from foldline.apps.cli.files import STANDARD_INPUT, check_targets, print_document, write_files
from foldline.apps.cli.notes import tell
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import LAST_RESORT, TenantOptions, found_thread, with_store
from foldline.apps.cli.terminal import output_console
from foldline.apps.cli.threads_counts import counted
from foldline.apps.cli.threads_damage import DAMAGED, last_good_note, whole_rows_note
from foldline.apps.cli.threads_views import IdArgument, LastGoodOption
from foldline.errors import StoreCorruptError, UsageError
from foldline.history.codec import encode_json
from foldline.history.formats.renderings import render_openai_chat
from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.repair import find_last_good, whole_rows
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.storage import SQLiteStorage


__all__ = ["ExportOptions", "export_thread"]


_SNAPSHOT = "snapshot"
_CHAT_JSONL = "chat-jsonl"
_OPENAI_CHAT = "openai-chat"
_TARGETS = (_SNAPSHOT, *TARGETS, _CHAT_JSONL)


class ExportOptions(TenantOptions, frozen=True, kw_only=True):
    """What to export, and where to."""

    id: IdArgument
    """The thread."""

    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="NAME",
            help="snapshot (the default, which `import` reads back), openai-chat, "
            "openai-responses, anthropic, foldline or chat-jsonl.",
        ),
    ] = _SNAPSHOT
    """The format to write in."""

    output: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write to this file, and not to the standard output."),
    ] = None
    """The file to write."""

    force: Annotated[
        bool, typer.Option("--force", help="Write over the file where it is there already.")
    ] = False
    """Whether a file may be written over."""

    last_good: LastGoodOption = False
    """Whether a damaged thread is read as far as it goes."""

    whole_rows: Annotated[
        bool,
        typer.Option(
            "--whole-rows",
            help="Of a damaged thread write every message that is whole, those behind damaged "
            "ones too; a message marks each gap.",
        ),
    ] = False
    """Whether everything is read that is whole by itself."""

    json: JsonOption = False
    """Whether to print JSON."""


class _Export(Struct):
    messages: int
    data: bytes
    note: str = ""
    left: str = ""


@takes(ExportOptions)
def export_thread(options: ExportOptions) -> None:
    """
    Write a whole thread: as a snapshot, or all its messages in the format of a vendor.

    A snapshot keeps the newest reduction and the execution state. With --json and --output: an
    object with "id", "file", "messages" and "bytes"; without --output --json changes nothing. A
    message that holds nothing but what a vendor's format has no place for, as reasoning, is not
    written; how many are not is told on the standard error.

    A damaged thread is refused. With --last-good or --whole-rows what is left of it is written, how
    much that is and why is told, and the exit code is 1; where nothing is left, nothing is written.
    With --whole-rows a snapshot keeps neither reduction nor execution state, nor waiting calls.
    """
    _check_target(options)
    # What fails here is no way forward.
    way = LAST_RESORT if options.whole_rows else None
    export = with_store(options, lambda store: _exported(store, options), way=way)
    for note in filter(None, (export.note, export.left)):
        tell(note)
    if options.output is None:
        print_document(export.data)
    else:
        write_files({options.output: export.data + b"\n"})
        _print_facts(options, export)
    if export.note:
        raise typer.Exit(DAMAGED)


def _check_target(options: ExportOptions) -> None:
    if options.to not in _TARGETS:
        message = f"--to {options.to[:80]!r}: allowed is {' or '.join(_TARGETS)}"
        raise UsageError(message)
    if options.last_good and options.whole_rows:
        message = (
            "--last-good ends in front of the damage, --whole-rows goes on behind it: give one"
        )
        raise UsageError(message)
    if options.output is None:
        return
    check_targets({"--output": options.output}, source=options.store or STANDARD_INPUT)
    if Path(options.output).is_file() and not options.force:
        message = f"{options.output} is there already: name another file, or add --force"
        raise UsageError(message)


async def _exported(store: ThreadStore, options: ExportOptions) -> _Export:
    if options.last_good:
        return await _last_good(store, options)
    if options.whole_rows:
        return await _whole_rows(store, options)
    return await _of_thread(await found_thread(store, options, options.id), options.to)


async def _last_good(store: ThreadStore, options: ExportOptions) -> _Export:
    found = await find_last_good(store.backing, ThreadKey(options.tenant, options.id))
    note = last_good_note(found)
    if found.thread.count == 0 and found.lost != 0:
        raise StoreCorruptError(note)
    return await _of_thread(found.thread, options.to, note)


async def _whole_rows(store: ThreadStore, options: ExportOptions) -> _Export:
    found = await whole_rows(store.backing, ThreadKey(options.tenant, options.id))
    note = whole_rows_note(found)
    if not found.messages and found.total != 0:
        is_file = isinstance(store.backing.storage, SQLiteStorage)
        raise StoreCorruptError(f"{note}: {LAST_RESORT}" if is_file else note)
    if options.to == _SNAPSHOT:
        return _Export(len(found.messages), found.to_snapshot(), note)
    return _of_messages([*found.messages.values()], found.marked(), options.to, note)


async def _of_thread(thread: ReadOnlyThread, target: str, note: str = "") -> _Export:
    if target == _SNAPSHOT:
        return _Export(thread.count, await thread.to_snapshot(), note)
    messages = await thread.get_messages()
    return _of_messages(messages, messages, target, note)


def _of_messages(
    messages: Sequence[Message], marked: Sequence[Message], target: str, note: str
) -> _Export:
    left = left_out(messages, _OPENAI_CHAT if target == _CHAT_JSONL else target)
    told = left_out_note(left, target) if left else ""
    return _Export(len(messages) - len(left), _rendered(marked, target), note, told)


def _rendered(messages: Sequence[Message], target: str) -> bytes:
    if target == _CHAT_JSONL:
        return b"\n".join(encode_json(one) for one in render_openai_chat(messages))
    return view_document(messages, target)


def _print_facts(options: ExportOptions, export: _Export) -> None:
    if options.json:
        facts = {"file": options.output, "messages": export.messages}
        size = {"bytes": len(export.data) + 1}
        print_document(json_document({"id": options.id, **facts, **size}))
        return
    text = f"{options.output}: {counted(export.messages, 'message')} as {options.to}"
    output_console().print(text, soft_wrap=True)
