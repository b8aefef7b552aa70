"""How threads come to be: new, or out of a snapshot."""

from datetime import datetime

from msgspec import UNSET, structs

from foldline.errors import CheckpointStaleError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState, hash_of, same_hash
from foldline.reduction.version_1 import carried_over
from foldline.threads.backing import Backing
from foldline.threads.head import Head
from foldline.threads.key import ThreadKey
from foldline.threads.old_change import BRANCH_SIZE, Change, Planned, plan_step
from foldline.threads.record import ThreadRecord
from foldline.threads.snapshot import ThreadSnapshot
from foldline.threads.step import Branch
from foldline.threads.tool_run import answer_of


__all__ = ["plan_new", "plan_restore"]


_OVERTAKEN = "Somebody has spoken behind it"


def plan_new(backing: Backing, key: ThreadKey, *, expires_at: datetime | None = None) -> Planned:
    """
    Return the step that makes the empty thread *key*.

    Args:
        backing: What the threads of the store have in common.
        key: The thread.
        expires_at: From when on it is gone; None for never.
    """
    change = Change(expires_at=expires_at)
    return _plan(backing, key, change, created_at=backing.clock())


def plan_restore(backing: Backing, key: ThreadKey, snapshot: ThreadSnapshot) -> Planned:
    """
    Return the step that makes the thread *key* out of *snapshot*.

    It keeps the times of the snapshot, so that a thread nobody uses does not look new for having
    been moved. It does not go on with what a vendor holds: that conversation may be another thread's,
    or know what was said behind the snapshot. An open run behind which somebody has spoken is ended,
    as by `ConversationThread.abandon_run`: nobody could resume it.

    Raises:
        CheckpointStaleError: Its execution state belongs to more messages than it holds.
        CheckpointError: A number in that state cannot be.
    """
    created_at = snapshot.created_at or backing.clock()
    active_at = max(created_at, snapshot.last_activity or backing.clock())
    snapshot = _without_overtaken(snapshot, active_at)
    state = snapshot.execution
    if state is not None:
        state = structs.replace(state.with_service(None), conversation_id=key.id)
    reduction = _standing(snapshot.reduction, snapshot.messages)
    cut = 0 if reduction is None else reduction.summarized_up_to_index
    change = Change(
        messages=snapshot.messages,
        execution=UNSET if state is None else state.with_reduction(reduction if cut else None),
        reduction=UNSET if reduction is None else reduction,
        archived=min(snapshot.archived, cut),
        tools=snapshot.tools,
        display_name=snapshot.display_name or None,
        metadata=snapshot.metadata or None,
        source="input",
    )
    dated = structs.replace(backing, clock=lambda: active_at)
    return _plan(dated, key, change, created_at=created_at)


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
    return structs.replace(
        snapshot,
        messages=(*snapshot.messages, *(answer_of(run, moment) for run in snapshot.tools)),
        execution=state.terminated(_OVERTAKEN),
        tools=(),
    )


def _standing(
    reduction: HistoryReductionState | None, messages: tuple[Message, ...]
) -> HistoryReductionState | None:
    """Return *reduction* if it stands for the beginning of *messages*."""
    if reduction is None:
        return None
    history = History(messages)
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
    return structs.replace(reduction, previous=None)


def _plan(backing: Backing, key: ThreadKey, change: Change, *, created_at: datetime) -> Planned:
    branch = Branch(backing.random_bytes(BRANCH_SIZE), None, 0)
    head = Head(branch=branch.id, created_at=created_at, last_activity=created_at)
    change = structs.replace(change, shares=branch)
    return plan_step(backing, ThreadRecord(key=key, head=head), change, is_new=True)
