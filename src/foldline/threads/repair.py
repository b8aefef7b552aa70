"""
Going on behind damage: what can be saved of a thread, what is lost, and how to say so.

Nothing is mended in place and nothing is deleted but documents that cannot be read. A thread with
damaged rows goes on, as a new revision, along a new branch that shares the rows before the first
damaged one; the others stay where they are, on the branch that is left.
Where much is lost by that, `whole_rows` still finds every message that is whole by itself.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from foldline.errors import StoreCorruptError, ThreadNotFoundError
from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.threads.backing import Backing
from foldline.threads.cipher import Vault
from foldline.threads.examination import Examination, examine_steadily
from foldline.threads.fault import Fault
from foldline.threads.head import SEAL_SIZE, Head
from foldline.threads.key import ThreadKey
from foldline.threads.old_change import BRANCH_SIZE, Change, StoredReduction, plan_step
from foldline.threads.old_row import read_body, read_row, seal_of
from foldline.threads.read_only import ReadOnlyThread
from foldline.threads.record import ThreadRecord
from foldline.threads.snapshot import encode_snapshot
from foldline.threads.step import Branch, DocumentKind, Step, StoredRow


__all__ = [
    "GAP_KEY",
    "LastGood",
    "Repair",
    "WholeRows",
    "carry_out",
    "find_last_good",
    "plan_repair",
    "whole_rows",
]


GAP_KEY = "__gap__"
"""The metadata key of a message that stands for damaged ones: from which number up to which."""

_PAGE = 512
_LAST = 1 << 32


class Repair(Struct, frozen=True, kw_only=True):
    """What a repair of one thread would do."""

    key: ThreadKey
    """The thread."""

    faults: tuple[Fault, ...]
    """What is wrong with it."""

    kept: int
    """How many messages are kept."""

    lost: int | None
    """How many are not; None where nobody knows how many there were."""

    deeds: tuple[str, ...] = ()
    """What is done and what is lost by it, one sentence each; empty where nothing is wrong."""

    step: Step | None = None
    """The commit that does it; None where nothing is wrong."""


class LastGood(Struct, frozen=True, kw_only=True):
    """A thread up to its last good row, and what is not."""

    thread: ReadOnlyThread
    """What is good, to be read."""

    lost: int | None
    """How many messages are not; None where nobody knows how many there were."""

    faults: tuple[Fault, ...]
    """What is wrong with it."""


class WholeRows(Struct, frozen=True, kw_only=True):
    """Every message of a thread that is whole by itself."""

    record: ThreadRecord
    """The thread with what is whole of its documents."""

    messages: Mapping[int, Message]
    """The messages by their numbers, in order; system messages have numbers too."""

    total: int | None
    """How many there were; None where nobody knows."""

    unproved: int
    """How many have nothing before them that their seal could be compared with."""

    faults: tuple[Fault, ...]
    """What is wrong with the thread."""

    def gaps(self) -> list[tuple[int, int]]:
        """Return the first and the last number of each run of messages that are not there."""
        found: list[tuple[int, int]] = []
        expected = 0
        for number in (*self.messages, *(() if self.total is None else (self.total,))):
            if number > expected:
                found.append((expected, number - 1))
            expected = number + 1
        return found

    def marked(self) -> list[Message]:
        """Return the messages, and in each gap a user message that says what is missing there."""
        numbered = [(first, _marker(first, last)) for first, last in self.gaps()]
        numbered += self.messages.items()
        return [message for _, message in sorted(numbered, key=lambda one: one[0])]

    def to_snapshot(self) -> bytes:
        """
        Return the marked messages, with the name and the metadata of the thread, as a snapshot.
        """
        # Cuts and counts of all else are those of a history without gaps.
        head = replace(self.record.head, archived=0)
        record = replace(self.record, head=head, execution=None, reduction=None, tools=())
        return encode_snapshot(record, self.marked())


def _marker(first: int, last: int) -> Message:
    what = f"message {first} is" if first == last else f"messages {first} to {last} are"
    # Of a user: nothing before a gap waits for an answer, and every vendor keeps its place.
    return Message(
        role="user",
        parts=(TextPart(f"[{what} missing here: damaged in the store]"),),
        metadata={GAP_KEY: [first, last]},
    )


async def plan_repair(backing: Backing, key: ThreadKey) -> Repair:
    """
    Return what a repair of the thread *key* would do; nothing is written.

    Raises:
        ThreadNotFoundError: There is no such thread.
        StoreCorruptError: It cannot be repaired: the storage is damaged below the thread, or
            neither its head nor its first row can be read.
        StoreKeyError: It was encrypted with another key: it is not damaged.
        StoreVersionError: A newer foldline wrote it: it is not damaged.
        StoreError: The storage failed.
    """
    found = await _examined(backing, key)
    if not found.faults:
        return Repair(key=key, faults=(), kept=found.sums.count, lost=0)
    below = next((one for one in found.faults if one.kind == "store"), None)
    if below is not None:
        message = f"{below.problem}: go back to a backup, or let the tools of the database mend it"
        raise StoreCorruptError(message)
    return _Plan(backing, found).repair()


async def _examined(backing: Backing, key: ThreadKey) -> Examination:
    found, branch = await _placed(backing, key)
    if found.head is None and not await _is_ours(backing, found, branch):
        # With another key nothing can be opened, and nothing is damaged.
        message = (
            f"neither the head nor the first message of thread {key.id!r} can be opened: give the "
            "key that it was written with, or go back to a backup; `foldline threads export "
            "--whole-rows` writes what can be opened"
        )
        raise StoreCorruptError(message)
    return found


async def _placed(backing: Backing, key: ThreadKey) -> tuple[Examination, bytes]:
    """Return what is found of the thread *key*, and the branch that its rows are on."""
    found = await examine_steadily(backing, key)
    if found is None:
        raise ThreadNotFoundError(thread_id=key.id)
    if found.branch is None:
        message = (
            f"the head of thread {key.id!r} is damaged, and the store does not know without it "
            "which messages belong to the thread: go back to a backup"
        )
        raise StoreCorruptError(message)
    return found, found.branch


async def _is_ours(backing: Backing, found: Examination, branch: bytes) -> bool:
    """Whether something of the thread can be opened, so that what cannot is damaged."""
    if found.sums.count:
        return True
    record = found.record
    documents = (record.metadata, record.display_name, record.tools, record.execution)
    if not any((*documents, found.reductions, found.checkpoints)):
        return False
    # The thread may begin anew, empty, only where there are no rows any more.
    for start, stop in ((0, _PAGE), (_PAGE, _LAST)):
        if await backing.storage.rows(found.key, branch, start, stop):
            return False
    return True


async def carry_out(backing: Backing, repair: Repair) -> None:
    """
    Do what `plan_repair` has planned.

    Raises:
        ThreadConflictError: Somebody has written in the meantime: plan again.
        StoreError: The storage failed; nothing was written.
    """
    if repair.step is not None:
        await backing.storage.commit(repair.key, repair.step)


async def find_last_good(backing: Backing, key: ThreadKey) -> LastGood:
    """
    Return the thread up to its last good row, to be read, and what is lost and why.

    It is all of the thread where nothing is damaged.

    Raises:
        ThreadNotFoundError: There is no such thread.
        StoreError: The storage failed, or is damaged below the thread.
    """
    found = await _examined(backing, key)
    record = found.record
    length = found.sums.length
    standing = [one for one in found.reductions if one.state.summarized_up_to_index <= length]
    newest = standing[0] if standing else None
    reduction = None if newest is None else newest.state
    state = record.execution
    if found.lost != 0 or state is None:
        state = None
    elif reduction is not None and reduction.summarized_up_to_index:
        state = state.with_reduction(reduction)
    record = replace(
        record,
        head=replace(record.head, branch=found.branch or record.head.branch),
        execution=state,
        reduction=reduction,
        reduction_name="" if newest is None else newest.name,
    )
    thread = ReadOnlyThread(backing, record)
    return LastGood(thread=thread, lost=found.lost, faults=found.faults)


async def whole_rows(backing: Backing, key: ThreadKey) -> WholeRows:
    """
    Return every message of the thread *key* that is whole, those behind damaged ones too.

    A row is compared with the seal of the one before it, be that damaged or not. One behind a row
    that is missing can be compared with nothing: it is believed, and counted as unproved.

    Raises:
        ThreadNotFoundError: There is no such thread.
        StoreError: The storage failed, or is damaged below the thread.
    """
    found, branch = await _placed(backing, key)
    total = None if found.head is None else found.head.count
    rows = _Rows(backing.vault)
    first = 0
    while total is None or first < total:
        last = first + _PAGE if total is None else min(first + _PAGE, total)
        page = await _readable(backing, key, branch, first, last)
        if total is None and not page:
            break
        for row in page:
            rows.take(row)
        first = last
    return WholeRows(
        record=found.record,
        messages=rows.messages,
        total=total,
        unproved=rows.unproved,
        faults=found.faults,
    )


async def _readable(
    backing: Backing, key: ThreadKey, branch: bytes, start: int, stop: int
) -> list[StoredRow]:
    """Return the rows that the storage can read, in order of their numbers."""
    try:
        rows = await backing.storage.rows(key, branch, start, stop)
    except StoreCorruptError:
        if stop - start == 1:
            return []
        middle = (start + stop) // 2
        before = await _readable(backing, key, branch, start, middle)
        return before + await _readable(backing, key, branch, middle, stop)
    # A damaged index gives back rows that nobody has asked for.
    asked = (row for row in rows if start <= row.seq < stop and type(row.data) is bytes)
    return sorted(asked, key=lambda row: row.seq)


class _Rows:
    def __init__(self, vault: Vault) -> None:
        self._vault = vault
        self._next = 0
        self._seals: Sequence[bytes] = (bytes(SEAL_SIZE),)
        self.messages: dict[int, Message] = {}
        self.unproved = 0

    def take(self, row: StoredRow) -> None:
        """Take the next row that can be read, and keep its message where that is whole."""
        if row.seq < self._next:
            return
        before = self._seals if row.seq == self._next else ()
        payload, seal = row.data[SEAL_SIZE:], row.data[:SEAL_SIZE]
        right = [seal_of(one, row.branch, row.seq, payload) for one in before]
        # The next one is sealed over what this one was, which a flipped bit may have changed.
        self._seals, self._next = (seal, *right[:1]), row.seq + 1
        if before and seal not in right:
            return
        try:
            message = read_body(read_row(row, self._vault).body)
        except StoreCorruptError:
            return
        self.messages[row.seq] = message
        self.unproved += not before and not self._vault.encrypts


class _Plan:
    def __init__(self, backing: Backing, found: Examination) -> None:
        self._backing = backing
        self._found = found
        self._deeds: list[str] = []
        self._drop: list[tuple[DocumentKind, str | None]] = []

    def repair(self) -> Repair:
        found = self._found
        leaves = any(one.kind in {"head", "row"} for one in found.faults)
        branch = self._branch() if leaves else None
        self._drop_damaged()
        fallback = self._fallback()
        execution, settled = self._execution()
        self._drop_checkpoints()
        change = Change(
            rebranch=None if branch is None else self._head(branch.id),
            shares=branch,
            execution=execution,
            fallback=fallback,
            settled=settled,
            drop=tuple(self._drop),
        )
        planned = plan_step(self._backing, self._record(), change)
        return Repair(
            key=found.key,
            faults=found.faults,
            kept=found.sums.count,
            lost=found.lost,
            deeds=tuple(self._deeds),
            step=planned.step,
        )

    def _record(self) -> ThreadRecord:
        head = replace(self._found.record.head, revision=self._found.revision)
        return replace(self._found.record, head=head)

    def _branch(self) -> Branch:
        found = self._found
        kept = found.sums.count
        self._deeds.append(
            f"goes on behind message {kept - 1} ({kept} kept)" if kept else "begins anew, empty"
        )
        if found.lost:
            messages = "1 message" if found.lost == 1 else f"{found.lost} messages"
            self._deeds.append(
                f"loses {messages}, from number {kept} on; "
                "what is left of them stays on the branch that is left"
            )
        if found.head is None:
            self._deeds.append(
                "loses the time when it was made, its expiry and how much of it was archived; rows "
                "that were cut off at its end cannot be noticed"
            )
        parent = found.branch if kept else None
        return Branch(self._backing.random_bytes(BRANCH_SIZE), parent, kept)

    def _head(self, branch: bytes) -> Head:
        found = self._found
        head = replace(found.record.head, branch=branch, revision=found.revision)
        if found.head is not None:
            return head
        folds = [int(one.name) for one in found.reductions if one.name.isdecimal()]
        return replace(
            head, folds=max(folds, default=0), checkpoints=len(found.checkpoints), expires_at=None
        )

    def _drop_damaged(self) -> None:
        for kind in _MEANING:
            for one in self._found.faults:
                if one.kind == kind:
                    self._forget(kind, one.name, "it is damaged")

    def _forget(self, kind: DocumentKind, name: str, reason: str) -> None:
        what = _MEANING[kind].format(name=name)
        self._drop.append((kind, name))
        self._deeds.append(f"loses {what}: {reason}")

    def _fallback(self) -> StoredReduction | UnsetType | None:
        length = self._found.sums.length
        for one in self._found.reductions:
            if one.state.summarized_up_to_index > length:
                self._forget("reduction", one.name, "it stands for messages that are lost")
        dropped = {name for kind, name in self._drop if kind == "reduction"}
        if not dropped:
            return UNSET
        return next((one for one in self._found.reductions if one.name not in dropped), None)

    def _execution(self) -> tuple[UnsetType | None, list[str]]:
        found = self._found
        state = found.record.execution
        if found.lost == 0:
            return UNSET, []
        if found.lost is None and state and len(state.current_messages) == found.sums.count:
            return UNSET, []
        if state is not None:
            self._deeds.append("loses the state of its last run: messages that it belongs to are")
        for run in found.record.tools:
            self._deeds.append(
                f"forgets the call {run.call_id!r} of the tool {run.name!r}, which "
                + ("has run" if run.is_finished else "may have run")
            )
        return None, [run.call_id for run in found.record.tools]

    def _drop_checkpoints(self) -> None:
        for one in self._found.checkpoints:
            if one.message_index > self._found.sums.count:
                self._forget("checkpoint", one.id, "it stands behind messages that are lost")


_MEANING: Mapping[DocumentKind, str] = MappingProxyType(
    {
        "metadata": "its display name and metadata",
        "execution": "the state of its last run, which cannot be resumed",
        "reduction": "reduction {name}, so that a summary may have to be written again",
        "tool": "what is known of the call {name}: whether its tool has run is not known",
        "checkpoint": "checkpoint {name}",
    }
)
