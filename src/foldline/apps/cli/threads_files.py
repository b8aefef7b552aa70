"""`foldline threads import` and `export`: threads out of files, and into files."""

import re
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from foldline.apps.cli.files import (
    STANDARD_INPUT,
    check_targets,
    print_document,
    print_json,
    read_file,
    write_files,
)
from foldline.apps.cli.formats import TARGETS, left_out_note
from foldline.apps.cli.options import SourceOptions, flag, option, takes
from foldline.apps.cli.sources import note_sessions, sessions_in, snapshot_in
from foldline.apps.cli.stores import (
    DAMAGED,
    TenantOptions,
    ThreadOptions,
    as_id,
    found_thread,
    with_store,
)
from foldline.apps.cli.terminal import note, progress, say
from foldline.checks import expect_choice
from foldline.errors import StoreCorruptError, ThreadConflictError, ThreadExistsError, UsageError
from foldline.history.codec import encode_json
from foldline.history.formats.renderings import render_openai_chat
from foldline.history.messages import Message
from foldline.logs.importer import Session
from foldline.replay.numbers import counted
from foldline.threads.head import as_stored
from foldline.threads.key import ThreadKey
from foldline.threads.rescue import GAP_KEY, WholeRows, whole_rows
from foldline.threads.snapshot import ThreadSnapshot
from foldline.threads.start import make_room, plan_restore
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


_FORBIDDEN = re.compile(r"[^A-Za-z0-9._:-]+")
_LONGEST_ID = 200
_SNAPSHOT = "snapshot"
_CHAT_JSONL = "chat-jsonl"
_OPENAI_CHAT = "openai-chat"
_EXPORTS = (_SNAPSHOT, *TARGETS, _CHAT_JSONL)
_MOST_GAPS = 5


class _ImportOptions(TenantOptions, frozen=True, kw_only=True):
    id: Annotated[
        str | None,
        option(
            "ID|PREFIX-",
            "The id of the thread if FILE holds one; a prefix of the ids, ending with a "
            "hyphen, if it holds several.",
        ),
    ] = None


@takes(SourceOptions, _ImportOptions)
def import_threads(source: SourceOptions, options: _ImportOptions) -> None:
    """
    Make a thread of each session of a recorded conversation, or one of a snapshot.

    Ids are those of the sessions, with `-` for characters that an id may not have, and with --id,
    which ends with `-`, in front if there are several. A session whose thread exists already with
    the same messages is skipped, so an import that was interrupted can be run again; if the log has
    grown since, what is new is appended, also to earlier messages. If anything else has one of
    the ids, or the id of a snapshot, nothing is imported. A thread that has expired makes room. The
    file of a SQLite store is created if it does not exist.

    With --json: an object with "tenant", "threads", the new and the longer ones with how many
    messages each got, and "already_there", the ids of those that were skipped.
    """
    threads, is_log = _found(source, options.id)

    async def _work(store: ThreadStore) -> list[dict[str, Any]]:
        keyed = [(ThreadKey(options.tenant, one.id), one) for one in threads]
        known = [(*pair, *await _earlier(store, *pair, is_log=is_log)) for pair in keyed]
        due = [it for it in known if it[2] is None or it[3] < len(it[1].messages)]
        made: list[dict[str, Any]] = []
        with progress("importing", len(due)) as advance:
            for key, snapshot, thread, same in due:
                count = len(snapshot.messages) - same
                if thread is None:
                    count = await _make(store, key, snapshot)
                else:
                    await thread.replace(snapshot.messages)
                made.append({"id": key.id, "messages": count})
                advance()
        return made

    made = with_store(options, _work, may_make=True)
    new = {one["id"] for one in made}
    gaps = {one.id: sum(GAP_KEY in (m.metadata or ()) for m in one.messages) for one in threads}
    there = [one.id for one in threads if one.id not in new]
    if options.json:
        print_json({"tenant": options.tenant, "threads": made, "already_there": there})
        return
    for one in made:
        say(f"{one['id']}: {_counted(one['messages'], gaps[one['id']])}")
    if there:
        say(f"already there: {counted(len(there), 'thread')}")


def _counted(messages: int, gaps: int) -> str:
    """Return how many of *messages* there are without the notes in *gaps*, and how many of these."""
    notes = f" and {counted(gaps, 'note')} of what is missing" if gaps else ""
    return f"{counted(messages - gaps, 'message')}{notes}"


async def _earlier(
    store: ThreadStore, key: ThreadKey, snapshot: ThreadSnapshot, *, is_log: bool
) -> tuple[ConversationThread | None, int]:
    """Return the thread that an earlier import of a log made, and how many messages stay as they are."""
    thread = await store.find(key.id, tenant=key.tenant)
    if thread is None:
        return None, 0
    marks = as_stored(snapshot.metadata).items() <= thread.metadata.items()
    if is_log and marks and thread.count <= len(snapshot.messages):
        stored, given = tuple(await thread.get_messages()), snapshot.messages
        pairs = [*zip(stored, given, strict=False)]
        if all(starmap(_goes_on, pairs)):
            return thread, next((at for at, (a, b) in enumerate(pairs) if a != b), thread.count)
    raise ThreadExistsError(thread_id=key.id)


def _goes_on(stored: Message, now: Message) -> bool:
    """Whether *stored* is *now*, or lacks what a log says later of an answer, such as its usage."""
    return now.role == stored.role and now.parts[: len(stored.parts)] == stored.parts


async def _make(store: ThreadStore, key: ThreadKey, snapshot: ThreadSnapshot) -> int:
    planned = plan_restore(store.context, key, snapshot)
    await make_room(store.context, key)
    try:
        await store.context.storage.commit(key, planned.change)
    except ThreadConflictError:
        raise ThreadExistsError(thread_id=key.id) from None
    return planned.record.head.count


def _found(source: SourceOptions, id: str | None) -> tuple[list[ThreadSnapshot], bool]:
    """Return what to import, and whether it is a log rather than an exported thread."""
    data = read_file(source.file)
    snapshot = snapshot_in(data, source)
    if snapshot is not None:
        return [replace(snapshot, id=as_id(id) or snapshot.id)], False
    sessions = sessions_in(data, source)
    if id is not None and len(sessions) > 1 and not id.endswith("-"):
        raise UsageError(
            f"{source.file} holds {len(sessions)} sessions: choose one with --session, or give a "
            f"prefix for all their ids: --id {id}-"
        )
    note_sessions(sessions)
    named = as_id(id) if len(sessions) == 1 else None
    ids = _ids(sessions, id or "") if named is None else [named]
    threads = [
        ThreadSnapshot(
            id=id,
            display_name=session.title,
            messages=session.messages,
            metadata={"imported_from": session.format, "session": session.id},
        )
        for id, session in zip(ids, sessions, strict=True)
    ]
    return threads, True


def _ids(sessions: Sequence[Session], prefix: str) -> list[str]:
    """Return a valid id that begins with *prefix* for each of *sessions*, no two the same."""
    ids: list[str] = []
    for session in sessions:
        name = _FORBIDDEN.sub("-", session.id).strip("-") or "session"
        name = f"{prefix}{name}"[:_LONGEST_ID]
        id, number = name, 1
        while id in ids:
            number += 1
            id = f"{name[: _LONGEST_ID - 8]}-{number}"
        ids.append(id)
    return ids


class _ExportOptions(ThreadOptions, frozen=True, kw_only=True):
    to: Annotated[
        str,
        option(
            "NAME",
            "snapshot (the default, which `import` and every command with a FILE read back), "
            "openai-chat, openai-responses, anthropic, foldline or chat-jsonl.",
        ),
    ] = _SNAPSHOT
    output: Annotated[
        str | None, option("FILE", "Write to this file, not to the standard output.")
    ] = None
    force: Annotated[bool, flag("--force", "Overwrite the file if it exists.")] = False
    whole_rows: Annotated[
        bool,
        flag(
            "--whole-rows",
            "Of a damaged thread, write every message that is whole, also those after damaged "
            "ones; a message marks each gap.",
        ),
    ] = False


class _Export(Struct):
    messages: int
    data: bytes
    damage: str = ""
    left_out: str = ""
    gaps: int = 0


@takes(_ExportOptions)
def export_thread(options: _ExportOptions) -> None:
    """
    Write a whole thread: as a snapshot, or all its messages in the format of a vendor.

    A snapshot keeps the newest reduction and the execution state. With --json and --output: an
    object with "id", "file", "messages" and "bytes"; without --output --json changes nothing.
    Messages that hold only what a vendor's format has no place for, such as reasoning, are left
    out, and a note says how many.

    A damaged thread is refused without --whole-rows. With it every whole message is written, a
    note says how many there are and what is damaged, and the exit code is 1; `foldline threads
    import FILE --id NEW` makes a new thread of the snapshot, which has no reduction, execution
    state or waiting calls.
    """
    _check_output(options)
    export = with_store(options, lambda store: _exported(store, options))
    for text in filter(None, (export.damage, export.left_out)):
        note(text)
    if options.output is None:
        print_document(export.data)
    else:
        write_files({options.output: export.data + b"\n"})
    if options.output is not None and options.json:
        size = {"messages": export.messages, "bytes": len(export.data) + 1}
        print_json({"id": options.id, "file": options.output, **size})
    elif options.output is not None:
        shown = _counted(export.messages + export.gaps, export.gaps)
        say(f"{options.output}: {shown} as {options.to}")
    if export.damage:
        raise typer.Exit(DAMAGED)


def _check_output(options: _ExportOptions) -> None:
    expect_choice("--to", options.to, _EXPORTS)
    if options.output is None:
        return
    check_targets({"--output": options.output}, reads=[options.store or STANDARD_INPUT])
    if Path(options.output).is_file() and not options.force:
        raise UsageError(f"{options.output} exists already: name another file, or add --force")


async def _exported(store: ThreadStore, options: _ExportOptions) -> _Export:
    if not options.whole_rows:
        thread = await found_thread(store, options.id, options.tenant)
        if options.to == _SNAPSHOT:
            return _Export(thread.count, await thread.to_snapshot())
        messages = await thread.get_messages()
        return _of_messages(messages, messages, options.to)
    found = await whole_rows(store.context, ThreadKey(options.tenant, options.id))
    damage = _damage(found)
    if not found.messages and found.total != 0:
        raise StoreCorruptError(damage)
    if options.to == _SNAPSHOT:
        export = _Export(len(found.messages), found.to_snapshot(), damage)
    else:
        export = _of_messages([*found.messages.values()], found.marked(), options.to, damage)
    export.gaps = len(found.gaps())
    return export


def _of_messages(
    messages: Sequence[Message], marked: Sequence[Message], target: str, damage: str = ""
) -> _Export:
    is_lines = target == _CHAT_JSONL
    left, text = left_out_note(messages, _OPENAI_CHAT if is_lines else target)
    if is_lines:
        data = b"\n".join(encode_json(one) for one in render_openai_chat(marked))
    else:
        data = TARGETS[target](marked)
    return _Export(len(messages) - left, data, damage, text)


def _damage(found: WholeRows) -> str:
    if not found.faults:
        return ""
    total = "an unknown number of messages" if found.total is None else f"{found.total:,} messages"
    text = f"{len(found.messages):,} of {total} of thread {found.record.key.id!r} are whole"
    gaps = found.gaps()
    if gaps and found.messages:
        named = ", ".join(f"{a:,}" if a == b else f"{a:,} to {b:,}" for a, b in gaps[:_MOST_GAPS])
        more = f" and {counted(len(gaps) - _MOST_GAPS, 'gap')} more" * (len(gaps) > _MOST_GAPS)
        text = f"{text}; missing: {named}{more}"
    return f"{text} (the first damage is {found.faults[0]})"
