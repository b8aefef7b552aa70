"""Searching for words, with an index and without."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from foldline.threads.stores.sqlite.words import IndexedSQLiteStorage

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
from foldline.threads.key import ThreadKey
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
    """Return what runs something on a new thread, scanned or with an index."""

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
    assert Query.parse("東京").fits(words_of("私は東京に行く"))
    assert not Query.parse("東京").fits(words_of("京東"))


def test_a_query_is_words_and_phrases() -> None:
    """Words must all be there, quoted ones side by side; an open quote is none."""
    query = Query.parse('cache "before noon" R2-D2')

    assert set(query.phrases) == {("before", "noon"), ("cache",), ("r2", "d2")}
    assert query.words == ["before", "noon", "cache", "r2", "d2"]
    assert query.fits(words_of("R2 d2: CACHE, not before  noon"))
    assert not query.fits(words_of("r2 d2 cache noon before"))
    assert Query.parse('a "b').phrases == (("a",), ("b",))


@pytest.mark.parametrize("text", ["", " ", '""', "!?", "\ud800", "🚂"])
def test_a_text_without_a_word_is_refused(text: str) -> None:
    """A search text without a word is an error that tells its length alone."""
    with pytest.raises(ConfigError, match=f"a search text of {len(text)} characters has no word"):
        Query.parse(text)


@pytest.mark.parametrize("given", [None, 5, b"a", ["a"]])
def test_what_is_looked_for_is_a_text(run: Run, given: Any) -> None:
    """A search for what is no text is an error that tells its type."""
    with pytest.raises(ConfigError, match=f"^a search text is a {type(given).__name__}: allowed"):
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
    """An index finds exactly what reading everything would."""
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


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_at_least_one(run: Run, limit: int) -> None:
    """A limit below 1 is refused."""
    with pytest.raises(ConfigError, match=f"limit={limit}"):
        run(_numbers([], "word", limit))


@pytest.mark.parametrize("limit", ["5", 1.5, True, None])
def test_a_limit_is_a_whole_number(run: Run, limit: Any) -> None:
    """A limit that is no number is refused by its type."""
    with pytest.raises(
        ConfigError, match=f"^limit is a {type(limit).__name__}: allowed is a whole"
    ):
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


def _forget(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM words")
    connection.execute("DELETE FROM indexed")


class _Forgetful(IndexedSQLiteStorage):
    """A storage of which somebody drops the index just before a word is looked up in it."""

    async def find(self, key: ThreadKey, branch: bytes, stop: int, words: list[str]) -> list[int]:
        """Drop the index, then look *words* up."""
        await self.writer.run(_forget)
        return await super().find(key, branch, stop, words)


def test_an_index_that_was_dropped_meanwhile_is_not_believed(tmp_path: Path) -> None:
    """Where an index has lost its words since they were added, the messages are read instead."""

    async def search() -> list[int]:
        async with ThreadStore(_Forgetful(tmp_path / "a.db")) as store:
            thread = await store.thread("t")
            await thread.add_messages([Message.user(f"parcel{number}") for number in range(3)])
            return [match.number for match in await thread.search("parcel1")]

    assert asyncio.run(search()) == [1]
