"""
What a run, or a thread, starts from.

Nothing here rewrites a message: a fork copies rows, and a new epoch replaces the rows from one number
on. A reduction that covers more than what stays goes, and with it what it alone keeps archived.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from foldline.checks import expect_whole
from foldline.errors import (
    CheckpointStaleError,
    ConfigError,
    RunStartError,
    StoreCorruptError,
    StoreVersionError,
    ThreadConflictError,
)
from foldline.history.digest import hash_text, same_hash
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.earlier_digests import carried_over
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.change import Change, Copy, DocumentKind, Epoch
from foldline.threads.commit import Planned, plan
from foldline.threads.due import FoldBase
from foldline.threads.head import (
    Head,
    StoredReduction,
    ThreadRecord,
    active,
    decode_record,
    decode_reduction,
    document,
)
from foldline.threads.key import ThreadKey
from foldline.threads.lease import NOBODY
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.reader import ThreadReader
from foldline.threads.row import ORIGIN_SIZE
from foldline.threads.snapshot import ThreadSnapshot
from foldline.threads.storage import StoreContext, StoredThread
from foldline.threads.tools import answer_of


_OVERTAKEN = "Messages were added after it"

_RUN_KINDS: tuple[tuple[DocumentKind, str | None], ...] = (("tool", None), ("execution", None))

RunStart: TypeAlias = Literal["fresh", "continue", "resume"]
"""How a run starts: with new messages, with the history alone, or inside an open run."""

Decided: TypeAlias = tuple[ThreadRecord, Change]
"""The thread that a commit begins with, and what it changes."""


def run_start(
    thread_id: str, state: AgentLoopState | None, *, count: int, has_input: bool
) -> RunStart:
    """
    Return how a run starts on the thread *thread_id*, which holds *count* messages of any role.

    Raises:
        RunStartError: There is nothing to start from, or an open run and new messages.
        CheckpointStaleError: The open run belongs to a history that has changed since.
    """
    if state is None or not state.is_open:
        if not has_input and not count:
            raise RunStartError(
                f"thread {thread_id!r} has nothing to run on: (1) pass new messages, (2) use a "
                "thread that has a history, or (3) resume one that has a checkpoint"
            )
        return "fresh" if has_input else "continue"
    if has_input:
        raise RunStartError(
            "Cannot add new messages when resuming mid-execution: thread "
            f"{thread_id!r} is at iteration {state.iteration}. Run without new messages to "
            "resume, or `await thread.abandon_run()` first"
        )
    expected = len(state.current_messages)
    if count != expected:
        raise CheckpointStaleError(
            count=count,
            expected=expected,
            iteration=state.iteration,
            advice="`await thread.abandon_run()` ends its run",
        )
    state.validate_consistency(count)
    return "resume"


def plan_new(context: StoreContext, key: ThreadKey, *, expires_at: datetime | None) -> Planned:
    """Return the commit that makes the empty thread *key*."""
    head = _new_head(context, context.clock())
    return plan(context, ThreadRecord(key=key, head=head), Change(expires_at=expires_at))


def _new_head(context: StoreContext, created_at: datetime) -> Head:
    epoch = context.random_bytes(ORIGIN_SIZE)
    runs = ((0, epoch),)
    return Head(epoch=epoch, created_at=created_at, last_activity=created_at, runs=runs, rewinds=0)


def plan_restore(context: StoreContext, key: ThreadKey, snapshot: ThreadSnapshot) -> Planned:
    """Return the commit that makes the thread *key* from *snapshot*; see `ThreadStore.restore`."""
    # An unused thread must not look new for having been moved.
    created_at = snapshot.created_at or context.clock()
    active_at = max(created_at, snapshot.last_activity or context.clock())
    snapshot = _without_overtaken(snapshot, active_at)
    state = snapshot.execution
    if state is not None:
        # What a vendor holds may be another thread's, or contain what was said after the snapshot.
        state = replace(state.with_service(None), conversation_id=key.id)
    known = snapshot.reduction
    history = History(() if known is None else snapshot.messages, counter=context.counter)
    reduction = None if known is None else _fitting(known, history)
    cut = 0 if reduction is None else reduction.summarized_up_to_index
    head = _new_head(context, created_at)
    archived = min(snapshot.archived, cut)
    if archived:
        head = head.archiving(archived, fold=1)
    base = None
    if reduction is not None:
        base = FoldBase.of(history, reduction, users=len([*history.users(0)]))
    change = Change(
        messages=snapshot.messages,
        execution=UNSET if state is None else state.with_reduction(reduction if cut else None),
        reduction=UNSET if reduction is None else reduction,
        tools=snapshot.tools,
        display_name=snapshot.display_name or None,
        metadata=snapshot.metadata or None,
        source="input",
        pins=snapshot.pins,
        fold_base=base,
    )
    return plan(replace(context, clock=lambda: active_at), ThreadRecord(key=key, head=head), change)


def _without_overtaken(snapshot: ThreadSnapshot, moment: datetime) -> ThreadSnapshot:
    """Return *snapshot* without an open run that its messages have gone beyond."""
    state, count = snapshot.execution, len(snapshot.messages)
    if state is None:
        return snapshot
    expected = len(state.current_messages)
    if expected > count:
        raise CheckpointStaleError(count=count, expected=expected, iteration=state.iteration)
    if not state.is_open:
        # Nobody resumes it, whatever it holds.
        return snapshot
    state.validate_consistency(count, allow_stale=expected < count)
    if expected == count:
        return snapshot
    return replace(
        snapshot,
        messages=(*snapshot.messages, *(answer_of(run, moment) for run in snapshot.tools)),
        execution=state.terminated(_OVERTAKEN),
        tools=(),
    )


def _fitting(reduction: HistoryReductionState, history: History) -> HistoryReductionState | None:
    """Return *reduction* if it covers the beginning of *history*."""
    reduction = carried_over(reduction, history)
    index, pinned = reduction.summarized_up_to_index, reduction.pinned_index
    if not 0 <= index <= len(history) or not same_hash(
        hash_of(history, index), reduction.message_hash
    ):
        return None
    if pinned is not None and not 0 <= pinned < index:
        return None
    if any(not 0 <= layer.start <= layer.end <= index for layer in reduction.layers):
        return None
    return replace(reduction, previous=None)


async def forked(
    reader: ThreadReader, record: ThreadRecord, key: ThreadKey, at: int | None
) -> Planned:
    """Return the commit that makes the thread *key* of the first *at* messages of *record*."""
    context = reader.context
    at = record.head.length if at is None else at
    check_place("at", at, record.head.length)
    known = await stored_reductions(context, record)
    kept = await fitting_reductions(reader, [one for one in known if one.reach <= at])
    seq = await reader.seq_of(at)
    base = await _cut(reader, record, await reader.head_at(seq), kept)
    now = context.clock()
    head = replace(
        base.head,
        created_at=now,
        last_activity=now,
        revision=0,
        checkpoints=0,
        recent=(),
        rewinds=0,
    )
    change = Change(
        copies=Copy(record.key, record.head.epoch, seq),
        metadata={**record.metadata, "forked_from": record.key.id, "forked_at": at},
        source="fork",
        put=[
            document(context.vault, key, "reduction", one.state.to_json(), name=one.name)
            for one in kept
        ],
    )
    return plan(context, replace(base, key=key, head=head), change)


async def _cut(
    reader: ThreadReader, record: ThreadRecord, head: Head, kept: Sequence[StoredReduction]
) -> ThreadRecord:
    """Return *record* as of the earlier *head*, in a new epoch, with the reductions *kept*."""
    head = head.opened(reader.context.random_bytes(ORIGIN_SIZE))
    head = head.with_folds({int(one.name): one.reach for one in kept})
    base = replace(record, head=head, execution=None, tools=(), lease=None, tail=())
    return await _fallen_back(reader, base, kept)


async def _fallen_back(
    reader: ThreadReader, record: ThreadRecord, known: Sequence[StoredReduction]
) -> ThreadRecord:
    """Return *record* with the first of *known* as the newest reduction, or with none."""
    name, newest = (known[0].name, known[0].state) if known else ("", None)
    head, execution = record.head.fallen_back(int(name or 0)), record.execution
    if execution is not None:
        execution = execution.with_reduction(active(newest))
    if head.due is not None:
        counts = await reader.counts_before(0 if newest is None else newest.summarized_up_to_index)
        head = replace(head, due=head.due.based(FoldBase.of_row(counts, newest)))
    return replace(record, head=head, execution=execution, reduction=newest, reduction_name=name)


async def fitting_reductions(
    reader: ThreadReader, known: Sequence[StoredReduction]
) -> list[StoredReduction]:
    """Return those of *known* that cover what *reader* reads, which may be an earlier moment."""
    for one in sorted(known, key=lambda stored: stored.reach, reverse=True):
        # If the row at its end is damaged, no window after it can be read.
        with suppress(StoreCorruptError):
            # A digest covers everything before it: all that reach less far fit as well.
            counts = await reader.counts_before(one.reach)
            found = None if counts is None else hash_text(counts.digest)
            if not one.reach or (found and same_hash(found, one.state.message_hash)):
                return [other for other in known if other.reach <= one.reach]
    return []


async def rewound(reader: ThreadReader, record: ThreadRecord, at: int) -> Decided:
    """Return what takes back everything from the index *at* on."""
    check_place("at", at, record.head.length)
    return await _redone(reader, record, await reader.seq_of(at))


async def shortened(reader: ThreadReader, record: ThreadRecord, count: int) -> Decided | None:
    """Return what takes back the newest *count* messages, of any role; None for none of them."""
    check_place("count", count, record.head.count)
    if count == 0:
        return None
    return await _redone(reader, record, record.head.count - count)


async def replaced(
    reader: ThreadReader, record: ThreadRecord, messages: Sequence[Message]
) -> Decided | None:
    """Return what makes *messages* all that the thread holds; None if they are that already."""
    count = record.head.count
    same = await reader.same(messages)
    if same == count:
        # Nothing is replaced, so what comes after it needs no epoch.
        news = messages[same:]
        return (record, Change(messages=news, source="input")) if news else None
    return await _redone(reader, record, same, messages[same:])


async def _redone(
    reader: ThreadReader, record: ThreadRecord, seq: int, messages: Sequence[Message] = ()
) -> Decided:
    """Return what takes back the rows from *seq* on and appends *messages* there."""
    head = await reader.head_at(seq)
    known = await stored_reductions(reader.context, record)
    kept = [one for one in known if one.reach <= head.length]
    gone = [one for one in known if one.reach > head.length]
    base = await _cut(reader, record, head, kept)
    change = Change(
        messages=messages,
        epoch=record.head.epoch,
        opens=Epoch(base.head.epoch, seq),
        lease=NOBODY,
        drop=[*_RUN_KINDS, *(("reduction", one.name) for one in gone)],
    )
    return base, change


async def edited(
    reader: ThreadReader, record: ThreadRecord, index: int, message: Message
) -> Decided:
    """Return what puts *message* in the place of the one at *index*; all that follows stays."""
    check_place("index", index, record.head.length - 1)
    if message.role == "system":
        text = "a system message has no index: it cannot take the place of another message"
        raise ConfigError(text)
    seq = await reader.seq_of(index)
    following = await reader.messages(seq + 1, record.head.count)
    base, change = await _redone(reader, record, seq, (message, *following))
    pins = record.head.pins
    if message.is_pinned and index not in pins:
        pins = tuple(sorted((*pins, index)))
    return base, replace(change, pins=pins)


async def repinned(
    reader: ThreadReader, record: ThreadRecord, at: int | str, *, pin: bool
) -> Decided | None:
    """Return what pins or unpins the message at the index *at*, or with that id; None if nothing."""
    if isinstance(at, str):
        at = await reader.position_of(at)
    check_place("message", at, record.head.length - 1)
    pins = record.head.pins
    if (at in pins) is pin:
        return None
    after = sorted((*pins, at)) if pin else [index for index in pins if index != at]
    return record, Change(pins=tuple(after))


def check_place(name: str, index: int, most: int) -> None:
    """Raise ConfigError if *index* is not from 0 up to *most*."""
    expect_whole(name, index, 0)
    if index > most:
        raise ConfigError(f"{name} must be a whole number from 0 to {most}, got {index}")


async def stored_reductions(context: StoreContext, record: ThreadRecord) -> list[StoredReduction]:
    """Return every stored reduction of the thread, the newest first."""
    stored = await context.storage.documents(record.key, "reduction")
    return [decode_reduction(context.vault, record.key, one) for one in stored]


async def undone(reader: ThreadReader, record: ThreadRecord) -> Decided | None:
    """Return what revokes the newest reduction; None if there is none."""
    known = await stored_reductions(reader.context, record)
    if not known:
        # If there was one when the thread was read, the commit is refused.
        return None if record.reduction is None else (record, Change())
    before = await _fallen_back(reader, record, known[1:])
    return before, Change(drop=[("reduction", known[0].name)])


async def cleared(reader: ThreadReader, record: ThreadRecord) -> Decided:
    """Return what deletes everything that was said and stored with it."""
    head = record.head
    empty = replace(
        _new_head(reader.context, head.created_at),
        last_activity=head.last_activity,
        revision=head.revision,
        folds=head.folds,
        expires_at=head.expires_at,
        recent=head.recent,
        due=None if head.due is None else head.due.based(FoldBase()),
    )
    change = Change(
        display_name="",
        metadata={},
        epoch=head.epoch,
        opens=Epoch(empty.epoch, 0),
        clears=True,
        drop=[*_RUN_KINDS, ("reduction", None), ("checkpoint", None), ("turn", None)],
        lease=NOBODY,
    )
    return ThreadRecord(key=record.key, head=empty), change


def is_expired(context: StoreContext, record: ThreadRecord) -> bool:
    """Whether the thread *record* is not found any more."""
    # The head decides: nothing protects the column beside it.
    expires_at = record.head.expires_at
    return expires_at is not None and expires_at <= context.clock()


async def delete_expired(context: StoreContext, stored: StoredThread) -> bool:
    """Delete *stored* as it was read; False if somebody was faster."""
    try:
        return await context.storage.delete(stored.key, expected=stored)
    except ThreadConflictError:
        # It was prolonged or made again in the meantime.
        return False
    finally:
        context.recent.forget(stored.key)


async def make_room(context: StoreContext, key: ThreadKey) -> None:
    """Delete the thread *key* if it has expired, so that a new one can be made."""
    stored = await context.storage.load(key)
    # One that cannot be read stays: whether it has expired is unknown.
    with suppress(StoreCorruptError, StoreVersionError):
        if stored is not None and is_expired(context, decode_record(stored, context.vault)):
            await delete_expired(context, stored)
