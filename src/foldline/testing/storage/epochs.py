"""What epochs promise: replaced rows stay readable until pruned, and copies are independent."""

from foldline.testing.storage.check import (
    Check,
    Lab,
    Scribe,
    expect,
    expect_conflict,
    expect_not_found,
)
from foldline.threads.change import Change, Copy, Document
from foldline.threads.key import ThreadKey


__all__ = ["EPOCHS"]


async def _a_rewind_replaces_rows(lab: Lab) -> None:
    """After a rewind numbers are given again, and the epoch that was left reads as before."""
    scribe = lab.scribe()
    await scribe.write(6)
    await scribe.rewind(3, 2)
    await scribe.verify()
    await scribe.rewind(0, 1)
    await scribe.verify()
    await scribe.write(7)
    await scribe.verify()


async def _every_earlier_epoch_reads_as_it_was(lab: Lab) -> None:
    """
    After rewinds to any places, each earlier epoch has its own rows, in any range of them.
    """
    scribe = lab.scribe()
    await scribe.write(5, system=(1, 4))
    for at, count in ((4, 3), (6, 2), (7, 0), (2, 5), (2, 1), (0, 4), (4, 2)):
        await scribe.rewind(at, count)
        await scribe.write(2, system=(0,))
    await scribe.verify()
    for epoch, rows in scribe.left.items():
        for start in range(len(rows)):
            found = await scribe.read(start, start + 3, epoch=epoch)
            expect(found[: len(rows) - start], rows[start : start + 3], f"the rows from {start}")
        found = await scribe.read(0, len(rows), epoch=epoch, system=True)
        expect(found, [row for row in rows if row.system], "the system rows")


async def _a_rewind_to_the_end_replaces_nothing(lab: Lab) -> None:
    """A rewind to the end opens an epoch and keeps every row."""
    scribe = lab.scribe()
    await scribe.write(3)
    await scribe.rewind(3)
    await scribe.rewind(3, 2)
    await scribe.verify()


async def _a_rewound_batch_is_one_commit(lab: Lab) -> None:
    """A thousand rows are replaced by as many in one commit, with documents put and dropped."""
    scribe = lab.scribe()
    await scribe.write(1200, put=[Document("tool", "a", b"1"), Document("execution", "", b"1")])
    put = [Document("metadata", "", b"2")]
    await scribe.rewind(200, 1000, put=put, drop=[("tool", None), ("execution", None)])
    await scribe.verify()
    expect(await lab.documents(scribe.key, "tool"), {}, "the documents that were dropped")
    expect(await lab.documents(scribe.key, "metadata"), {"": b"2"}, "the documents")


async def _an_unknown_epoch_has_no_rows(lab: Lab) -> None:
    """An epoch that nobody opened has no rows."""
    scribe = lab.scribe()
    await scribe.write(2)
    for system in (False, True):
        expect(await scribe.read(0, 9, epoch=lab.draw(16), system=system), [], "the rows")


async def _no_epoch_is_the_current_one(lab: Lab) -> None:
    """Without an epoch the current rows come, for a thread whose head is damaged."""
    scribe = lab.scribe()
    await scribe.write(3, system=(0,))
    await scribe.rewind(2, 2)
    for system in (False, True):
        found = await lab.storage.rows(scribe.key, b"", 0, 9, system=system)
        wanted = [row for row in scribe.rows if row.system or not system]
        expect(found, wanted, "the rows")


async def _a_refused_rewind_opens_nothing(lab: Lab) -> None:
    """A refused commit that opens an epoch replaces no row, and its epoch is unknown."""
    scribe = lab.scribe()
    await scribe.write(3)
    late = scribe.rewinding(1, 2)
    await scribe.write(1)
    attempt = lab.storage.commit(scribe.key, late)
    await expect_conflict(attempt, key=scribe.key, expected=1, actual=2)
    await scribe.verify()
    opened = late.opens.id if late.opens is not None else b""
    expect(await scribe.read(0, 9, epoch=opened), [], "the rows of the refused epoch")


async def _another_epoch_takes_no_commit(lab: Lab) -> None:
    """
    A commit that names another epoch than the current one is refused: an earlier one, an unknown.
    """
    scribe = lab.scribe()
    await scribe.write(3)
    earlier = scribe.epoch
    await scribe.rewind(2, 1)
    for epoch in (earlier, lab.draw(16)):
        change = scribe.change(scribe.drawn(1), epoch=epoch)
        await expect_not_found(lab.storage.commit(scribe.key, change))
        await scribe.verify()


async def _a_fork_has_the_rows_of_its_source(lab: Lab) -> None:
    """A fork has the rows before its place, byte for byte, and then its own."""
    scribe = lab.scribe()
    await scribe.write(6, system=(0, 4))
    for at in range(7):
        fork = await scribe.fork(f"fork-{at}", at, 2)
        await fork.verify()
    await scribe.verify()


async def _a_long_fork_is_one_commit(lab: Lab) -> None:
    """Three thousand rows are copied in one commit."""
    scribe = lab.scribe()
    await scribe.write(3000, system=range(0, 3000, 100))
    fork = await scribe.fork("fork", 2900, 3)
    await fork.verify()


async def _a_fork_has_the_rows_of_an_earlier_epoch(lab: Lab) -> None:
    """A fork of an epoch that was left has the rows of that epoch, whatever replaced them."""
    scribe = lab.scribe()
    await scribe.write(5)
    for at, count in ((3, 4), (1, 1), (2, 6)):
        await scribe.rewind(at, count)
    for number, (epoch, rows) in enumerate(scribe.left.items()):
        for at in (0, len(rows) // 2, len(rows)):
            fork = await scribe.fork(f"fork-{number}-{at}", at, 1, epoch=epoch)
            await fork.verify()
    await scribe.verify()


async def _a_fork_and_its_source_grow_apart(lab: Lab) -> None:
    """What is written to a fork is not in its source, nor the other way round."""
    scribe = lab.scribe()
    await scribe.write(4)
    fork = await scribe.fork("fork", 4)
    for one in (scribe, fork, scribe, fork):
        await one.write(3)
        await scribe.verify()
        await fork.verify()
    for one in (scribe, fork):
        await one.rewind(2, 1)
        await scribe.verify()
        await fork.verify()


async def _a_fork_of_a_fork_is_whole(lab: Lab) -> None:
    """Forks of forks, at places before, at and after those of the forks before, are whole."""
    scribe = lab.scribe()
    await scribe.write(5)
    for depth, at in enumerate((4, 6, 7, 3, 3, 8)):
        scribe = await scribe.fork(f"fork-{depth}", min(at, len(scribe.rows)), 4)
        await scribe.verify()


async def _a_fork_outlives_its_source(lab: Lab) -> None:
    """A fork stays whole when its source is deleted, cleared, rewound and pruned, or made again."""
    for way in ("delete", "clear", "prune", "again"):
        scribe = lab.scribe(f"source-{way}")
        await scribe.write(4)
        fork = await scribe.fork(f"fork-{way}", 3, 1)
        if way == "clear":
            await scribe.clear()
        elif way == "prune":
            await scribe.rewind(1, 1)
            await scribe.write(keeps=[])
        else:
            await lab.storage.delete(scribe.key)
        if way == "again":
            await lab.scribe(scribe.key.id).write(2)
        await fork.verify()
        await fork.write(2)
        await fork.verify()


async def _a_deleted_fork_leaves_its_source(lab: Lab) -> None:
    """Deleting or clearing a fork leaves its source whole."""
    scribe = lab.scribe()
    await scribe.write(4)
    fork, cleared = await scribe.fork("fork", 2, 3), await scribe.fork("cleared", 3)
    await lab.storage.delete(fork.key)
    await cleared.clear()
    await scribe.verify()
    expect(await fork.read(0, 9), [], "the rows of the fork")


async def _a_fork_of_nothing_is_refused(lab: Lab) -> None:
    """
    A copy of a missing thread, of an unknown epoch, or of more rows than there are makes no thread.
    """
    scribe = lab.scribe("source")
    await scribe.write(3)
    stale = scribe.epoch
    await scribe.rewind(2, 1)
    missing = lab.scribe("missing")
    late = lab.scribe("fork")

    async def refuse(change: Change) -> None:
        await expect_not_found(lab.storage.commit(late.key, change))
        expect(await lab.storage.load(late.key), None, "the fork")
        expect(await late.read(0, 9), [], "its rows")

    await refuse(late.copying(missing, 0))
    await refuse(late.copying(missing, 1))
    await refuse(late.copying(scribe, 4))
    await refuse(late.copying(scribe, 1, epoch=lab.draw(16)))
    await scribe.clear()
    await refuse(late.copying(scribe, 0, epoch=stale))
    await refuse(late.copying(scribe, 1, epoch=stale))


async def _a_fork_of_a_deleted_thread_is_refused(lab: Lab) -> None:
    """A copy of a thread that was deleted is refused, also if one was made again under its id."""
    scribe = lab.scribe("source")
    await scribe.write(3)
    late = lab.scribe("fork")
    change = late.copying(scribe, 2)
    await lab.storage.delete(scribe.key)
    await expect_not_found(lab.storage.commit(late.key, change))
    await lab.scribe("source").write(6)
    await expect_not_found(lab.storage.commit(late.key, change))
    expect(await lab.storage.load(late.key), None, "the fork")


async def _a_foreign_thread_is_not_copied(lab: Lab) -> None:
    """A copy that names the thread of another tenant is refused, whichever tenant it says."""
    scribe = lab.scribe("same")
    await scribe.write(3)
    thief = lab.scribe("thief", tenant="-other")
    plain = thief.copying(scribe, 2)
    own = Copy(ThreadKey(thief.key.tenant, "same"), scribe.epoch, 2)
    for copies in (plain.copies, own):
        change = thief.change(copies=copies)
        await expect_not_found(lab.storage.commit(thief.key, change))
        expect(await thief.read(0, 9), [], "the rows")
    expect(await lab.storage.load(thief.key), None, "the thread")


async def _a_clear_deletes_everything(lab: Lab) -> None:
    """A commit that clears leaves no row at any epoch, and the thread continues."""
    scribe = lab.scribe()
    await scribe.write(5, system=(0,))
    await scribe.rewind(3, 2)
    left = [scribe.epoch, *scribe.left]
    await scribe.clear()
    for epoch in left:
        expect(await scribe.read(0, 9, epoch=epoch), [], "the rows of an earlier epoch")
    await scribe.write(3)
    await scribe.rewind(1, 1)
    await scribe.verify()


async def _a_clear_keeps_documents(lab: Lab) -> None:
    """A commit that clears keeps the documents that it does not drop."""
    scribe = lab.scribe()
    put = [Document("metadata", "", b"m"), Document("tool", "a", b"t")]
    await scribe.write(2, put=put)
    await scribe.rewind(0, clears=True, drop=[("tool", None)])
    expect(await lab.documents(scribe.key, "metadata"), {"": b"m"}, "the documents")
    expect(await lab.documents(scribe.key, "tool"), {}, "the documents that were dropped")


async def _epochs_go_with_their_thread(lab: Lab) -> None:
    """Deleting a thread deletes its replaced rows as well."""
    scribe = lab.scribe()
    await scribe.write(5)
    for at in (4, 2, 3):
        await scribe.rewind(at, 3)
    await lab.storage.delete(scribe.key)
    for epoch in (scribe.epoch, *scribe.left):
        expect(await scribe.read(0, 99, epoch=epoch), [], "the rows of an epoch")
    again = lab.scribe()
    await again.write(6)
    await again.rewind(1, 1)
    await again.verify()


async def _a_prune_keeps_the_named_epochs(lab: Lab) -> None:
    """
    After a prune the named epochs, those after them and the current one read as before.

    Epochs before the earliest of them are unknown.
    """
    for keep in range(5):
        scribe = lab.scribe(f"thread-{keep}")
        await _rewound(scribe)
        epochs = [*scribe.left, scribe.epoch]
        # Unknown epochs count for nothing.
        await scribe.write(keeps=[epochs[keep], lab.draw(16)])
        await scribe.verify()
        for epoch in epochs[:keep]:
            expect(await scribe.read(0, 9, epoch=epoch), [], "the rows of a forgotten epoch")


async def _a_pruned_thread_goes_on(lab: Lab) -> None:
    """After a prune down to the current epoch, later rewinds and prunes work as before."""
    scribe = lab.scribe()
    await _rewound(scribe)
    left = list(scribe.left)
    await scribe.write(1, keeps=[])
    for epoch in left:
        expect(await scribe.read(0, 9, epoch=epoch), [], "the rows of a forgotten epoch")
    await _rewound(scribe)
    await scribe.verify()
    await scribe.write(1, keeps=[list(scribe.left)[2]])
    await scribe.verify()


async def _a_pruned_epoch_is_not_copied(lab: Lab) -> None:
    """A fork of an epoch that was forgotten is refused."""
    scribe = lab.scribe("source")
    await _rewound(scribe)
    late = lab.scribe("fork")
    changes = [late.copying(scribe, 1, epoch=epoch) for epoch in scribe.left]
    await scribe.write(keeps=[])
    for change in changes:
        await expect_not_found(lab.storage.commit(late.key, change))


async def _rewound(scribe: Scribe) -> None:
    """Give *scribe* four more epochs than it has."""
    await scribe.write(6)
    for at, count in ((4, 3), (2, 2), (5, 1), (0, 6)):
        await scribe.rewind(min(at, len(scribe.rows)), count)


EPOCHS: tuple[Check, ...] = (
    _a_rewind_replaces_rows,
    _every_earlier_epoch_reads_as_it_was,
    _a_rewind_to_the_end_replaces_nothing,
    _a_rewound_batch_is_one_commit,
    _an_unknown_epoch_has_no_rows,
    _no_epoch_is_the_current_one,
    _a_refused_rewind_opens_nothing,
    _another_epoch_takes_no_commit,
    _a_fork_has_the_rows_of_its_source,
    _a_long_fork_is_one_commit,
    _a_fork_has_the_rows_of_an_earlier_epoch,
    _a_fork_and_its_source_grow_apart,
    _a_fork_of_a_fork_is_whole,
    _a_fork_outlives_its_source,
    _a_deleted_fork_leaves_its_source,
    _a_fork_of_nothing_is_refused,
    _a_fork_of_a_deleted_thread_is_refused,
    _a_foreign_thread_is_not_copied,
    _a_clear_deletes_everything,
    _a_clear_keeps_documents,
    _epochs_go_with_their_thread,
    _a_prune_keeps_the_named_epochs,
    _a_pruned_thread_goes_on,
    _a_pruned_epoch_is_not_copied,
)
"""The checks of this module."""
