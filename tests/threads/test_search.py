"""Searching for words."""

from typing import Any

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


def test_words_are_runs_without_case_in_one_form() -> None:
    """Letters, digits and underscores make words; case, accents, width and composition do not count."""
    assert words_of("The Cache, holds-a_b 42!") == ["the", "cache", "holds", "a_b", "42"]
    assert words_of("STRASSE Straße \uff26\uff35\uff2c\uff2c e\u0301 ﬁn") == [
        "strasse",
        "strasse",
        "full",
        "e",
        "fin",
    ]
    assert words_of("Müller Ångström İzmir") == ["muller", "angstrom", "izmir"]
    assert words_of("한국 が हिन्दी") == ["한국", "が", *words_of("हिन्दी")]
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
async def test_what_is_searched_for_is_a_string(store: ThreadStore, given: Any) -> None:
    """A search for anything but a string is an error that names its type."""
    thread = await store.thread("a")
    with pytest.raises(ConfigError, match=r"^text must be a str, got"):
        await thread.search(given)


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


async def test_the_newest_come_first_and_no_more_than_asked_for(store: ThreadStore) -> None:
    """
    Matches come from the end, up to the limit, each with its number, message and surroundings.
    """
    thread = await store.thread("a")
    await thread.add_messages([Message.user("fox" if at % 2 else f"dog {at}") for at in range(300)])

    assert [match.number for match in await thread.search("FOX", limit=3)] == [299, 297, 295]


async def test_a_match_shows_its_surroundings(store: ThreadStore) -> None:
    """The excerpt is the text around the first word that was looked for."""
    message = Message.user("x " * 200 + "needle " + "y " * 200)
    thread = await store.thread("a")
    await thread.add_message(message)
    (match,) = await thread.search("needle")

    assert match.message == message
    assert "needle" in match.excerpt
    assert len(match.excerpt) == 80


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("code 7007", "code 7007"),
        ("7007 code", "code 7007"),
        ('"error code" line 0', "line 0 ERROR code 0"),
        ("muller", "Müller"),
        ("MÜLLER paid", "Müller paid"),
        ("京 東", "東京"),
        ("nowhere", "line 0"),
    ],
)
def test_the_place_of_a_match_is_where_its_words_are_nearest(text: str, shown: str) -> None:
    """In a long text a common word is everywhere: what is shown has all words, side by side if it can."""
    lines = [f"line {number} ERROR code {number * 7}" for number in range(1_200)]
    said = "\n".join([*lines, "the muellers paid", "x" * 200, "Herr Müller paid", "東京", "line 5"])
    query = Query.parse(text)

    assert said[query.place(said) :].startswith(shown)
    assert shown in query.excerpt(said)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("東京", [0]),
        ("red", [4, 3, 2]),
        ('"red fox"', [2]),
        ("a_b", [5]),
        ("a", []),
        ("red 京", []),
    ],
)
async def test_phrases_and_other_scripts_are_found(
    store: ThreadStore, text: str, found: list[int]
) -> None:
    """Phrases, full-width letters and scripts without spaces are found."""
    thread = await store.thread("a")
    for said in ("東京", "京東", "red fox", "fox red", "\uff32\uff25\uff24", "a_b"):
        await thread.add_message(Message.user(said))

    assert [match.number for match in await thread.search(text)] == found


async def test_a_search_in_a_cleared_thread_is_a_conflict(store: ThreadStore) -> None:
    """Searching a thread that another object has cleared is a conflict, not damage."""
    thread = await store.thread("a")
    await thread.add_message(Message.user("word"))
    await (await store.thread("a")).clear()
    with pytest.raises(ThreadConflictError):
        await thread.search("word")
