"""`foldline threads import` and `fork`: threads out of files, and out of threads."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document, read_file
from foldline.apps.cli.notes import tell_of_sessions
from foldline.apps.cli.options import JsonOption, SourceOptions, takes
from foldline.apps.cli.sources import sessions_in
from foldline.apps.cli.stores import TenantOptions, found_thread, with_store
from foldline.apps.cli.terminal import output_console, progress
from foldline.apps.cli.threads_counts import counted
from foldline.apps.cli.threads_damage import warn_of_damage
from foldline.apps.cli.threads_views import IdArgument
from foldline.errors import (
    FormatError,
    StoreVersionError,
    ThreadConflictError,
    ThreadExistsError,
    UsageError,
)
from foldline.history.codec import decode_json
from foldline.logs.importer import Session
from foldline.threads.head import as_stored
from foldline.threads.key import ThreadKey
from foldline.threads.snapshot import ThreadSnapshot, decode_snapshot
from foldline.threads.start import make_room, plan_restore
from foldline.threads.store import ThreadStore


__all__ = [
    "ForkOptions",
    "ImportOptions",
    "fork_thread",
    "import_threads",
]


_FORBIDDEN = re.compile(r"[^A-Za-z0-9._:-]+")
_LONGEST_ID = 200
_STORES = ("MessageStoreSnapshot", "MessageStoreState")


class ImportOptions(TenantOptions, frozen=True, kw_only=True):
    """What to import, and as what."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A recorded conversation, or a snapshot of a thread; - is the standard input.",
        ),
    ]
    """The file, or `-`."""

    id: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="ID|PREFIX-",
            help="The id of the thread, where FILE holds one; where it holds several, what their "
            "ids begin with, up to a hyphen.",
        ),
    ] = None
    """The id, or what ids begin with."""

    format: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The format of FILE, where it is not found out."),
    ] = None
    """The name of the format."""

    session: Annotated[
        str | None,
        typer.Option(metavar="ID|N", help="The session, where FILE holds several; else all."),
    ] = None
    """The session."""

    json: JsonOption = False
    """Whether to print JSON."""


class _Found(Struct, frozen=True, kw_only=True):
    threads: list[ThreadSnapshot]
    # Whether they are sessions of a log, and no thread that was exported.
    is_log: bool


@takes(ImportOptions)
def import_threads(options: ImportOptions) -> None:
    """
    Make a thread of each session of a recorded conversation, or one of a snapshot.

    Ids are those of the sessions, with `-` for what an id may not hold, and behind the prefix of
    --id, which ends with `-`, where there are several. A session whose thread is there already,
    with the same messages, is passed over, so that an import that was cut off can be run again;
    where anything else has one of the ids, or the id of a snapshot, nothing is imported. A thread
    that has expired makes room. The file of a SQLite store is made where there is none.

    With --json: an object with "tenant", "threads", those that were made, and "already_there", the
    ids of those that were passed over.
    """
    found = _found(options)

    async def _work(store: ThreadStore) -> list[dict[str, Any]]:
        keyed = [(ThreadKey(options.tenant, one.id), one) for one in found.threads]
        missing = [pair for pair in keyed if not await _is_there(store, *pair, is_log=found.is_log)]
        made: list[dict[str, Any]] = []
        with progress("importing", len(missing)) as advance:
            for key, snapshot in missing:
                made.append({"id": key.id, "messages": await _make(store, key, snapshot)})
                advance()
        return made

    made = with_store(options, _work, may_make=True)
    new = {one["id"] for one in made}
    there = [one.id for one in found.threads if one.id not in new]
    if options.json:
        facts = {"tenant": options.tenant, "threads": made, "already_there": there}
        print_document(json_document(facts))
        return
    for one in made:
        text = f"{one['id']}: {counted(one['messages'], 'message')}"
        output_console().print(text, soft_wrap=True)
    if there:
        output_console().print(f"already there: {counted(len(there), 'thread')}")


async def _is_there(
    store: ThreadStore, key: ThreadKey, snapshot: ThreadSnapshot, *, is_log: bool
) -> bool:
    """
    Whether an earlier import of a log has made the thread *key*, with the messages of *snapshot*.

    Raises:
        ThreadExistsError: There is such a thread, and it is another one.
    """
    thread = await store.find(key.id, tenant=key.tenant)
    if thread is None:
        return False
    if is_log and thread.count == len(snapshot.messages):
        marks = as_stored(snapshot.metadata).items() <= thread.metadata.items()
        if marks and tuple(await thread.get_messages()) == snapshot.messages:
            return True
    raise ThreadExistsError(thread_id=key.id)


async def _make(store: ThreadStore, key: ThreadKey, snapshot: ThreadSnapshot) -> int:
    """Make a thread of *snapshot* and return how many messages it has."""
    planned = plan_restore(store.backing, key, snapshot)
    await make_room(store.backing, key)
    try:
        await store.backing.storage.commit(key, planned.step)
    except ThreadConflictError:
        raise ThreadExistsError(thread_id=key.id) from None
    return planned.record.head.count


def _found(options: ImportOptions) -> _Found:
    data = read_file(options.file)
    if options.format is None and _is_snapshot(data):
        snapshot = _decoded(data)
        snapshot = replace(snapshot, id=snapshot.id if options.id is None else options.id)
        return _Found(threads=[snapshot], is_log=False)
    source = SourceOptions(file=options.file, format=options.format, session=options.session)
    sessions = sessions_in(data, source)
    prefix = "" if options.id is None or len(sessions) == 1 else options.id
    if prefix and not prefix.endswith("-"):
        message = (
            f"{options.file} holds {len(sessions)} sessions: choose one with --session, or give a "
            f"prefix for all their ids, as --id {prefix}-"
        )
        raise UsageError(message)
    tell_of_sessions(sessions)
    named = options.id is not None and not prefix
    ids = [str(options.id)] if named else _ids(sessions, prefix)
    threads = [_snapshot(id, session) for id, session in zip(ids, sessions, strict=True)]
    return _Found(threads=threads, is_log=True)


def _decoded(data: bytes) -> ThreadSnapshot:
    try:
        return decode_snapshot(data)
    except StoreVersionError as error:
        raise UsageError(str(error)) from error


def _is_snapshot(data: bytes) -> bool:
    if not any(name.encode() in data for name in _STORES):
        return False
    try:
        value = decode_json(data)
    except FormatError:
        return False
    return isinstance(value, dict) and any(name in value for name in _STORES)


def _snapshot(id: str, session: Session) -> ThreadSnapshot:
    return ThreadSnapshot(
        id=id,
        display_name=session.title,
        messages=session.messages,
        metadata={"imported_from": session.format, "session": session.id},
    )


def _ids(sessions: Sequence[Session], prefix: str) -> list[str]:
    """
    Return an id behind *prefix* for each of *sessions* that a thread may have, no two the same.
    """
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


class ForkOptions(TenantOptions, frozen=True, kw_only=True):
    """What to fork."""

    id: IdArgument
    """The thread."""

    new_id: Annotated[str, typer.Argument(metavar="NEW", help="The id of the new thread.")]
    """The id of the new thread."""

    at: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="How many messages it shares, system messages not counted; else all."
        ),
    ] = None
    """How many messages it shares."""

    json: JsonOption = False
    """Whether to print JSON."""


class _Fork(Struct):
    id: str
    forked_from: str
    messages: int


@takes(ForkOptions)
def fork_thread(options: ForkOptions) -> None:
    """
    Make a new thread that shares the first messages of another; nothing is copied.

    Damage in what it shares is told, and shared too.
    """

    async def _fork(store: ThreadStore) -> _Fork:
        thread = await found_thread(store, options, options.id)
        new = await thread.fork(options.new_id, at=options.at)
        await warn_of_damage(store, new.key, last=new.count)
        return _Fork(new.id, thread.id, new.count)

    made = with_store(options, _fork)
    if options.json:
        print_document(json_document(made))
    else:
        text = f"{made.id}: {counted(made.messages, 'message')} shared with {made.forked_from}"
        output_console().print(text, soft_wrap=True)
