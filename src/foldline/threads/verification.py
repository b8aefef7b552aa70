"""Whether a thread, or a whole store, is still as it was written."""

from collections.abc import AsyncIterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreKeyError,
    StoreVersionError,
    ThreadIdError,
)
from foldline.threads.backing import Backing
from foldline.threads.examination import examine_steadily
from foldline.threads.fault import Fault
from foldline.threads.key import ThreadKey, check_tenant
from foldline.threads.paging import stored_threads
from foldline.threads.salvage import NameList, Salvage
from foldline.threads.store import ThreadStore


__all__ = [
    "Verified",
    "count_threads",
    "find_keys",
    "list_keys",
    "verify_one",
    "verify_store",
    "verify_thread",
]


_ROUNDS = 2
_ANYBODY = ThreadKey("default", "anybody")

_Left: TypeAlias = dict[ThreadKey, StoreBusyError | StoreKeyError | None]


class Verified(Struct, frozen=True, kw_only=True):
    """What was found in one thread, or below all of them."""

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
        StoreBusyError: Others have written to it all the while.
        StoreKeyError: It was encrypted with another key.
        StoreError: The storage cannot be asked, for this thread or any other.
    """
    verified = await verify_one(backing, key)
    return [] if verified is None else list(verified.faults)


async def verify_one(backing: Backing, key: ThreadKey) -> Verified | None:
    """
    Return what is found in one thread, as `verify_thread` does; None where there is none.

    Raises:
        StoreBusyError: Others have written to it all the while.
        StoreKeyError: It was encrypted with another key.
        StoreError: The storage cannot be asked, for this thread or any other.
    """
    try:
        return await _judged(backing, key)
    except (StoreBusyError, StoreKeyError):
        raise
    except StoreError:
        # Where no other thread can be asked for either, this says nothing of the thread.
        await backing.storage.load(_ANYBODY)
    try:
        # A connection may have broken, and be whole again.
        return await _judged(backing, key)
    except (StoreBusyError, StoreKeyError):
        raise
    except StoreError as error:
        return Verified(key=key, faults=(Fault(kind="unread", problem=str(error)),))


async def _judged(backing: Backing, key: ThreadKey) -> Verified | None:
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

    One that others write to all the while, or that is listed and not found, is looked at once more
    behind the others.

    Args:
        store: The store, open.
        tenant: Whose threads; those of all tenants by default.

    Raises:
        ThreadIdError: *tenant* has characters that are not allowed.
        StoreBusyError: Others have written to a thread all the while; all else was given before.
        StoreKeyError: One was encrypted with another key; all else was given before.
        StoreError: The storage cannot be asked.
    """
    backing = store.backing
    keys, faults = await _keys(backing, tenant)
    waiting, number = keys, 0
    left: _Left = {}
    for _ in range(_ROUNDS):
        left = {}
        async for verified in _each(backing, waiting, left):
            number += 1
            yield replace(verified, number=number, total=len(keys))
        waiting = await _still_there(backing, tenant, left)
    faults += [_lost(key) for key in waiting if left[key] is None]
    faults += await _below(backing)
    if faults:
        yield Verified(key=None, faults=tuple(faults), number=len(keys), total=len(keys))
    for error in filter(None, left.values()):
        raise error


async def _each(
    backing: Backing, keys: Sequence[ThreadKey], left: _Left
) -> AsyncIterator[Verified]:
    """Give what is found in each thread; put those that nothing can be said of into *left*."""
    for key in keys:
        try:
            verified = await verify_one(backing, key)
        except (StoreBusyError, StoreKeyError) as error:
            left[key] = error
            continue
        if verified is None:
            left[key] = None
        else:
            yield verified


async def _still_there(backing: Backing, tenant: str | None, left: _Left) -> list[ThreadKey]:
    """Return those of *left* that nobody has deleted."""
    if not left:
        return []
    listed = set((await _keys(backing, tenant))[0])
    return [key for key, error in left.items() if error is not None or key in listed]


def _lost(key: ThreadKey) -> Fault:
    problem = f"thread {key.id!r} of tenant {key.tenant!r} is listed, and not found by its name"
    return Fault(kind="store", problem=problem)


async def _below(backing: Backing) -> list[Fault]:
    try:
        return await backing.storage.inspect() if isinstance(backing.storage, Salvage) else []
    except StoreCorruptError as error:
        return [Fault(kind="store", problem=str(error))]


async def list_keys(store: ThreadStore, *, tenant: str | None = None) -> list[ThreadKey]:
    """
    Return the keys of all threads, in order, of one tenant or of all; damaged names are left out.

    Raises:
        ThreadIdError: *tenant* has characters that are not allowed.
        StoreCorruptError: The store is damaged so that they cannot be listed.
    """
    return (await find_keys(store.backing, tenant=tenant))[0]


async def count_threads(store: ThreadStore, *, tenant: str | None = None) -> int:
    """Return how many threads there are, of one tenant or of all."""
    return len((await _keys(store.backing, tenant))[0])


async def _keys(backing: Backing, tenant: str | None) -> tuple[list[ThreadKey], list[Fault]]:
    try:
        return await find_keys(backing, tenant=tenant)
    except StoreCorruptError as error:
        return [], [Fault(kind="store", problem=f"the threads cannot be listed: {error}")]


async def find_keys(
    backing: Backing, *, tenant: str | None = None
) -> tuple[list[ThreadKey], list[Fault]]:
    """
    Return what `list_keys` does, and a fault for each damaged name, whoever the owner is.

    Raises:
        ThreadIdError: *tenant* has characters that are not allowed.
        StoreCorruptError: The store is damaged so that they cannot be listed.
    """
    if tenant is not None:
        check_tenant(tenant)
    if isinstance(backing.storage, NameList):
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
            faults.append(Fault(kind="name", problem=f"a thread has a damaged name: {error}"))
            continue
        if tenant in {None, owner}:
            keys.append(key)
    return keys, faults
