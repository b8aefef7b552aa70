"""Everything about one thread, read raw and recomputed: what is whole, and what is not."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from foldline.errors import FormatError, StoreBusyError, StoreCorruptError, StoreKeyError
from foldline.reduction.state import hash_text, same_hash
from foldline.threads.backing import Backing
from foldline.threads.chain import Chain, Sums
from foldline.threads.checkpoint import Checkpoint, decode_checkpoint
from foldline.threads.fault import Fault, FaultKind
from foldline.threads.head import SEAL_SIZE, Head, decode_head
from foldline.threads.key import ThreadKey
from foldline.threads.old_change import StoredReduction
from foldline.threads.old_storage import LOADED_KINDS
from foldline.threads.record import ThreadRecord, close_head, decode_record, open_document
from foldline.threads.salvage import Salvage
from foldline.threads.step import Document, DocumentKind, StoredThread


__all__ = ["Examination", "examine_steadily"]


_ATTEMPTS = 5
# A head may be damaged so that it speaks of any number of rows.
_MOST_EMPTY = 1_000
_STRIDE = 512
_MOST_FAULTS = 1000
_MOMENT = 0.001
_NO_BRANCH = bytes(16)
_KINDS: tuple[DocumentKind, ...] = ("metadata", "execution", "tool", "reduction", "checkpoint")


class Examination(Struct, frozen=True, kw_only=True):
    """What was found in one thread at one revision."""

    key: ThreadKey
    """The thread."""

    revision: int
    """The revision that the store names."""

    head: Head | None
    """Its head; None where that is damaged."""

    branch: bytes | None
    """The branch of its rows; None where nobody knows it."""

    sums: Sums
    """What the rows before the first damaged one add up to."""

    faults: tuple[Fault, ...]
    """What is wrong."""

    record: ThreadRecord
    """The thread with what is whole of its documents; its head is that of `sums`."""

    reductions: tuple[StoredReduction, ...]
    """The reductions that are whole and stand for rows that are, the newest first."""

    checkpoints: tuple[Checkpoint, ...]
    """The kept moments that are whole."""

    @property
    def lost(self) -> int | None:
        """How many messages cannot be kept; None where nobody knows how many there were."""
        return None if self.head is None else max(0, self.head.count - self.sums.count)


class _Documents(Struct):
    faults: list[Fault]
    record: ThreadRecord
    reductions: list[StoredReduction]
    checkpoints: list[Checkpoint]


async def examine_steadily(backing: Backing, key: ThreadKey) -> Examination | None:
    """
    Return what is whole and what is damaged of a thread; None where there is no such thread.

    Faults are no trace of others who write: what was found while nobody wrote is as it is; else
    what lies at the same place each time.

    Raises:
        StoreBusyError: Others write all the while, and it cannot be told.
        StoreCorruptError: The storage itself cannot find the thread any more.
        StoreKeyError: Its head was encrypted with another key.
        StoreVersionError: A newer foldline wrote it.
        StoreError: The storage failed.
    """
    seen: list[Examination] = []
    for _ in range(_ATTEMPTS):
        stored = await backing.storage.load(key)
        if stored is None:
            return None
        found = await _Examiner(backing, stored).examine()
        if not found.faults or await _is_still(backing, stored):
            return found
        seen.append(found)
    lasting = set[tuple[str, str]].intersection(*map(_places, seen))
    # What is gone from a branch that was left, or deleted, is missing there rightly.
    if not lasting or len({one.branch for one in seen}) > 1:
        message = f"thread {key.id!r} was written to all the while: examine it again"
        raise StoreBusyError(message)
    latest = seen[-1]
    faults = tuple(one for one in latest.faults if (one.kind, one.name) in lasting)
    return replace(latest, faults=faults)


def _places(found: Examination) -> set[tuple[str, str]]:
    # What is wrong may be told with numbers that every commit changes.
    return {(one.kind, one.name) for one in found.faults}


async def _is_still(backing: Backing, seen: StoredThread) -> bool:
    """Whether the thread is as it was *seen*: one made anew may have come to the same revision."""
    stored = await backing.storage.load(seen.key)
    return stored is not None and (stored.revision, stored.head) == (seen.revision, seen.head)


class _Examiner:
    def __init__(self, backing: Backing, stored: StoredThread) -> None:
        self._backing = backing
        self._storage = backing.storage
        self._vault = backing.vault
        self._stored = stored
        self._key = stored.key
        self._faults: list[Fault] = []

    async def examine(self) -> Examination:
        head = self._head()
        branch = await self._branch(head)
        known = await self._documents(head)
        execution = known.record.execution
        chain = Chain(
            self._vault,
            counts=() if execution is None else (len(execution.current_messages),),
            indexes=(one.state.summarized_up_to_index for one in known.reductions),
        )
        if branch is not None:
            await self._scan(chain, branch, None if head is None else head.count)
        if head is not None:
            await self._judge_head(head, chain)
        self._judge_execution(known, chain)
        self._judge_reductions(known, chain)
        await self._judge_checkpoints(known)
        return Examination(
            key=self._key,
            revision=self._stored.revision,
            head=head,
            branch=branch,
            sums=chain.good,
            faults=(*self._faults, *known.faults),
            record=_with_sums(known.record, chain.good),
            reductions=tuple(known.reductions),
            checkpoints=tuple(known.checkpoints),
        )

    def _blame(self, kind: FaultKind, problem: str, name: str = "") -> None:
        if len(self._faults) < _MOST_FAULTS:
            self._faults.append(Fault(kind=kind, name=name, problem=problem))

    def _head(self) -> Head | None:
        stored, key = self._stored, self._key
        if not _is_whole_number(stored.revision):
            self._blame("store", "the revision of the thread is no number")
            return None
        if not _is_bytes(stored.head):
            self._blame("head", "it is not stored as bytes")
            return None
        try:
            place = ("head", key.tenant, key.id, str(stored.revision))
            head = decode_head(self._vault.open_up(stored.head, *place))
        except StoreCorruptError:
            self._blame("head", "it was changed or moved, its revision was, or the key is another")
            return None
        if head.revision != stored.revision:
            self._blame("head", "it is of another revision")
            return None
        return head

    async def _branch(self, head: Head | None) -> bytes | None:
        found = None
        if isinstance(self._storage, Salvage):
            found = await self._storage.branch_of(self._key)
            if head is not None and found != head.branch:
                self._blame(
                    "head", "the store names another branch, or another owner of its branch"
                )
        elif head is None:
            self._blame("head", "without it this store does not know which rows belong to it")
        return found if head is None else head.branch

    async def _documents(self, head: Head | None) -> _Documents:
        moment = self._backing.clock()
        head = head or Head(
            branch=_NO_BRANCH,
            created_at=moment,
            last_activity=moment,
            revision=self._stored.revision if _is_whole_number(self._stored.revision) else 0,
        )
        known = _Documents([], ThreadRecord(key=self._key, head=head), [], [])
        for kind in _KINDS:
            try:
                found = await self._documents_of(kind)
            except StoreCorruptError as error:
                known.faults.append(Fault(kind="store", name=kind, problem=str(error)))
                continue
            for one in reversed(found):
                self._take(known, one)
        known.reductions.reverse()
        return known

    async def _documents_of(self, kind: DocumentKind) -> Sequence[Document]:
        if kind not in LOADED_KINDS:
            return await self._storage.documents(self._key, kind)
        # Those of the same moment as the head: others may have written since.
        return [one for one in reversed(self._stored.documents) if one.kind == kind]

    def _take(self, known: _Documents, one: Document) -> None:
        problem = None
        if not _is_bytes(one.data):
            problem = "it is not stored as bytes"
        else:
            try:
                if one.kind == "checkpoint":
                    self._take_checkpoint(known, one)
                else:
                    self._take_document(known, one)
            except (StoreCorruptError, StoreKeyError, FormatError):
                problem = "it was changed or moved, or the key is another"
        if problem is not None:
            known.faults.append(Fault(kind=one.kind, name=one.name, problem=problem))

    def _take_document(self, known: _Documents, one: Document) -> None:
        record = known.record
        head = close_head(self._vault, self._key, record.head)
        alone = decode_record(
            StoredThread(key=self._key, revision=record.head.revision, head=head, documents=[one]),
            self._vault,
        )
        if one.kind == "metadata":
            record = replace(record, display_name=alone.display_name, metadata=alone.metadata)
        elif one.kind == "execution":
            record = replace(record, execution=alone.execution)
        elif alone.reduction is not None:
            known.reductions.append(StoredReduction(one.name, alone.reduction))
        else:
            tools = (*record.tools, *alone.tools)
            record = replace(record, tools=tuple(sorted(tools, key=lambda run: run.place)))
        known.record = record

    def _take_checkpoint(self, known: _Documents, one: Document) -> None:
        checkpoint = decode_checkpoint(open_document(self._vault, self._key, one))
        checkpoint.execution_state()
        if checkpoint.head:
            decode_head(checkpoint.head)
        known.checkpoints.append(checkpoint)

    async def _scan(self, chain: Chain, branch: bytes, stop: int | None) -> None:
        first, empty = 0, 0
        while stop is None or first < stop:
            if len(self._faults) >= _MOST_FAULTS:
                return
            last = first + _STRIDE if stop is None else min(first + _STRIDE, stop)
            count = await self._scan_page(chain, branch, first, last)
            if stop is None and chain.sums.count < last:
                return
            empty = 0 if count else empty + 1
            if empty > _MOST_EMPTY:
                break
            first = last
        if stop is not None:
            self._pass_over(chain, stop)

    async def _scan_page(self, chain: Chain, branch: bytes, first: int, last: int) -> int:
        """Take the rows from *first* up to *last* and return how many there were."""
        try:
            rows = await self._storage.rows(self._key, branch, first, last)
        except StoreCorruptError as error:
            return await self._scan_halves(chain, branch, first, last, str(error))
        for row in rows:
            self._pass_over(chain, row.seq)
            problem = chain.take(row)
            if problem is not None:
                self._blame("row", problem, str(row.seq))
        return len(rows)

    async def _scan_halves(
        self, chain: Chain, branch: bytes, first: int, last: int, problem: str
    ) -> int:
        if last - first == 1:
            self._pass_over(chain, first)
            self._blame("row", problem, str(first))
            chain.skip(last)
            return 1
        middle = (first + last) // 2
        count = await self._scan_page(chain, branch, first, middle)
        return count + await self._scan_page(chain, branch, middle, last)

    def _pass_over(self, chain: Chain, stop: int) -> None:
        """Go on with the row *stop*; those before it that were not met are missing."""
        first = chain.sums.count
        if first >= stop:
            return
        rows = "it is" if stop == first + 1 else f"rows {first} to {stop - 1} are"
        self._blame("row", f"{rows} missing", str(first))
        chain.skip(stop)

    async def _judge_head(self, head: Head, chain: Chain) -> None:
        sums = chain.sums
        if chain.is_whole and _with_sums_head(head, sums) != head:
            self._blame("head", "its counts, digest or seal are not those of its rows")
        elif chain.is_trusted and sums.seal != head.seal:
            self._blame("head", "its seal is not that of the last row")
        if not 0 <= head.archived <= head.length:
            self._blame("head", "it has more archived messages than messages")
        if not _is_same_moment(head, self._stored.expires_at):
            self._blame("head", "the store names another moment than it from which on it is gone")
        # Whoever has written since has a head that stands behind it.
        if await self._has_row(head.branch, head.count) and (
            await _is_still(self._backing, self._stored)
        ):
            self._blame("row", "it lies behind the last row", str(head.count))

    async def _has_row(self, branch: bytes, number: int) -> bool:
        try:
            return bool(await self._storage.rows(self._key, branch, number, number + 1))
        except StoreCorruptError:
            return True

    def _judge_execution(self, known: _Documents, chain: Chain) -> None:
        state = known.record.execution
        if state is None:
            return
        count, problem = len(state.current_messages), None
        if count < 0 or count > chain.sums.count:
            problem = f"it belongs to {count} messages, and there are {chain.sums.count}"
        elif chain.digest_of_count.get(count, state.current_messages.digest) != (
            state.current_messages.digest
        ):
            problem = f"it belongs to other messages than the first {count}"
        if problem is not None:
            known.faults.append(Fault(kind="execution", problem=problem))
            known.record = replace(known.record, execution=None)

    def _judge_reductions(self, known: _Documents, chain: Chain) -> None:
        whole: list[StoredReduction] = []
        for one in known.reductions:
            problem = _reduction_problem(one, chain)
            if problem is None:
                whole.append(one)
            else:
                known.faults.append(Fault(kind="reduction", name=one.name, problem=problem))
        known.reductions = whole
        newest = whole[0] if whole else None
        known.record = replace(
            known.record,
            reduction=None if newest is None else newest.state,
            reduction_name="" if newest is None else newest.name,
        )

    async def _judge_checkpoints(self, known: _Documents) -> None:
        whole: list[Checkpoint] = []
        for one in known.checkpoints:
            if await self._is_placed(one):
                whole.append(one)
            else:
                problem = "the row that it stands behind is not there"
                known.faults.append(Fault(kind="checkpoint", name=one.id, problem=problem))
        known.checkpoints = whole

    async def _is_placed(self, checkpoint: Checkpoint) -> bool:
        if not checkpoint.head:
            return True
        head = decode_head(checkpoint.head)
        if head.count == 0:
            return True
        try:
            rows = await self._storage.rows(self._key, head.branch, head.count - 1, head.count)
        except StoreCorruptError:
            return False
        return any(_is_bytes(row.data) and row.data[:SEAL_SIZE] == head.seal for row in rows)


def _reduction_problem(one: StoredReduction, chain: Chain) -> str | None:
    index = one.state.summarized_up_to_index
    if index > chain.sums.length:
        return f"it stands for {index} messages, and there are {chain.sums.length}"
    digest = chain.digest_of_index.get(index)
    if digest is not None and not same_hash(hash_text(digest), one.state.message_hash):
        return f"it stands for other messages than the first {index}"
    if index in chain.torn:
        return f"its cut at {index} parts a call from its answer"
    return None


def _is_bytes(value: object) -> bool:
    return isinstance(value, bytes)


def _is_whole_number(value: object) -> bool:
    return isinstance(value, int)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _is_same_moment(head: Head, stored: float | None) -> bool:
    if head.expires_at is None:
        return stored is None
    return _is_number(stored) and abs(head.expires_at.timestamp() - (stored or 0)) < _MOMENT


def _with_sums_head(head: Head, sums: Sums) -> Head:
    return replace(
        head,
        count=sums.count,
        system=sums.system,
        system_tokens=sums.system_tokens,
        users=sums.users,
        tokens=sums.tokens,
        digest=sums.digest,
        seal=sums.seal,
    )


def _with_sums(record: ThreadRecord, sums: Sums) -> ThreadRecord:
    head = _with_sums_head(record.head, sums)
    return replace(record, head=replace(head, archived=max(0, min(head.archived, head.length))))
