"""Making a commit, and knowing afterwards whether it was made."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from foldline.errors import (
    CommitUnknownError,
    StoreError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.threads.backing import Backing
from foldline.threads.head import REMEMBERED_COMMITS
from foldline.threads.old_change import Change, Planned, plan_step
from foldline.threads.record import ThreadRecord, decode_record


__all__ = ["carry_out"]


# The storage has waited its own time already, so only a short second look is taken, in seconds.
_PATIENCE = 1.0


def _nothing() -> None:
    pass


def _nowhere(_: ThreadRecord) -> None:
    pass


async def carry_out(
    backing: Backing,
    planned: Planned,
    *,
    made: Callable[[], None] = _nothing,
    moved: Callable[[ThreadRecord], None] = _nowhere,
) -> None:
    """
    Commit *planned*; what has begun is finished also where the task is cancelled.

    Args:
        backing: What the threads of the store have in common.
        planned: What to commit.
        made: Is called once it was made, before anything is raised or returned; nothing by
            default.
        moved: Is called with the thread where an empty commit was made in its place, so that it
            cannot arrive any more; nothing by default.

    Raises:
        ThreadConflictError: The thread is at another revision; nothing was written.
        ThreadNotFoundError: There is no such thread any more.
        StoreError: The storage failed; nothing was written.
        CommitUnknownError: It failed in a way that leaves open whether it was written.
    """
    if backing.ends_commits:
        await _commit_steadily(backing, planned, made)
        return
    commit = asyncio.ensure_future(_commit(backing, planned, moved))
    try:
        await asyncio.shield(commit)
    except asyncio.CancelledError:
        await _ended(commit)
        if not commit.cancelled() and commit.exception() is None:
            made()
        raise
    made()


async def _commit_steadily(backing: Backing, planned: Planned, made: Callable[[], None]) -> None:
    try:
        await _commit(backing, planned, _nowhere)
    except asyncio.CancelledError as cancelled:
        # It has ended all the same; a cause says that it failed.
        if cancelled.__cause__ is None:
            made()
        raise
    made()


async def _commit(
    backing: Backing, planned: Planned, moved: Callable[[ThreadRecord], None]
) -> None:
    try:
        await backing.storage.commit(planned.record.key, planned.step)
    except CommitUnknownError as error:
        try:
            await _settle(backing, planned, error, moved)
        except asyncio.CancelledError as cancelled:
            # It has not been found out, so that nobody may take it for made.
            raise cancelled from error


async def _ended(commit: asyncio.Future[None]) -> None:
    """Wait for *commit*, also when the task that waits is cancelled again."""
    while not commit.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([commit])


async def _settle(
    backing: Backing,
    planned: Planned,
    error: CommitUnknownError,
    moved: Callable[[ThreadRecord], None],
) -> None:
    """Find out whether a commit whose outcome is unknown was made; raise where it was not."""
    record = await _stored(backing, planned, error)
    expected, name = planned.step.expected, planned.record.key.id
    if record is not None and planned.step.id in record.head.recent:
        return
    made_at = planned.record.head.created_at
    if expected and (record is None or record.head.created_at != made_at):
        # It was deleted; another one may have been made under its id.
        raise ThreadNotFoundError(thread_id=name)
    actual = 0 if record is None else record.head.revision
    if actual == expected:
        await _fence(backing, planned, record, error, moved)
        return
    if actual - expected > REMEMBERED_COMMITS:
        reason = "others have written so often since that it cannot be told"
        raise _unknown(planned, error, reason, is_forgotten=True)
    raise ThreadConflictError(thread_id=name, expected=expected, actual=actual)


async def _fence(
    backing: Backing,
    planned: Planned,
    record: ThreadRecord | None,
    error: CommitUnknownError,
    moved: Callable[[ThreadRecord], None],
) -> None:
    """
    See that a commit that has not arrived yet will be refused when it does, and raise.

    It returns only where the commit arrived first and was made after all. An empty commit takes
    the revision that it expects. A storage that ends its commits by itself has none under way; a
    cause says that it could not undo what has failed.
    """
    if backing.ends_commits and error.__cause__ is not None:
        raise _unknown(planned, error, f"it could not be undone ({error.__cause__})")
    if not backing.ends_commits:
        if record is None:
            raise _unknown(planned, error, "the thread may still be made")
        empty = plan_step(backing, record, Change())
        try:
            await backing.storage.commit(record.key, empty.step)
        except ThreadConflictError:
            await _settle(backing, planned, error, moved)
            return
        except StoreError:
            raise _unknown(planned, error, "nothing can be written now") from None
        moved(empty.record)
    message = f"a commit of thread {planned.record.key.id!r} was not made: {error}"
    raise StoreError(message)


async def _stored(
    backing: Backing, planned: Planned, error: CommitUnknownError
) -> ThreadRecord | None:
    try:
        async with asyncio.timeout(_PATIENCE):
            stored = await backing.storage.load(planned.record.key)
    except (StoreError, TimeoutError):
        raise _unknown(planned, error, "nothing can be read now") from None
    return None if stored is None else decode_record(stored, backing.vault)


def _unknown(
    planned: Planned, error: CommitUnknownError, reason: str, *, is_forgotten: bool = False
) -> CommitUnknownError:
    is_told = planned.is_named and not is_forgotten
    if is_told:
        way = "Refresh, then commit again under the commit_id of this error"
    elif planned.step.expected:
        way = "Refresh, and look whether it is there"
    else:
        way = "Look with `find` whether the thread is there"
    name = planned.record.key.id
    return CommitUnknownError(
        f"a commit of thread {name!r} may be there or not, and {reason}: {error}. {way}",
        commit_id=planned.step.id if is_told else None,
    )
