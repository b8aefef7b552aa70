"""`foldline threads`: looking at threads, searching, pinning, forking, undoing and deleting."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import argument, flag, option, takes
from foldline.apps.cli.stores import (
    DAMAGED,
    TenantOptions,
    ThreadOptions,
    as_id,
    folded_in,
    found_thread,
    tenants_note,
    with_store,
)
from foldline.apps.cli.terminal import (
    clean,
    confirm,
    first_line,
    note,
    output_console,
    plain_table,
    progress,
    say,
)
from foldline.apps.cli.viewing import as_pinned, show_view
from foldline.errors import StoreCorruptError, StoreVersionError, ThreadNotFoundError, UsageError
from foldline.history.codec import decode_json, encode_message
from foldline.history.messages import Message
from foldline.replay.numbers import counted
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.reader import Match
from foldline.threads.search import SearchPage
from foldline.threads.store import ThreadStore
from foldline.threads.verify import list_keys


_USUAL_NUMBER = 20
_TITLE = 48
_WIDEST = 1_000
_COLUMNS = ("id", "messages", "tokens", "folded", "last activity")
_NUMBERS = frozenset({"messages", "tokens", "folded"})


class _ListOptions(TenantOptions, frozen=True, kw_only=True):
    limit: Annotated[int | None, option("N", "List only the first N threads.", min=1)] = None


@takes(_ListOptions)
def list_threads(options: _ListOptions) -> None:
    """
    List the threads of a store, in order of their ids.

    The exit code is 1 if one of them cannot be read; the others are listed all the same.
    """
    rows, total, notes = with_store(options, lambda store: _listed(store, options))
    if options.json:
        print_json({"tenant": options.tenant, "total": total, "threads": rows})
    else:
        _print_list(output_console(), rows, total, options.tenant)
    for text in notes:
        note(text)
    damaged = [row["id"] for row in rows if "error" in row]
    if damaged:
        note(
            f"{counted(len(damaged), 'thread')} cannot be read, the first is {damaged[0]!r}: "
            "`foldline verify` shows what is damaged, unless they have another key"
        )
        raise typer.Exit(DAMAGED)


def _print_list(console: Console, rows: list[dict[str, Any]], total: int, tenant: str) -> None:
    table = plain_table(*_COLUMNS, numbers=_NUMBERS)
    table.add_column("title", header_style="bold", overflow="ellipsis", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row), style="red" if "error" in row else "")
    if not console.is_terminal:
        # What another program reads has a line for each thread, however long an id is.
        whole = console.options.update(max_width=_WIDEST)
        console.width = max(console.width, console.measure(table, options=whole).maximum)
    if rows:
        console.print(table)
    first = f"{len(rows):,} of " if len(rows) < total else ""
    console.print(f"{first}{counted(total, 'thread')} of tenant {tenant}")


async def _listed(
    store: ThreadStore, options: _ListOptions
) -> tuple[list[dict[str, Any]], int, list[str]]:
    """Return the first threads, how many there are, and notes about others."""
    keys = await list_keys(store, tenant=options.tenant)
    others = [] if keys else await store.tenants()
    if not keys and options.tenant != DEFAULT_TENANT:
        raise UsageError(f"no threads of tenant {options.tenant!r}: {tenants_note(others)}")
    notes = [tenants_note(others)] if others else []
    rows: list[dict[str, Any]] = []
    expired = 0
    wanted = len(keys) if options.limit is None else min(options.limit, len(keys))
    with progress("reading", wanted) as advance:
        for key in keys:
            if len(rows) == wanted:
                break
            row = await _row(store, key)
            if row is None:
                expired += 1
                continue
            rows.append(row)
            advance()
    if expired:
        notes.append(
            f"{counted(expired, 'thread')} of tenant {options.tenant} not listed: expired, and "
            "stored until `purge_expired` of the store deletes them"
        )
    return rows, len(keys) - expired, notes


async def _row(store: ThreadStore, key: ThreadKey) -> dict[str, Any] | None:
    try:
        thread = await store.find(key.id, tenant=key.tenant)
        return None if thread is None else {**_facts(thread), "title": await thread.title()}
    except StoreCorruptError:
        return {"id": key.id, "error": "damaged: see `foldline verify`"}
    except StoreVersionError as error:
        return {"id": key.id, "error": str(error)}


def _cells(row: dict[str, Any]) -> list[Text]:
    if "error" in row:
        return [Text(row["id"]), *[Text("")] * 4, Text(row["error"])]
    when = row["last_activity"].astimezone().strftime("%Y-%m-%d %H:%M")
    title = first_line(row["title"], most=_TITLE)
    shown = (row["id"], f"{row['messages']:,}", f"{row['tokens']:,}", f"{row['folded']:,}", when)
    return [Text(cell) for cell in (*shown, title)]


def _facts(thread: ReadOnlyThread) -> dict[str, Any]:
    return {
        "id": thread.id,
        "tenant": thread.tenant,
        "display_name": thread.display_name,
        "messages": thread.count,
        "tokens": thread.head.tokens + thread.head.system_tokens,
        "folded": folded_in(thread.last_reduction),
        "archived": thread.head.archived,
        "revision": thread.head.revision,
        "has_open_run": thread.has_open_run,
        "created_at": thread.created_at,
        "last_activity": thread.last_activity,
        "expires_at": thread.head.expires_at,
    }


class _ShowOptions(ThreadOptions, frozen=True, kw_only=True):
    last: Annotated[int, option("N", "How many of the newest messages to show.", min=0)] = (
        _USUAL_NUMBER
    )


@takes(_ShowOptions)
def show_thread(options: _ShowOptions) -> None:
    """Show a thread: its counts, its newest messages, how far it is folded, and its last run."""

    async def _read(store: ThreadStore) -> tuple[ReadOnlyThread, list[Message]]:
        thread = await found_thread(store, options.id, options.tenant)
        return thread, await thread.get_messages(last=options.last)

    thread, messages = with_store(options, _read)
    if options.json:
        print_json(_document(thread, messages))
    else:
        _print(output_console(), thread, messages)


def _document(thread: ReadOnlyThread, messages: list[Message]) -> dict[str, Any]:
    reduction, state = thread.last_reduction, thread.execution_state
    return {
        **_facts(thread),
        "metadata": dict(thread.metadata),
        "pins": thread.pins,
        "reduction": None if reduction is None else decode_json(reduction.to_json()),
        "execution_state": None if state is None else decode_json(state.to_json()),
        "pending_tools": [
            {"call_id": run.call_id, "name": run.name, "is_finished": run.is_finished}
            for run in thread.pending_tools
        ],
        "shown": [decode_json(encode_message(one)) for one in messages],
    }


def _print(console: Console, thread: ReadOnlyThread, messages: list[Message]) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _lines(thread).items():
        grid.add_row(Text(name, style="dim"), Text(clean(value)))
    console.print(grid)
    cut = folded_in(thread.last_reduction)
    number = thread.head.length - sum(one.role != "system" for one in messages)
    messages, at = as_pinned(messages, thread.pins, number), 0
    for message in messages:
        number += message.role != "system"
        at += number <= cut
    if at:
        console.print(show_view(messages[:at], most=at))
    if cut and messages:
        console.print(Rule(f"folded up to here: {cut:,} messages", style="yellow"))
    if messages[at:]:
        console.print(show_view(messages[at:], most=len(messages)))


def _lines(thread: ReadOnlyThread) -> dict[str, str]:
    reduction, state = thread.last_reduction, thread.execution_state
    lines = {
        "thread": f"{thread.id} (tenant {thread.tenant}, revision {thread.head.revision})",
        "messages": f"{thread.count:,}, {counted(thread.head.tokens + thread.head.system_tokens, 'token')}, "
        f"{thread.head.archived:,} archived",
        "last activity": f"{thread.last_activity.astimezone():%Y-%m-%d %H:%M:%S}",
    }
    if thread.display_name:
        lines["name"] = first_line(thread.display_name)
    if thread.head.expires_at is not None:
        lines["expires"] = f"{thread.head.expires_at.astimezone():%Y-%m-%d %H:%M:%S}"
    if reduction is not None and reduction.summarized_up_to_index:
        lines["reduction"] = (
            f"{reduction.summarized_up_to_index:,} messages folded into "
            f"{reduction.summary_tokens:,} tokens"
        )
    if thread.pins:
        pins = ", ".join(map(str, thread.pins))
        lines["pinned"] = f"{counted(len(thread.pins), 'message')}: {pins}"
    if state is not None:
        end = "open" if state.is_open else f"ended: {first_line(state.termination_reason or '')}"
        lines["last run"] = f"{end}, iteration {state.iteration}"
    for run in thread.pending_tools:
        end = "has run" if run.is_finished else "has not answered"
        lines[f"call {first_line(run.call_id)}"] = f"{first_line(run.name)} {end}"
    return lines


class _ForkOptions(ThreadOptions, frozen=True, kw_only=True):
    new_id: Annotated[str, argument("NEW", "The id of the new thread.", callback=as_id)]
    at: Annotated[
        int | None, option("N", "Take only the first N messages, not counting system messages.")
    ] = None


@takes(_ForkOptions)
def fork_thread(options: _ForkOptions) -> None:
    """Make a new thread that begins with the first messages of another."""

    async def _fork(store: ThreadStore) -> int:
        thread = await found_thread(store, options.id, options.tenant)
        return (await thread.fork(options.new_id, at=options.at)).count

    count = with_store(options, _fork)
    if options.json:
        print_json({"id": options.new_id, "forked_from": options.id, "messages": count})
    else:
        say(f"{options.new_id}: {counted(count, 'message')} of {options.id}")


class _PinOptions(ThreadOptions, frozen=True, kw_only=True):
    index: Annotated[
        int, argument("INDEX", "The index of the message, from 0, not counting system messages.")
    ]


@takes(_PinOptions)
def pin_message(options: _PinOptions) -> None:
    """Keep a message of a thread word for word beside every summary."""
    _repin(options, pin=True)


@takes(_PinOptions)
def unpin_message(options: _PinOptions) -> None:
    """Stop keeping a message of a thread word for word."""
    _repin(options, pin=False)


def _repin(options: _PinOptions, *, pin: bool) -> None:
    async def _pins(store: ThreadStore) -> tuple[bool, tuple[int, ...]]:
        thread = await found_thread(store, options.id, options.tenant)
        was_pinned = options.index in thread.pins
        await (thread.pin if pin else thread.unpin)(options.index)
        return was_pinned, thread.pins

    was_pinned, pins = with_store(options, _pins)
    if options.json:
        print_json({"id": options.id, "pins": pins})
    else:
        is_so = "is unpinned" if was_pinned else "was not pinned"
        say(f"{options.id}: message {options.index} {'is pinned' if pin else is_so}")


@takes(ThreadOptions)
def undo_reduction(options: ThreadOptions) -> None:
    """
    Take back the newest reduction of a thread; the one before it is active again.

    Messages that it had archived return to the working history, byte for byte.
    """

    async def _undo(store: ThreadStore) -> tuple[bool, int, int]:
        thread = await found_thread(store, options.id, options.tenant)
        before = thread.last_reduction
        after = await thread.undo_reduction()
        return before is not None, folded_in(before), folded_in(after)

    undone, before, now = with_store(options, _undo)
    if options.json:
        facts = {"id": options.id, "undone": undone}
        print_json({**facts, "folded_before": before, "folded_now": now})
    elif undone:
        say(f"{options.id}: folded before: {counted(before, 'message')}; now: {now:,}")
    else:
        say(f"{options.id}: there is no reduction to undo")


class _DeleteOptions(ThreadOptions, frozen=True, kw_only=True):
    yes: Annotated[bool, flag("--yes", "Do not ask.")] = False


@takes(_DeleteOptions)
def delete_thread(options: _DeleteOptions) -> None:
    """
    Delete a thread with all its messages; its forks keep theirs.

    It asks first on a terminal; elsewhere --yes is required.
    """
    key = ThreadKey(options.tenant, options.id)
    if not options.yes:
        question = f"Delete thread {options.id!r} of tenant {options.tenant!r} for good?"
        confirm(question, f"deleting {options.id!r} must be confirmed: add --yes")

    if not with_store(options, lambda store: store.delete(key)):
        raise ThreadNotFoundError(thread_id=key.id)
    if options.json:
        print_json({"id": options.id, "deleted": True})
    else:
        say(f"{options.id}: deleted")


class _SearchOptions(TenantOptions, frozen=True, kw_only=True):
    words: Annotated[
        list[str],
        argument(
            "[ID] TEXT",
            "The id of a thread, or all threads of the tenant without one; and the words, all "
            "of which a message must contain; a phrase in quotes.",
        ),
    ]
    limit: Annotated[int, option("N", "How many messages to list at most.", min=1)] = _USUAL_NUMBER
    after: Annotated[
        str, option("NEXT", "Without ID: what the page before this one ended with.")
    ] = ""


@takes(_SearchOptions)
def search_threads(options: _SearchOptions) -> None:
    """
    Find the messages that contain every word of TEXT, in one thread or in all of a tenant.

    In one thread the newest come first. Without ID threads come in order of their ids, the newest
    messages of each first, and the list ends with what to give to --after for more. Nothing is
    indexed: messages are read, so that a page may take some seconds where little is found.
    """
    if len(options.words) == 1:
        _search_all(options, options.words[0])
        return
    if len(options.words) > 2 or options.after:  # noqa: PLR2004 - an id and a text
        what = "--after is for all threads" if options.after else "put quotes around TEXT"
        raise UsageError(f"one thread is searched with ID and TEXT: {what}")
    id, text = as_id(options.words[0]) or "", options.words[1]

    async def _search(store: ThreadStore) -> list[Match]:
        thread = await found_thread(store, id, options.tenant)
        return await thread.search(text, limit=options.limit)

    found = with_store(options, _search)
    if options.json:
        print_json({"id": id, "matches": [_match_facts(one) for one in found]})
    else:
        _print_matches([("", one) for one in found])


def _search_all(options: _SearchOptions, text: str) -> None:
    page = with_store(options, lambda store: _full_page(store, options, text))
    found = [(one.key.id, one.match) for one in page.matches]
    if options.json:
        matches = [{"id": id, **_match_facts(match)} for id, match in found]
        print_json({"tenant": options.tenant, "matches": matches, "next": page.next})
        return
    _print_matches(found)
    if page.next:
        output_console().print(f"more: --after {page.next}", soft_wrap=True)


async def _full_page(store: ThreadStore, options: _SearchOptions, text: str) -> SearchPage:
    """Return a page that is full, or the last one."""
    after, found = options.after, list[Any]()
    while True:
        left = options.limit - len(found)
        page = await store.search(text, tenant=options.tenant, limit=left, after=after)
        found += page.matches
        after = page.next
        if not after or len(found) == options.limit:
            return SearchPage(tuple(found), after)


def _match_facts(match: Match) -> dict[str, Any]:
    return {"number": match.number, "role": match.message.role, "excerpt": match.excerpt}


def _print_matches(found: Sequence[tuple[str, Match]]) -> None:
    console = output_console()
    width = max((len(id) for id, _ in found), default=0)
    for id, one in found:
        where = f"{id:<{width}}  " if id else ""
        line = Text(f"{where}{one.number:>8,}  {one.message.role:<9}  ", style="dim")
        line.append(first_line(one.excerpt), style="not dim")
        console.print(line, soft_wrap=True)
    console.print(f"{counted(len(found), 'message')} found")
