"""The ways in which a run can start."""

from typing import Literal, TypeAlias

from foldline.errors import CheckpointStaleError, RunStartError
from foldline.threads.loop_state import AgentLoopState


__all__ = ["RunStart", "run_start"]


RunStart: TypeAlias = Literal["fresh", "continue", "resume"]
"""
How a run starts.

`fresh`: with new messages. `continue`: with the history alone. `resume`: inside an earlier run that
did not come to its end.
"""


def run_start(
    thread_id: str,
    state: AgentLoopState | None,
    *,
    count: int,
    has_input: bool,
) -> RunStart:
    """
    Return how a run on a thread starts.

    A state that has ended is kept for whoever wants to look at it, and starts nothing.

    Args:
        thread_id: The thread, for errors.
        state: The execution state that is stored with it.
        count: How many messages it holds, system messages included.
        has_input: Whether there are new messages.

    Raises:
        RunStartError: There is nothing to start from, or an open run and new messages.
        CheckpointStaleError: The open run belongs to a history of another length.
        CheckpointError: The state of the open run cannot be.
    """
    if state is None or not state.is_open:
        return _without_checkpoint(thread_id, count=count, has_input=has_input)
    if has_input:
        message = (
            "Cannot add new messages when resuming mid-execution: thread "
            f"{thread_id!r} is at iteration {state.iteration}. Run without new messages to "
            "resume, or `await thread.abandon_run()` first"
        )
        raise RunStartError(message)
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


def _without_checkpoint(thread_id: str, *, count: int, has_input: bool) -> RunStart:
    if has_input:
        return "fresh"
    if count:
        return "continue"
    message = (
        f"thread {thread_id!r} has nothing to run on: (1) pass new messages, (2) use a thread "
        "that has a history, or (3) resume one that has a checkpoint"
    )
    raise RunStartError(message)
