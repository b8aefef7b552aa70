"""What lists promise, and that tenants never meet."""

from foldline.testing.storage.check import (
    Check,
    Lab,
    Scribe,
    expect,
    expect_conflict,
    facts_of,
)
from foldline.threads.change import Document
from foldline.threads.key import ThreadKey


__all__ = ["TENANTS"]


# In the order of their bytes.
_IDS = ("-", "--", ".", "0", "10", "9", ":", "A", "Z", "_", "a", "aa", "b", "z" * 200)


async def _threads_are_listed_by_id(lab: Lab) -> None:
    """Threads are listed in the order of the bytes of their ids."""
    for id in reversed(_IDS):
        await lab.scribe(id).write()
    found = await lab.storage.threads(lab.tenant)
    expect([one.key for one in found], [lab.key(id) for id in _IDS], "the keys")


async def _a_list_begins_after_an_id(lab: Lab) -> None:
    """
    A list has the ids after the given one, which need not exist, and no more than asked for.
    """
    for id in _IDS:
        await lab.scribe(id).write()
    for after in ("", "-", "1", "A", "a", "zz", "zzz"):
        for limit in (None, 0, 1, 5, 99):
            found = await lab.storage.threads(lab.tenant, after=after, limit=limit)
            wanted = [id for id in _IDS if id > after][:limit]
            expect([one.key.id for one in found], wanted, f"ids after {after!r}, limit {limit}")


async def _pages_hold_every_thread_once(lab: Lab) -> None:
    """Pages of a list, each begun after the last id of the page before, have every thread once."""
    ids = sorted(f"thread-{number}" for number in range(23))
    for id in ids:
        await lab.scribe(id).write()
    seen: list[str] = []
    # Pages that overlap would never end.
    while len(seen) <= len(ids):
        page = await lab.storage.threads(lab.tenant, after=seen[-1] if seen else "", limit=5)
        if not page:
            break
        seen += [one.key.id for one in page]
    expect(seen, ids, "the ids")


async def _a_list_shows_what_load_does(lab: Lab) -> None:
    """A thread in a list is what `load` gives: revision, head, documents and expiry."""
    for number, expires_at in enumerate((None, 4e9)):
        scribe = lab.scribe(f"thread-{number}")
        await scribe.write(2, put=[Document("reduction", str(one), b"r") for one in range(3)])
        await scribe.write(1, put=[Document("metadata", "", b"m")], gone_at=expires_at)
    for stored in await lab.storage.threads(lab.tenant):
        loaded = await lab.storage.load(stored.key)
        expect(facts_of(stored), facts_of(loaded), "the listed thread")


async def _a_deleted_thread_is_not_listed(lab: Lab) -> None:
    """A deleted thread is in no list, and those beside it are."""
    for id in ("a", "b", "c"):
        await lab.scribe(id).write(1)
    await lab.storage.delete(lab.key("b"))
    expect([one.key.id for one in await lab.storage.threads(lab.tenant)], ["a", "c"], "the ids")


async def _tenants_are_listed_once(lab: Lab) -> None:
    """A tenant is listed once, in order, as long as it has a thread."""
    own = [lab.tenant + suffix for suffix in ("", "-b", ".a", "a")]
    for suffix in ("a", "", ".a", "-b"):
        for id in ("one", "two"):
            await lab.scribe(id, tenant=suffix).write()
    listed = await lab.storage.tenants()
    expect(listed, sorted(set(listed)), "the order of the tenants")
    expect([name for name in listed if name.startswith(lab.tenant)], own, "the tenants")
    await lab.storage.delete(lab.key("one", tenant="a"))
    await lab.storage.delete(lab.key("two", tenant="a"))
    listed = await lab.storage.tenants()
    expect([name for name in listed if name.startswith(lab.tenant)], own[:-1], "the tenants left")


async def _neighbours(lab: Lab) -> tuple[Scribe, Scribe]:
    """Return the writers of two threads of the same id and of two tenants, each with content."""
    both = lab.scribe("same"), lab.scribe("same", tenant="-other")
    for number, scribe in enumerate(both):
        put = [Document("tool", "call", b"%d" % number), Document("reduction", "1", b"r")]
        await scribe.write(3 + number, system=(0,), put=put)
    return both


async def _tenants_load_their_own(lab: Lab) -> None:
    """Two tenants have threads of the same id, each with rows and documents of its own."""
    for number, scribe in enumerate(await _neighbours(lab)):
        await scribe.verify()
        expect(await lab.documents(scribe.key, "tool"), {"call": b"%d" % number}, "the documents")
        found = await lab.storage.threads(scribe.key.tenant)
        expect([one.key for one in found], [scribe.key], "the threads")


async def _a_foreign_thread_is_not_loaded(lab: Lab) -> None:
    """A thread cannot be loaded, listed, read or asked for documents by another tenant."""
    await lab.scribe("secret").write(2, put=[Document("metadata", "", b"secret")])
    foreign = lab.key("secret", tenant="-other")
    expect(await lab.storage.load(foreign), None, "the thread")
    expect(await lab.storage.threads(foreign.tenant), [], "the threads")
    expect(await lab.storage.documents(foreign, "metadata"), [], "the documents")


async def _a_foreign_epoch_has_no_rows(lab: Lab) -> None:
    """With the epoch of another tenant's thread nobody gets a row of it, system message or not."""
    own, other = await _neighbours(lab)
    for is_system in (False, True):
        rows = await other.read(0, 99, epoch=own.epoch, system=is_system)
        expect(rows, [], "the rows")


async def _a_foreign_thread_is_not_deleted(lab: Lab) -> None:
    """
    Deleting a thread leaves the one of the same id of another tenant, and says so where it is none.
    """
    own, other = await _neighbours(lab)
    await lab.storage.delete(other.key)
    await own.verify()
    answers = [await lab.storage.delete(other.key)]
    expect(answers, [False], "the answer")
    expect(await lab.documents(own.key, "tool"), {"call": b"0"}, "the documents")


async def _a_foreign_thread_takes_no_commit(lab: Lab) -> None:
    """A commit at the revision of another tenant's thread is a conflict with a thread not there."""
    scribe = lab.scribe("same")
    await scribe.write(2)
    foreign = lab.key("same", tenant="-other")
    attempt = lab.storage.commit(foreign, scribe.change(scribe.drawn(1)))
    await expect_conflict(attempt, key=foreign, expected=1, actual=0)
    await scribe.verify()


async def _names_do_not_run_together(lab: Lab) -> None:
    """A tenant and an id that read the same side by side are different threads."""
    keys = [
        ThreadKey(lab.key(tenant=tenant).tenant, id)
        for tenant, id in (("", "a:b"), (":a", "b"), (":a:b", "c"), (":a", "b:c"), ("", "a.b"))
    ]
    scribes = [Scribe(lab, key) for key in keys]
    for size, scribe in enumerate(scribes):
        await scribe.write(size, put=[Document("tool", "b", b"%d" % size)])
    for size, scribe in enumerate(scribes):
        await scribe.verify()
        expect(await lab.documents(scribe.key, "tool"), {"b": b"%d" % size}, "the documents")
    for scribe in scribes[1:]:
        await lab.storage.delete(scribe.key)
    await scribes[0].verify()


async def _case_tells_names_apart(lab: Lab) -> None:
    """Ids and tenants that differ in case are different."""
    scribes = [lab.scribe(id, tenant=tenant) for id in ("Id", "id") for tenant in ("-T", "-t")]
    for size, scribe in enumerate(scribes):
        await scribe.write(size)
    for scribe in scribes:
        await scribe.verify()


TENANTS: tuple[Check, ...] = (
    _threads_are_listed_by_id,
    _a_list_begins_after_an_id,
    _pages_hold_every_thread_once,
    _a_list_shows_what_load_does,
    _a_deleted_thread_is_not_listed,
    _tenants_are_listed_once,
    _tenants_load_their_own,
    _a_foreign_thread_is_not_loaded,
    _a_foreign_epoch_has_no_rows,
    _a_foreign_thread_is_not_deleted,
    _a_foreign_thread_takes_no_commit,
    _names_do_not_run_together,
    _case_tells_names_apart,
)
"""The checks of this module."""
