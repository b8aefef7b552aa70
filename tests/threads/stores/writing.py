"""Writing to a storage directly, as the checks of the kit do."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from foldline.testing.storage.check import Lab
from foldline.threads.storage import ThreadStorage


@asynccontextmanager
async def lab_of(storage: ThreadStorage) -> AsyncGenerator[Lab]:
    """Yield *storage*, open, with writers of threads of the tenant `acme`."""
    await storage.open()
    try:
        yield Lab(storage, lambda: storage, tenant="acme")
    finally:
        await storage.close()
