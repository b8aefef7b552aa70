"""What lists of the threads whose fold is due promise."""

import asyncio

from foldline.testing.storage.check import Lab, Scribe, expect


__all__ = ["Folds"]


_NOW = 1_800_000_000.0


class Folds(Lab):
    """The checks of folds that are due."""

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
