"""What became of a commit whose answer was lost."""

from foldline.errors import CommitUnknownError, StoreError, ThreadConflictError
from foldline.threads.key import ThreadKey
from foldline.threads.step import Step


__all__ = ["judge"]


def judge(key: ThreadKey, step: Step, *, revision: int, head: bytes, reason: str) -> None:
    """
    See that *step*, which is not under way any more, was made.

    Args:
        key: The thread.
        step: The commit.
        revision: The revision that the thread has now; 0 where there is none.
        head: Its head.
        reason: What broke.

    Raises:
        CommitUnknownError: Others have gone on from there, or from where it began.
        ThreadConflictError: Somebody else has written.
        StoreError: It was not made.
    """
    if revision > step.expected + 1:
        raise CommitUnknownError(reason)
    if (revision, head) == (step.expected + 1, step.head):
        return
    if revision != step.expected:
        raise ThreadConflictError(thread_id=key.id, expected=step.expected, actual=revision)
    message = f"{reason}: it was not made"
    raise StoreError(message)
