"""Threads that are gone, and still lie in the store."""

from foldline.errors import StoreCorruptError, StoreVersionError, ThreadConflictError
from foldline.threads.backing import Backing
from foldline.threads.key import ThreadKey
from foldline.threads.record import ThreadRecord, decode_record
from foldline.threads.step import StoredThread


__all__ = ["delete_expired", "is_expired", "make_room"]


def is_expired(backing: Backing, record: ThreadRecord) -> bool:
    """Whether nobody finds the thread *record* any more."""
    # The head says it: nothing protects the column beside it, and a thread may hang on it.
    expires_at = record.head.expires_at
    return expires_at is not None and expires_at <= backing.clock()


async def delete_expired(backing: Backing, stored: StoredThread) -> bool:
    """Delete *stored* as it was read; False where somebody was faster."""
    try:
        return await backing.storage.delete(stored.key, expected=stored)
    except ThreadConflictError:
        # It was prolonged or made anew in the meantime.
        return False


async def make_room(backing: Backing, key: ThreadKey) -> None:
    """
    Delete the thread *key* where it has expired, so that a new one can be made.

    One that cannot be read stays: nobody knows whether it has expired.
    """
    stored = await backing.storage.load(key)
    if stored is None:
        return
    try:
        record = decode_record(stored, backing.vault)
    except (StoreCorruptError, StoreVersionError):
        return
    if is_expired(backing, record):
        await delete_expired(backing, stored)
