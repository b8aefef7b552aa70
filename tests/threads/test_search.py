"""Searching for words."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from foldline.errors import ConfigError, ThreadConflictError
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
)
from foldline.threads.reader import Query, text_of, words_of
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread


T = TypeVar("T")
Use = Callable[[ConversationThread, ThreadStore], Awaitable[T]]


class Run(Protocol):
    """Runs something on a new thread."""

    def __call__(self, use: Use[T]) -> T:
        """Return what *use* returns."""
        ...


@pytest.fixture(params=["memory", "sqlite"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Return what runs something on a new thread in memory or in a file."""

    def run_on_thread(use: Use[T]) -> T:
        async def running() -> T:
            path = tmp_path / "a.db"
            store = MemoryStore() if request.param == "memory" else SQLiteStore(path)
            async with store:
                return await use(await store.thread("a"), store)

        return asyncio.run(running())

    return run_on_thread


def _numbers(messages: list[Message], text: str, limit: int = 20) -> Use[list[int]]:
    async def search(thread: ConversationThread, store: ThreadStore) -> list[int]:
        await thread.add_messages(messages)
        return [match.number for match in await thread.search(text, limit=limit)]

    return search


def test_words_are_runs_without_case_in_one_form() -> None:
    """Letters, digits and underscores make words; case, width and composition do not count."""
    assert words_of("The Cache, holds-a_b 42!") == ["the", "cache", "holds", "a_b", "42"]
    assert words_of("STRASSE Straße \uff26\uff35\uff2c\uff2c e\u0301 ﬁn") == [
        "strasse",
        "strasse",
        "full",
        "é",
        "fin",
    ]
    assert words_of("") == words_of(" \0 \ud800 !?") == []


def test_scripts_without_spaces_are_searched_by_character() -> None:
    """Han, kana and Thai fall into characters, words beside them stay whole."""
    assert words_of("東京tower") == ["東", "京", "tower"]
    assert words_of("さくら") == ["さ", "く", "ら"]
    assert Query.parse("東京").fits("私は東京に行く")
    assert not Query.parse("東京").fits("京東")


def test_a_query_is_words_and_phrases() -> None:
    """Words must all be there, quoted ones side by side; an open quote is none."""
    query = Query.parse('cache "before noon" R2-D2')

    assert set(query.phrases) == {("before", "noon"), ("cache",), ("r2", "d2")}
    assert query.fits("R2 d2: CACHE, not before  noon")
    assert not query.fits("r2 d2 cache noon before")
    assert Query.parse('a "b').phrases == (("a",), ("b",))


@pytest.mark.parametrize("text", ["", " ", '""', "!?", "\ud800", "🚂"])
def test_a_text_without_a_word_is_refused(text: str) -> None:
    """A search text without a word is an error that tells its length alone."""
    with pytest.raises(ConfigError, match=f"^text must contain a word, got {len(text)} char"):
        Query.parse(text)


@pytest.mark.parametrize("given", [None, 5, b"a", ["a"]])
def test_what_is_searched_for_is_a_string(run: Run, given: Any) -> None:
    """A search for anything but a string is an error that names its type."""
    with pytest.raises(ConfigError, match=r"^text must be a str, got"):
        run(_numbers([], given))


def test_everything_that_is_said_is_searched() -> None:
    """Texts, reasoning, compactions, tool names, arguments and answers count; media do not."""
    message = Message(
        role="assistant",
        parts=(
            TextPart("one"),
            ReasoningPart("two"),
            CompactionPart("three"),
            ToolCallPart("id", "four", '{"x":"five"}'),
            ToolCallResponsePart("id", "six"),
            ToolCallResponsePart("id", (TextPart("seven"), BlobPart("image", "image/png", "no"))),
        ),
    )

    assert text_of(message).split("\n") == [
        "one", "two", "three", "four", '{"x":"five"}', "six", "seven",
    ]  # fmt: skip


def test_the_newest_come_first_and_no_more_than_asked_for(run: Run) -> None:
    """
    Matches come from the end, up to the limit, each with its number, message and surroundings.
    """
    messages = [Message.user("fox" if at % 2 else f"dog {at}") for at in range(300)]

    assert run(_numbers(messages, "FOX", 3)) == [299, 297, 295]


def test_a_match_shows_its_surroundings(run: Run) -> None:
    """The excerpt is the text around the first word that was looked for."""
    message = Message.user("x " * 200 + "needle " + "y " * 200)

    async def search(thread: ConversationThread, store: ThreadStore) -> object:
        await thread.add_message(message)
        (match,) = await thread.search("needle")
        return match.message == message, "needle" in match.excerpt, len(match.excerpt)

    assert run(search) == (True, True, 80)


def test_phrases_and_other_scripts_are_found(run: Run) -> None:
    """Phrases, full-width letters and scripts without spaces are found."""
    messages = [
        Message.user(text)
        for text in ("東京", "京東", "red fox", "fox red", "\uff32\uff25\uff24", "a_b")
    ]

    texts = ("東京", "red", '"red fox"', "a_b", "a", "red 京")

    async def search(thread: ConversationThread, store: ThreadStore) -> list[list[int]]:
        await thread.add_messages(messages)
        found = [await thread.search(text) for text in texts]
        return [[match.number for match in one] for one in found]

    assert run(search) == [[0], [4, 3, 2], [2], [5], [], []]


def test_new_rows_are_found_at_once(run: Run) -> None:
    """What was said after a search is found by the next one."""

    async def search(thread: ConversationThread, store: ThreadStore) -> list[int]:
        counts: list[int] = []
        for number in range(4):
            counts.append(len(await thread.search("word")))
            await thread.add_message(Message.user(f"word {number}"))
        return counts

    assert run(search) == [0, 1, 2, 3]


@pytest.mark.parametrize("limit", [0, -1, "5", 1.5, True, None])
def test_a_limit_is_a_whole_number_above_zero(run: Run, limit: Any) -> None:
    """A limit that is no number, or below 1, is refused."""
    with pytest.raises(ConfigError, match=r"^limit must be a whole number of at least 1, got"):
        run(_numbers([], "word", limit))


def test_a_search_in_a_cleared_thread_is_a_conflict(run: Run) -> None:
    """Who searches a thread that somebody else has cleared is told so, and not of damage."""

    async def search(thread: ConversationThread, store: ThreadStore) -> None:
        await thread.add_message(Message.user("word"))
        other = await store.thread(thread.id)
        await other.clear()
        await thread.search("word")

    with pytest.raises(ThreadConflictError):
        run(search)
