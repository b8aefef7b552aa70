"""What lists promise, that tenants never meet, and what outlives the process."""

from foldline.testing.storage.check import Lab, Scribe, expect, expect_error, facts_of
from foldline.threads.change import Document


__all__ = ["Lasting", "Tenants"]


# In the order of their bytes.
_IDS = ("-", "--", ".", "0", "10", "9", ":", "A", "Z", "_", "a", "aa", "b", "z" * 200)


class Tenants(Lab):
    """The checks of lists and tenants."""

    async def _ids(self, *, after: str = "", limit: int | None = None) -> list[str]:
        found = await self.storage.threads(self.tenant, after=after, limit=limit)
        return [one.key.id for one in found]

    async def a_list_begins_after_an_id(self) -> None:
        """A list has the ids after one, which need not exist, in byte order, and no more."""
        for id in reversed(_IDS):
            await self.scribe(id).write()
        for after in ("", "-", "1", "A", "a", "zz", "zzz"):
            for limit in (None, 0, 1, 5, 99):
                found = await self._ids(after=after, limit=limit)
                wanted = [id for id in _IDS if id > after][:limit]
                expect(found, wanted, f"ids after {after!r}, limit {limit}")

    async def pages_hold_every_thread_once(self) -> None:
        """Pages of a list, each after the last id of the one before, have every thread once."""
        ids = sorted(f"thread-{number}" for number in range(23))
        for id in ids:
            await self.scribe(id).write()
        seen: list[str] = []
        # Pages that overlap would never end.
        while len(seen) <= len(ids):
            page = await self._ids(after=seen[-1] if seen else "", limit=5)
            if not page:
                break
            seen += page
        expect(seen, ids, "the ids")

    async def a_list_shows_what_load_does(self) -> None:
        """A thread in a list is what `load` gives, and one that was deleted is not listed."""
        for number, gone_at in enumerate((None, 4e9, None)):
            scribe = self.scribe(f"thread-{number}")
            await scribe.write(2, put=[Document("reduction", str(one), b"r") for one in range(3)])
            await scribe.write(1, put=[Document("metadata", "", b"m")], gone_at=gone_at)
        await self.storage.delete(self.key("thread-1"))
        expect(await self._ids(), ["thread-0", "thread-2"], "the ids")
        for stored in await self.storage.threads(self.tenant):
            loaded = await self.scribe(stored.key.id).stored()
            expect(facts_of(stored), facts_of(loaded), "the listed thread")

    async def tenants_are_listed_once(self) -> None:
        """A tenant is listed once, in order, as long as it has a thread."""
        own = [self.tenant + suffix for suffix in ("", "-b", ".a", "a")]
        for suffix in ("a", "", ".a", "-b"):
            for id in ("one", "two"):
                await self.scribe(id, tenant=suffix).write()
        for wanted in (own, own[:-1]):
            listed = await self.storage.tenants()
            expect(listed, sorted(set(listed)), "the order of the tenants")
            expect([name for name in listed if name.startswith(self.tenant)], wanted, "the tenants")
            for id in ("one", "two"):
                await self.storage.delete(self.key(id, tenant="a"))

    async def _neighbors(self) -> tuple[Scribe, Scribe]:
        """Return the writers of two threads of the same id and of two tenants, each with content."""
        both = self.scribe("same"), self.scribe("same", tenant="-other")
        for number, scribe in enumerate(both):
            put = [Document("tool", "call", b"%d" % number), Document("reduction", "1", b"r")]
            await scribe.write(3 + number, system=(0,), put=put)
        return both

    async def tenants_load_their_own(self) -> None:
        """Two tenants have threads of one id, each with its own rows, documents and epochs."""
        both = await self._neighbors()
        for number, scribe in enumerate(both):
            await scribe.verify()
            expect(await scribe.documents(), {"call": b"%d" % number}, "the documents")
            found = await self.storage.threads(scribe.key.tenant)
            expect([one.key for one in found], [scribe.key], "the threads")
            for system in (False, True):
                rows = await scribe.read(0, 99, epoch=both[1 - number].epoch, system=system)
                expect(rows, [], "the rows at the epoch of another tenant")

    async def a_foreign_thread_is_not_loaded(self) -> None:
        """A thread cannot be loaded, listed, asked for documents or written by another tenant."""
        scribe = self.scribe("secret")
        await scribe.write(2, put=[Document("metadata", "", b"secret")])
        foreign = self.key("secret", tenant="-other")
        expect(await self.storage.load(foreign), None, "the thread")
        expect(await self.storage.threads(foreign.tenant), [], "the threads")
        expect(await self.storage.documents(foreign, "metadata"), [], "the documents")
        attempt = self.storage.commit(foreign, scribe.change(scribe.drawn(1)))
        await expect_error(attempt, foreign, (1, 0))
        await scribe.verify()

    async def a_foreign_thread_is_not_deleted(self) -> None:
        """Deleting a thread leaves the one of the same id of another tenant."""
        own, other = await self._neighbors()
        answers = [await self.storage.delete(other.key) for _ in range(2)]
        expect(answers, [True, False], "the answers")
        await own.verify()
        expect(await own.documents(), {"call": b"0"}, "the documents")

    async def names_do_not_run_together(self) -> None:
        """A tenant and an id that read the same side by side, or differ in case, are different."""
        names = [("", "a:b"), (":a", "b"), (":a:b", "c"), (":a", "b:c"), ("", "a.b")]
        names += [(tenant, id) for id in ("Id", "id") for tenant in ("-T", "-t")]
        scribes = [self.scribe(id, tenant=tenant) for tenant, id in names]
        for size, scribe in enumerate(scribes):
            await scribe.write(size, put=[Document("tool", "b", b"%d" % size)])
        for size, scribe in enumerate(scribes):
            await scribe.verify()
            expect(await scribe.documents(), {"b": b"%d" % size}, "the documents")
        for scribe in scribes[1:]:
            await self.storage.delete(scribe.key)
        await scribes[0].verify()


class Lasting(Lab):
    """The checks of a storage whose data outlives its process."""

    async def what_was_written_is_there_after_closing(self) -> None:
        """Another storage finds all of it sound, and nothing that was deleted or cleared."""
        scribe, gone, cleared = (self.scribe(id) for id in ("thread", "gone", "cleared"))
        await scribe.write(5, system=(0,), put=[Document("reduction", "1", b"r")])
        await scribe.write(2, put=[Document("tool", "a", b"t")], gone_at=4e9)
        fork = await scribe.fork("fork", 3, 2)
        await scribe.rewind(6, 2)
        for one in (gone, cleared):
            await one.write(2, put=[Document("tool", "a", b"t")])
        left = cleared.epoch
        await self.storage.delete(gone.key)
        await cleared.rewind(0, clears=True)
        await cleared.write(drop=[("tool", None)])
        before = [facts_of(one) for one in await self.storage.threads(self.tenant)]
        await self.storage.close()
        self.storage = self.make_storage()
        await self.storage.open()
        after = [facts_of(one) for one in await self.storage.threads(self.tenant)]
        expect(after, before, "the threads")
        expect(await self.storage.load(gone.key), None, "the deleted thread")
        await cleared.verify_gone(left)
        expect(await cleared.documents(), {}, "the dropped documents")
        await fork.write(1)
        for one in (scribe, fork, cleared):
            await one.verify()
        expect(await self.storage.check(), [], "what is wrong")

    async def two_storages_see_each_other(self) -> None:
        """What one storage has acknowledged another one, open all the while, sees at once."""
        other = self.make_storage()
        await other.open()
        scribe = self.scribe()
        try:
            for _ in range(4):
                await scribe.write(2)
                stored = await other.load(scribe.key)
                expect(stored and stored.revision, scribe.revision, "the revision")
                expect(await other.rows(scribe.key, scribe.epoch, 0, 99), scribe.rows, "the rows")
                change = scribe.change(scribe.drawn(1))
                await other.commit(scribe.key, change)
                scribe.made(change)
                await scribe.verify()
        finally:
            # Closing it again is harmless.
            await other.close()
            await other.close()
