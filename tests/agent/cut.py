"""A store whose connection breaks in one commit, so that nobody knows whether it was made."""

from foldline.errors import CommitUnknownError, StoreError
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.stores.memory import MemoryStorage


ADVICE = (
    "Refresh the thread: if your message is missing, send it again; if it has no answer, run "
    "(or `resume`) without a message; otherwise the turn has ended"
)
"""What an error about a step of a turn says to do."""


class Cut(MemoryStorage):
    """A storage that loses its connection in commit number *at*, counted from 1."""

    def __init__(self, at: int, *, makes: bool) -> None:
        super().__init__()
        self._left = at
        self._makes = makes
        self.is_away = False

    @property
    def has_broken(self) -> bool:
        return self._left <= 0

    async def commit(self, key: ThreadKey, change: Change) -> None:
        self._left -= 1
        if self._left:
            await super().commit(key, change)
            return
        if self._makes:
            await super().commit(key, change)
        self.is_away = True
        message = "the connection broke"
        raise CommitUnknownError(message)

    async def load(self, key: ThreadKey) -> StoredThread | None:
        if self.is_away:
            message = "the connection broke"
            raise StoreError(message)
        return await super().load(key)
