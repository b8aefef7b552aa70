"""The threads of a tenant, a page at a time."""

from collections.abc import AsyncIterator

from foldline.threads.old_storage import ThreadStorage
from foldline.threads.step import StoredThread


__all__ = ["stored_threads"]


_PAGE = 200


async def stored_threads(storage: ThreadStorage, tenant: str) -> AsyncIterator[StoredThread]:
    """
    Give every thread of *tenant* as it is stored, in order of their ids.

    Args:
        storage: Where they lie; threads may come and go there meanwhile.
        tenant: Whose threads.
    """
    after = ""
    while True:
        page = await storage.threads(tenant, after=after, limit=_PAGE)
        for stored in page:
            yield stored
        if not page:
            return
        after = page[-1].key.id
