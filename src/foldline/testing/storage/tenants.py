"""What lists promise, that tenants never meet, and what outlives the process."""

import asyncio

from foldline.testing.storage.check import Lab, Scribe, expect, expect_error, facts_of
from foldline.threads.change import Document


_NOW = 1_800_000_000.0
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


class Folds(Lab):
    """The checks of folds that are due."""

    async def the_latest_comes_first(self) -> None:
        """Pages by the time of the newest commit have every thread of a tenant once, of one time too."""
        wanted: list[tuple[float, str]] = []
        for number in range(7):
            scribe = self.scribe(f"thread-{number}")
            for active_at in (_NOW + 9, _NOW + number // 3):
                await scribe.write(1, active_at=active_at)
            wanted.append((active_at, scribe.key.id))
        await self.scribe("other", tenant="-other").write(1)
        gone = self.scribe("gone")
        await gone.write(1)
        await self.storage.delete(gone.key)
        wanted.sort(reverse=True)
        for limit in (1, 2, 7, 99):
            seen: list[tuple[float, str]] = []
            # Pages that overlap would never end.
            while len(seen) <= len(wanted):
                after = seen[-1] if seen else None
                page = await self.storage.latest(self.tenant, after=after, limit=limit)
                expect(page, page[:limit], "a page")
                seen += page
                if len(page) < limit:
                    break
            expect(seen, wanted, f"the list in pages of {limit}")

    async def _due(
        self, *, after: tuple[float, str] | None = None, limit: int = 99
    ) -> list[tuple[float, str]]:
        return await self.storage.folds_due(self.tenant, after=after, limit=limit)

    async def a_due_fold_is_listed(self) -> None:
        """A thread is listed from the commit with a time on, with that time, up to one without."""
        scribe, other = self.scribe(), self.scribe("other")
        await other.write(1)
        await scribe.write(1)
        expect(await self._due(), [], "the list before")
        for due_at in (_NOW + 0.123456, _NOW + 0.123456, _NOW + 1.5):
            await scribe.write(1, due_at=due_at)
            expect(await self._due(), [(due_at, "thread")], "the list")
        await scribe.verify()
        await scribe.write(1)
        expect(await self._due(), [], "the list after")
        await self.scribe("made").write(due_at=_NOW)
        expect(await self._due(), [(_NOW, "made")], "a thread that was made with a time")

    async def a_refused_commit_makes_no_fold_due(self) -> None:
        """A commit that is refused changes no list."""
        scribe = self.scribe()
        await scribe.write(1, due_at=_NOW)
        await scribe.refuses(scribe.change(revision=7), 7, 1)
        await scribe.refuses(scribe.change(revision=0, due_at=_NOW + 5), 0, 1)
        expect(await self._due(), [(_NOW, "thread")], "the list")

    async def a_deleted_thread_is_not_due(self) -> None:
        """A thread that is deleted, and one that is made again under its id, are not listed."""
        scribe = self.scribe()
        await scribe.write(1, due_at=_NOW)
        await self.storage.delete(scribe.key)
        expect(await self._due(), [], "the list")
        await Scribe(self, scribe.key).write(1)
        expect(await self._due(), [], "the list after it was made again")

    async def a_rewind_carries_its_time(self) -> None:
        """Commits that open an epoch, fork or prune list a thread as any other commit does."""
        scribe = self.scribe()
        await scribe.write(3, due_at=_NOW)
        await scribe.rewind(1, 1)
        expect(await self._due(), [], "the list after a rewind")
        await scribe.rewind(1, 3, due_at=_NOW + 1)
        await scribe.fork("fork", 2)
        await scribe.write(keeps=[], due_at=_NOW + 1)
        expect(await self._due(), [(_NOW + 1, "thread")], "the list after a prune")

    async def the_oldest_is_first(self) -> None:
        """Pages, each after the last of the one before, have every due thread once, in order."""
        wanted: list[tuple[float, str]] = []
        for number in range(23):
            # Many became due at one time, and their ids decide.
            due_at = None if number % 4 == 3 else _NOW - number // 6
            await self.scribe(f"thread-{number:02d}").write(1, due_at=due_at)
            if due_at is not None:
                wanted.append((due_at, f"thread-{number:02d}"))
        wanted.sort()
        for limit in (1, 4, 5, 99):
            seen: list[tuple[float, str]] = []
            # Pages that overlap would never end.
            while len(seen) <= len(wanted):
                page = await self._due(after=seen[-1] if seen else None, limit=limit)
                expect(page, page[:limit], "a page")
                seen += page
                if len(page) < limit:
                    break
            expect(seen, wanted, f"the list in pages of {limit}")

    async def tenants_have_their_own_folds(self) -> None:
        """A list has the threads of one tenant alone."""
        await self.scribe("same").write(1, due_at=_NOW)
        await self.scribe("same", tenant="-other").write(1, due_at=_NOW + 1)
        expect(await self._due(), [(_NOW, "same")], "the list")
        other = await self.storage.folds_due(self.tenant + "-other", limit=9)
        expect(other, [(_NOW + 1, "same")], "the list of the other tenant")

    async def several_at_once_are_all_listed(self) -> None:
        """Commits of many threads at once, which a store may group, each carry their own time."""
        scribes = [self.scribe(f"thread-{number:02d}") for number in range(12)]
        await asyncio.gather(*(one.write(1) for one in scribes))
        times = [None if number % 3 else _NOW + number for number in range(12)]
        pairs = list(zip(scribes, times, strict=True))
        await asyncio.gather(*(one.write(1, due_at=due_at) for one, due_at in pairs))
        wanted = [(due_at, one.key.id) for one, due_at in pairs if due_at is not None]
        expect(await self._due(), sorted(wanted), "the list")


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
