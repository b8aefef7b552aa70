"""What a chat shows while a turn runs: for people, and as JSON lines for programs."""

from collections.abc import Callable
from typing import TypeAlias

import msgspec
from rich.console import Console, RenderableType
from rich.text import Text

from foldline.agent.events import (
    AgentEvent,
    PromptCutEvent,
    ReasoningDeltaEvent,
    ReasoningEndEvent,
    RepeatBreakerEvent,
    RunCompletedEvent,
    TextDeltaEvent,
    TextEndEvent,
    ToolCallEndEvent,
    ToolResultEvent,
    TurnFinishedEvent,
)
from foldline.agent.result import TurnResult
from foldline.apps.cli.chat.flow import Flow, as_markdown, as_note
from foldline.apps.cli.files import print_json
from foldline.apps.cli.terminal import clean, first_line, note
from foldline.errors import (
    FoldlineError,
    ModelError,
    ThreadConflictError,
    ToolDecisionError,
    UsageError,
)
from foldline.history.messages import Message, Usage
from foldline.reduction.budget import FULL
from foldline.reduction.config import Limits
from foldline.reduction.event import HistoryReductionEvent, Reason
from foldline.replay.numbers import counted, short_number
from foldline.threads.loop_state import COMPLETED, to_plain
from foldline.threads.read_only import ReadOnlyThread


_MOST_SHOWN = 120
_MOST_ASKED = 80
_MOST_TOOLS = 3
_NEWEST = 16
_ADVICE = {
    401: "check the key in the environment",
    403: "check the key in the environment, and what it may use",
    429: "wait a while",
}


class JsonLines:
    """Prints each event as a JSON object with its `type`."""

    def hear(self, event: AgentEvent) -> None:
        """Print *event*."""
        print_json(msgspec.to_builtins(event, enc_hook=to_plain))

    def end(self, result: TurnResult) -> None:
        """Print the result of the turn."""
        print_json(
            {
                "type": "result",
                "thread_id": result.thread.id,
                "text": result.text,
                "termination_reason": result.termination_reason,
                "is_complete": result.is_complete,
                "iterations": result.iterations,
                "message_count": result.thread.count,
                "usage": result.usage,
            }
        )

    def gauge(self) -> None:
        """Print nothing: the events have the numbers."""

    def note(self, text: str, *, style: str = "dim") -> None:  # noqa: ARG002 - a screen has styles
        """Print *text* on the standard error."""
        note(text)

    def close(self) -> None:
        """Do nothing: every line is whole."""


def print_failure(code: str, text: str, thread_id: str, *, resumable: bool) -> None:
    """Print as a JSON object what went wrong, and whether the thread has a run to resume."""
    message = " ".join(text.split())
    fields = {"type": "error", "code": code, "message": message, "thread_id": thread_id}
    print_json({**fields, "resumable": resumable})


class Screen:
    """Shows the answer as it comes, and one line for everything else."""

    def __init__(
        self,
        answer: Console,
        notes: Console,
        *,
        limits: Limits | None = None,
        pays: bool = False,
        is_recorded: bool = False,
    ) -> None:
        """Show the answer on one console, notes on another; *limits* or prices call for folds."""
        self._answer = answer
        self._notes = notes
        self._is_recorded = is_recorded
        self._limits, self._pays = limits, pays
        self._reduction: HistoryReductionEvent | None = None
        self._calls = 1
        self._open: Console | None = None
        self._flow: Flow | None = None
        self._render: Callable[[str], RenderableType] | None = None

    def hear(self, event: AgentEvent) -> None:
        """Show *event*."""
        if isinstance(event, HistoryReductionEvent):
            self._reduction = event
        match event:
            case TextDeltaEvent(text=text):
                self._say(self._answer, text, as_markdown)
            case ReasoningDeltaEvent(text=text):
                self._say(self._notes, text, as_note)
            case TextEndEvent() | ReasoningEndEvent():
                self.close()
            case RunCompletedEvent(usage=usage, duration=duration):
                line = _usage_line(usage, calls=self._calls, is_recorded=self._is_recorded)
                self.note(f"{line}; {duration:.1f} s")
            case TurnFinishedEvent(termination_reason=reason, iterations=iterations):
                self._calls = iterations
                if reason != COMPLETED:
                    self.note(f"the turn ends here: {first_line(reason)}", style="yellow")
            case _:
                self._note_event(event)

    def end(self, result: TurnResult) -> None:  # noqa: ARG002 - for a program it is a line
        """Show nothing more: all of *result* was shown as it happened."""
        self.close()

    def gauge(self) -> None:
        """Show how full the last request was, and when the next fold is due."""
        if self._reduction is not None:
            self.note(gauge_line(self._reduction, self._limits, pays=self._pays))

    def note(self, text: str, *, style: str = "dim") -> None:
        """Show *text* as a line of its own."""
        self.close()
        self._notes.print(Text(clean(text), style=style), soft_wrap=True)

    def close(self) -> None:
        """End the line that is being written, if there is one."""
        console, flow = self._open, self._flow
        self._open = self._flow = None
        if flow is not None:
            flow.end()
        elif console is not None:
            console.out("", highlight=False)

    def _say(self, console: Console, text: str, render: Callable[[str], RenderableType]) -> None:
        if self._render is not render:
            self.close()
        if self._open is None and console.is_terminal and not console.is_dumb_terminal:
            self._flow = Flow(console, render)
        self._open, self._render = console, render
        if self._flow is not None:
            self._flow.add(text)
            return
        # A piece may begin or end anywhere, so its line breaks stay as they are.
        console.out("\n".join(map(clean, text.split("\n"))), end="", highlight=False)

    def _note_event(self, event: AgentEvent) -> None:
        match event:
            case ToolCallEndEvent(name=name, arguments=arguments):
                said = first_line(arguments, most=_MOST_SHOWN)
                self.note(f"→ {first_line(name)} {said}", style="cyan")
            case ToolResultEvent():
                self.note(_result_line(event), style="red" if event.is_error else "green")
            case HistoryReductionEvent(status="performed"):
                self.note(_fold_line(event), style="yellow")
            case HistoryReductionEvent(status="failed"):
                self.note(_fold_line(event), style="red")
            case PromptCutEvent(read_tokens=read, tokens=tokens):
                text = f"the server read {read:,} of {tokens:,} tokens: set num_ctx in Ollama"
                self.note(text, style="red")
            case RepeatBreakerEvent(text=text):
                self.note(text, style="yellow")
            case _:
                pass


Display: TypeAlias = Screen | JsonLines
"""What shows a turn."""


def _result_line(event: ToolResultEvent) -> str:
    result = event.result
    said = result if isinstance(result, str) else f"({counted(len(result), 'part')})"
    lines = said.count("\n")
    more = f" (+ {counted(lines, 'line')})" if lines else ""
    return f"← {first_line(event.name)} {first_line(said, most=_MOST_SHOWN)}{more}"


def _fold_line(event: HistoryReductionEvent) -> str:
    reason = "folded by hand" if event.reason is Reason.FORCED else event.reason.value
    facts = [
        f"fold {event.status.replace('_', ' ')}: {reason}",
        f"{counted(event.original_count, 'message')} → {event.reduced_count:,}",
        f"{counted(event.original_tokens, 'token')} → {event.reduced_tokens:,}",
    ]
    facts += [f"{one.summarizer} read {one.tokens:,} tokens" for one in event.readings]
    facts.append(f"{event.duration:.2f} s")
    if event.left_out:
        facts.append(f"not word for word: {', '.join(event.left_out)}")
    if event.failures:
        facts.append(f"on the way: {', '.join(event.failures)}")
    if event.dropped_statements:
        facts.append(f"{counted(event.dropped_statements, 'statement')} left out as never said")
    return "; ".join(first_line(fact, most=_MOST_SHOWN) for fact in facts)


def _usage_line(usage: Usage, *, calls: int, is_recorded: bool) -> str:
    if not usage.input_tokens and not usage.output_tokens:
        return "the vendor reported no usage"
    share = usage.cache_read_tokens / usage.input_tokens * 100 if usage.input_tokens else 0.0
    spent = [f"{short_number(usage.input_tokens)} tokens in"]
    if calls > 1:
        spent.append(f"in {calls:,} calls")
    if usage.cache_read_tokens or not is_recorded:
        spent.append(f"{share:.0f} % of them cached")
    return f"{', '.join(spent)}; {short_number(usage.output_tokens)} out"


def gauge_line(event: HistoryReductionEvent, limits: Limits | None, *, pays: bool = False) -> str:
    """Return how full the request of *event* was, and when the next fold is due."""
    used, ceiling = event.request_tokens, event.ceiling
    due = [f"at {short_number(int(ceiling * FULL))} tokens"]
    if pays:
        due.append("when it pays")
    elif limits is not None:
        # After a fold it has not been counted what is left.
        now = f" ({event.units:,} now)" if event.status != "performed" else ""
        due.append(f"above {limits.ceiling:,} {event.counting_unit}{now}")
    share = f"{used / ceiling:.0%}".replace("%", " %")
    return (
        f"context: {short_number(used)} of {short_number(ceiling)} tokens ({share}); next fold "
        f"{' or '.join(due)}"
    )


async def place_line(thread: ReadOnlyThread) -> str:
    """Return the last question on *thread* and how far its turn came; empty without one."""
    messages = await _since_question(thread)
    if not messages:
        return ""
    asked = first_line(messages[0].text, most=_MOST_ASKED)
    return f"last question: {asked} ({_progress(thread, messages)})"


async def _since_question(thread: ReadOnlyThread) -> list[Message]:
    """Return the last question and everything after it; empty if nobody has asked anything."""
    last = _NEWEST
    while True:
        messages = await thread.get_messages(last=last)
        for at in reversed(range(len(messages))):
            one = messages[at]
            if one.role == "user" and not one.is_summary and one.text.strip():
                return messages[at:]
        if last >= thread.count:
            return []
        last *= 8


def _progress(thread: ReadOnlyThread, messages: list[Message]) -> str:
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


def advised(error: FoldlineError, way_on: str) -> FoldlineError:
    """Return *error* with what to do about it here; *way_on* is what to do about an open run."""
    if isinstance(error, ThreadConflictError):
        message = (
            f"somebody else has continued thread {error.thread_id!r}: look at it, then say it "
            "again, or fork it"
        )
        return UsageError(message)
    if isinstance(error, ToolDecisionError):
        called = ", ".join(error.call_ids)
        return UsageError(f"the interrupted tool calls {called} need a decision: {way_on}")
    if not isinstance(error, ModelError):
        return error
    parts = (str(error), _ADVICE.get(error.status or 0), way_on)
    return ModelError("; ".join(filter(None, parts)), status=error.status)
