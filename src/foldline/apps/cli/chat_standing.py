"""Where a conversation was left, for whoever comes back to it."""

from foldline.apps.cli.terminal import first_line
from foldline.apps.cli.threads_counts import counted
from foldline.history.messages import Message
from foldline.threads.loop_state import COMPLETED
from foldline.threads.read_only import ReadOnlyThread


__all__ = ["standing_line"]


_MOST_SHOWN = 80
_MOST_TOOLS = 3
_NEWEST = 16


async def standing_line(thread: ReadOnlyThread) -> str:
    """
    Return the last question on *thread* and where the run stood, as one line; empty without one.

    Raises:
        StoreCorruptError: A message is missing or damaged.
        ThreadConflictError: Somebody has cleared the thread since it was read.
    """
    messages = await _since_question(thread)
    if not messages:
        return ""
    asked = first_line(messages[0].text, most=_MOST_SHOWN)
    return f"last question: {asked} ({_standing(thread, messages)})"


async def _since_question(thread: ReadOnlyThread) -> list[Message]:
    """Return the last question and all behind it; empty where nobody has asked anything."""
    last = _NEWEST
    while True:
        messages = await thread.get_messages(last=last)
        for at in reversed(range(len(messages))):
            if _is_question(messages[at]):
                return messages[at:]
        if last >= thread.count:
            return []
        last *= 8


def _is_question(message: Message) -> bool:
    return message.role == "user" and not message.is_summary and bool(message.text.strip())


def _standing(thread: ReadOnlyThread, messages: list[Message]) -> str:
    state, newest = thread.execution_state, messages[-1]
    if state is not None and state.is_open:
        done = sum(len(message.tool_call_responses) for message in messages)
        waiting = [first_line(run.name) for run in thread.pending_tools if run.result is None]
        stored = f"{counted(done, 'tool result')} stored"
        step = f"interrupted in model call {state.iteration + 1:,}, {stored}"
        if not waiting:
            return step
        more = "" if len(waiting) <= _MOST_TOOLS else f" and {len(waiting) - _MOST_TOOLS:,} more"
        return f"{step}, while {', '.join(waiting[:_MOST_TOOLS])}{more} ran"
    reason = "" if state is None else state.termination_reason or ""
    if reason and reason != COMPLETED:
        return f"ended: {first_line(reason)}"
    is_answered = newest.role == "assistant" and not newest.tool_calls
    return "answered" if is_answered else "not answered"
