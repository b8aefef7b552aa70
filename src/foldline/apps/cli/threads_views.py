"""`foldline threads list`, `show` and `search`: looking at threads."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import typer
from msgspec import Struct
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from foldline.apps.cli.documents import json_document
from foldline.apps.cli.files import print_document
from foldline.apps.cli.notes import tell
from foldline.apps.cli.options import JsonOption, takes
from foldline.apps.cli.stores import (
    TenantOptions,
    found_thread,
    no_threads_of,
    tenants_note,
    with_store,
)
from foldline.apps.cli.terminal import clean, first_line, output_console, progress
from foldline.apps.cli.threads_counts import counted, folded_in
from foldline.apps.cli.threads_damage import DAMAGED, last_good_note, warn_of_damage
from foldline.apps.cli.viewing import show_view
from foldline.errors import StoreCorruptError, StoreVersionError
from foldline.history.codec import decode_json, encode_message
from foldline.history.messages import Message
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.reader import Match
from foldline.threads.repair import find_last_good
from foldline.threads.store import ThreadStore
from foldline.threads.verification import list_keys


__all__ = [
    "IdArgument",
    "LastGoodOption",
    "ListOptions",
    "SearchOptions",
    "ShowOptions",
    "list_threads",
    "search_thread",
    "show_thread",
]


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the thread.")]
"""The argument that most commands have."""

LastGoodOption = Annotated[
    bool,
    typer.Option(
        "--last-good", help="Read a damaged thread too, up to the last message that is whole."
    ),
]
"""The option that reads what is left."""

_USUAL_LAST = 20
_USUAL_LIMIT = 20
_TITLE = 48


class _Listed(Struct):
    rows: list[dict[str, Any]]
    total: int
    expired: int
    others: list[str]


class ListOptions(TenantOptions, frozen=True, kw_only=True):
    """Whose threads to list."""

    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many threads, the first; else all."),
    ] = None
    """How many threads; None for all."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(ListOptions)
def list_threads(options: ListOptions) -> None:
    """
    List the threads of a store, in order of their ids.

    The exit code is 1 where one of them cannot be read; the others are listed all the same.
    """
    listed = with_store(options, lambda store: _listed(store, options))
    if options.json:
        facts = {"tenant": options.tenant, "total": listed.total}
        print_document(json_document({**facts, "threads": listed.rows}))
    else:
        _print_list(output_console(), listed, options.tenant)
    if listed.others:
        tell(tenants_note(listed.others))
    if listed.expired:
        tell(
            f"{counted(listed.expired, 'thread')} of tenant {options.tenant} not listed: expired, "
            "and stored until `purge_expired` of the store deletes what is"
        )
    damaged = [row["id"] for row in listed.rows if "error" in row]
    if damaged:
        tell(
            f"{counted(len(damaged), 'thread')} cannot be read, the first is {damaged[0]!r}: "
            "`foldline verify` tells what is damaged, unless the key is another one"
        )
        raise typer.Exit(DAMAGED)


def _print_list(console: Console, listed: _Listed, tenant: str) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title, justify in _COLUMNS.items():
        is_title = title == "title"
        table.add_column(
            title,
            justify=justify,
            header_style="bold",
            overflow="ellipsis" if is_title else "fold",
            no_wrap=is_title,
        )
    for row in listed.rows:
        table.add_row(*_cells(row), style="red" if "error" in row else "")
    if listed.rows:
        console.print(table)
    text = f"{counted(listed.total, 'thread')} of tenant {tenant}"
    if len(listed.rows) < listed.total:
        text = f"{len(listed.rows):,} of {text}"
    console.print(text)


_COLUMNS: Mapping[str, Any] = MappingProxyType(
    {
        "id": "left",
        "messages": "right",
        "tokens": "right",
        "folded": "right",
        "last activity": "left",
        "title": "left",
    }
)


async def _listed(store: ThreadStore, options: ListOptions) -> _Listed:
    keys = await list_keys(store, tenant=options.tenant)
    others = [] if keys else await store.tenants()
    if not keys and options.tenant != DEFAULT_TENANT:
        raise no_threads_of(options.tenant, others)
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
    return _Listed(rows, len(keys) - expired, expired, others)


async def _row(store: ThreadStore, key: ThreadKey) -> dict[str, Any] | None:
    try:
        thread = await store.find(key.id, tenant=key.tenant)
        return None if thread is None else {**_facts(thread), "title": await thread.title()}
    except StoreCorruptError:
        return {"id": key.id, "error": "damaged: `foldline verify` tells what is"}
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
    reduction, state = thread.last_reduction, thread.execution_state
    return {
        "id": thread.id,
        "tenant": thread.tenant,
        "display_name": thread.display_name,
        "messages": thread.count,
        "tokens": thread.tokens,
        "folded": folded_in(reduction),
        "archived": thread.archived,
        "revision": thread.revision,
        "has_open_run": state is not None and state.is_open,
        "created_at": thread.created_at,
        "last_activity": thread.last_activity,
        "expires_at": thread.expires_at,
    }


class ShowOptions(TenantOptions, frozen=True, kw_only=True):
    """What to show."""

    id: IdArgument
    """The thread."""

    last: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many messages, the newest; 20 by default.")
    ] = _USUAL_LAST
    """How many messages."""

    last_good: LastGoodOption = False
    """Whether a damaged thread is read as far as it goes."""

    json: JsonOption = False
    """Whether to print JSON."""


class _Shown(Struct):
    thread: ReadOnlyThread
    messages: list[Message]


@takes(ShowOptions)
def show_thread(options: ShowOptions) -> None:
    """
    Show a thread: its counts, its newest messages, how far it is folded, and its last run.

    The whole thread is verified, and damage in front of what is shown is told.
    """

    async def _read(store: ThreadStore) -> _Shown:
        if options.last_good:
            found = await find_last_good(store.backing, ThreadKey(options.tenant, options.id))
            note = last_good_note(found)
            if note:
                tell(note)
            return _Shown(found.thread, await found.thread.get_messages(last=options.last))
        thread = await found_thread(store, options, options.id)
        messages = await thread.get_messages(last=options.last)
        await warn_of_damage(store, thread.key, last=thread.count)
        return _Shown(thread, messages)

    shown = with_store(options, _read)
    if options.json:
        print_document(json_document(_document(shown)))
    else:
        _print(output_console(), shown)


def _document(shown: _Shown) -> dict[str, Any]:
    thread = shown.thread
    reduction, state = thread.last_reduction, thread.execution_state
    return {
        **_facts(thread),
        "metadata": dict(thread.metadata),
        "reduction": None if reduction is None else decode_json(reduction.to_json()),
        "execution_state": None if state is None else decode_json(state.to_json()),
        "pending_tools": [
            {"call_id": run.call_id, "name": run.name, "is_finished": run.is_finished}
            for run in thread.pending_tools
        ],
        "shown": [decode_json(encode_message(one)) for one in shown.messages],
    }


def _print(console: Console, shown: _Shown) -> None:
    thread, reduction = shown.thread, shown.thread.last_reduction
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, value in _lines(thread).items():
        grid.add_row(Text(name, style="dim"), Text(clean(value)))
    console.print(grid)
    if not shown.messages:
        return
    length = sum(one.role != "system" for one in shown.messages)
    first = thread.length - length
    cut = folded_in(reduction)
    at = _place(shown.messages, cut - first)
    for part, messages in enumerate((shown.messages[:at], shown.messages[at:])):
        if part and cut > 0:
            console.print(Rule(f"folded up to here: {cut:,} messages", style="yellow"))
        if messages:
            console.print(show_view(messages, summary_lines=None, most=len(messages)))


def _place(messages: list[Message], length: int) -> int:
    """Return how many of *messages* hold the first *length* that are not system messages."""
    for place, message in enumerate(messages):
        if length <= 0:
            return place
        length -= message.role != "system"
    return len(messages)


def _lines(thread: ReadOnlyThread) -> dict[str, str]:
    facts, reduction, state = _facts(thread), thread.last_reduction, thread.execution_state
    lines = {
        "thread": f"{thread.id} (tenant {thread.tenant}, revision {thread.revision})",
        "messages": f"{thread.count:,}, {counted(thread.tokens, 'token')}, "
        f"{thread.archived:,} archived",
        "last activity": f"{facts['last_activity'].astimezone():%Y-%m-%d %H:%M:%S}",
    }
    if thread.display_name:
        lines["name"] = first_line(thread.display_name)
    if thread.expires_at is not None:
        lines["expires"] = f"{thread.expires_at.astimezone():%Y-%m-%d %H:%M:%S}"
    if reduction is not None and reduction.summarized_up_to_index:
        lines["reduction"] = (
            f"{reduction.summarized_up_to_index:,} messages folded into "
            f"{reduction.summary_tokens:,} tokens"
        )
    if state is not None:
        stands = "open" if state.is_open else f"ended: {first_line(state.termination_reason or '')}"
        lines["last run"] = f"{stands}, iteration {state.iteration}"
    for run in thread.pending_tools:
        stands = "has run" if run.is_finished else "has not answered"
        lines[f"call {first_line(run.call_id)}"] = f"{first_line(run.name)} {stands}"
    return lines


class SearchOptions(TenantOptions, frozen=True, kw_only=True):
    """What to look for, and where."""

    id: IdArgument
    """The thread."""

    text: Annotated[
        str,
        typer.Argument(
            metavar="TEXT", help="The words, all of which a message must hold; a phrase in quotes."
        ),
    ]
    """The words."""

    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many messages, the newest; 20 by default.")
    ] = _USUAL_LIMIT
    """How many messages."""

    json: JsonOption = False
    """Whether to print JSON."""


@takes(SearchOptions)
def search_thread(options: SearchOptions) -> None:
    """Find the messages of a thread that hold every word of TEXT, the newest first."""

    async def _search(store: ThreadStore) -> list[Match]:
        thread = await found_thread(store, options, options.id)
        return await thread.search(options.text, limit=options.limit)

    found = with_store(options, _search)
    if options.json:
        matches = [
            {"number": one.number, "role": one.message.role, "excerpt": one.excerpt}
            for one in found
        ]
        print_document(json_document({"id": options.id, "matches": matches}))
        return
    console = output_console()
    for one in found:
        line = Text(f"{one.number:>8,}  {one.message.role:<9}  ", style="dim")
        line.append(first_line(one.excerpt), style="not dim")
        console.print(line, soft_wrap=True)
    console.print(f"{counted(len(found), 'message')} found")
