"""What a turn tells, for people: the answer as it comes, and one line for everything else."""

from msgspec import Struct
from rich.console import Console
from rich.text import Text

from foldline.agent.events import (
    AgentEvent,
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
from foldline.apps.cli.chat_recording import ENDED
from foldline.apps.cli.terminal import clean, first_line
from foldline.apps.cli.threads_counts import counted
from foldline.history.messages import Usage
from foldline.reduction.event import HistoryReductionEvent
from foldline.replay.columns import short_number
from foldline.threads.loop_state import COMPLETED


__all__ = ["Screen", "fold_line", "usage_line"]


_MOST_SHOWN = 120
# What is said of the end of a recording comes behind the turn.
_QUIET_ENDS = frozenset({COMPLETED, ENDED})


class _Line(Struct, frozen=True):
    """One line beside the answer."""

    text: str
    """What it says."""

    style: str = "dim"
    """How it looks on a terminal."""


class Screen:
    """Shows a turn while it runs."""

    def __init__(self, answer: Console, notes: Console, *, is_recorded: bool = False) -> None:
        """
        Show a turn.

        Args:
            answer: Where what the model says goes.
            notes: Where all else goes; it may be the same.
            is_recorded: Whether a recording answers, which caches nothing.
        """
        self._answer = answer
        self._notes = notes
        self._is_recorded = is_recorded
        self._calls = 1
        self._open: Console | None = None

    def hear(self, event: AgentEvent) -> None:
        """Show *event*."""
        match event:
            case TextDeltaEvent(text=text):
                self._say(self._answer, text)
            case ReasoningDeltaEvent(text=text):
                self._say(self._notes, text, style="dim italic")
            case TextEndEvent() | ReasoningEndEvent():
                self.close()
            case RunCompletedEvent(usage=usage, duration=duration):
                told = usage_line(usage, calls=self._calls, is_recorded=self._is_recorded)
                self.note(f"{told}; {duration:.1f} s")
            case _:
                if isinstance(event, TurnFinishedEvent):
                    self._calls = event.iterations
                line = _line_of(event)
                if line is not None:
                    self.note(line.text, style=line.style)

    def end(self, result: TurnResult) -> None:  # noqa: ARG002 - for a program it is a line
        """Show nothing more: all of *result* was shown as it happened."""
        self.close()

    def note(self, text: str, *, style: str = "dim") -> None:
        """Show *text* as a line of its own."""
        self.close()
        self._notes.print(Text(clean(text), style=style), soft_wrap=True)

    def close(self) -> None:
        """End the line that is being written, if there is one."""
        if self._open is not None:
            self._open.out("", highlight=False)
            self._open = None

    def _say(self, console: Console, text: str, *, style: str | None = None) -> None:
        if self._open is not console:
            self.close()
        self._open = console
        # A piece may begin or end anywhere, so its own ends of line stay as they are.
        shown = "\n".join(map(clean, text.split("\n")))
        console.out(shown, style=style, end="", highlight=False)


def _line_of(event: AgentEvent) -> _Line | None:
    line = None
    match event:
        case ToolCallEndEvent(name=name, arguments=arguments):
            said = first_line(arguments, most=_MOST_SHOWN)
            line = _Line(f"→ {first_line(name)} {said}", "cyan")
        case ToolResultEvent():
            line = _result_line(event)
        case HistoryReductionEvent() if event.is_attempt:
            line = _Line(fold_line(event), "yellow" if event.status == "performed" else "red")
        case RepeatBreakerEvent(text=text):
            line = _Line(text, "yellow")
        case TurnFinishedEvent(termination_reason=reason) if reason not in _QUIET_ENDS:
            line = _Line(f"the turn ends here: {first_line(reason)}", "yellow")
        case _:
            pass
    return line


def _result_line(event: ToolResultEvent) -> _Line:
    result = event.result
    said = result if isinstance(result, str) else f"({counted(len(result), 'part')})"
    lines = said.count("\n")
    more = f" (+ {counted(lines, 'line')})" if lines else ""
    text = f"← {first_line(event.name)} {first_line(said, most=_MOST_SHOWN)}{more}"
    return _Line(text, "red" if event.is_error else "green")


def fold_line(event: HistoryReductionEvent) -> str:
    """Return what became of a fold, as one line."""
    facts = [
        f"fold {event.status.replace('_', ' ')}: {event.reason.value}",
        f"{counted(event.original_count, 'message')} → {event.reduced_count:,}",
        f"{counted(event.original_tokens, 'token')} → {event.reduced_tokens:,}",
    ]
    if event.summarizer is not None:
        facts.append(f"{event.summarizer} read {event.summarizer_tokens:,} tokens")
    facts.append(f"{event.duration:.2f} s")
    if event.failures:
        facts.append(f"on the way: {', '.join(event.failures)}")
    return "; ".join(first_line(fact, most=_MOST_SHOWN) for fact in facts)


def usage_line(usage: Usage, *, calls: int = 1, is_recorded: bool = False) -> str:
    """
    Return what the vendor counted, as one line.

    Args:
        usage: The counts, in all.
        calls: How many model calls they are of.
        is_recorded: Whether nothing is said of a cache that was not used.
    """
    if not usage.input_tokens and not usage.output_tokens:
        return "the vendor counted nothing"
    share = usage.cache_read_tokens / usage.input_tokens * 100 if usage.input_tokens else 0.0
    spent = [f"{short_number(usage.input_tokens)} tokens in"]
    if calls > 1:
        spent.append(f"in {calls:,} calls")
    if usage.cache_read_tokens or not is_recorded:
        spent.append(f"{share:.0f} % of them cached")
    return f"{', '.join(spent)}; {short_number(usage.output_tokens)} out"
