"""A thread as it was at a checkpoint."""

from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.thread import ConversationThread


__all__ = ["ThreadMoment"]


class ThreadMoment(ReadOnlyThread):
    """A thread as it was at a checkpoint, which can be read and gone on from."""

    async def fork(self, thread_id: str, *, at: int | None = None) -> ConversationThread:
        """
        Return a new thread that shares the first messages of this moment.

        It is what `ConversationThread.fork` would have made then, also where the thread has been
        rewound or edited since. Of the reductions it shares those that the thread has now.

        Args:
            thread_id: The id of the new thread, of the same tenant.
            at: How many messages it shares, system messages not counted; all of this moment by
                default.

        Raises:
            ThreadExistsError: There is a thread of that id.
            ThreadNotFoundError: Somebody has deleted this thread, or it has expired.
            ThreadConflictError: Somebody has cleared this thread since it was read.
            ConfigError: There are fewer messages than *at*.
        """
        return ConversationThread(self._backing, await self._fork(thread_id, at))
