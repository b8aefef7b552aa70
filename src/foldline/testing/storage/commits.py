"""What a commit and a deletion promise: all or nothing, once, and never over somebody else's."""

import asyncio
from collections.abc import Awaitable, Iterable

from foldline.errors import ThreadConflictError
from foldline.testing.storage.check import Lab, Scribe, expect, expect_error, facts_of
from foldline.threads.change import Document
from foldline.threads.row import StoredRow


_RACERS = 12
_WRITERS = 4
_BATCHES = 5
_BATCH = 3


async def _outcomes(attempts: Iterable[Awaitable[object]]) -> list[object]:
    results = await asyncio.gather(*attempts, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, ThreadConflictError):
            raise result
    return list(results)


class Commits(Lab):
    """The checks of commits."""

    async def each_commit_counts_one(self) -> None:
        """A commit that expects revision 0 makes a thread; each replaces the head and counts one."""
        scribe = self.scribe()
        for size in (3, 0, 2, 0, 1):
            await scribe.write(size)
            await scribe.verify()
        expect(scribe.revision, 5, "the revision")

    async def a_missing_thread_is_none(self) -> None:
        """A thread that nobody made is loaded as None, has no documents, and is not deleted."""
        scribe = self.scribe()
        expect(await self.storage.load(scribe.key), None, "the thread")
        expect(await scribe.documents(), {}, "its documents")
        expect(await self.storage.delete(scribe.key), wanted=False, what="the answer")

    async def another_revision_is_refused(self) -> None:
        """A commit that expects an earlier, a later or no revision is a conflict that names both."""
        scribe = self.scribe()
        await scribe.refuses(scribe.change(revision=3), 3, 0)
        expect(await self.storage.load(scribe.key), None, "the thread")
        await scribe.write(1)
        late = scribe.change(scribe.drawn(1))
        await scribe.write(1)
        await scribe.refuses(late, 1, 2)
        await scribe.refuses(scribe.change(scribe.drawn(1), revision=7), 7, 2)
        maker = Scribe(self, scribe.key)
        await maker.refuses(maker.change(maker.drawn(2)), 0, 2)
        await scribe.verify()

    async def a_refused_commit_changes_nothing(self) -> None:
        """Of a refused commit no row, no document, no deletion and no expiry is stored."""
        scribe = self.scribe()
        put = [Document(kind, "", b"kept") for kind in ("metadata", "tool")]
        await scribe.write(2, put=put, gone_at=4e9)
        before = facts_of(await scribe.stored())
        change = scribe.change(
            scribe.drawn(2),
            put=[Document("metadata", "", b"lost"), Document("execution", "", b"lost")],
            drop=[("tool", None)],
            revision=0,
            gone_at=5e9,
        )
        await scribe.refuses(change, 0, 1)
        expect(facts_of(await scribe.stored()), before, "the thread")
        await scribe.verify()

    async def a_head_and_its_expiry_are_kept(self) -> None:
        """The head comes back byte for byte, the expiry to the fraction of a second, or as None."""
        scribe = self.scribe()
        for gone_at in (None, 4_102_444_800.123456, 4_102_444_801.0, None):
            for head in (b"", bytes(range(256)) * 4):
                await scribe.write(head=head, gone_at=gone_at)
                stored = await scribe.stored()
                expect((stored.head, stored.expires_at), (head, gone_at), "head and expiry")

    async def of_racing_commits_one_wins(self) -> None:
        """Of commits at once that expect one revision, or to make a thread, exactly one is made."""
        scribe = self.scribe()
        for _ in range(4):
            changes = [scribe.change(scribe.drawn(3)) for _ in range(_RACERS)]
            results = await _outcomes(self.storage.commit(scribe.key, one) for one in changes)
            expect(results.count(None), 1, "the number of winners")
            scribe.made(changes[results.index(None)])
            await scribe.verify()

    async def threads_do_not_hinder_each_other(self) -> None:
        """Commits at once to as many threads are all made."""
        scribes = [self.scribe(f"thread-{number}") for number in range(_RACERS)]
        for _ in range(3):
            await asyncio.gather(*(scribe.write(2) for scribe in scribes))
        for scribe in scribes:
            await scribe.verify()

    async def racing_batches_stay_whole(self) -> None:
        """Batches of many writers, each tried again after a conflict, are all there, each whole."""
        scribe = self.scribe()
        await scribe.write(head=b"0")
        await asyncio.gather(*(self._insist(scribe, b"%d" % one) for one in range(_WRITERS)))
        rows = await scribe.read(0, 999)
        expect([row.seq for row in rows], list(range(_WRITERS * _BATCHES * _BATCH)), "the numbers")
        written = [row.data[:1] for row in rows]
        batches = [set(written[at : at + _BATCH]) for at in range(0, len(written), _BATCH)]
        expect([len(batch) for batch in batches], [1] * len(batches), "the writers of each batch")
        counts = {written.count(name) for name in set(written)}
        expect(counts, {_BATCHES * _BATCH}, "the rows of each writer")

    async def _insist(self, scribe: Scribe, name: bytes) -> None:
        for _ in range(_BATCHES):
            while not await self._appended(scribe, name):
                pass

    async def _appended(self, scribe: Scribe, name: bytes) -> bool:
        stored = await scribe.stored()
        # The head of this check is the number of rows.
        count = int(stored.head)
        rows = [StoredRow(count + at, system=False, data=name) for at in range(_BATCH)]
        head = b"%d" % (count + _BATCH)
        change = scribe.change(rows, revision=stored.revision, head=head)
        return await _outcomes([self.storage.commit(scribe.key, change)]) == [None]

    async def a_reader_sees_no_half(self) -> None:
        """While commits are made, every row that a loaded head speaks of is there."""
        scribe = self.scribe()
        await scribe.write(head=b"0")
        writing = asyncio.ensure_future(self._insist(scribe, b"w"))
        while not writing.done():
            count = int((await scribe.stored()).head)
            expect(len(await scribe.read(0, count)), count, "the rows of a head")
            await asyncio.sleep(0)
        await writing

    async def a_cancelled_commit_is_whole(self) -> None:
        """A commit that is cancelled is made or not, and has ended if `ends_commits` says so."""
        for waits in range(4):
            scribe = self.scribe(f"thread-{waits}")
            await scribe.write(1)
            change = scribe.change(scribe.drawn(50), put=[Document("metadata", "", b"m")])
            commit = asyncio.ensure_future(self.storage.commit(scribe.key, change))
            for _ in range(waits):
                await asyncio.sleep(0)
            commit.cancel()
            await asyncio.wait([commit])
            stored = await scribe.stored()
            if stored.revision > scribe.revision:
                scribe.made(change)
            elif not self.storage.ends_commits:
                # It may still arrive, unless another one is there first.
                await _outcomes([scribe.commit(scribe.change())])
                stored = await scribe.stored()
                if stored.head == change.head:
                    scribe.made(change)
            await scribe.verify()

    async def a_deleted_thread_is_gone(self) -> None:
        """A deletion leaves no row, replaced row or document, and no late commit revives it."""
        scribe = self.scribe()
        put = [Document("metadata", "", b"m"), Document("checkpoint", "1", b"c")]
        await scribe.write(5, put=put)
        for at in (4, 2, 3):
            await scribe.rewind(at, 3)
        answers = [await self.storage.delete(scribe.key) for _ in range(2)]
        expect(answers, [True, False], "the answers")
        await scribe.refuses(scribe.change(scribe.drawn(1)), 4, 0)
        expect(await self.storage.load(scribe.key), None, "the thread")
        await scribe.verify_gone(scribe.epoch, *scribe.left)
        expect(await scribe.documents("checkpoint"), {}, "its documents")

    async def a_deletion_compares_the_revision(self) -> None:
        """A deletion of what was read at another revision is a conflict and deletes nothing."""
        scribe = self.scribe()
        await scribe.write(1)
        early = await scribe.stored()
        await scribe.write(1)
        await expect_error(self.storage.delete(scribe.key, expected=early), scribe.key, (1, 2))
        await scribe.verify()
        is_deleted = await self.storage.delete(scribe.key, expected=await scribe.stored())
        expect(is_deleted, wanted=True, what="the answer")

    async def a_thread_made_again_is_new(self) -> None:
        """A thread under the id of a deleted one begins at revision 1 with nothing of it."""
        old, again = self.scribe(), self.scribe()
        await old.write(4, put=[Document("tool", "old", b"x")], gone_at=4e9)
        await old.rewind(1, 1)
        await self.storage.delete(old.key)
        await again.write(6)
        await again.rewind(1, 1)
        await again.verify()
        stored = await again.stored()
        expect(list(stored.documents), [], "its documents")
        expect(stored.expires_at, None, "its expiry")
        await old.verify_gone(old.epoch, *old.left)

    async def a_thread_made_again_takes_no_old_commit(self) -> None:
        """A commit, a rewind or a clear decided on a deleted thread is refused by the new one."""
        old, again = self.scribe(), self.scribe()
        await old.write(4)
        await old.write(1)
        await self.storage.delete(old.key)
        await again.write(2)
        await again.write(3)
        for late in (
            old.change(old.drawn(2)),
            old.rewinding(2, 1),
            old.rewinding(0, clears=True),
            old.change(keeps=[]),
        ):
            await old.refuses(late)
            await again.verify()
        await again.rewind(1, 2)
        await again.verify()

    async def a_thread_made_again_is_not_deleted(self) -> None:
        """A deletion of what was read is refused by a thread made again at the same revision."""
        old, again = self.scribe(), self.scribe()
        await old.write(1)
        early = await old.stored()
        await self.storage.delete(old.key)
        await again.write(1)
        results = await _outcomes([self.storage.delete(old.key, expected=early)])
        expect([type(one) for one in results], [ThreadConflictError], "the errors")
        await again.verify()

    async def a_deletion_and_a_commit_at_once_agree(self) -> None:
        """Of a deletion and a commit at once that expect the same thread exactly one is made."""
        for number in range(_RACERS):
            scribe = self.scribe(f"thread-{number}")
            await scribe.write(1)
            stored, change = await scribe.stored(), scribe.change(scribe.drawn(1))
            deleting = self.storage.delete(scribe.key, expected=stored)
            results = await _outcomes([self.storage.commit(scribe.key, change), deleting])
            conflicts = [one for one in results if isinstance(one, ThreadConflictError)]
            expect(len(conflicts), 1, "the conflicts")
            left = await self.storage.load(scribe.key)
            expect(left is not None, results[1] is not True, "whether it is there")
