"""The outcome of a commit whose answer was lost."""

from foldline.errors import CommitUnknownError, StoreError, ThreadConflictError
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey


__all__ = ["judge"]


def judge(key: ThreadKey, change: Change, *, revision: int, head: bytes, reason: str) -> None:
    """
    Check that *change*, which has ended one way or the other, was made.

    *revision*, 0 if there is no thread, and *head* are those of now; *reason* is what broke.

    Raises:
        CommitUnknownError: Others have written since.
        ThreadConflictError: Another writer was first.
        StoreError: It was not made.
    """
    if revision > change.revision + 1:
        raise CommitUnknownError(reason)
    if (revision, head) == (change.revision + 1, change.head):
        return
    if revision != change.revision:
        raise ThreadConflictError(thread_id=key.id, expected=change.revision, actual=revision)
    message = f"{reason}: it was not made"
    raise StoreError(message)
