"""
The tool `recall`: earlier messages word for word, which a view shows shortened, cleared or folded.

A page is one header line and text. The header is not part of what was said: the texts of all pages
of a message, joined, are the message's text (or its result) byte for byte. Where a page ends depends
on that text and the size of a page alone, so pages can be read in any order and at the same time.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice

from msgspec import Struct, ValidationError, convert

from foldline.agent.request import RECALL
from foldline.agent.tools.answer import ToolAnswer, error_answer
from foldline.agent.tools.signature import ToolContext
from foldline.agent.tools.tool import Tool, tool
from foldline.agent.wire import read_items
from foldline.checks import expect_whole
from foldline.errors import ConfigError, UsageError
from foldline.history.formats.wire import readable_text
from foldline.history.history import History
from foldline.history.media import media_inside
from foldline.history.messages import Message, NativeFormat
from foldline.history.parts import (
    BlobPart,
    GenericPart,
    Part,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.budget import Budget
from foldline.threads.reader import Query, text_of


_PAGE_TOKENS = 4_000
# A vendor counts more than the estimate: 1.5 times as much for most texts, at most 4 times.
_PAGES, _MOST_PAGES = 12, 32
_HEADER_TOKENS = 60
_LEAST_TOKENS = 32
_MOST_CHARS_PER_TOKEN = 4
_MOST_READ = 64
_MOST_FOUND = 10
# A line of what was found: who said it, and 40 characters of any script before the words and after.
_FOUND_TOKENS = 64
_NAME_LENGTH = 64
# A word of every message is counted no further: of a long history that would take seconds.
_SEARCHED = 1_000
_UNLIMITED = 1 << 40
_ESTIMATOR = TokenEstimator()


def page_of(budget: Budget) -> int:
    """Return how many estimated tokens a page may have: at most an eighth of the ceiling."""
    # It must not follow every correction of the estimate, or pages would not join.
    return max(1, budget.ceiling // (_PAGES if budget.ratio <= _PAGES / 8 else _MOST_PAGES))


class RecalledPage(Struct, frozen=True, kw_only=True):
    """A page of what was said; as a string it is the header, a line break and the text."""

    header: str
    """One line: what the page shows, and how to get what follows. Not part of what was said."""

    text: str
    """What was said, unchanged; the texts of all pages of a message are its text."""

    media: tuple[BlobPart, ...] = ()
    """With the last page: the images and files in the message that fit."""

    def __str__(self) -> str:
        return f"{self.header}\n{self.text}"


class _Wanted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    message: int | None = None
    last: int | None = None
    page: int = 1
    search: str = ""

    def check(self, length: int) -> int:
        """Return the index of the first message that is wanted, of *length* messages."""
        if self.message is None or self.search:
            message = f"give either message, a number from 0 to {length - 1}, or search, some words"
            raise ConfigError(message)
        end = self.message if self.last is None else self.last
        for name, value, least in (("message", self.message, 0), ("last", end, self.message)):
            if not least <= value < length:
                raise ConfigError(f"{name} must be {least} to {length - 1}, got {value}")
        if self.last is not None and self.page != 1:
            message = f"page must be 1 with last, got {self.page}: pages are of one message"
            raise ConfigError(message)
        return self.message

    def stop(self, first: int) -> int:
        """Return the index after the last message that has to be read for one page."""
        return min(first if self.last is None else self.last, first + _MOST_READ - 1) + 1


def recall(
    messages: Sequence[Message] | Sequence[Mapping[str, object]],
    /,
    message: int | None = None,
    *,
    last: int | None = None,
    page: int | None = 1,
    search: str | None = "",
    page_tokens: int = _PAGE_TOKENS,
    format: NativeFormat | None = None,
    **others: object,
) -> RecalledPage:
    """
    Return a page of what a view does not show, for callers of a reducer.

    For a model that asks for it itself, `recall_tool().definition` is the description of the tool,
    and these arguments are its parameters. What a model gets wrong in them is no exception: the page
    has no text, and its header is one line that begins with `Error: ` and says what would be right.
    A number may be written as a string, and None is the default.

    Args:
        messages: The full history, in any form that the reducer takes.
        message: The number of the message, as in the notes of a view: each tool result is one, and
            system messages are not counted.
        last: The number of the last message of a span, which begins with *message*.
        page: Which page of one message, or of what was found.
        search: Words that the wanted messages have, in place of a number.
        page_tokens: How many tokens a page may have, as foldline estimates them.
        format: The format of dictionaries; detected by default.
        others: What a model has made up: an error that it reads.

    Raises:
        ConfigError: *page_tokens* is not a whole number of at least 1.
        FormatError: A dictionary is not a message of its format.
    """
    expect_whole("page_tokens", page_tokens, 1)
    history = read_items(messages, format, None).history
    given = {"message": message, "last": last, "page": page, "search": search, **others}
    sent = {name: value for name, value in given.items() if value is not None}
    try:
        return _recalled_of(history, convert(sent, _Wanted, strict=False), page_tokens)
    except (ConfigError, ValidationError, UnicodeError) as error:
        hint = ". The arguments are message, page, last and search" if others else ""
        return RecalledPage(header=f"Error: {error}{hint}", text="")


def _recalled_of(history: History, wanted: _Wanted, tokens: int) -> RecalledPage:
    if wanted.search and wanted.message is None:
        query, newest = Query.parse(wanted.search), range(len(history) - 1, -1, -1)
        own = {call.id for one in history for call in one.tool_calls if call.name == RECALL}
        said = ((index, history[index]) for index in newest)
        fits = (one for one in said if query.fits(text_of(one[1])) and not _is_own(one[1], own))
        found = list(islice(fits, _SEARCHED))
        return _found(found, wanted, tokens, has_more=len(found) == _SEARCHED)
    first = wanted.check(len(history))
    return _shown(history[first : wanted.stop(first)], wanted, tokens)


def recall_tool(*, page_tokens: int | None = None) -> Tool:
    """
    Return the tool `recall` for an agent: `Agent(…, tools=[recall_tool()])`.

    The model calls it with `message` (and `page`, or `last`), or with `search`.

    Args:
        page_tokens: How many tokens a page may have; by default less than an eighth of the most
            that the agent's requests may have.

    Raises:
        ConfigError: *page_tokens* is not a whole number of at least 1.
    """
    expect_whole("page_tokens", page_tokens, 1, optional=True)

    async def recall(
        context: ToolContext,
        message: int | None = None,
        page: int = 1,
        last: int | None = None,
        search: str = "",
    ) -> ToolAnswer:
        """
        Return earlier messages of this conversation that are shown shortened, cleared or summarized.

        The first line of the result says what it shows and how to get what follows; the rest is word
        for word. Give either message or search.

        Args:
            message: The number in a note such as "message 57".
            page: Which page of a long message, or of what was found.
            last: The last number of a span such as "messages 12-40".
            search: Words that the message has, all of them; a "phrase" in double quotes.
        """
        try:
            wanted = _Wanted(message=message, last=last, page=page, search=search)
            shown = await _recalled(context, wanted, page_tokens or context.page_tokens)
        except UsageError as error:
            return error_answer(str(error))
        if not shown.media:
            return ToolAnswer(str(shown), is_error=False)
        return ToolAnswer((TextPart(str(shown)), *shown.media), is_error=False)

    return tool(recall, policy="idempotent", max_result_chars=_UNLIMITED)


async def _recalled(context: ToolContext, wanted: _Wanted, tokens: int) -> RecalledPage:
    thread = context.thread
    if thread is None:
        raise ConfigError("there is no thread to read: the tool runs in an agent")
    if wanted.search and wanted.message is None:
        matches = await thread.search(wanted.search, limit=_SEARCHED)
        plain = [one for one in matches if one.message.role != "system"]
        found = [(one.index, one.message) for one in plain if not _is_own(one.message, ())]
        has_more = len(matches) == _SEARCHED
        return await asyncio.to_thread(_found, found, wanted, tokens, has_more=has_more)
    first = wanted.check(thread.head.length)
    said = await thread.get_range(first, wanted.stop(first))
    # A file that went with a message may be long, and all of its pages are counted.
    told = [one for one in said if one.role != "system"]
    return await asyncio.to_thread(_shown, told, wanted, tokens)


def _is_own(message: Message, ids: Collection[str]) -> bool:
    """Whether *message* is a call or a result of this tool; *ids* are those of its calls."""
    answers = (one.id in ids for one in message.tool_call_responses)
    calls = (one.name == RECALL for one in message.tool_calls)
    return (message.role == "tool" and message.name == RECALL) or any((*answers, *calls))


def _found(
    matches: Sequence[tuple[int, Message]], wanted: _Wanted, tokens: int, *, has_more: bool = False
) -> RecalledPage:
    if not matches:
        return RecalledPage(header="[no message has all of these words; try fewer]", text="")
    room = tokens - _HEADER_TOKENS
    # Where a page begins depends on its number alone, so that no earlier one has to be read.
    size = max(1, min(_MOST_FOUND, room // _FOUND_TOKENS))
    page, last = wanted.page, -(-len(matches) // size)
    if not 1 <= page <= last:
        raise ConfigError(f"page must be 1 to {last} for what was found, got {page}")
    first = (page - 1) * size
    query, of_page = Query.parse(wanted.search), matches[first : first + size]
    share = max(_LEAST_TOKENS, room // len(of_page)) - 1
    lines = [_found_line(*one, query, tokens) for one in of_page]
    text = "\n".join(line[: _length(line, 0, share)] for line in lines)
    count = f"{'at least ' * has_more}{len(matches):,} found, newest first"
    shown = f", {first + 1:,}-{first + len(lines):,} shown" * (last > 1)
    following = f"the same search with page={page + 1} shows more; " * (page < last)
    header = f"[{count}{shown}; {following}{RECALL}(message=N) returns one in full]"
    return RecalledPage(header=header, text=text)


def _found_line(index: int, message: Message, query: Query, tokens: int) -> str:
    where = f"message {index}, {_speaker(message)}{_page_with(message, query, tokens)}"
    return f"{where}: {query.excerpt(text_of(message))}"


def _page_with(message: Message, query: Query, tokens: int) -> str:
    """Name the page of *message* on which the searched words begin, if it has several."""
    text = _text(message.parts)
    ends = accumulate(map(len, _pages(text, max(_LEAST_TOKENS, tokens - _HEADER_TOKENS))))
    at = query.place(text)
    page, end = next(pair for pair in enumerate(ends, start=1) if at < pair[1] or not text)
    return f", page {page}" if page > 1 or end < len(text) else ""


def _shown(messages: Sequence[Message], wanted: _Wanted, tokens: int) -> RecalledPage:
    assert wanted.message is not None
    most = max(_LEAST_TOKENS, tokens - _HEADER_TOKENS)
    first, last = wanted.message, wanted.last
    whole = () if last is None else tuple(_that_fit(messages, first, most))
    if last is None or not whole:
        return _page_of(messages[0], wanted, most)
    after = first + len(whole)
    rest = f"; then {RECALL}(message={after}, last={last})" if after <= last else ", the end"
    header = f"[messages {first}-{after - 1} of {first}-{last}{rest}]"
    return RecalledPage(header=header, text="".join(whole))


def _that_fit(messages: Sequence[Message], first: int, most: int) -> Iterator[str]:
    for index, message in enumerate(messages, start=first):
        text = f"--- message {index}, {_speaker(message)} ---\n{_text(message.parts)}\n"
        most -= _ESTIMATOR.count(text)
        if most < 0:
            return
        yield text


def _page_of(message: Message, wanted: _Wanted, most: int) -> RecalledPage:
    number, page = wanted.message, wanted.page
    assert number is not None
    pages = list(_pages(_text(message.parts), most))
    if not 1 <= page <= len(pages):
        raise ConfigError(f"page must be 1 to {len(pages)} for message {number}, got {page}")
    what = f"message {number}, {_speaker(message)}"
    is_last = wanted.last in {None, number}
    after = "" if is_last else f"; then {RECALL}(message={number + 1}, last={wanted.last})"
    if page < len(pages):
        following = f"next {RECALL}(message={number}, page={page + 1}){after}"
        header = f"[{what}, page {page} of {len(pages)}; {following}]"
        return RecalledPage(header=header, text=pages[page - 1])
    header = f"[{what}, page {page} of {len(pages)}, the end{after}]"
    return RecalledPage(header=header, text=pages[-1], media=tuple(_media(message.parts, most)))


def _speaker(message: Message) -> str:
    kind = "tool result" if message.role == "tool" else message.role
    name = " ".join((message.name or "").split())[:_NAME_LENGTH]
    return f"{kind} ({name})" if name else kind


def _pages(text: str, most: int) -> Iterator[str]:
    """Yield pieces of *text*, each of at most *most* tokens, that end with a line where it can be."""
    start = 0
    while start < len(text) or not start:
        stop = start + _length(text, start, most)
        if stop < len(text):
            line = text.rfind("\n", (start + stop) // 2, stop) + 1
            stop = line or stop
        yield text[start:stop]
        if stop == len(text):
            return
        start = stop


def _length(text: str, start: int, most: int) -> int:
    length = min(len(text) - start, most * _MOST_CHARS_PER_TOKEN)
    tokens = _ESTIMATOR.count(text[start : start + length])
    while tokens > most and length > 1:
        length = max(1, min(length - 1, length * most // tokens))
        tokens = _ESTIMATOR.count(text[start : start + length])
    return length


def _text(parts: Iterable[Part]) -> str:
    return "\n".join(_said(parts))


def _said(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case ToolCallPart(name=name, arguments=arguments):
                yield name
                yield arguments
            case ToolCallResponsePart(response=response):
                yield from [response] if isinstance(response, str) else _said(response)
            case GenericPart(data=data, opaque=False):
                yield media_inside(data)[0]
            case _:
                yield from filter(None, [readable_text(part)])


def _media(parts: Iterable[Part], most: int) -> Iterator[BlobPart]:
    for part in parts:
        if isinstance(part, ToolCallResponsePart) and not isinstance(part.response, str):
            yield from _media(part.response, most)
        elif isinstance(part, BlobPart):
            most -= count_message(Message(role="user", parts=(part,)), _ESTIMATOR)
            if most >= 0:
                yield part
