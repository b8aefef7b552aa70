"""What rows promise: in order, whole, and where a branch shares them, shared."""

from itertools import permutations

from foldline.testing.storage.check import Check, Lab, Scribe, expect, expect_not_found
from foldline.threads.step import StoredRow


__all__ = ["ROWS"]


async def _rows_come_in_order(lab: Lab) -> None:
    """Rows of many commits come in the order of their numbers, past 9, 99 and 255 too."""
    scribe = lab.scribe()
    for size in (1, 8, 2, 90, 3, 160, 1):
        await scribe.write(size)
    await scribe.verify()


async def _a_range_is_cut_exactly(lab: Lab) -> None:
    """A range holds the rows from its start up to its stop, and never more than there are."""
    scribe = lab.scribe()
    await scribe.write(5)
    await scribe.write(7)
    for start, stop in ((0, 0), (0, 1), (4, 6), (5, 12), (11, 12), (11, 99), (12, 99), (7, 3)):
        rows = await scribe.read(start, stop)
        expect(rows, scribe.rows[start:stop], f"the rows {start} to {stop}")


async def _rows_keep_their_bytes(lab: Lab) -> None:
    """A row comes back byte for byte: none at all, every value of a byte, a million of them."""
    scribe = lab.scribe()
    contents = (b"", b"\0", b"\0\xff" * 9, bytes(range(256)), "naïve 東京".encode(), bytes(1 << 20))
    rows = [
        StoredRow(branch=scribe.branch, seq=at, system=False, data=data)
        for at, data in enumerate(contents)
    ]
    await scribe.commit(scribe.step(rows))
    await scribe.verify()


async def _a_big_batch_is_one_commit(lab: Lab) -> None:
    """Three thousand rows in one commit are all there."""
    scribe = lab.scribe()
    await scribe.write(3000, system=range(0, 3000, 100))
    await scribe.verify()


async def _rows_know_branch_and_number(lab: Lab) -> None:
    """Each row tells the branch that it was written on and its number, shared ones too."""
    scribe = lab.scribe()
    await scribe.write(3)
    fork = await scribe.fork("fork", 2, 2)
    told = [(row.branch, row.seq) for row in await fork.read()]
    expect(told, [(scribe.branch, 0), (scribe.branch, 1), (fork.branch, 2), (fork.branch, 3)], "")


async def _system_rows_come_alone(lab: Lab) -> None:
    """Where only system messages are wanted, exactly those of the range come, in order."""
    scribe = lab.scribe()
    await scribe.write(6, system=(0, 3))
    await scribe.write(6, system=(5,))
    fork = await scribe.fork("fork", 9, 1)
    await fork.write(3, system=(0, 2))
    for one in (scribe, fork):
        for start, stop in ((0, 99), (1, 4), (3, 3), (4, 11), (11, 99)):
            rows = await lab.storage.rows(one.key, one.branch, start, stop, system=True)
            wanted = [row for row in one.rows[start:stop] if row.system]
            expect(rows, wanted, f"the system rows {start} to {stop}")


async def _an_unknown_branch_has_no_rows(lab: Lab) -> None:
    """A branch that nobody opened has no rows."""
    scribe = lab.scribe()
    await scribe.write(2)
    expect(await lab.storage.rows(scribe.key, lab.draw(16), 0, 9), [], "the rows")


async def _a_fork_shares_rows(lab: Lab) -> None:
    """A fork has the rows before its branching, and then its own."""
    scribe = lab.scribe()
    await scribe.write(6)
    for at in range(7):
        fork = await scribe.fork(f"fork-{at}", at, 2)
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


async def _a_fork_of_a_fork_of_a_fork_reads_through(lab: Lab) -> None:
    """Rows are read through any number of branches, in ranges that begin and end in any of them."""
    scribe = lab.scribe()
    await scribe.write(5)
    for depth, at in enumerate((4, 6, 7, 3, 3, 8)):
        scribe = await scribe.fork(f"fork-{depth}", min(at, len(scribe.rows)), 4)
        await scribe.verify()
        count = len(scribe.rows)
        for start in range(count):
            rows = await scribe.read(start, start + 3)
            expect(rows, scribe.rows[start : start + 3], f"the rows from {start}")


async def _a_rewind_leaves_the_rest(lab: Lab) -> None:
    """After a rewind numbers are given again, and the rows that were left stay on their branch."""
    scribe = lab.scribe()
    await scribe.write(6)
    left, rows = scribe.branch, list(scribe.rows)
    await scribe.rewind(3, 2)
    await scribe.verify()
    expect(await lab.storage.rows(scribe.key, left, 0, 9), rows, "the rows of the branch left")
    await scribe.rewind(0, 1)
    await scribe.verify()


async def _shared_rows_outlive_their_thread(lab: Lab) -> None:
    """Deleting the source of a fork leaves the fork whole, at every place of branching."""
    for at in range(5):
        scribe = lab.scribe(f"source-{at}")
        await scribe.write(4)
        fork = await scribe.fork(f"fork-{at}", at, 1)
        await lab.storage.delete(scribe.key)
        await fork.verify()
        await fork.write(2)
        await fork.verify()


async def _a_deleted_fork_leaves_its_source(lab: Lab) -> None:
    """Deleting a fork leaves its source whole."""
    scribe = lab.scribe()
    await scribe.write(4)
    fork = await scribe.fork("fork", 2, 3)
    await lab.storage.delete(fork.key)
    await scribe.verify()
    expect(await fork.read(), [], "the rows of the fork")


async def _relatives_are_deleted_in_any_order(lab: Lab) -> None:
    """
    Whatever the order in which a thread, its fork and the fork's fork go, those left stay whole.
    """
    for number, order in enumerate(permutations(range(3))):
        scribe = lab.scribe(f"{number}-a")
        await scribe.write(4)
        fork = await scribe.fork(f"{number}-b", 3, 3)
        family = [scribe, fork, await fork.fork(f"{number}-c", 5, 2)]
        gone: set[int] = set()
        for one in order:
            await lab.storage.delete(family[one].key)
            gone.add(one)
            for other in set(range(3)) - gone:
                await family[other].verify()
        for member in family:
            expect(await member.read(), [], "the rows at the end")


async def _unshared_rows_go(lab: Lab) -> None:
    """When a source is deleted, of its rows only those stay that a fork shares."""
    scribe = lab.scribe()
    await scribe.write(6)
    fork = await scribe.fork("fork", 2, 1)
    further = await scribe.fork("further", 4, 1)
    await lab.storage.delete(scribe.key)
    rows = await lab.storage.rows(fork.key, scribe.branch, 0, 9)
    expect(rows, scribe.rows[:4], "the rows on the branch of the source")
    await further.verify()
    await lab.storage.delete(further.key)
    await fork.verify()


async def _branches_left_go_with_their_thread(lab: Lab) -> None:
    """Deleting a thread deletes the rows on the branches that it has left as well."""
    scribe = lab.scribe()
    await scribe.write(5)
    left = [scribe.branch]
    for at in (4, 2, 3):
        await scribe.rewind(at, 3)
        left.append(scribe.branch)
    await lab.storage.delete(scribe.key)
    for branch in left:
        expect(await lab.storage.rows(scribe.key, branch, 0, 99), [], "the rows of a branch")


async def _a_purge_deletes_what_nobody_shares(lab: Lab) -> None:
    """A commit that purges leaves no row of the branches behind it, and the thread goes on."""
    scribe = lab.scribe()
    await scribe.write(5)
    left = scribe.branch
    await scribe.clear()
    expect(await lab.storage.rows(scribe.key, left, 0, 9), [], "the rows of the branch left")
    await scribe.write(3)
    await scribe.verify()


async def _a_purge_keeps_what_a_fork_shares(lab: Lab) -> None:
    """A commit that purges leaves a fork whole, and nothing behind the rows that it shares."""
    scribe = lab.scribe()
    await scribe.write(5)
    left, rows = scribe.branch, list(scribe.rows)
    fork = await scribe.fork("fork", 3, 2)
    await scribe.clear()
    await fork.verify()
    await scribe.verify()
    expect(await lab.storage.rows(fork.key, left, 0, 9), rows[:3], "the rows of the branch left")


async def _a_purge_keeps_what_its_own_branch_shares(lab: Lab) -> None:
    """A commit that rewinds and purges keeps the rows that the new branch shares, and no others."""
    scribe = lab.scribe()
    await scribe.write(6)
    left, rows = scribe.branch, list(scribe.rows)
    await scribe.rewind(4, 2, purge=True)
    await scribe.verify()
    expect(await lab.storage.rows(scribe.key, left, 0, 9), rows[:4], "the rows of the branch left")


async def _a_branch_that_is_gone_cannot_be_shared(lab: Lab) -> None:
    """A commit that opens a branch on one that was deleted is refused and makes no thread."""
    scribe = lab.scribe("source")
    await scribe.write(3)
    await lab.storage.delete(scribe.key)
    late = lab.scribe("fork").sharing(scribe, 2)
    await expect_not_found(lab.storage.commit(late.key, late.step()))
    expect(await lab.storage.load(late.key), None, "the fork")


async def _delete(lab: Lab, scribe: Scribe) -> None:
    await lab.storage.delete(scribe.key)


async def _make_anew(lab: Lab, scribe: Scribe) -> None:
    await lab.storage.delete(scribe.key)
    await lab.scribe(scribe.key.id).write(6)


async def _clear(_: Lab, scribe: Scribe) -> None:
    await scribe.clear()


async def _a_branch_that_nobody_owns_cannot_be_shared(lab: Lab) -> None:
    """
    A commit that opens a branch on one of a deleted or cleared thread is refused, whatever it shares.

    It is so where a fork keeps the rows, and where another thread was made under the id.
    """
    for way in (_delete, _make_anew, _clear):
        source = lab.scribe(f"source{way.__name__}")
        await source.write(6)
        forks = [await source.fork(f"fork-{source.key.id}", 4, 1)]
        late = _late_forks(lab, source)
        await source.rewind(5, 1)
        forks.append(await source.fork(f"further-{source.key.id}", 6, 1))
        late += _late_forks(lab, source)
        await way(lab, source)
        for one in late:
            await expect_not_found(lab.storage.commit(one.key, one.step()))
            expect(await lab.storage.load(one.key), None, "the late fork")
        for fork in forks:
            await fork.verify()


def _late_forks(lab: Lab, source: Scribe) -> list[Scribe]:
    """Return the writers of forks, not yet made, that share none, some and all rows of *source*."""
    return [lab.scribe(f"late-{at}").sharing(source, at) for at in (0, 2, 4, 6)]


async def _a_branch_of_a_living_thread_can_be_shared(lab: Lab) -> None:
    """
    A branch that its thread has left can be forked, and a fork of what is gone can be forked anew.
    """
    gone = lab.scribe("gone")
    await gone.write(3)
    source = await gone.fork("source", 2, 4)
    forks = _late_forks(lab, source)
    await source.rewind(1, 1)
    await lab.storage.delete(gone.key)
    for fork in forks:
        await fork.write(1)
        await fork.verify()


async def _threads_share_no_numbers(lab: Lab) -> None:
    """Threads that grow in turn keep their rows apart."""
    scribes: list[Scribe] = [lab.scribe(f"thread-{number}") for number in range(5)]
    for size in range(4):
        for scribe in scribes:
            await scribe.write(size)
    for scribe in scribes:
        await scribe.verify()


ROWS: tuple[Check, ...] = (
    _rows_come_in_order,
    _a_range_is_cut_exactly,
    _rows_keep_their_bytes,
    _a_big_batch_is_one_commit,
    _rows_know_branch_and_number,
    _system_rows_come_alone,
    _an_unknown_branch_has_no_rows,
    _a_fork_shares_rows,
    _a_fork_and_its_source_grow_apart,
    _a_fork_of_a_fork_of_a_fork_reads_through,
    _a_rewind_leaves_the_rest,
    _shared_rows_outlive_their_thread,
    _a_deleted_fork_leaves_its_source,
    _relatives_are_deleted_in_any_order,
    _unshared_rows_go,
    _branches_left_go_with_their_thread,
    _a_purge_deletes_what_nobody_shares,
    _a_purge_keeps_what_a_fork_shares,
    _a_purge_keeps_what_its_own_branch_shares,
    _a_branch_that_is_gone_cannot_be_shared,
    _a_branch_that_nobody_owns_cannot_be_shared,
    _a_branch_of_a_living_thread_can_be_shared,
    _threads_share_no_numbers,
)
"""The checks of this module."""
