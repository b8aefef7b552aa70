"""What a storage promises that outlives its process, and one that finds words."""

from foldline.testing.storage.check import Check, Lab, Scribe, expect, facts_of
from foldline.threads.step import Document
from foldline.threads.storage import WordIndex


__all__ = ["LASTING", "WORDS"]


async def _closing_twice_is_harmless(lab: Lab) -> None:
    """A storage may be closed again."""
    storage = lab.make_storage()
    await storage.open()
    await storage.close()
    await storage.close()


async def _what_was_written_is_there_after_closing(lab: Lab) -> None:
    """Another storage over the same place finds everything: rows, forks, documents, expiry."""
    scribe = lab.scribe()
    await scribe.write(5, system=(0,), put=[Document("reduction", "1", b"r")])
    await scribe.write(2, put=[Document("tool", "a", b"t")], expires_at=4e9)
    fork = await scribe.fork("fork", 3, 2)
    await scribe.rewind(6, 2)
    before = [facts_of(one) for one in await lab.storage.threads(lab.tenant)]
    await _reopen(lab)
    after = [facts_of(one) for one in await lab.storage.threads(lab.tenant)]
    expect(after, before, "the threads")
    await scribe.verify()
    await fork.verify()
    await fork.write(1)
    await fork.verify()


async def _what_was_deleted_stays_deleted(lab: Lab) -> None:
    """Another storage over the same place finds nothing of what was deleted, dropped or purged."""
    gone, cleared = lab.scribe("gone"), lab.scribe("cleared")
    await gone.write(2, put=[Document("metadata", "", b"m")])
    await cleared.write(2, put=[Document("tool", "a", b"t")])
    left = cleared.branch
    await lab.storage.delete(gone.key)
    await cleared.clear()
    await cleared.write(drop=[("tool", None)])
    await _reopen(lab)
    expect(await lab.storage.load(gone.key), None, "the deleted thread")
    expect(await lab.storage.rows(cleared.key, left, 0, 9), [], "the purged rows")
    expect(await lab.documents(cleared.key, "tool"), {}, "the dropped documents")
    await cleared.verify()


async def _reopen(lab: Lab) -> None:
    await lab.storage.close()
    lab.storage = lab.make_storage()
    await lab.storage.open()


async def _two_storages_see_each_other(lab: Lab) -> None:
    """
    What one storage over a place has acknowledged another one, open all the while, sees at once.
    """
    other = lab.make_storage()
    await other.open()
    scribe = lab.scribe()
    try:
        for _ in range(4):
            await scribe.write(2)
            stored = await other.load(scribe.key)
            expect(stored and stored.revision, scribe.revision, "the revision")
            rows = await other.rows(scribe.key, scribe.branch, 0, 99)
            expect(rows, scribe.rows, "the rows")
            await other.commit(scribe.key, scribe.step(scribe.drawn(0)))
            scribe.revision += 1
    finally:
        await other.close()


LASTING: tuple[Check, ...] = (
    _closing_twice_is_harmless,
    _what_was_written_is_there_after_closing,
    _what_was_deleted_stays_deleted,
    _two_storages_see_each_other,
)
"""The checks of a storage whose data outlives it."""


def _index(lab: Lab) -> WordIndex:
    storage = lab.storage
    if not isinstance(storage, WordIndex):
        message = "the storage has no index of words"
        raise AssertionError(message)  # noqa: TRY004 - a broken promise, not a wrong argument
    return storage


async def _indexed(lab: Lab, scribe: Scribe, *texts: str) -> None:
    start = len(scribe.rows)
    await scribe.write(len(texts))
    words = list(enumerate(texts, start))
    await _index(lab).index(scribe.key, scribe.branch, words)


async def _nothing_is_indexed_at_first(lab: Lab) -> None:
    """
    The first row that is not in the index is row 0, until rows are added, and then the next one.
    """
    scribe = lab.scribe()
    await scribe.write(2)
    index = _index(lab)
    expect(await index.indexed(scribe.key, scribe.branch), 0, "the first number")
    expect(await index.find(scribe.key, scribe.branch, 9, ["one"]), [], "the rows found")
    await index.index(scribe.key, scribe.branch, [(0, "one"), (1, "two")])
    expect(await index.indexed(scribe.key, scribe.branch), 2, "the next number")
    await _indexed(lab, scribe, "three")
    expect(await index.indexed(scribe.key, scribe.branch), 3, "the number after that")


async def _every_word_must_be_there(lab: Lab) -> None:
    """The rows are found that hold all of the words as whole words, in order."""
    scribe = lab.scribe()
    await _indexed(lab, scribe, "red fox", "red", "fox red", "redfox", "", "fox_red 東 京 naïve 42")
    index = _index(lab)
    for words, wanted in (
        (["red"], [0, 1, 2]),
        (["fox", "red"], [0, 2]),
        (["redf"], []),
        (["fox_red"], [5]),
        (["東"], [5]),
        (["京", "naïve", "42"], [5]),
        (["absent"], []),
        (["red", "absent"], []),
    ):
        found = await index.find(scribe.key, scribe.branch, 99, words)
        expect(found, wanted, f"the rows with {words}")


async def _words_are_found_below_a_number(lab: Lab) -> None:
    """No row is found from the given number on."""
    scribe = lab.scribe()
    await _indexed(lab, scribe, *["same"] * 5)
    for stop in range(7):
        found = await _index(lab).find(scribe.key, scribe.branch, stop, ["same"])
        expect(found, list(range(min(stop, 5))), f"the rows below {stop}")


async def _indexing_again_is_harmless(lab: Lab) -> None:
    """A row that is added to the index again is found once, and the index does not go back."""
    scribe = lab.scribe()
    await _indexed(lab, scribe, "one", "two", "three")
    index = _index(lab)
    await index.index(scribe.key, scribe.branch, [(0, "one")])
    expect(await index.find(scribe.key, scribe.branch, 9, ["one"]), [0], "the rows")
    expect(await index.indexed(scribe.key, scribe.branch), 3, "the next number")


async def _words_are_shared_with_rows(lab: Lab) -> None:
    """
    A fork finds words in the rows that it shares and in its own, and none behind its branching.
    """
    scribe = lab.scribe()
    await _indexed(lab, scribe, "same", "same", "same")
    fork = await scribe.fork("fork", 2)
    await _indexed(lab, fork, "other", "same")
    index = _index(lab)
    expect(await index.find(fork.key, fork.branch, 9, ["same"]), [0, 1, 3], "the fork's rows")
    expect(await index.find(scribe.key, scribe.branch, 9, ["same"]), [0, 1, 2], "the source's rows")


async def _a_fork_may_index_shared_rows(lab: Lab) -> None:
    """Where a source is not in the index, its fork's search brings in what both share."""
    scribe = lab.scribe()
    await scribe.write(3)
    fork = await scribe.fork("fork", 2, 2)
    index = _index(lab)
    expect(await index.indexed(fork.key, fork.branch), 0, "the first number")
    await index.index(fork.key, fork.branch, [(at, f"same {at}") for at in range(4)])
    expect(await index.indexed(fork.key, fork.branch), 4, "the fork's next number")
    expect(await index.find(fork.key, fork.branch, 9, ["same"]), [0, 1, 2, 3], "the fork's rows")
    expect(await index.indexed(scribe.key, scribe.branch), 2, "the source's next number")
    expect(await index.find(scribe.key, scribe.branch, 9, ["same"]), [0, 1], "the source's rows")


async def _words_of_another_tenant_are_not_found(lab: Lab) -> None:
    """Who knows the branch of another tenant finds no word there, and adds none."""
    scribe = lab.scribe()
    await _indexed(lab, scribe, "secret")
    foreign = lab.key(tenant="-other")
    index = _index(lab)
    expect(await index.find(foreign, scribe.branch, 9, ["secret"]), [], "the rows")
    expect(await index.indexed(foreign, scribe.branch), 0, "the first number")
    await index.index(foreign, scribe.branch, [(0, "planted")])
    expect(await index.find(scribe.key, scribe.branch, 9, ["planted"]), [], "the planted word")


async def _words_go_with_their_rows(lab: Lab) -> None:
    """Words of deleted and purged rows are not found any more, and those of shared ones are."""
    scribe = lab.scribe()
    await _indexed(lab, scribe, "same", "same", "same")
    fork = await scribe.fork("fork", 1)
    left = scribe.branch
    await scribe.clear()
    index = _index(lab)
    expect(await index.find(fork.key, left, 9, ["same"]), [0], "the rows of the branch left")
    expect(await index.find(fork.key, fork.branch, 9, ["same"]), [0], "the fork's rows")
    await lab.storage.delete(fork.key)
    expect(await index.find(scribe.key, left, 9, ["same"]), [], "the rows at the end")


async def _words_of_gone_rows_are_not_added(lab: Lab) -> None:
    """Of rows that were deleted after a search has read them, no word comes into the index."""
    scribe = lab.scribe()
    await scribe.write(3)
    fork = await scribe.fork("fork", 1)
    left = scribe.branch
    await scribe.clear()
    index = _index(lab)
    await index.index(scribe.key, left, [(at, "same") for at in range(3)])
    expect(await index.find(scribe.key, left, 9, ["same"]), [0], "the rows of the branch left")
    expect(await index.find(fork.key, fork.branch, 9, ["same"]), [0], "the fork's rows")


WORDS: tuple[Check, ...] = (
    _nothing_is_indexed_at_first,
    _every_word_must_be_there,
    _words_are_found_below_a_number,
    _indexing_again_is_harmless,
    _words_are_shared_with_rows,
    _a_fork_may_index_shared_rows,
    _words_of_another_tenant_are_not_found,
    _words_go_with_their_rows,
    _words_of_gone_rows_are_not_added,
)
"""The checks of a `WordIndex`."""
