"""
What a storage tells beside the threads themselves, so that damage can be found and mended.
"""

from typing import Protocol, runtime_checkable

from foldline.threads.key import ThreadKey


__all__ = ["Salvage"]


@runtime_checkable
class Salvage(Protocol):
    """
    A storage that can be looked into where a thread cannot be read.
    """

    async def names(self) -> list[tuple[str, str]]:
        """
        Return tenant and id of every thread, in order, allowed or not.
        """
        ...

    async def branch_of(self, key: ThreadKey) -> bytes | None:
        """
        Return the branch of a thread without reading its head; None where that is lost too.
        """
        ...

    async def inspect(self) -> list[str]:
        """
        Return what is wrong below the threads, one sentence each, without any text of them.
        """
        ...
