"""Storages with one planted fault each, and the checks that must find it."""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec.structs import replace

from foldline.threads.change import Change, Copy, Document, DocumentKind
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.memory import MemoryStorage


__all__ = ["FAULTS"]


class WithoutCompare(MemoryStorage):
    """Takes every commit, whatever revision it expects."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit at the revision that is there."""
        stored = await self.load(key)
        revision = 0 if stored is None else stored.revision
        await super().commit(key, replace(change, revision=revision))


class ComparesTooEarly(MemoryStorage):
    """Compares the revision, waits, and writes."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit what was right a moment ago."""
        self._compare(key, self._threads.get(key), change.revision)
        await asyncio.sleep(0)
        thread = self._threads.get(key)
        if thread is not None:
            change = replace(change, revision=thread.revision, epoch=thread.epoch)
        await super().commit(key, change)


class TakesAnyEpoch(MemoryStorage):
    """Compares the revision and not the epoch."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit at the epoch that is there."""
        thread = self._threads.get(key)
        if thread is not None:
            change = replace(change, epoch=thread.epoch)
        await super().commit(key, change)


class WritesBeforeComparing(MemoryStorage):
    """Writes the documents of a commit even if it is refused."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Put documents, then compare."""
        thread = self._threads.get(key)
        if thread is not None:
            thread.documents.update(((one.kind, one.name), one) for one in change.put)
        await super().commit(key, change)


class OpensBeforeComparing(MemoryStorage):
    """Opens the epoch of a commit even if it is refused."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Open an epoch at the end, then compare."""
        thread = self._threads.get(key)
        opens = change.opens
        if thread is not None and opens is not None and thread.revision != change.revision:
            thread.epochs = {opens.id: -1, **thread.epochs}
        await super().commit(key, change)


class LosesDrops(MemoryStorage):
    """Forgets the deletions of a commit."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit without deletions."""
        await super().commit(key, replace(change, drop=()))


class DropsLast(MemoryStorage):
    """Deletes documents after those of the same commit are written."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit, leaving out what is dropped as well."""
        kept = [one for one in change.put if not _drops(change, one)]
        await super().commit(key, replace(change, put=kept))


def _drops(change: Change, one: Document) -> bool:
    return any(kind == one.kind and name in {None, one.name} for kind, name in change.drop)


class TakesEmptyForAll(MemoryStorage):
    """Takes the empty name of a dropped document for no name."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit with other deletions."""
        drop = [(kind, name or None) for kind, name in change.drop]
        await super().commit(key, replace(change, drop=drop))


class IgnoresTenants(MemoryStorage):
    """Reads the rows of any tenant."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return rows to anyone."""
        known = [one for one, thread in self._threads.items() if epoch in thread.epochs]
        asks = known[0] if known else key
        return await super().rows(asks, epoch, start, stop, system=system)


class ReadsTheCurrentAlways(MemoryStorage):
    """Reads the current rows at every epoch that is known."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return the rows of now."""
        thread = self._threads.get(key)
        if thread is not None and epoch in thread.epochs:
            epoch = thread.epoch
        return await super().rows(key, epoch, start, stop, system=system)


class ReadsTheLastReplaced(MemoryStorage):
    """Reads, of several rows that were replaced, the last one."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return rows of a later epoch."""
        thread = self._threads.get(key)
        if thread is None or epoch not in thread.epochs:
            return []
        found = {row.seq: row for row in thread.rows}
        for number in sorted(thread.replaced):
            if number > thread.epochs[epoch]:
                found.update((row.seq, row) for row in thread.replaced[number])
        known = [found[seq] for seq in sorted(found)]
        return [row for row in known[start:stop] if row.system or not system]


class CopiesForAnyTenant(MemoryStorage):
    """Copies the rows of any tenant."""

    def _copied(self, key: ThreadKey, copies: Copy | None) -> list[StoredRow]:
        return super()._copied(key if copies is None else copies.source, copies)


class CopiesWhatIsThere(MemoryStorage):
    """Copies fewer rows than asked for, or those of another epoch."""

    def _copied(self, key: ThreadKey, copies: Copy | None) -> list[StoredRow]:
        source = None if copies is None else self._threads.get(copies.source)
        if copies is None or source is None or copies.source.tenant != key.tenant:
            return super()._copied(key, copies)
        return source.rows[: copies.count]


class SharesRows(MemoryStorage):
    """Gives a fork the very list of rows of its source."""

    def _copied(self, key: ThreadKey, copies: Copy | None) -> list[StoredRow]:
        rows = super()._copied(key, copies)
        source = None if copies is None else self._threads.get(copies.source)
        return source.rows if source is not None and source.rows == rows else rows


class ClearsTheCurrentAlone(MemoryStorage):
    """Clears like a rewind to the beginning."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit without clearing."""
        await super().commit(key, replace(change, clears=False))


class NeverPrunes(MemoryStorage):
    """Keeps all replaced rows."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit without pruning."""
        await super().commit(key, replace(change, keeps=None))


class PrunesAll(MemoryStorage):
    """Keeps no replaced rows, whichever epochs are to stay."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit and prune more than asked for."""
        keeps: Sequence[bytes] | None = None if change.keeps is None else ()
        await super().commit(key, replace(change, keeps=keeps))


class ListsEveryTenant(MemoryStorage):
    """Lists the threads of all tenants."""

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        """Return threads to anyone."""
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

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit all rows but the last of many."""
        rows = change.rows[:-1] if len(change.rows) > 1 else change.rows
        await super().commit(key, replace(change, rows=rows))


class OrdersByText(MemoryStorage):
    """Orders rows by their numbers as strings."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        """Return rows in the order of their digits."""
        found = await super().rows(key, epoch, start, stop, system=system)
        return sorted(found, key=lambda row: str(row.seq))


class GivesOldestFirst(MemoryStorage):
    """Returns documents in the wrong order."""

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        """Return the oldest documents."""
        return (await super().documents(key, kind))[::-1][:limit]


class ForgetsExpiry(MemoryStorage):
    """Keeps an expiry for ever."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit with the first expiry that was given."""
        stored = await self.load(key)
        known = None if stored is None else stored.expires_at
        await super().commit(key, replace(change, gone_at=known or change.gone_at))


class CutsNamesAtNul(MemoryStorage):
    """Takes a NUL for the end of a name."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        """Commit documents with shorter names."""
        put = [Document(one.kind, one.name.partition("\0")[0], one.data) for one in change.put]
        await super().commit(key, replace(change, put=put))


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


FAULTS: Mapping[type[MemoryStorage], str] = MappingProxyType(
    {
        WithoutCompare: "another_revision_is_refused of_racing_commits_one_wins",
        ComparesTooEarly: "of_racing_commits_one_wins",
        TakesAnyEpoch: "a_thread_made_again_takes_no_old_commit another_epoch_takes_no_commit",
        WritesBeforeComparing: "a_refused_commit_changes_nothing",
        OpensBeforeComparing: "a_refused_rewind_opens_nothing",
        LosesDrops: "documents_are_dropped_by_name documents_are_dropped_by_kind",
        DropsLast: "a_drop_comes_before_a_put",
        TakesEmptyForAll: "documents_are_dropped_by_name",
        IgnoresTenants: "tenants_load_their_own",
        ReadsTheCurrentAlways: "a_rewind_replaces_rows",
        ReadsTheLastReplaced: "every_earlier_epoch_reads_as_it_was",
        CopiesForAnyTenant: "a_foreign_thread_is_not_copied",
        CopiesWhatIsThere: "a_fork_of_nothing_is_refused a_fork_has_the_rows_of_an_earlier_epoch",
        SharesRows: "a_fork_and_its_source_grow_apart",
        ClearsTheCurrentAlone: "a_clear_deletes_everything",
        NeverPrunes: "a_prune_keeps_the_named_epochs a_fork_of_nothing_is_refused",
        PrunesAll: "a_prune_keeps_the_named_epochs",
        ListsEveryTenant: "a_foreign_thread_is_not_loaded",
        DeletesForAnyTenant: "a_foreign_thread_is_not_deleted",
        LosesLastRow: "each_commit_counts_one thousands_are_one_commit",
        OrdersByText: "rows_come_in_order",
        GivesOldestFirst: "the_newest_come_first",
        ForgetsExpiry: "a_head_and_its_expiry_are_kept",
        CutsNamesAtNul: "names_without_a_form_are_kept_or_refused",
        DeletesAnyRevision: "a_deletion_compares_the_revision",
        DeletesAnyHead: "a_thread_made_again_is_not_deleted",
        PagesInclude: "pages_hold_every_thread_once a_list_begins_after_an_id",
    }
)
"""Each fault, with the checks that must find it."""
