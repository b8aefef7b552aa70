"""Storages with one planted fault each, and the checks that must find it."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from foldline.errors import ThreadConflictError, ThreadNotFoundError
from foldline.threads.key import ThreadKey
from foldline.threads.step import Branch, Document, DocumentKind, Step, StoredRow, StoredThread
from foldline.threads.stores.memory import MemoryStorage


__all__ = ["FAULTS"]


class WithoutCompare(MemoryStorage):
    """Takes every commit, whatever revision it expects."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit at the revision that is there."""
        stored = await self.load(key)
        revision = 0 if stored is None else stored.revision
        await super().commit(key, replace(step, expected=revision))


class ComparesTooEarly(MemoryStorage):
    """Compares the revision, waits, and writes."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit what was right a moment ago."""
        stored = await self.load(key)
        revision = 0 if stored is None else stored.revision
        if revision != step.expected:
            raise ThreadConflictError(thread_id=key.id, expected=step.expected, actual=revision)
        await asyncio.sleep(0)
        stored = await self.load(key)
        revision = 0 if stored is None else stored.revision
        opens = None if revision else step.opens
        branch = self._threads[key].branch if revision and step.opens else step.branch
        await super().commit(key, replace(step, expected=revision, opens=opens, branch=branch))


class TakesAnyBranch(MemoryStorage):
    """Compares the revision and not the branch."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Move the thread to the branch of the step, then commit."""
        thread = self._threads.get(key)
        if thread is not None and step.opens is None and step.branch in self._branches:
            thread.branch = step.branch
        await super().commit(key, step)


class RewindsToAnyBranch(MemoryStorage):
    """Lets a thread that is there share the rows of any other."""

    def _need_parent(self, key: ThreadKey, branch: Branch, *, is_new: bool) -> None:
        super()._need_parent(key, branch, is_new=True)


class SharesWhatIsLeft(MemoryStorage):
    """Lets a new thread share the rows that are left of a branch that nobody owns."""

    def _need_parent(self, key: ThreadKey, branch: Branch, *, is_new: bool) -> None:
        parent = self._branches.get(branch.parent or b"")
        is_left = parent is not None and parent.owner is None and parent.tenant == key.tenant
        if not (is_new and is_left and branch.at <= self._shared(branch.parent or b"")):
            super()._need_parent(key, branch, is_new=is_new)


class SharesFirstHand(MemoryStorage):
    """Lets nobody share rows whose own thread is gone, though a fork that reads them lives."""

    def _need_parent(self, key: ThreadKey, branch: Branch, *, is_new: bool) -> None:
        super()._need_parent(key, branch, is_new=is_new)
        parent = self._owner_of(branch.parent, branch.at)
        if parent is not None and self._branches[parent].owner is None:
            raise ThreadNotFoundError(thread_id=key.id)


class SharesTheCurrentAlone(MemoryStorage):
    """Lets nobody share a branch that its thread has left."""

    def _need_parent(self, key: ThreadKey, branch: Branch, *, is_new: bool) -> None:
        super()._need_parent(key, branch, is_new=is_new)
        if branch.parent not in {None, *(one.branch for one in self._threads.values())}:
            raise ThreadNotFoundError(thread_id=key.id)


class WritesBeforeComparing(MemoryStorage):
    """Writes the documents of a commit even where it is refused."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Put documents, then compare."""
        thread = self._threads.get(key)
        if thread is not None:
            thread.documents.update(((one.kind, one.name), one) for one in step.put)
        await super().commit(key, step)


class LosesDrops(MemoryStorage):
    """Forgets the deletions of a commit."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit without deletions."""
        await super().commit(key, replace(step, drop=()))


class DropsLast(MemoryStorage):
    """Deletes documents after those of the same commit are written."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit, leaving out what is dropped as well."""
        kept = [one for one in step.put if not _drops(step, one)]
        await super().commit(key, replace(step, put=kept))


def _drops(step: Step, one: Document) -> bool:
    return any(kind == one.kind and name in {None, one.name} for kind, name in step.drop)


class TakesEmptyForAll(MemoryStorage):
    """Takes the empty name of a dropped document for no name."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit with other deletions."""
        await super().commit(
            key, replace(step, drop=[(kind, name or None) for kind, name in step.drop])
        )


class IgnoresTenants(MemoryStorage):
    """Reads the rows of any tenant."""

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return rows, whoever asks."""
        known = self._branches.get(branch)
        asks = key if known is None else ThreadKey(known.tenant, key.id)
        return await super().rows(asks, branch, start, stop, system=system)


class ListsEveryTenant(MemoryStorage):
    """Lists the threads of all tenants."""

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return threads, whoever asks."""
        found = [one for name in await self.tenants() for one in await super().threads(name)]
        return [one for one in found if one.key.id > after][:limit]


class DeletesForAnyTenant(MemoryStorage):
    """Deletes threads by their id alone."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete the thread of every tenant."""
        gone = [one for one in self._threads if one.id == key.id]
        results = [await super(DeletesForAnyTenant, self).delete(one) for one in gone]
        return any(results)


class LosesLastRow(MemoryStorage):
    """Writes half of a batch."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit all rows but the last of many."""
        rows = step.rows[:-1] if len(step.rows) > 1 else step.rows
        await super().commit(key, replace(step, rows=rows))


class OrdersByText(MemoryStorage):
    """Orders rows by their numbers as text."""

    async def rows(
        self, key: ThreadKey, branch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return rows in the order of their digits."""
        found = await super().rows(key, branch, start, stop, system=system)
        return sorted(found, key=lambda row: str(row.seq))


class DeletesSharedRows(MemoryStorage):
    """Deletes all rows of a thread, whoever shares them."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete a thread and empty its branches."""
        for branch in self._branches.values():
            if branch.owner == key:
                branch.rows.clear()
        return await super().delete(key, expected=expected)


class KeepsRows(MemoryStorage):
    """Deletes threads and leaves their rows."""

    def _sweep(self, name: bytes | None) -> None:
        pass


class GivesOldestFirst(MemoryStorage):
    """Gives documents in the wrong order."""

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the oldest documents."""
        return (await super().documents(key, kind))[::-1][:limit]


class ForgetsExpiry(MemoryStorage):
    """Keeps an expiry for ever."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit with the first expiry that was given."""
        stored = await self.load(key)
        known = None if stored is None else stored.expires_at
        await super().commit(key, replace(step, expires_at=known or step.expires_at))


class CutsNamesAtNul(MemoryStorage):
    """Takes a NUL for the end of a name."""

    async def commit(self, key: ThreadKey, step: Step) -> None:
        """Commit documents with shorter names."""
        put = [Document(one.kind, one.name.partition("\0")[0], one.data) for one in step.put]
        await super().commit(key, replace(step, put=put))


class DeletesAnyRevision(MemoryStorage):
    """Deletes a thread whatever revision is expected."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete without comparing."""
        return await super().delete(key)


class DeletesAnyHead(MemoryStorage):
    """Compares the revision of what is to be deleted, and not the head."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        """Delete whatever has come to the revision."""
        stored = await self.load(key)
        if stored is not None and expected is not None:
            expected = replace(expected, head=stored.head)
        return await super().delete(key, expected=expected)


class PagesInclude(MemoryStorage):
    """Begins a page with the id that the last one ended with."""

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return the threads from *after* on."""
        found = await super().threads(tenant)
        return [one for one in found if one.key.id >= after][:limit]


FAULTS: Mapping[type[MemoryStorage], frozenset[str]] = MappingProxyType(
    {
        WithoutCompare: frozenset({"a_stale_revision_is_refused", "of_racing_commits_one_wins"}),
        ComparesTooEarly: frozenset({"of_racing_commits_one_wins", "of_racing_makers_one_wins"}),
        TakesAnyBranch: frozenset(
            {"a_thread_made_again_takes_no_old_commit", "a_foreign_branch_takes_no_commit"}
        ),
        RewindsToAnyBranch: frozenset({"a_thread_made_again_is_not_rewound"}),
        SharesWhatIsLeft: frozenset({"a_branch_that_nobody_owns_cannot_be_shared"}),
        SharesFirstHand: frozenset({"a_branch_of_a_living_thread_can_be_shared"}),
        SharesTheCurrentAlone: frozenset({"a_branch_of_a_living_thread_can_be_shared"}),
        WritesBeforeComparing: frozenset({"a_refused_commit_changes_nothing"}),
        LosesDrops: frozenset({"documents_are_dropped_by_name", "documents_are_dropped_by_kind"}),
        DropsLast: frozenset({"a_drop_comes_before_a_put"}),
        TakesEmptyForAll: frozenset({"an_empty_name_is_a_name"}),
        IgnoresTenants: frozenset({"a_foreign_branch_has_no_rows"}),
        ListsEveryTenant: frozenset({"a_foreign_thread_is_not_loaded"}),
        DeletesForAnyTenant: frozenset({"a_foreign_thread_is_not_deleted"}),
        LosesLastRow: frozenset({"a_new_thread_is_there", "a_big_batch_is_one_commit"}),
        OrdersByText: frozenset({"rows_come_in_order"}),
        DeletesSharedRows: frozenset({"shared_rows_outlive_their_thread"}),
        KeepsRows: frozenset({"unshared_rows_go", "a_purge_deletes_what_nobody_shares"}),
        GivesOldestFirst: frozenset({"the_newest_come_first"}),
        ForgetsExpiry: frozenset({"expiry_is_kept"}),
        CutsNamesAtNul: frozenset({"names_without_a_form_are_kept_or_refused"}),
        DeletesAnyRevision: frozenset({"a_deletion_compares_the_revision"}),
        DeletesAnyHead: frozenset({"a_thread_made_again_is_not_deleted"}),
        PagesInclude: frozenset({"pages_hold_every_thread_once", "a_list_begins_behind_an_id"}),
    }
)
"""Each fault, with checks that must find it."""
