"""
Searching the threads of a tenant, page by page.

There is no index of words: one would make every commit write about as much again, and an encrypted
store could not have it. Many threads are read at a time, since a database is asked once for them all.
"""

import asyncio
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import AsyncIterator
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from foldline.checks import expect
from foldline.errors import ConfigError, StoreCorruptError, ThreadConflictError, ThreadNotFoundError
from foldline.threads.key import ThreadKey
from foldline.threads.reader import Match
from foldline.threads.thread import ConversationThread


_Place = TypeVar("_Place")
_LOG = logging.getLogger("foldline")

# So many small reads a database answers at once.
_TOGETHER: Final = 64
_FIRST: Final = 4
_MOST_MESSAGES: Final = 20_000


class ThreadMatch(Struct, frozen=True, kw_only=True):
    """A message that was found, and the thread that it is in."""

    key: ThreadKey
    """The tenant and the id of the thread."""

    match: Match
    """The message."""


class SearchPage(Struct, frozen=True):
    """Some of the messages that were searched for."""

    matches: tuple[ThreadMatch, ...]
    """The messages: of each thread the newest first, threads in order of their ids."""

    next: str
    """What to give as `after` for the page after this one; empty if this is the last."""


async def search_page(
    threads: AsyncIterator[ConversationThread],
    text: str,
    *,
    limit: int,
    rest: ConversationThread | None,
    before: int,
) -> SearchPage:
    """Return up to *limit* messages that fit: of *rest* those below *before*, then of *threads*."""
    found: list[ThreadMatch] = []
    # What is often said fills the page with the first few threads.
    seen, together = 0, _FIRST
    batch = await _some(threads, together) if rest is None else [rest]
    while batch:
        pages = await asyncio.gather(
            *(_found(one, text, limit, before if one is rest else None) for one in batch)
        )
        for thread, page in zip(batch, pages, strict=True):
            found += [ThreadMatch(key=thread.key, match=one) for one in page[: limit - len(found)]]
            if len(found) == limit:
                place = (thread.id, found[-1].match.number)
                return SearchPage(tuple(found), written_place(place))
        seen += sum(one.count for one in batch)
        if seen >= _MOST_MESSAGES:
            return SearchPage(tuple(found), written_place((batch[-1].id, 0)))
        together = min(2 * together, _TOGETHER)
        batch = await _some(threads, together)
    return SearchPage(tuple(found), "")


async def _some(threads: AsyncIterator[ConversationThread], most: int) -> list[ConversationThread]:
    batch: list[ConversationThread] = []
    messages = 0
    while len(batch) < most and messages < _MOST_MESSAGES:
        thread = await anext(threads, None)
        if thread is None:
            break
        batch.append(thread)
        messages += thread.count
    return batch


async def _found(
    thread: ConversationThread, text: str, limit: int, before: int | None
) -> list[Match]:
    try:
        return await thread.search(text, limit=limit, before=before)
    except (ThreadConflictError, ThreadNotFoundError):
        # It was cleared or deleted since it was listed.
        return []
    except StoreCorruptError:
        _LOG.warning("thread %r is damaged: see `foldline verify`", thread.id)
        return []


def written_place(place: tuple[object, ...]) -> str:
    """Return *place*, the last of a page, as letters, digits, `-` and `_`."""
    return urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place_after(name: str, cursor: str, kind: type[_Place]) -> _Place | None:
    """Return what `written_place` was given; None for an empty *cursor*; ConfigError for others."""
    expect(name, cursor, str)
    if not cursor:
        return None
    try:
        return msgspec.json.decode(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)), type=kind)
    except (Error, ValueError, msgspec.MsgspecError):
        message = f"{name} must be the `next` of a page of the same list, got another text"
        raise ConfigError(message) from None
