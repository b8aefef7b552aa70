"""What a lease promises: it comes with a commit, lasts its time, and nobody else can renew it."""

import asyncio

from foldline.testing.storage.check import Lab, Scribe, expect
from foldline.threads.change import Document
from foldline.threads.lease import NOBODY, Lease


_LONG = 600.0
_SHORT = 0.2
_TURNS = 40


async def _holder(scribe: Scribe) -> str:
    lease = (await scribe.stored()).lease
    return "" if lease is None else lease.holder


class Leases(Lab):
    """The checks of leases, and of single documents."""

    async def a_commit_gives_and_takes_a_lease(self) -> None:
        """A commit gives a lease, one without leaves it, and one with `NOBODY` takes it back."""
        scribe = self.scribe()
        await scribe.write(1)
        expect((await scribe.stored()).lease, None, "the lease of a new thread")
        await scribe.write(1, lease=Lease("a", _LONG))
        lease = (await scribe.stored()).lease
        assert lease is not None
        expect((lease.holder, 0 < lease.seconds <= _LONG), ("a", True), "the lease")
        await scribe.write(1)
        expect(await _holder(scribe), "a", "the holder after another commit")
        await scribe.rewind(1, lease=Lease("b", _LONG))
        expect(await _holder(scribe), "b", "the holder after a rewind")
        await scribe.write(1, lease=NOBODY)
        expect((await scribe.stored()).lease, None, "the lease that was given back")
        await scribe.verify()

    async def commits_at_once_give_their_own_leases(self) -> None:
        """Commits at once to many threads each give their own lease, or leave that of before."""
        scribes = [self.scribe(f"thread-{number}") for number in range(12)]
        await asyncio.gather(*(one.write(1, lease=Lease("old", _LONG)) for one in scribes))
        leases = [None if at % 2 else Lease(f"{at}", _LONG) for at in range(len(scribes))]
        await asyncio.gather(
            *(one.write(1, lease=lease) for one, lease in zip(scribes, leases, strict=True))
        )
        for scribe, lease in zip(scribes, leases, strict=True):
            expect(await _holder(scribe), lease.holder if lease else "old", "the holder")

    async def a_refused_commit_gives_no_lease(self) -> None:
        """Of a commit that is refused, the lease is not given either."""
        scribe = self.scribe()
        await scribe.write(1, lease=Lease("a", _LONG))
        late = scribe.change(scribe.drawn(1), lease=Lease("b", _LONG), revision=0)
        await scribe.refuses(late, 0, 1)
        expect(await _holder(scribe), "a", "the holder")

    async def a_lease_runs_out(self) -> None:
        """Once its time is over, by the clock of the storage, a lease is none until a commit takes it."""
        scribe = self.scribe()
        await scribe.write(1, lease=Lease("a", _SHORT))
        # By itself: nobody gives it back, and the clock may be a server's.
        await asyncio.sleep(1.5 * _SHORT)
        expect(await _holder(scribe), "", "the holder once the time is over")
        is_held = await self.storage.hold(scribe.key, Lease("a", _LONG))
        expect((is_held, await _holder(scribe)), (False, ""), "the answer, and the holder")
        for holder, rows in (("a", 0), ("b", 1)):
            await scribe.write(rows, lease=Lease(holder, _LONG))
            expect(await _holder(scribe), holder, "the next holder")

    async def its_holder_renews_a_lease(self) -> None:
        """`hold` changes the time of the lease and nothing else of the thread."""
        scribe = self.scribe()
        await scribe.write(2, lease=Lease("a", _LONG))
        is_held = await self.storage.hold(scribe.key, Lease("a", 2 * _LONG))
        lease = (await scribe.stored()).lease
        assert lease is not None
        expect((is_held, lease.seconds > _LONG), (True, True), "the answer, and more time")
        await scribe.verify()
        is_held = await self.storage.hold(scribe.key, Lease("a", 0.0))
        expect((is_held, await _holder(scribe)), (True, ""), "the answer, and the holder")
        await scribe.verify()

    async def nobody_else_renews_a_lease(self) -> None:
        """`hold` of another one, or of a thread without a lease or without rows, changes nothing."""
        scribe, missing = self.scribe(), self.scribe("missing")
        await scribe.write(1, lease=Lease("a", _LONG))
        await scribe.write(1, lease=Lease("b", _LONG))
        for key, holder in ((scribe.key, "a"), (missing.key, "a")):
            for seconds in (_LONG, 0.0):
                is_held = await self.storage.hold(key, Lease(holder, seconds))
                expect(is_held, wanted=False, what="the answer")
        expect(await _holder(scribe), "b", "the holder")
        await scribe.write(1, lease=NOBODY)
        is_held = await self.storage.hold(scribe.key, Lease("b", _LONG))
        expect((is_held, await _holder(scribe)), (False, ""), "the answer, and the holder")

    async def a_thread_made_again_has_no_lease(self) -> None:
        """The lease of a deleted thread is gone with it."""
        old, again = self.scribe(), self.scribe()
        await old.write(1, lease=Lease("a", _LONG))
        await self.storage.delete(old.key)
        await again.write(1)
        expect(await _holder(again), "", "the holder")

    async def one_document_is_found_among_many(self) -> None:
        """`document` returns the one of that kind and name, or None."""
        scribe = self.scribe()
        put = [Document("turn", f"turn-{number}", b"%d" % number) for number in range(_TURNS)]
        await scribe.write(1, put=[*put, Document("tool", "turn-1", b"other")])
        for one in put:
            expect(await self.storage.document(scribe.key, "turn", one.name), one, "the document")
        names = ("", "turn-99", "turn-1\0")
        others = [await self.storage.document(scribe.key, "turn", name) for name in names]
        expect(others, [None] * len(names), "documents that are not there")
        missing = await self.storage.document(self.key("missing"), "turn", "turn-1")
        expect(missing, None, "a document of a missing thread")
