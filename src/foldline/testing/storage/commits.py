"""What a commit promises: all or nothing, once, and never over somebody else's."""

import asyncio
from collections.abc import Awaitable, Iterable

from foldline.errors import ThreadConflictError
from foldline.testing.storage.check import (
    Check,
    Lab,
    Scribe,
    expect,
    expect_conflict,
    expect_not_found,
)
from foldline.threads.change import Document
from foldline.threads.row import StoredRow


__all__ = ["COMMITS"]


_RACERS = 12
_WRITERS = 4
_BATCHES = 5
_BATCH = 3


async def _a_new_thread_is_there(lab: Lab) -> None:
    """A commit that expects revision 0 makes the thread, at revision 1."""
    scribe = lab.scribe()
    await scribe.write(3)
    expect(scribe.revision, 1, "the revision")
    await scribe.verify()


async def _a_missing_thread_is_none(lab: Lab) -> None:
    """A thread that nobody made is loaded as None."""
    expect(await lab.storage.load(lab.key()), None, "the thread")


async def _each_commit_counts_one(lab: Lab) -> None:
    """Every commit moves the revision by one and replaces the head, with rows or without."""
    scribe = lab.scribe()
    for size in (0, 2, 0, 1, 3):
        await scribe.write(size)
        await scribe.verify()
    expect(scribe.revision, 5, "the revision")


async def _a_stale_revision_is_refused(lab: Lab) -> None:
    """A commit that expects an older revision is a conflict that names both revisions."""
    scribe = lab.scribe()
    await scribe.write(1)
    late = scribe.change(scribe.drawn(1))
    await scribe.write(1)
    attempt = lab.storage.commit(scribe.key, late)
    await expect_conflict(attempt, key=scribe.key, expected=1, actual=2)
    await scribe.verify()


async def _a_future_revision_is_refused(lab: Lab) -> None:
    """A commit that expects a revision which nobody has made is a conflict."""
    scribe = lab.scribe()
    await scribe.write(1)
    attempt = lab.storage.commit(scribe.key, scribe.change(scribe.drawn(1), revision=7))
    await expect_conflict(attempt, key=scribe.key, expected=7, actual=1)
    await scribe.verify()


async def _a_second_maker_is_refused(lab: Lab) -> None:
    """Making a thread that is there is a conflict, and leaves it alone."""
    scribe = lab.scribe()
    await scribe.write(2)
    other = Scribe(lab, scribe.key)
    attempt = lab.storage.commit(scribe.key, other.change(other.drawn(2)))
    await expect_conflict(attempt, key=scribe.key, expected=0, actual=1)
    await scribe.verify()


async def _a_commit_to_no_thread_is_refused(lab: Lab) -> None:
    """A commit that expects a thread which is not there is a conflict with revision 0."""
    scribe = lab.scribe()
    attempt = lab.storage.commit(scribe.key, scribe.change(revision=3))
    await expect_conflict(attempt, key=scribe.key, expected=3, actual=0)
    expect(await lab.storage.load(scribe.key), None, "the thread")


async def _a_refused_commit_changes_nothing(lab: Lab) -> None:
    """Of a refused commit no row, no document, no deletion and no expiry is stored."""
    scribe = lab.scribe()
    kept = Document("metadata", "", b"kept")
    await scribe.write(2, put=[kept, Document("tool", "call", b"kept")], gone_at=4e9)
    before = await scribe.shown()
    change = scribe.change(
        scribe.drawn(2),
        put=[Document("metadata", "", b"lost"), Document("execution", "", b"lost")],
        drop=[("tool", None)],
        revision=0,
        gone_at=5e9,
    )
    await expect_conflict(
        lab.storage.commit(scribe.key, change), key=scribe.key, expected=0, actual=1
    )
    expect(await scribe.shown(), before, "the thread")
    await scribe.verify()


async def _a_head_keeps_its_bytes(lab: Lab) -> None:
    """A head comes back byte for byte, whatever bytes it has."""
    scribe = lab.scribe()
    for head in (b"", bytes(range(256)) * 4):
        await scribe.write(head=head)
        stored = await scribe.stored()
        expect(stored.head, head, "the head")


async def _of_racing_commits_one_wins(lab: Lab) -> None:
    """
    Of commits at once that expect the same revision exactly one is made; the others raise.
    """
    scribe = lab.scribe()
    await scribe.write(1)
    for _ in range(3):
        changes = [scribe.change(scribe.drawn(3)) for _ in range(_RACERS)]
        results = await _outcomes(lab.storage.commit(scribe.key, one) for one in changes)
        expect(results.count(None), 1, "the number of winners")
        scribe.made(changes[results.index(None)])
        await scribe.verify()


async def _of_racing_makers_one_wins(lab: Lab) -> None:
    """Of tasks that make the same thread at once exactly one does."""
    makers = [lab.scribe() for _ in range(_RACERS)]
    changes = [maker.change(maker.drawn(2)) for maker in makers]
    results = await _outcomes(lab.storage.commit(makers[0].key, one) for one in changes)
    expect(results.count(None), 1, "the number of winners")
    winner = makers[results.index(None)]
    winner.made(changes[results.index(None)])
    await winner.verify()


async def _outcomes(attempts: Iterable[Awaitable[None]]) -> list[BaseException | None]:
    results = await asyncio.gather(*attempts, return_exceptions=True)
    for result in results:
        if result is not None and not isinstance(result, ThreadConflictError):
            raise result
    return list(results)


async def _threads_do_not_hinder_each_other(lab: Lab) -> None:
    """Commits at once to as many threads are all made."""
    scribes = [lab.scribe(f"thread-{number}") for number in range(_RACERS)]
    for _ in range(3):
        await asyncio.gather(*(scribe.write(2) for scribe in scribes))
    for scribe in scribes:
        await scribe.verify()


async def _racing_batches_stay_whole(lab: Lab) -> None:
    """
    Batches of many writers, each tried again after a conflict, are all there, each in one piece.
    """
    scribe = lab.scribe()
    await scribe.write(head=b"0")
    await asyncio.gather(*(_insist(lab, scribe, b"%d" % one) for one in range(_WRITERS)))
    rows = await scribe.read(0, 999)
    expect([row.seq for row in rows], list(range(_WRITERS * _BATCHES * _BATCH)), "the numbers")
    written = [row.data[:1] for row in rows]
    batches = [set(written[at : at + _BATCH]) for at in range(0, len(written), _BATCH)]
    expect([len(batch) for batch in batches], [1] * len(batches), "the writers of each batch")
    counts = {name: written.count(name) for name in set(written)}
    expect(set(counts.values()), {_BATCHES * _BATCH}, "the rows of each writer")


async def _insist(lab: Lab, scribe: Scribe, name: bytes) -> None:
    for _ in range(_BATCHES):
        while not await _appended(lab, scribe, name):
            pass


async def _appended(lab: Lab, scribe: Scribe, name: bytes) -> bool:
    stored = await lab.storage.load(scribe.key)
    if stored is None:
        message = "the thread is gone"
        raise AssertionError(message)
    # The head of this check is the number of rows.
    count = int(stored.head)
    rows = [StoredRow(count + at, system=False, data=name) for at in range(_BATCH)]
    head = b"%d" % (count + _BATCH)
    change = scribe.change(rows, revision=stored.revision, head=head)
    try:
        await lab.storage.commit(scribe.key, change)
    except ThreadConflictError:
        return False
    return True


async def _a_reader_sees_no_half(lab: Lab) -> None:
    """While commits are made, every row that a loaded head speaks of is there."""
    scribe = lab.scribe()
    await scribe.write(head=b"0")
    writing = asyncio.ensure_future(_insist(lab, scribe, b"w"))
    while not writing.done():
        stored = await lab.storage.load(scribe.key)
        count = 0 if stored is None else int(stored.head)
        rows = await scribe.read(0, count)
        expect(len(rows), count, "the rows of a head")
        await asyncio.sleep(0)
    await writing


async def _a_cancelled_commit_is_whole(lab: Lab) -> None:
    """
    A commit that is cancelled is made or not, whole, and has ended if `ends_commits` says so.
    """
    for waits in range(4):
        scribe = lab.scribe(f"thread-{waits}")
        await scribe.write(1)
        change = scribe.change(scribe.drawn(50), put=[Document("metadata", "", b"m")])
        commit = asyncio.ensure_future(lab.storage.commit(scribe.key, change))
        for _ in range(waits):
            await asyncio.sleep(0)
        commit.cancel()
        await asyncio.wait([commit])
        stored = await scribe.stored()
        if stored.revision > scribe.revision:
            scribe.made(change)
        elif not lab.storage.ends_commits:
            # It may still arrive, unless another one is there first.
            await _outcomes([scribe.commit(scribe.change())])
            stored = await scribe.stored()
            if stored.head == change.head:
                scribe.made(change)
        await scribe.verify()


async def _expiry_is_kept(lab: Lab) -> None:
    """The expiry is what the last commit said, to the fraction of a second, or None."""
    scribe = lab.scribe()
    for expires_at in (None, 4_102_444_800.123456, 4_102_444_801.0, None):
        await scribe.write(gone_at=expires_at)
        stored = await lab.storage.load(scribe.key)
        expect(stored and stored.expires_at, expires_at, "the expiry")


async def _a_deleted_thread_is_gone(lab: Lab) -> None:
    """Of a deleted thread nothing can be loaded, and deleting it again says that there is none."""
    scribe = lab.scribe()
    await scribe.write(3, put=[Document("metadata", "", b"m"), Document("checkpoint", "1", b"c")])
    answers = [await lab.storage.delete(scribe.key) for _ in range(2)]
    expect(answers, [True, False], "the answers")
    expect(await lab.storage.load(scribe.key), None, "the thread")
    expect(await scribe.read(), [], "its rows")
    expect(await lab.documents(scribe.key, "checkpoint"), {}, "its documents")


async def _deleting_nothing_says_so(lab: Lab) -> None:
    """Deleting a thread that nobody made gives False."""
    answers = [await lab.storage.delete(lab.key())]
    expect(answers, [False], "the answer")


async def _a_deletion_compares_the_revision(lab: Lab) -> None:
    """A deletion of what was read at another revision is a conflict and deletes nothing."""
    scribe = lab.scribe()
    await scribe.write(1)
    early = await scribe.stored()
    await scribe.write(1)
    attempt = lab.storage.delete(scribe.key, expected=early)
    await expect_conflict(attempt, key=scribe.key, expected=1, actual=2)
    await scribe.verify()
    answers = [await lab.storage.delete(scribe.key, expected=await scribe.stored())]
    expect(answers, [True], "the answer")


async def _a_deleted_thread_takes_no_commit(lab: Lab) -> None:
    """
    A commit to a thread that was deleted in the meantime is a conflict and does not revive it.
    """
    scribe = lab.scribe()
    await scribe.write(2)
    await lab.storage.delete(scribe.key)
    attempt = lab.storage.commit(scribe.key, scribe.change(scribe.drawn(1)))
    await expect_conflict(attempt, key=scribe.key, expected=1, actual=0)
    expect(await lab.storage.load(scribe.key), None, "the thread")


async def _a_thread_made_again_is_new(lab: Lab) -> None:
    """
    A thread that is made under the id of a deleted one begins at revision 1 with nothing of it.
    """
    scribe = lab.scribe()
    await scribe.write(4, put=[Document("tool", "old", b"x")], gone_at=4e9)
    await lab.storage.delete(scribe.key)
    again = lab.scribe()
    await again.write(2)
    await again.verify()
    stored = await lab.storage.load(again.key)
    expect(stored and len(stored.documents), 0, "the documents of the new one")
    expect(stored and stored.expires_at, None, "the expiry of the new one")
    expect(await scribe.read(), [], "the rows of the old one")


async def _a_thread_made_again_takes_no_old_commit(lab: Lab) -> None:
    """A commit, a rewind or a clear decided on a deleted thread is refused by the one made again."""
    old = lab.scribe()
    await old.write(4)
    await old.write(1)
    await lab.storage.delete(old.key)
    again = lab.scribe()
    await again.write(2)
    await again.write(3)
    expect(again.revision, old.revision, "the revision")
    for late in (
        old.change(old.drawn(2)),
        old.rewinding(2, 1),
        old.rewinding(0, clears=True),
        old.change(keeps=[]),
    ):
        await expect_not_found(lab.storage.commit(old.key, late))
        await again.verify()
    await again.rewind(1, 2)
    await again.verify()


async def _a_thread_made_again_is_not_deleted(lab: Lab) -> None:
    """A deletion of what was read is refused by a thread made again at the same revision."""
    old = lab.scribe()
    await old.write(1)
    early = await old.stored()
    await lab.storage.delete(old.key)
    again = lab.scribe()
    await again.write(1)
    expect(again.revision, old.revision, "the revision")
    attempt = lab.storage.delete(old.key, expected=early)
    results = await asyncio.gather(attempt, return_exceptions=True)
    conflicts = [one for one in results if isinstance(one, ThreadConflictError)]
    expect(len(conflicts), 1, "the conflicts")
    await again.verify()
    answers = [await lab.storage.delete(again.key, expected=await again.stored())]
    expect(answers, [True], "the answer")


async def _a_deletion_and_a_commit_at_once_agree(lab: Lab) -> None:
    """Of a deletion and a commit at once that expect the same thread exactly one is made."""
    for number in range(_RACERS):
        scribe = lab.scribe(f"thread-{number}")
        await scribe.write(1)
        change = scribe.change(scribe.drawn(1))
        stored = await scribe.stored()
        results = await asyncio.gather(
            lab.storage.commit(scribe.key, change),
            lab.storage.delete(scribe.key, expected=stored),
            return_exceptions=True,
        )
        conflicts = [one for one in results if isinstance(one, ThreadConflictError)]
        expect(len(conflicts), 1, "the conflicts")
        left = await lab.storage.load(scribe.key)
        expect(left is not None, results[1] is not True, "whether it is there")


COMMITS: tuple[Check, ...] = (
    _a_new_thread_is_there,
    _a_missing_thread_is_none,
    _each_commit_counts_one,
    _a_stale_revision_is_refused,
    _a_future_revision_is_refused,
    _a_second_maker_is_refused,
    _a_commit_to_no_thread_is_refused,
    _a_refused_commit_changes_nothing,
    _a_head_keeps_its_bytes,
    _of_racing_commits_one_wins,
    _of_racing_makers_one_wins,
    _threads_do_not_hinder_each_other,
    _racing_batches_stay_whole,
    _a_reader_sees_no_half,
    _expiry_is_kept,
    _a_deleted_thread_is_gone,
    _deleting_nothing_says_so,
    _a_deletion_compares_the_revision,
    _a_deleted_thread_takes_no_commit,
    _a_thread_made_again_is_new,
    _a_thread_made_again_takes_no_old_commit,
    _a_thread_made_again_is_not_deleted,
    _a_cancelled_commit_is_whole,
    _a_deletion_and_a_commit_at_once_agree,
)
"""The checks of this module."""
