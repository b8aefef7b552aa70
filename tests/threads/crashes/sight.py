"""What a thread shows after a crash, whichever way it is read, and what in it does not agree."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from foldline.history.digest import prefix_digest
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.loop_state import AgentLoopState, Checkpoint
from foldline.threads.tools import ToolRun
from tests.threads.crashes.batch import label, torn


class Parts(Struct, frozen=True, kw_only=True):
    """What was read of a thread."""

    revision: int
    count: int
    archived: int
    messages: Sequence[Message]
    name: str
    execution: AgentLoopState | None
    newest: HistoryReductionState | None
    reductions: Sequence[HistoryReductionState]
    tools: Sequence[ToolRun]
    checkpoints: Sequence[Checkpoint] = ()


class ThreadSight(Struct, frozen=True):
    """A thread without anything that is drawn by chance or read off a clock."""

    revision: int
    labels: tuple[str, ...]
    digest: str
    archived: int
    name: str
    execution: tuple[int, bool, int, str] | None
    reductions: tuple[tuple[int, str], ...]
    tools: tuple[tuple[str, str | None], ...]
    answered: tuple[str, ...]
    checkpoints: tuple[tuple[int, int], ...]


class Sights(Struct, frozen=True):
    """The threads of a store by their ids, and the promises that it breaks by itself."""

    threads: Mapping[str, ThreadSight]
    broken: frozenset[str]


def sight_of(parts: Parts) -> tuple[ThreadSight, set[str]]:
    """Return what *parts* show, and the names of the promises that they break by themselves."""
    plain = [message for message in parts.messages if message.role != "system"]
    digest = prefix_digest(plain).hex()
    labels = tuple(label(message) for message in parts.messages)
    execution = _execution(parts.execution)
    sight = ThreadSight(
        revision=parts.revision,
        labels=labels,
        digest=digest,
        archived=parts.archived,
        name=parts.name,
        execution=execution,
        reductions=tuple((one.summarized_up_to_index, _text(one)) for one in parts.reductions),
        tools=tuple(
            (run.call_id, None if run.result is None else str(run.result)) for run in parts.tools
        ),
        answered=tuple(one.id for message in plain for one in message.tool_call_responses),
        checkpoints=tuple((one.step, one.message_index) for one in parts.checkpoints),
    )
    broken = {
        "half": torn(labels),
        "miscounted": parts.count != len(parts.messages),
        "stale state": execution is not None and execution[2:] != (parts.count, digest),
        "foreign reduction": not all(_fits(one, plain) for one in parts.reductions),
        "reductions apart": not _agree(parts),
        "archived too much": parts.archived > max([0, *(cut for cut, _ in sight.reductions)]),
    }
    return sight, {name for name, is_broken in broken.items() if is_broken}


def _execution(state: AgentLoopState | None) -> tuple[int, bool, int, str] | None:
    if state is None:
        return None
    current = state.current_messages
    return state.iteration, state.is_terminated, len(current), current.digest.hex()


def _text(reduction: HistoryReductionState) -> str:
    return reduction.summary_content.split(" ", 1)[0]


def _fits(reduction: HistoryReductionState, plain: Sequence[Message]) -> bool:
    index = reduction.summarized_up_to_index
    return index <= len(plain) and hash_of(plain, index) == reduction.message_hash


def _agree(parts: Parts) -> bool:
    """
    Whether the thread, its list of reductions and its execution state name the same newest one.
    """
    listed = parts.reductions[0].message_hash if parts.reductions else None
    newest = None if parts.newest is None else parts.newest.message_hash
    state = parts.execution
    active = (
        newest
        if state is None or state.active_reduction is None
        else (state.active_reduction.message_hash)
    )
    return listed == newest == active
