"""`foldline threads search`: finding messages, in one thread or in all of a tenant."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import takes
from foldline.apps.cli.stores import TenantOptions, as_id, found_thread, with_store
from foldline.apps.cli.terminal import first_line, output_console
from foldline.errors import UsageError
from foldline.replay.numbers import counted
from foldline.threads.reader import Match
from foldline.threads.search import SearchPage
from foldline.threads.store import ThreadStore


__all__ = ["search_threads"]


_USUAL_MATCHES = 20


class _SearchOptions(TenantOptions, frozen=True, kw_only=True):
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[ID] TEXT",
            help="The id of a thread, or all threads of the tenant without one; and the words, all "
            "of which a message must contain; a phrase in quotes.",
        ),
    ]
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many messages to list at most.")
    ] = _USUAL_MATCHES
    after: Annotated[
        str,
        typer.Option(metavar="NEXT", help="Without ID: what the page before this one ended with."),
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
        message = f"one thread is searched with ID and TEXT: {what}"
        raise UsageError(message)
    id, text = as_id(options.words[0]) or "", options.words[1]

    async def _search(store: ThreadStore) -> list[Match]:
        thread = await found_thread(store, id, options.tenant)
        return await thread.search(text, limit=options.limit)

    found = with_store(options, _search)
    if options.json:
        print_json({"id": id, "matches": [_facts(one) for one in found]})
    else:
        _print([("", one) for one in found])


def _search_all(options: _SearchOptions, text: str) -> None:
    async def _search(store: ThreadStore) -> SearchPage:
        return await _full_page(store, options, text)

    page = with_store(options, _search)
    found = [(one.key.id, one.match) for one in page.matches]
    if options.json:
        matches = [{"id": id, **_facts(match)} for id, match in found]
        print_json({"tenant": options.tenant, "matches": matches, "next": page.next})
        return
    _print(found)
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


def _facts(match: Match) -> dict[str, Any]:
    return {"number": match.number, "role": match.message.role, "excerpt": match.excerpt}


def _print(found: Sequence[tuple[str, Match]]) -> None:
    console = output_console()
    for id, one in found:
        where = f"{id}  " if id else ""
        line = Text(f"{where}{one.number:>8,}  {one.message.role:<9}  ", style="dim")
        line.append(first_line(one.excerpt), style="not dim")
        console.print(line, soft_wrap=True)
    console.print(f"{counted(len(found), 'message')} found")
