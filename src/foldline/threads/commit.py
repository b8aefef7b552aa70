"""One commit: planned out of a change, carried out, and known afterwards to be made or not."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Final, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from foldline.checks import expect
from foldline.errors import CommitUnknownError, StoreError, ThreadConflictError, ThreadNotFoundError
from foldline.history.codec import encode_json
from foldline.reduction.fold_rule import FoldRule
from foldline.reduction.stride import FOLD_STRIDE, is_kept
from foldline.threads.change import COMMIT_ID_SIZE, Change, Document, DocumentKind
from foldline.threads.due import USUAL_MARK, USUAL_VIEW, FoldBase
from foldline.threads.head import (
    REMEMBERED_COMMITS,
    Head,
    ThreadRecord,
    active,
    as_stored,
    decode_record,
    document,
    encode_head,
    encode_metadata,
    extended,
    in_order,
)
from foldline.threads.loop_state import AgentLoopState, Checkpoint, CurrentMessages
from foldline.threads.row import Said
from foldline.threads.storage import StoreContext
from foldline.threads.tools import document_name


_NONE: Final = frozenset[str]()

# Takes over the thread after a commit, and what its new rows say; None for an unknown number.
_Adopt: TypeAlias = Callable[[ThreadRecord, Sequence[Said] | None], None]

# The storage has waited its own time already, so only a short second look is taken, in seconds.
_PATIENCE = 1.0


class Planned(Struct, frozen=True):
    """A commit that is ready to be made, the thread after it, and what the new rows say."""

    change: Change
    record: ThreadRecord
    said: Sequence[Said]


def plan(
    context: StoreContext, record: ThreadRecord, change: Change, *, is_named: bool = False
) -> Planned:
    """Return the commit of *change* on *record*, of revision 0 if new; errors name it if *is_named*."""
    reduction, vault = change.reduction, context.vault
    is_fold = reduction is not UNSET and not reduction.is_same_as(record.reduction)
    keeps_moment = context.checkpoints == "full" and isinstance(change.execution, AgentLoopState)
    commit_id = change.commit_id or context.random_bytes(COMMIT_ID_SIZE)
    rows, said, head = extended(record.head, change.messages, context.counter, vault)
    # Nobody was active by pruning, or by a fold at night.
    is_upkeep = change.keeps is not None or (is_fold and not change.messages)
    now = head.last_activity if is_upkeep else context.clock()
    if change.archive and reduction is not UNSET:
        archived = max(reduction.summarized_up_to_index, head.archived)
        head = head.archiving(archived, fold=head.folds + is_fold)
    head = replace(
        head,
        revision=head.revision + 1,
        last_activity=max(now, head.last_activity),
        recent=(*head.recent, commit_id)[-REMEMBERED_COMMITS:],
        folds=head.folds + is_fold,
        checkpoints=head.checkpoints + keeps_moment,
        expires_at=head.expires_at if change.expires_at is UNSET else change.expires_at,
        rewinds=0 if change.keeps is not None else head.rewinds,
        pins=head.pins if change.pins is None else change.pins,
    )
    if head.due or is_fold or change.fold_rule or head.tokens + head.system_tokens > USUAL_VIEW:
        head = _judged(record, head, change, is_fold=is_fold)
    settled = _settled(record, change) if record.tools or change.tools else _NONE
    after = _after(record, head, change, settled, is_fold=is_fold)
    put, key = _documents(context, after, change, settled), record.key
    put += _moments(context, record, after, change) if keeps_moment else ()
    planned = replace(
        change,
        id=commit_id,
        commit_id=commit_id if is_named else change.commit_id,
        revision=record.head.revision,
        epoch=change.epoch or head.epoch,
        head=vault.close_up(encode_head(head), "head", key.tenant, key.id, str(head.revision)),
        rows=rows,
        put=tuple(put),
        drop=tuple(_dropped(record, change, settled, is_fold=is_fold)),
        active_at=head.last_activity.timestamp(),
        gone_at=None if head.expires_at is None else head.expires_at.timestamp(),
        due_at=None if head.due is None or head.due.since is None else head.due.since.timestamp(),
    )
    return Planned(planned, after, said)


def _judged(record: ThreadRecord, head: Head, change: Change, *, is_fold: bool) -> Head:
    """Return *head* with whether a fold is due after the commit."""
    if change.fold_rule is not None:
        expect("fold_rule", change.fold_rule, FoldRule | None)
    known, reduction = head.due, record.reduction
    mark = known or USUAL_MARK
    if is_fold:
        mark = mark.based(change.fold_base or FoldBase())
    elif known is None and reduction is not None:
        # A thread from before this was noted.
        mark = mark.based(FoldBase.guessed(reduction, head.length, head.users, head.tokens))
    if not is_fold or change.messages:
        mark = head.marked(mark, change.fold_rule)
    return head if mark == (known or USUAL_MARK) else replace(head, due=mark)


def _settled(record: ThreadRecord, change: Change) -> AbstractSet[str]:
    """Return the calls whose answers are messages now, and those that the change names."""
    # A vendor may use the id of an answered call again: what is stored for such a call stays until
    # it has an answer of its own. So a change that makes a thread says itself which calls wait.
    if not record.head.revision:
        return set(change.settled)
    begun = {run.call_id for run in change.tools}
    answered: set[str] = set()
    for message in change.messages:
        answered -= begun.intersection(call.id for call in message.tool_calls)
        answered.update(answer.id for answer in message.tool_call_responses)
    return answered.union(change.settled)


def _after(
    record: ThreadRecord, head: Head, change: Change, settled: AbstractSet[str], *, is_fold: bool
) -> ThreadRecord:
    reduction, name = record.reduction, record.reduction_name
    if change.reduction is not UNSET:
        # The store keeps every reduction by itself, so none has to carry those before it.
        reduction = change.reduction
        reduction = replace(reduction, previous=None) if reduction.previous else reduction
        name = fold_name(head.folds) if is_fold or not name else name
    execution = record.execution
    if change.execution is not UNSET:
        execution = change.execution
        if execution is not None:
            current = CurrentMessages(head.count, head.digest)
            execution = replace(
                execution, current_messages=current, active_reduction=active(reduction)
            )
            if execution.is_open:
                execution.validate_consistency(head.count)
    elif execution is not None and reduction is not record.reduction:
        execution = execution.with_reduction(active(reduction))
    tools = record.tools
    if tools or change.tools:
        known = {run.call_id: run for run in (*tools, *change.tools)}
        tools = in_order(run for run in known.values() if run.call_id not in settled)
    lease = record.lease if change.lease is None else change.lease
    return ThreadRecord(
        key=record.key,
        head=head,
        display_name=record.display_name if change.display_name is None else change.display_name,
        metadata=record.metadata if change.metadata is None else as_stored(change.metadata),
        execution=execution,
        reduction=reduction,
        reduction_name=name,
        tools=tools,
        lease=lease if lease is not None and lease.holder else None,
    )


def _dropped(
    record: ThreadRecord, change: Change, settled: AbstractSet[str], *, is_fold: bool
) -> list[tuple[DocumentKind, str | None]]:
    drop = list(change.drop)
    if is_fold:
        drop += _thinned(record.head.folds + 1)
    for run in record.tools:
        if run.call_id in settled:
            drop.append(("tool", document_name(run.call_id)))
    if change.execution is None:
        drop.append(("execution", None))
    return drop


def _thinned(fold: int) -> list[tuple[DocumentKind, str | None]]:
    """Return the reductions that go when *fold* is stored: see `is_kept`."""
    drop: list[tuple[DocumentKind, str | None]] = []
    age = FOLD_STRIDE
    while age < fold:
        number = fold - age
        # Most of those that are not kept went at an earlier age.
        if is_kept(number, fold - 1) and not is_kept(number, fold):
            drop.append(("reduction", fold_name(number)))
        age *= FOLD_STRIDE
    return drop


def fold_name(fold: int) -> str:
    """Return the name of the reduction number *fold*."""
    return f"{fold:012d}"


def _documents(
    context: StoreContext, after: ThreadRecord, change: Change, settled: AbstractSet[str]
) -> list[Document]:
    vault, key = context.vault, after.key
    put = list(change.put)
    if change.metadata is not None or change.display_name is not None:
        data = encode_metadata(after.display_name, after.metadata)
        put.append(document(vault, key, "metadata", data))
    if change.reduction is not UNSET and after.reduction is not None:
        data, name = after.reduction.to_json(), after.reduction_name
        put.append(document(vault, key, "reduction", data, name=name))
    state = after.execution
    if change.execution is not UNSET and state is not None:
        # The reduction is stored by itself.
        plain = replace(state, active_reduction=None) if state.active_reduction else state
        put.append(document(vault, key, "execution", plain.to_json()))
    for run in change.tools:
        if run.call_id not in settled:
            data, name = encode_json(run), document_name(run.call_id)
            put.append(document(vault, key, "tool", data, name=name))
    if change.turn is not None:
        name = document_name(change.turn.id)
        put.append(document(vault, key, "turn", encode_json(change.turn), name=name))
    return put


def _moments(
    context: StoreContext, before: ThreadRecord, after: ThreadRecord, change: Change
) -> list[Document]:
    head, state = after.head, after.execution
    assert state is not None
    moment = Checkpoint(
        id=fold_name(head.revision),
        created_at=head.last_activity,
        source=change.source,
        step=state.iteration,
        message_index=head.count,
        head=encode_head(head),
        state=state.to_json().decode(),
    )
    root = Checkpoint(
        id=fold_name(0), created_at=head.created_at, source="root", step=-1, message_index=-1
    )
    return [
        document(context.vault, after.key, "checkpoint", encode_json(one), name=one.id)
        for one in ([moment] if before.head.checkpoints else [root, moment])
    ]


class OneLoopLock:
    """A lock for the tasks of one event loop; one of another loop is refused, never blocked."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = asyncio.Lock()
        # How many tasks have it or wait for it.
        self._users = 0

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        with self._guard:
            if self._loop is not loop:
                if self._users and self._loop is not None and not self._loop.is_closed():
                    message = "a thread object is used in two event loops: load it in each of them"
                    raise StoreError(message)
                self._loop, self._lock, self._users = loop, asyncio.Lock(), 0
            self._users += 1
        try:
            await self._lock.acquire()
        except asyncio.CancelledError:
            with self._guard:
                self._users -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
        with self._guard:
            self._users -= 1


async def carry_out(
    context: StoreContext, planned: Planned, adopt: _Adopt = lambda _record, _said: None
) -> None:
    """Make the commit *planned*; one that has begun ends even if the task is cancelled."""
    commit = _commit(context, planned, adopt)
    try:
        if context.storage.ends_commits:
            await commit
        else:
            await _finished(asyncio.ensure_future(commit))
    except asyncio.CancelledError as cancelled:
        # It has ended all the same; a cause says that it failed.
        if cancelled.__cause__ is None:
            adopt(planned.record, planned.said)
        raise
    adopt(planned.record, planned.said)


async def _finished(commit: asyncio.Future[None]) -> None:
    """Wait until *commit* has ended, however often the task that waits is cancelled."""
    try:
        await asyncio.shield(commit)
    except asyncio.CancelledError as cancelled:
        while not commit.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([commit])
        failure = asyncio.CancelledError() if commit.cancelled() else commit.exception()
        raise cancelled from failure


async def _commit(context: StoreContext, planned: Planned, adopt: _Adopt) -> None:
    try:
        await context.storage.commit(planned.record.key, planned.change)
    except CommitUnknownError as error:
        try:
            await _settle(context, planned, error, adopt)
        except asyncio.CancelledError as cancelled:
            # It is still unknown, so that nobody may take it for made.
            raise cancelled from error


async def _settle(
    context: StoreContext, planned: Planned, error: CommitUnknownError, adopt: _Adopt
) -> None:
    """Find out whether a commit whose outcome is unknown was made; raise if it was not."""
    record = await _stored(context, planned, error)
    expected, name = planned.change.revision, planned.record.key.id
    if record is not None and planned.change.id in record.head.recent:
        return
    if expected and (record is None or record.head.created_at != planned.record.head.created_at):
        # It was deleted; another one may have been made under its id.
        raise ThreadNotFoundError(thread_id=name)
    actual = 0 if record is None else record.head.revision
    if actual - expected > REMEMBERED_COMMITS:
        reason = "others have written too often since"
        raise _unknown(planned, error, reason, is_forgotten=True)
    if actual != expected:
        raise ThreadConflictError(thread_id=name, expected=expected, actual=actual)
    if context.storage.ends_commits and not error.may_arrive:
        # A cause says that the storage could not undo what has failed.
        if error.__cause__ is not None:
            raise _unknown(planned, error, f"it could not be undone ({error.__cause__})")
    elif record is None:
        raise _unknown(planned, error, "the thread may still be made")
    else:
        # An empty commit takes the revision that it expects, so that it is refused if it arrives.
        fence = plan(context, record, Change())
        try:
            await context.storage.commit(record.key, fence.change)
        except ThreadConflictError:
            await _settle(context, planned, error, adopt)
            return
        except StoreError:
            raise _unknown(planned, error, "nothing can be written now") from None
        adopt(fence.record, None)
    raise StoreError(f"a commit of thread {name!r} was not made: {error}")


async def _stored(
    context: StoreContext, planned: Planned, error: CommitUnknownError
) -> ThreadRecord | None:
    try:
        async with asyncio.timeout(_PATIENCE):
            stored = await context.storage.load(planned.record.key)
    except (StoreError, TimeoutError):
        raise _unknown(planned, error, "nothing can be read now") from None
    return None if stored is None else decode_record(stored, context.vault)


def _unknown(
    planned: Planned, error: CommitUnknownError, reason: str, *, is_forgotten: bool = False
) -> CommitUnknownError:
    is_named = planned.change.commit_id is not None and not is_forgotten
    if planned.change.revision:
        again = ", or commit again with the commit_id of this error" if is_named else ""
        way = f"Refresh, and check whether it is there{again}"
    else:
        way = "Check with `find` whether the thread is there"
    name = planned.record.key.id
    return CommitUnknownError(
        f"a commit of thread {name!r} may have been made or not: {reason}: {error}. {way}",
        commit_id=planned.change.id if is_named else None,
    )
