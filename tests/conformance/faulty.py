"""Storages with one planted fault each, and the checks that must find it."""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from foldline.threads.change import Change, Copy, Document, DocumentKind
from foldline.threads.key import ThreadKey
from foldline.threads.row import StoredRow
from foldline.threads.storage import StoredThread
from foldline.threads.stores.memory import MemoryStorage, _Thread  # pyright: ignore[reportPrivateUsage]


def _committing(fault: Callable[[_Thread, Change], Change]) -> type[MemoryStorage]:
    """Return a storage that makes, of a thread that is there, what *fault* makes of a commit."""

    class Faulty(MemoryStorage):
        async def commit(self, key: ThreadKey, change: Change) -> None:
            thread = self._threads.get(key)
            await super().commit(key, change if thread is None else fault(thread, change))

    return Faulty


def _written_first(thread: _Thread, change: Change) -> Change:
    thread.documents.update(((one.kind, one.name), one) for one in change.put)
    return change


def _opened_first(thread: _Thread, change: Change) -> Change:
    if change.opens is not None and thread.revision != change.revision:
        thread.epochs = {change.opens.id: -1, **thread.epochs}
    return change


def _dropped_last(_: _Thread, change: Change) -> Change:
    gone = {*change.drop}
    put = [one for one in change.put if not {(one.kind, one.name), (one.kind, None)} & gone]
    return replace(change, put=put)


def _cut_at_nul(_: _Thread, change: Change) -> Change:
    put = [Document(one.kind, one.name.partition("\0")[0], one.data) for one in change.put]
    return replace(change, put=put)


class ComparesTooEarly(MemoryStorage):
    """Compares the revision, waits, and writes."""

    async def commit(self, key: ThreadKey, change: Change) -> None:
        self._compare(key, self._threads.get(key), change.revision)
        await asyncio.sleep(0)
        thread = self._threads.get(key)
        if thread is not None:
            change = replace(change, revision=thread.revision, epoch=thread.epoch)
        await super().commit(key, change)


class IgnoresTenants(MemoryStorage):
    """Reads the rows of any tenant."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        known = [one for one, thread in self._threads.items() if epoch in thread.epochs]
        asks = known[0] if known else key
        return await super().rows(asks, epoch, start, stop, system=system)


class ReadsTheCurrentAlways(MemoryStorage):
    """Reads the current rows at every epoch that is known."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        thread = self._threads.get(key)
        if thread is not None and epoch in thread.epochs:
            epoch = thread.epoch
        return await super().rows(key, epoch, start, stop, system=system)


class ReadsTheLastReplaced(MemoryStorage):
    """Reads, of several rows that were replaced, the last one."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        thread = self._threads.get(key)
        if thread is None or epoch not in thread.epochs:
            return []
        found = {row.seq: row for row in thread.rows}
        for number in sorted(thread.replaced):
            if number > thread.epochs[epoch]:
                found.update((row.seq, row) for row in thread.replaced[number])
        known = [found[seq] for seq in sorted(found)]
        return [row for row in known[start:stop] if row.system or not system]


class OrdersByText(MemoryStorage):
    """Orders rows by their numbers as strings."""

    async def rows(
        self, key: ThreadKey, epoch: bytes, start: int, stop: int, *, system: bool = False
    ) -> list[StoredRow]:
        found = await super().rows(key, epoch, start, stop, system=system)
        return sorted(found, key=lambda row: str(row.seq))


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


class ListsEveryTenant(MemoryStorage):
    """Lists the threads of all tenants."""

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        found: list[StoredThread] = []
        for name in await self.tenants():
            found += await super().threads(name, after=after)
        return found[:limit]


class PagesInclude(MemoryStorage):
    """Begins a page with the id that the last one ended with."""

    async def threads(
        self, tenant: str, *, after: str = "", limit: int | None = None
    ) -> list[StoredThread]:
        found = await super().threads(tenant)
        return [one for one in found if one.key.id >= after][:limit]


class ForgetsTheTimeOfMany(MemoryStorage):
    """Begins a page of folds after the time that the last one ended with."""

    async def folds_due(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        place = None if after is None else (after[0], "~")
        return await super().folds_due(tenant, after=place, limit=limit)


class ForgetsTheLatestOfMany(MemoryStorage):
    """Begins a page of threads before the time that the last one ended with."""

    async def latest(
        self, tenant: str, *, after: tuple[float, str] | None = None, limit: int
    ) -> list[tuple[float, str]]:
        place = None if after is None else (after[0], "")
        return await super().latest(tenant, after=place, limit=limit)


class GivesOldestFirst(MemoryStorage):
    """Returns documents in the wrong order."""

    async def documents(
        self, key: ThreadKey, kind: DocumentKind, *, limit: int | None = None
    ) -> list[Document]:
        return (await super().documents(key, kind))[::-1][:limit]


class DeletesForAnyTenant(MemoryStorage):
    """Deletes threads by their id alone."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        gone = [one for one in self._threads if one.id == key.id]
        results = [await super(DeletesForAnyTenant, self).delete(one) for one in gone]
        return any(results)


class DeletesAnyRevision(MemoryStorage):
    """Deletes a thread whatever revision is expected."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        return await super().delete(key)


class DeletesAnyHead(MemoryStorage):
    """Compares the revision of what is to be deleted, and not the head."""

    async def delete(self, key: ThreadKey, *, expected: StoredThread | None = None) -> bool:
        stored = await self.load(key)
        if stored is not None and expected is not None:
            expected = replace(expected, head=stored.head)
        return await super().delete(key, expected=expected)


FAULTS: Mapping[str, tuple[type[MemoryStorage], str]] = MappingProxyType(
    {
        "takes any revision": (
            _committing(lambda thread, change: replace(change, revision=thread.revision)),
            "another_revision_is_refused of_racing_commits_one_wins",
        ),
        "compares too early": (ComparesTooEarly, "of_racing_commits_one_wins"),
        "takes any epoch": (
            _committing(lambda thread, change: replace(change, epoch=thread.epoch)),
            "a_thread_made_again_takes_no_old_commit another_epoch_takes_no_commit",
        ),
        "writes before comparing": (
            _committing(_written_first),
            "a_refused_commit_changes_nothing",
        ),
        "opens before comparing": (_committing(_opened_first), "a_refused_rewind_opens_nothing"),
        "loses drops": (
            _committing(lambda _, change: replace(change, drop=())),
            "documents_are_dropped_by_name documents_are_dropped_by_kind",
        ),
        "drops last": (_committing(_dropped_last), "a_drop_comes_before_a_put"),
        "takes an empty name for all": (
            _committing(
                lambda _, change: replace(
                    change, drop=[(kind, name or None) for kind, name in change.drop]
                )
            ),
            "documents_are_dropped_by_name",
        ),
        "clears the current epoch alone": (
            _committing(lambda _, change: replace(change, clears=False)),
            "a_clear_deletes_everything",
        ),
        "never prunes": (
            _committing(lambda _, change: replace(change, keeps=None)),
            "a_prune_keeps_the_named_epochs a_fork_of_nothing_is_refused",
        ),
        "prunes all": (
            _committing(lambda _, change: replace(change, keeps=change.keeps and ())),
            "a_prune_keeps_the_named_epochs",
        ),
        "loses the last row": (
            _committing(
                lambda _, change: replace(change, rows=change.rows[: len(change.rows) - 1])
            ),
            "each_commit_counts_one thousands_are_one_commit",
        ),
        "keeps an expiry": (
            _committing(
                lambda thread, change: replace(change, gone_at=thread.expires_at or change.gone_at)
            ),
            "a_head_and_its_expiry_are_kept",
        ),
        "keeps a fold due": (
            _committing(
                lambda thread, change: replace(change, due_at=change.due_at or thread.due_at)
            ),
            "a_due_fold_is_listed a_rewind_carries_its_time",
        ),
        "forgets the time of many": (ForgetsTheTimeOfMany, "the_oldest_is_first"),
        "forgets the latest of many": (ForgetsTheLatestOfMany, "the_latest_comes_first"),
        "cuts names at NUL": (
            _committing(_cut_at_nul),
            "names_without_a_form_are_kept_or_refused",
        ),
        "ignores tenants": (IgnoresTenants, "tenants_load_their_own"),
        "reads the current rows always": (ReadsTheCurrentAlways, "a_rewind_replaces_rows"),
        "reads the last replaced": (ReadsTheLastReplaced, "every_earlier_epoch_reads_as_it_was"),
        "orders by text": (OrdersByText, "rows_come_in_order"),
        "copies for any tenant": (CopiesForAnyTenant, "a_foreign_thread_is_not_copied"),
        "copies what is there": (
            CopiesWhatIsThere,
            "a_fork_of_nothing_is_refused a_fork_has_the_rows_of_an_earlier_epoch",
        ),
        "shares rows": (SharesRows, "a_fork_and_its_source_grow_apart"),
        "lists every tenant": (ListsEveryTenant, "a_foreign_thread_is_not_loaded"),
        "pages overlap": (
            PagesInclude,
            "pages_hold_every_thread_once a_list_begins_after_an_id",
        ),
        "gives the oldest first": (GivesOldestFirst, "the_newest_come_first"),
        "deletes for any tenant": (DeletesForAnyTenant, "a_foreign_thread_is_not_deleted"),
        "deletes any revision": (DeletesAnyRevision, "a_deletion_compares_the_revision"),
        "deletes any head": (DeletesAnyHead, "a_thread_made_again_is_not_deleted"),
    }
)
"""Each fault, with the checks that must find it."""
