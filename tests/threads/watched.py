"""A storage that somebody watches, to act at a moment of another's."""

from collections.abc import Awaitable, Callable

from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.storage import StoredThread
from foldline.threads.stores.memory import MemoryStorage


class Watched(MemoryStorage):
    """A storage in which somebody acts once: behind a commit, or before a thread is loaded."""

    def __init__(self) -> None:
        """Let nobody act."""
        super().__init__()
        self.act: Callable[[], Awaitable[None]] | None = None
        self.commits = 0
        self.loads = 0

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit, and act where as many commits were waited for."""
        await super().commit(key, change)
        self.commits -= 1
        if self.commits == 0:
            await self._acted()

    async def load(self, key: ThreadKey) -> StoredThread | None:
        """Load, and act before where as many loads were waited for."""
        self.loads -= 1
        if self.loads == 0:
            await self._acted()
        return await super().load(key)

    async def _acted(self) -> None:
        if self.act is not None:
            await self.act()
