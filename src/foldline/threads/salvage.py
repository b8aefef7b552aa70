"""What a storage tells beside the threads themselves, so that damage can be found and mended."""

from typing import Protocol, runtime_checkable

from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey


__all__ = ["Mender", "NameList", "Salvage"]


@runtime_checkable
class NameList(Protocol):
    """A storage that tells the names of the threads that nobody can ask for, too."""

    async def names(self) -> list[tuple[str, str]]:
        """
        Return tenant and id of every thread, in order, allowed or not; what is no text is replaced.
        """
        ...


@runtime_checkable
class Salvage(NameList, Protocol):
    """A storage that can be looked into where a thread cannot be read."""

    async def branch_of(self, key: ThreadKey) -> bytes | None:
        """Return the branch of a thread without reading its head; None where that is lost too."""
        ...

    async def inspect(self) -> list[Fault]:
        """Return what is wrong below the threads: of the store itself, or stray."""
        ...


@runtime_checkable
class Mender(Salvage, Protocol):
    """A storage where something below the threads can be mended in place."""

    async def mend(self) -> list[Fault]:
        """
        Mend of what `inspect` finds all that can only be meant in one way, and return it.

        No row and no document is written: only what is made of them, as lists and indexes.
        """
        ...
