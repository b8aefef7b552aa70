"""Searching all threads of a tenant, page by page, in every store."""

from itertools import chain
from pathlib import Path

import pytest

from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.threads import search
from foldline.threads.cipher import AesCipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore


async def filled(store: ThreadStore, threads: int = 9, messages: int = 6) -> list[tuple[str, int]]:
    """Make threads in which every second message is of a cache; return where those are, in order."""
    wanted: list[tuple[str, int]] = []
    for number in range(threads):
        name = f"t{number}"
        thread = await store.thread(name, tenant="acme")
        texts = ["the Cäche of " if place % 2 else "the wall of " for place in range(messages)]
        await thread.add_messages([Message.user(f"{text}{name}") for text in texts])
        wanted += [(name, place) for place in reversed(range(messages)) if place % 2]
    other = await store.thread("t0", tenant="globex")
    await other.add_message(Message.user("the cäche of another"))
    return wanted


async def pages(store: ThreadStore, text: str, limit: int) -> list[list[tuple[str, int]]]:
    """Return where the messages of each page are."""
    found: list[list[tuple[str, int]]] = []
    after = ""
    while True:
        page = await store.search(text, tenant="acme", limit=limit, after=after)
        found.append([(one.key.id, one.match.number) for one in page.matches])
        after = page.next
        if not after:
            return found


@pytest.mark.parametrize("limit", [1, 4, 5, 100])
async def test_pages_hold_every_match_once(any_store: ThreadStore, limit: int) -> None:
    """Threads come in order, the newest message of each first, and no page has more than is asked."""
    wanted = await filled(any_store)
    found = await pages(any_store, "CÄCHE", limit)
    assert [*chain.from_iterable(found)] == wanted
    assert all(len(page) <= limit for page in found)
    phrase = [*chain.from_iterable(await pages(any_store, '"cäche of t3"', limit))]
    assert phrase == [("t3", 5), ("t3", 3), ("t3", 1)]
    (message,) = (await any_store.search("another", tenant="globex")).matches
    assert message.match.message.text == "the cäche of another"
    assert message.match.excerpt == "the cäche of another"


async def test_an_encrypted_store_is_searched_the_same(tmp_path: Path) -> None:
    """What the database cannot read is read by who has the key."""
    async with MemoryStore(cipher=AesCipher(bytes(32))) as store:
        wanted = await filled(store)
        assert [*chain.from_iterable(await pages(store, "cäche", 4))] == wanted


async def test_a_page_ends_after_so_many_messages(
    store: ThreadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that finds little hands back empty pages, so that its caller can stop or go on."""
    monkeypatch.setattr(search, "_MOST_MESSAGES", 12)
    await filled(store)
    assert await pages(store, '"of t4"', 100) == [
        [],
        [],
        [("t4", place) for place in reversed(range(6))],
        [],
        [],
    ]


async def test_a_thread_that_has_changed_is_continued(store: ThreadStore) -> None:
    """Between two pages a thread may grow, be rewound or deleted: nothing is found twice."""
    await filled(store, threads=2)
    first = await store.search("cäche", tenant="acme", limit=2)
    thread = await store.thread("t0", tenant="acme")
    await thread.add_message(Message.user("one more cäche"))
    second = await store.search("cäche", tenant="acme", limit=1, after=first.next)
    assert [one.match.number for one in (*first.matches, *second.matches)] == [5, 3, 1]
    await store.delete("t0", tenant="acme")
    third = await store.search("cäche", tenant="acme", after=first.next)
    assert {one.key.id for one in third.matches} == {"t1"}


async def test_what_is_damaged_is_skipped(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """A thread whose messages are damaged is named in the log, and the others are searched."""
    async with MemoryStore() as store:
        await filled(store, threads=3)
        storage = store.context.storage
        rows = storage._threads[(await store.thread("t1", tenant="acme")).key].rows  # type: ignore[attr-defined]
        del rows[2]
        found = await pages(store, "cäche", 100)
        assert {name for name, _ in found[0]} == {"t0", "t2"}
    assert "thread 't1' is damaged" in caplog.text


async def test_one_thread_has_pages_too(store: ThreadStore) -> None:
    """Within a thread the number of the last match is where the next page begins."""
    await filled(store, threads=1)
    thread = await store.thread("t0", tenant="acme")
    first = await thread.search("cäche", limit=2)
    rest = await thread.search("cäche", limit=2, before=first[-1].number)
    assert [one.number for one in (*first, *rest)] == [5, 3, 1]
    assert await thread.search("cäche", before=0) == []


@pytest.mark.parametrize("text", ["", "!?", '""'])
async def test_a_search_without_a_word_is_refused(text: str) -> None:
    """A text without a word, and the end of another list, are errors."""
    async with MemoryStore() as store:
        with pytest.raises(ConfigError, match="must contain a word"):
            await store.search(text)
        with pytest.raises(ConfigError, match="of a page of the same list"):
            await store.search("x", after="WzEuMCwgImEiXQ")
