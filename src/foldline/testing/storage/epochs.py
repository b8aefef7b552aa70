"""What epochs promise: replaced rows stay readable until pruned, and copies are independent."""

from foldline.testing.storage.check import Lab, Scribe, expect
from foldline.threads.change import Copy, Document, Epoch
from foldline.threads.key import ThreadKey


async def _rewound(scribe: Scribe) -> Scribe:
    """Give *scribe* four more epochs than it has."""
    await scribe.write(6)
    for at, count in ((4, 3), (2, 2), (5, 1), (0, 6)):
        await scribe.rewind(min(at, len(scribe.rows)), count)
    return scribe


class Epochs(Lab):
    """The checks of epochs and forks."""

    async def a_rewind_replaces_rows(self) -> None:
        """After a rewind numbers are given again, and the epoch that was left reads as before."""
        scribe = self.scribe()
        await scribe.write(6)
        # The last ones are to the end, and replace nothing.
        for at, count in ((3, 2), (0, 1), (1, 7), (8, 0), (8, 2)):
            await scribe.rewind(at, count)
            await scribe.verify()

    async def a_system_row_is_replaced_alone(self) -> None:
        """A rewind takes back a system row at the end and no other, and others may come there."""
        scribe = self.scribe()
        await scribe.write(3, system=(0, 2))
        for count, system in ((0, ()), (2, (1,)), (1, (0,))):
            change = scribe.change(
                scribe.drawn(count, at=2, system=system), opens=Epoch(self.draw(16), 2)
            )
            await scribe.commit(change)
            await scribe.verify()
            found = await scribe.read(0, 9, system=True)
            expect(found, [row for row in scribe.rows if row.system], "the system rows")

    async def every_earlier_epoch_reads_as_it_was(self) -> None:
        """After rewinds to any places each earlier epoch has its own rows, in any range of them."""
        scribe = self.scribe()
        await scribe.write(5, system=(1, 4))
        for at, count in ((4, 3), (6, 2), (7, 0), (2, 5), (2, 1), (0, 4), (4, 2)):
            await scribe.rewind(at, count)
            await scribe.write(2, system=(0,))
        await scribe.verify()
        for epoch, rows in scribe.left.items():
            for start in range(len(rows)):
                found = await scribe.read(start, start + 3, epoch=epoch)
                expect(found[: len(rows) - start], rows[start : start + 3], f"rows from {start}")
            found = await scribe.read(0, len(rows), epoch=epoch, system=True)
            expect(found, [row for row in rows if row.system], "the system rows")

    async def an_epoch_is_known_or_has_no_rows(self) -> None:
        """An epoch that nobody opened has no rows; no epoch at all is the current one."""
        scribe = self.scribe()
        await scribe.write(3, system=(0,))
        await scribe.rewind(2, 2)
        for system in (False, True):
            found = await scribe.read(0, 9, epoch=self.draw(16), system=system)
            expect(found, [], "the rows of an unknown epoch")
            found = await self.storage.rows(scribe.key, b"", 0, 9, system=system)
            expect(found, [row for row in scribe.rows if row.system or not system], "the rows")

    async def a_refused_rewind_opens_nothing(self) -> None:
        """A refused commit that opens an epoch replaces no row, and its epoch is unknown."""
        scribe = self.scribe()
        await scribe.write(3)
        late = scribe.rewinding(1, 2)
        await scribe.write(1)
        await scribe.refuses(late, 1, 2)
        await scribe.verify()
        await scribe.verify_gone(late.opens.id if late.opens else b"")

    async def another_epoch_takes_no_commit(self) -> None:
        """A commit that names an earlier epoch than the current one, or an unknown, is refused."""
        scribe = self.scribe()
        await scribe.write(3)
        earlier = scribe.epoch
        await scribe.rewind(2, 1)
        for epoch in (earlier, self.draw(16)):
            await scribe.refuses(scribe.change(scribe.drawn(1), epoch=epoch))
            await scribe.verify()

    async def a_fork_has_the_rows_of_its_source(self) -> None:
        """A fork, or a fork of one, has the rows before its place, byte for byte, then its own."""
        scribe = self.scribe()
        await scribe.write(6, system=(0, 4))
        for at in range(7):
            await (await scribe.fork(f"fork-{at}", at, 2)).verify()
        await scribe.verify()
        for depth, at in enumerate((4, 6, 7, 3, 3, 8)):
            scribe = await scribe.fork(f"deep-{depth}", min(at, len(scribe.rows)), 4)
            await scribe.verify()

    async def a_fork_has_the_rows_of_an_earlier_epoch(self) -> None:
        """A fork of an epoch that was left has the rows of that epoch, whatever replaced them."""
        scribe = self.scribe()
        await scribe.write(5)
        for at, count in ((3, 4), (1, 1), (2, 6)):
            await scribe.rewind(at, count)
        for number, (epoch, rows) in enumerate(scribe.left.items()):
            for at in (0, len(rows) // 2, len(rows)):
                await (await scribe.fork(f"fork-{number}-{at}", at, 1, epoch=epoch)).verify()
        await scribe.verify()

    async def a_fork_and_its_source_grow_apart(self) -> None:
        """What is written to, or deleted from, a fork is not in its source, or the other way."""
        scribe = self.scribe()
        await scribe.write(4)
        fork, gone = await scribe.fork("fork", 4), await scribe.fork("gone", 2, 3)
        await self.storage.delete(gone.key)
        await gone.verify_gone(gone.epoch)
        for one in (scribe, fork, scribe, fork):
            await one.write(3)
            await one.rewind(2, 1)
            await scribe.verify()
            await fork.verify()
        await fork.rewind(0, clears=True)
        await scribe.verify()

    async def a_fork_outlives_its_source(self) -> None:
        """A fork stays whole when its source is deleted, cleared, rewound and pruned, or remade."""
        for way in ("delete", "clear", "prune", "again"):
            scribe = self.scribe(f"source-{way}")
            await scribe.write(4)
            fork = await scribe.fork(f"fork-{way}", 3, 1)
            if way == "clear":
                await scribe.rewind(0, clears=True)
            elif way == "prune":
                await scribe.rewind(1, 1)
                await scribe.write(keeps=[])
            else:
                await self.storage.delete(scribe.key)
            if way == "again":
                await self.scribe(scribe.key.id).write(2)
            await fork.verify()
            await fork.write(2)
            await fork.verify()

    async def a_fork_of_nothing_is_refused(self) -> None:
        """A copy of a missing thread, of an unknown epoch, or of too many rows makes no thread."""
        scribe, late = self.scribe("source"), self.scribe("fork")
        await scribe.write(3)
        stale = scribe.epoch
        await scribe.rewind(2, 1)
        missing = self.scribe("missing")
        for count in (0, 1):
            await late.refuses(late.copying(missing, count))
        await late.refuses(late.copying(scribe, 4))
        await late.refuses(late.copying(scribe, 1, epoch=self.draw(16)))
        await scribe.rewind(0, clears=True)
        for count in (0, 1):
            await late.refuses(late.copying(scribe, count, epoch=stale))
        await _rewound(scribe)
        pruned = [late.copying(scribe, 1, epoch=epoch) for epoch in scribe.left]
        await scribe.write(keeps=[])
        for change in pruned:
            await late.refuses(change)
        current = late.copying(scribe, 2)
        await self.storage.delete(scribe.key)
        await late.refuses(current)
        # One under the same id is another thread.
        await self.scribe("source").write(6)
        await late.refuses(current)
        expect(await self.storage.load(late.key), None, "the fork")
        await late.verify_gone(late.epoch)

    async def a_foreign_thread_is_not_copied(self) -> None:
        """A copy that names the thread of another tenant is refused, whichever tenant it says."""
        scribe, thief = self.scribe("same"), self.scribe("thief", tenant="-other")
        await scribe.write(3)
        own = Copy(ThreadKey(thief.key.tenant, "same"), scribe.epoch, 2)
        for copies in (thief.copying(scribe, 2).copies, own):
            await thief.refuses(thief.change(copies=copies))
            await thief.verify_gone(thief.epoch)
        expect(await self.storage.load(thief.key), None, "the thread")

    async def a_clear_deletes_everything(self) -> None:
        """A commit that clears leaves no row at any epoch, and the documents it does not drop."""
        scribe = self.scribe()
        put = [Document("metadata", "", b"m"), Document("tool", "a", b"t")]
        await scribe.write(5, system=(0,), put=put)
        await scribe.rewind(3, 2)
        left = [scribe.epoch, *scribe.left]
        await scribe.rewind(0, clears=True, drop=[("tool", None)])
        await scribe.verify_gone(*left)
        found = [await scribe.documents("metadata"), await scribe.documents()]
        expect(found, [{"": b"m"}, {}], "the documents")
        await scribe.write(3)
        await scribe.rewind(1, 1)
        await scribe.verify()

    async def a_prune_keeps_the_named_epochs(self) -> None:
        """
        After a prune the named epochs, those after them and the current one read as before.

        Epochs before the earliest of them are unknown. Later rewinds and prunes work as before.
        """
        for keep in range(5):
            scribe = await _rewound(self.scribe(f"thread-{keep}"))
            epochs = [*scribe.left, scribe.epoch]
            # Unknown epochs count for nothing.
            await scribe.write(keeps=[epochs[keep], self.draw(16)])
            await scribe.verify()
            await scribe.verify_gone(*epochs[:keep])
            await _rewound(scribe)
            await scribe.verify()
            await scribe.write(1, keeps=[list(scribe.left)[2]])
            await scribe.verify()
