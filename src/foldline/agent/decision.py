"""What comes next in a turn: pure functions, and the reasons a turn ends for."""

from collections.abc import Sequence

from foldline.agent.config import AgentOptions
from foldline.agent.events import RepeatBreakerEvent
from foldline.agent.tools import call_signature
from foldline.history.parts import ToolCallPart
from foldline.threads.loop_state import AgentLoopState


__all__ = ["repeated_call", "termination", "unknown_tools"]


def termination(state: AgentLoopState, options: AgentOptions, *, elapsed: float) -> str | None:
    """
    Return why there is no further model call; None if there is one.

    Args:
        state: The state of the run.
        options: Its limits.
        elapsed: How many seconds it has taken.
    """
    if state.is_terminated:
        return state.termination_reason or "Terminated"
    if state.consecutive_failures >= options.max_consecutive_failures:
        return f"Maximum consecutive failures ({options.max_consecutive_failures}) exceeded"
    if state.iteration >= options.max_iterations:
        return f"Maximum iterations ({options.max_iterations}) reached"
    if options.max_duration is not None and elapsed >= options.max_duration:
        return f"Maximum duration ({options.max_duration:g} s) reached"
    return None


def repeated_call(
    state: AgentLoopState, calls: Sequence[ToolCallPart], options: AgentOptions
) -> RepeatBreakerEvent | None:
    """
    Return the event of the first of *calls* that would be one repetition too many.

    The ids of calls and the order of arguments do not matter.
    """
    for call in calls:
        state = state.with_tool_call(call.name, call_signature(call.arguments))
        count = state.repeat_counts[call.name]
        if count >= options.max_identical_calls:
            text = (
                f"Circuit breaker triggered: Function '{call.name}' with same arguments would be "
                f"called {count} times consecutively. Stopping to prevent infinite loop."
            )
            return RepeatBreakerEvent(
                iteration=state.iteration, name=call.name, count=count, text=text
            )
    return None


def unknown_tools(
    calls: Sequence[ToolCallPart], known: Sequence[str], options: AgentOptions
) -> str | None:
    """Return why the turn ends because of unknown tools; None if it continues."""
    unknown = sorted({call.name for call in calls}.difference(known))
    if not unknown or not options.terminate_on_unknown_tools:
        return None
    return f"Unknown tools requested: {', '.join(unknown)}"
