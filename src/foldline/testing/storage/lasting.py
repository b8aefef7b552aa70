"""What a storage promises whose data outlives its process."""

from foldline.testing.storage.check import Check, Lab, expect, facts_of
from foldline.threads.change import Document


__all__ = ["LASTING"]


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
    await scribe.write(2, put=[Document("tool", "a", b"t")], gone_at=4e9)
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
    """Another storage over the same place finds nothing of what was deleted, dropped or cleared."""
    gone, cleared = lab.scribe("gone"), lab.scribe("cleared")
    await gone.write(2, put=[Document("metadata", "", b"m")])
    await cleared.write(2, put=[Document("tool", "a", b"t")])
    left = cleared.epoch
    await lab.storage.delete(gone.key)
    await cleared.clear()
    await cleared.write(drop=[("tool", None)])
    await _reopen(lab)
    expect(await lab.storage.load(gone.key), None, "the deleted thread")
    expect(await cleared.read(0, 9, epoch=left), [], "the rows that were cleared")
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
            rows = await other.rows(scribe.key, scribe.epoch, 0, 99)
            expect(rows, scribe.rows, "the rows")
            change = scribe.change(scribe.drawn(1))
            await other.commit(scribe.key, change)
            scribe.made(change)
            await scribe.verify()
    finally:
        await other.close()


async def _a_sound_place_has_no_fault(lab: Lab) -> None:
    """Nothing is wrong with what the storage itself has written."""
    scribe = lab.scribe()
    await scribe.write(3, put=[Document("metadata", "", b"m")])
    await scribe.rewind(1, 1)
    await scribe.fork("fork", 2)
    expect(await lab.storage.check(), [], "what is wrong")


LASTING: tuple[Check, ...] = (
    _closing_twice_is_harmless,
    _what_was_written_is_there_after_closing,
    _what_was_deleted_stays_deleted,
    _two_storages_see_each_other,
    _a_sound_place_has_no_fault,
)
"""The checks of this module."""
