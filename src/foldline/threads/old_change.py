"""What one commit changes in a thread, and the step that it makes."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from foldline.history.messages import Message
from foldline.history.parts import TextPart
from foldline.reduction.state import HistoryReductionState
from foldline.threads.backing import Backing
from foldline.threads.checkpoint import (
    Checkpoint,
    CheckpointRetention,
    CheckpointSource,
    encode_checkpoint,
)
from foldline.threads.current import CurrentMessages
from foldline.threads.head import FOLD_STRIDE, Head, encode_head
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.old_row import KnownRow, append_rows
from foldline.threads.record import (
    ThreadRecord,
    as_stored,
    close_head,
    document,
    encode_metadata,
    encode_tool,
    in_force,
    in_order,
)
from foldline.threads.step import Branch, Document, DocumentKind, Step
from foldline.threads.tool_run import ToolRun, document_name


__all__ = [
    "BRANCH_SIZE",
    "COMMIT_ID_SIZE",
    "Change",
    "Planned",
    "StoredReduction",
    "plan_step",
]


BRANCH_SIZE: Final = 16
"""The length of a branch's id in bytes."""

COMMIT_ID_SIZE: Final = 8
"""The length of a commit's id in bytes."""

_Dropped = tuple[DocumentKind, str | None]

_NAME_WIDTH = 12


class StoredReduction(Struct, frozen=True):
    """A reduction with the name of its document."""

    name: str
    """The name."""

    state: HistoryReductionState
    """The reduction."""


class Change(Struct, frozen=True, kw_only=True):
    """What a commit changes; what is not named stays."""

    messages: Sequence[Message] = ()
    """The messages to append."""

    execution: AgentLoopState | UnsetType | None = UNSET
    """The execution state; None clears it."""

    reduction: HistoryReductionState | UnsetType = UNSET
    """The newest reduction."""

    is_new_fold: bool = True
    """Whether *reduction* is a new one, or the newest one with other notes."""

    fallback: StoredReduction | UnsetType | None = UNSET
    """The stored reduction that is the newest now, where others are dropped; None where none is."""

    archived: int | None = None
    """How many messages, system messages not counted, are archived."""

    tools: Sequence[ToolRun] = ()
    """Intents and results of tool calls."""

    settled: Sequence[str] = ()
    """The ids of calls that need not be remembered any more."""

    display_name: str | None = None
    """The name that people see."""

    metadata: Mapping[str, object] | None = None
    """Values of the owner."""

    expires_at: datetime | UnsetType | None = UNSET
    """From when on the thread is gone."""

    rebranch: Head | None = None
    """The counts to go on from, where the thread leaves its branch."""

    shares: Branch | None = None
    """The branch to open then."""

    drop: Sequence[_Dropped] = ()
    """Documents to delete."""

    purge: bool = False
    """Whether rows that no branch in use shares are deleted."""

    source: CheckpointSource = "loop"
    """What a checkpoint is made after."""


class Planned(Struct, frozen=True, kw_only=True):
    """A step that is ready to be committed."""

    step: Step
    """What the storage does."""

    record: ThreadRecord
    """The thread behind it."""

    known: Sequence[KnownRow] = ()
    """The rows of the step with their messages."""

    is_named: bool = False
    """Whether the caller can make the commit again under its id."""


def plan_step(
    backing: Backing,
    record: ThreadRecord,
    change: Change,
    *,
    commit_id: bytes | None = None,
    is_new: bool = False,
) -> Planned:
    """
    Return the step that makes *change* on the thread *record*.

    Args:
        backing: What the threads of the store have in common.
        record: The thread as it is.
        change: What changes.
        commit_id: The id of the commit; random where none is given.
        is_new: Whether the thread is made by it.

    Raises:
        CheckpointError: A number in the execution state cannot be.
    """
    name = commit_id or backing.random_bytes(COMMIT_ID_SIZE)
    start = change.rebranch or record.head
    known, counted = append_rows(start, change.messages, backing.counter, backing.vault)
    head = _moved(counted.moved(name, backing.clock()), change, backing.checkpoints)
    after = _changed(record, head, change)
    return Planned(
        step=Step(
            id=name,
            expected=0 if is_new else record.head.revision,
            head=close_head(backing.vault, record.key, after.head),
            branch=after.head.branch,
            opens=change.shares,
            rows=[one.row for one in known],
            put=_documents(backing, record, after, change),
            drop=_dropped(record, change),
            last_activity=after.head.last_activity.timestamp(),
            expires_at=_seconds(after.head.expires_at),
            purge=change.purge,
        ),
        record=after,
        known=known,
        is_named=commit_id is not None,
    )


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()


def _moved(head: Head, change: Change, retention: CheckpointRetention) -> Head:
    folds = change.is_new_fold and isinstance(change.reduction, HistoryReductionState)
    kept = retention == "full" and isinstance(change.execution, AgentLoopState)
    if change.fallback is not UNSET:
        head = head.fallen_back(0 if change.fallback is None else int(change.fallback.name))
    elif not folds and not kept and change.archived is None and change.expires_at is UNSET:
        return head
    if change.archived is not None:
        head = head.archiving(change.archived, fold=head.folds + folds)
    return msgspec.structs.replace(
        head,
        folds=head.folds + folds,
        checkpoints=head.checkpoints + kept,
        expires_at=head.expires_at if change.expires_at is UNSET else change.expires_at,
    )


def _changed(record: ThreadRecord, head: Head, change: Change) -> ThreadRecord:
    reduction, name = record.reduction, record.reduction_name
    if change.fallback is not UNSET:
        reduction = None if change.fallback is None else change.fallback.state
        name = "" if change.fallback is None else change.fallback.name
    elif change.reduction is not UNSET:
        # The store keeps every reduction by itself, so none has to carry those before it.
        reduction = msgspec.structs.replace(change.reduction, previous=None)
        name = _reduction_name(head, record, change)
    execution = record.execution
    if change.execution is not UNSET:
        execution = change.execution
    if execution is not None and change.execution is not UNSET:
        execution = msgspec.structs.replace(
            execution,
            current_messages=CurrentMessages(head.count, head.digest),
            active_reduction=in_force(reduction),
        )
        if execution.is_open:
            execution.validate_consistency(head.count)
    elif execution is not None and reduction is not record.reduction:
        execution = execution.with_reduction(in_force(reduction))
    return ThreadRecord(
        key=record.key,
        head=head,
        display_name=record.display_name if change.display_name is None else change.display_name,
        metadata=record.metadata if change.metadata is None else as_stored(change.metadata),
        execution=execution,
        reduction=reduction,
        reduction_name=name,
        tools=_tools_after(record, change),
    )


def _reduction_name(head: Head, record: ThreadRecord, change: Change) -> str:
    if change.is_new_fold or not record.reduction_name:
        return _fold_name(head.folds)
    return record.reduction_name


def _tools_after(record: ThreadRecord, change: Change) -> tuple[ToolRun, ...]:
    if not record.tools and not change.tools:
        return ()
    known = {run.call_id: run for run in record.tools}
    known.update((run.call_id, run) for run in change.tools)
    for call_id in _settled(record, change):
        known.pop(call_id, None)
    return in_order(known.values())


def _settled(record: ThreadRecord, change: Change) -> set[str]:
    """
    Return the calls whose answers are messages now, and those named.

    A vendor may give the id of an answered call again: what is stored for such a call stays until
    it has an answer of its own. So a change that makes a thread out of a history says itself which
    calls wait.
    """
    if not record.head.revision:
        return set(change.settled)
    begun = {run.call_id for run in change.tools}
    answered: set[str] = set()
    for message in change.messages:
        # Most messages are one text, so that is asked first.
        if len(message.parts) != 1 or type(message.parts[0]) is not TextPart:
            answered -= begun.intersection(call.id for call in message.tool_calls)
            answered.update(answer.id for answer in message.tool_call_responses)
    return answered.union(change.settled)


def _dropped(record: ThreadRecord, change: Change) -> tuple[_Dropped, ...]:
    drop: list[_Dropped] = [*change.drop]
    if change.is_new_fold and isinstance(change.reduction, HistoryReductionState):
        drop.extend(("reduction", name) for name in _thinned(record.head.folds + 1))
    if record.tools:
        settled = _settled(record, change)
        drop.extend(
            ("tool", document_name(run.call_id)) for run in record.tools if run.call_id in settled
        )
    if change.execution is None:
        drop.append(("execution", None))
    return tuple(drop)


def _thinned(fold: int) -> list[str]:
    """
    Return the names of the reductions that go when *fold* is stored.

    The last 16 stay, of the last 256 every 16th, of the last 4,096 every 256th and so on: a
    rewind finds an earlier reduction not far away, and there are few at any length.
    """
    names: list[str] = []
    stride = FOLD_STRIDE
    while stride < fold:
        if (fold - stride) % stride:
            names.append(_fold_name(fold - stride))
        stride *= FOLD_STRIDE
    return names


def _fold_name(fold: int) -> str:
    return f"{fold:0{_NAME_WIDTH}d}"


def _documents(
    backing: Backing, before: ThreadRecord, after: ThreadRecord, change: Change
) -> tuple[Document, ...]:
    vault, key = backing.vault, after.key
    put: list[Document] = []
    if change.metadata is not None or change.display_name is not None:
        data = encode_metadata(after.display_name, after.metadata)
        put.append(document(vault, key, "metadata", data))
    if isinstance(change.reduction, HistoryReductionState) and after.reduction is not None:
        data, name = after.reduction.to_json(), after.reduction_name
        put.append(document(vault, key, "reduction", data, name=name))
    if isinstance(change.execution, AgentLoopState) and after.execution is not None:
        put += _checkpointed(backing, before, after, after.execution, change.source)
    settled = _settled(before, change) if change.tools else ()
    for run in change.tools:
        if run.call_id not in settled:
            data = encode_tool(run)
            put.append(document(vault, key, "tool", data, name=document_name(run.call_id)))
    return tuple(put)


def _checkpointed(
    backing: Backing,
    before: ThreadRecord,
    after: ThreadRecord,
    state: AgentLoopState,
    source: CheckpointSource,
) -> list[Document]:
    vault, key, head = backing.vault, after.key, after.head
    plain = state if state.active_reduction is None else state.with_reduction(None)
    put = [document(vault, key, "execution", plain.to_json())]
    if backing.checkpoints == "full":
        moments = [_checkpoint(head, state, source)]
        if before.head.checkpoints == 0:
            moments.insert(0, _root(head))
        put += [
            document(vault, key, "checkpoint", encode_checkpoint(moment), name=moment.id)
            for moment in moments
        ]
    return put


def _checkpoint(head: Head, state: AgentLoopState, source: CheckpointSource) -> Checkpoint:
    return Checkpoint(
        id=f"{head.revision:0{_NAME_WIDTH}d}",
        created_at=head.last_activity,
        source=source,
        step=state.iteration,
        message_index=head.count,
        head=encode_head(head),
        state=state.to_json().decode(),
    )


def _root(head: Head) -> Checkpoint:
    return Checkpoint(
        id="0" * _NAME_WIDTH,
        created_at=head.created_at,
        source="root",
        step=-1,
        message_index=-1,
    )
