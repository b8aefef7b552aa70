"""
Whether a thread, or a whole store, is still as it was written.
"""

from collections.abc import AsyncIterator

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import StoreCorruptError, StoreVersionError, ThreadIdError
from foldline.threads.backing import Backing
from foldline.threads.examination import examine_steadily
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey
from foldline.threads.paging import stored_threads
from foldline.threads.salvage import Salvage
from foldline.threads.store import ThreadStore


__all__ = [
    "Verified",
    "count_threads",
    "list_keys",
    "verify_one",
    "verify_store",
    "verify_thread",
]


class Verified(Struct, frozen=True, kw_only=True):
    """
    What was found in one thread, or below all of them.
    """

    key: ThreadKey | None
    """The thread; None for the store itself."""

    messages: int = 0
    """How many of its messages are whole, from the first on."""

    faults: tuple[Fault, ...] = ()
    """What is damaged, in the order in which it was found."""

    number: int = 0
    """How many threads have been read, this one included."""

    total: int = 0
    """How many threads there are."""


async def verify_thread(backing: Backing, key: ThreadKey) -> list[Fault]:
    """
    Recompute everything about a thread and return what is not as it was written.

    That is: every row with its seal, its place, its counts and its digest; the head; every
    document, and whether it belongs to these rows. Of the rows the first damaged one comes first. A
    thread that is not there has no faults, and damage is never raised.

    Args:
        backing: Where the thread lies.
        key: The thread.

    Raises:
        StoreError: The storage failed, for another reason than damage.
    """
    verified = await verify_one(backing, key)
    return [] if verified is None else list(verified.faults)


async def verify_one(backing: Backing, key: ThreadKey) -> Verified | None:
    """
    Return what is found in one thread, as `verify_thread` does; None where there is none.

    Raises:
        StoreError: The storage failed, for another reason than damage.
    """
    try:
        found = await examine_steadily(backing, key)
    except StoreVersionError as error:
        return Verified(key=key, faults=(Fault(kind="version", problem=str(error)),))
    except StoreCorruptError as error:
        return Verified(key=key, faults=(Fault(kind="store", problem=str(error)),))
    if found is None:
        return None
    return Verified(key=key, messages=found.sums.count, faults=found.faults)


async def verify_store(store: ThreadStore, *, tenant: str | None = None) -> AsyncIterator[Verified]:
    """
    Give what is found in each thread, and at last what is found below all of them.

    Args:
        store: The store, open.
        tenant: Whose threads; those of all tenants by default.

    Raises:
        ThreadIdError: *tenant* has characters that are not allowed.
        StoreError: The storage failed, for another reason than damage.
    """
    backing = store.backing
    keys, faults = await _keys(backing, tenant)
    for number, key in enumerate(keys, start=1):
        verified = await verify_one(backing, key)
        if verified is not None:
            yield replace(verified, number=number, total=len(keys))
    if isinstance(backing.storage, Salvage):
        problems = await backing.storage.inspect()
        faults += [Fault(kind="store", problem=problem) for problem in problems]
    if faults:
        yield Verified(key=None, faults=tuple(faults), number=len(keys), total=len(keys))


async def list_keys(store: ThreadStore, *, tenant: str | None = None) -> list[ThreadKey]:
    """
    Return the keys of all threads, in order, of one tenant or of all; damaged names are left out.

    Raises:
        ThreadIdError: *tenant* has characters that are not allowed.
        StoreCorruptError: The store is damaged so that they cannot be listed.
    """
    return (await _found_keys(store.backing, tenant))[0]


async def count_threads(store: ThreadStore, *, tenant: str | None = None) -> int:
    """
    Return how many threads there are, of one tenant or of all.
    """
    return len((await _keys(store.backing, tenant))[0])


async def _keys(backing: Backing, tenant: str | None) -> tuple[list[ThreadKey], list[Fault]]:
    try:
        return await _found_keys(backing, tenant)
    except StoreCorruptError as error:
        return [], [Fault(kind="store", problem=f"the threads cannot be listed: {error}")]


async def _found_keys(backing: Backing, tenant: str | None) -> tuple[list[ThreadKey], list[Fault]]:
    if tenant is not None:
        # Raises where no thread could be named so.
        ThreadKey(tenant, "any")
    if isinstance(backing.storage, Salvage):
        return _allowed(await backing.storage.names(), tenant)
    return await _paged(backing, tenant), []


async def _paged(backing: Backing, tenant: str | None) -> list[ThreadKey]:
    tenants = await backing.storage.tenants() if tenant is None else [tenant]
    keys: list[ThreadKey] = []
    for one in tenants:
        keys += [stored.key async for stored in stored_threads(backing.storage, one)]
    return keys


def _allowed(
    names: list[tuple[str, str]], tenant: str | None
) -> tuple[list[ThreadKey], list[Fault]]:
    keys: list[ThreadKey] = []
    faults: list[Fault] = []
    for owner, id in names:
        try:
            key = ThreadKey(owner, id)
        except ThreadIdError as error:
            faults.append(Fault(kind="store", problem=f"a thread has a damaged name: {error}"))
            continue
        if tenant in {None, owner}:
            keys.append(key)
    return keys, faults
