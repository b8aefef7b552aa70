"""The result of a turn."""

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from msgspec import Struct, structs

from foldline.agent.events import (
    AgentEvent,
    RunCompletedEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.history.history import History
from foldline.history.messages import AGENT_KEY, Message, Usage, total_usage
from foldline.reduction.event import HistoryReductionEvent
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import COMPLETED, AgentLoopState
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import TurnRecord


# More of those who have answered a note does not name, so that it stays short.
_MOST_NAMED = 8


class ReductionMetadata(Struct, frozen=True, kw_only=True):
    """A fold of a turn."""

    state: HistoryReductionState
    """The reduction, as stored with the thread."""

    event: HistoryReductionEvent
    """Its event."""

    @property
    def summary_message(self) -> Message | None:
        """The summary as the model sees it; None if the messages were dropped."""
        messages = self.state.summary_messages()
        return messages[-1] if messages else None

    @property
    def messages_removed_count(self) -> int:
        """How many messages the view does not contain as they are."""
        return self.event.removed_count


class TurnResult(Struct, frozen=True, kw_only=True):
    """The result of a turn."""

    thread: ConversationThread
    """The thread; everything is stored."""

    messages: tuple[Message, ...]
    """What the turn added to the thread: the input and everything generated, in order."""

    termination_reason: str
    """Why it ended."""

    iterations: int
    """How many model calls it made; if resumed, since then."""

    usage: Usage
    """The vendor's token counts for them."""

    reduction: ReductionMetadata | None
    """The newest fold of the turn; None if there was none, also on a cache hit."""

    events: tuple[AgentEvent, ...]
    """All events of the turn, in order."""

    @property
    def summarizer_usage(self) -> Usage:
        """The token counts of the summarizers for the folds of the turn."""
        folds = (event for event in self.events if isinstance(event, HistoryReductionEvent))
        return total_usage(event.summarizer_usage for event in folds)

    @property
    def response(self) -> Message | None:
        """The last assistant message; None if there is none."""
        for message in reversed(self.messages):
            if message.role == "assistant":
                return message
        return None

    @property
    def text(self) -> str:
        """The text of the last assistant message; empty if there is none."""
        return "" if self.response is None else self.response.text

    @property
    def is_complete(self) -> bool:
        """Whether the turn ended by itself, and was not stopped."""
        return self.termination_reason == COMPLETED


async def stored_result(
    thread: ConversationThread, turn: TurnRecord, listen: Callable[[AgentEvent], None] | None
) -> TurnResult:
    """Return the result of *turn*, which has ended, as it is stored; *listen* gets the answer too."""
    messages = await thread.turn_messages(turn)
    usage, last = total_usage(one.usage for one in messages), max(0, turn.iterations - 1)
    said = [one.text for one in messages if one.role == "assistant" and one.text]
    agents = (answered_by(one) for one in reversed(messages))
    events: list[AgentEvent] = [
        TurnStartedEvent(
            agent=next(filter(None, agents), ""),
            thread_id=thread.id,
            run_id=turn.run_id,
            start="stored",
            message_count=turn.stop,
        )
    ]
    for text in said[-1:]:
        events += [
            TextStartEvent(iteration=last),
            TextDeltaEvent(iteration=last, text=text),
            TextEndEvent(iteration=last),
        ]
    events += [
        TurnFinishedEvent(
            termination_reason=turn.reason, iterations=turn.iterations, message_count=turn.stop
        ),
        RunCompletedEvent(run_id=turn.run_id, usage=usage, duration=0.0),
    ]
    if listen is not None:
        for event in events:
            listen(event)
    return TurnResult(
        thread=thread,
        messages=tuple(messages),
        termination_reason=turn.reason,
        iterations=turn.iterations,
        usage=usage,
        reduction=None,
        events=tuple(events),
    )


def last_turn(thread: ConversationThread, state: AgentLoopState) -> TurnRecord:
    """Return the turn of *state*, which has ended, as if it had an id."""
    return TurnRecord(
        id=state.turn_id,
        run_id=state.run_id,
        start=state.turn_start,
        stop=min(thread.count, len(state.current_messages)),
        reason=state.termination_reason or "",
        iterations=state.iteration + 1,
    )


def answered_by(message: Message) -> str | None:
    """Return the name of the agent that produced *message*; None if unknown."""
    name = (message.metadata or {}).get(AGENT_KEY)
    return name if isinstance(name, str) else None


def handover(history: History, agent: str, *, own: int = 0) -> Message | None:
    """Return what stands before the newest *own* answers of *agent* if others answered before them."""
    # Models answer a user, and some vendors refuse a request that ends with an answer.
    # Where none is in memory, the view ends with a message of the user.
    end = len(history) - own
    last = history[end - 1] if end > history.start else None
    if last is None or last.role != "assistant":
        return None
    speakers = list(islice(_speakers(history, agent, end), _MOST_NAMED))
    if not speakers:
        return None
    newest, *others = speakers
    said = f"The last answer is by {newest}"
    if others:
        names = ", ".join(reversed(others))
        said = f"The last {len(speakers)} answers are by {names} and {newest}"
    return Message.user(f"[{said}. Now it is the turn of {agent}.]")


def _speakers(history: History, agent: str, end: int) -> Iterator[str]:
    """Yield who gave each answer before *end* since *agent* or a user spoke, the newest first."""
    newest = end - 1
    for at in range(newest, history.start - 1, -1):
        message = history[at]
        if message.role == "tool":
            continue
        speaker = answered_by(message)
        if message.role != "assistant" or not speaker or speaker == agent:
            return
        if at == newest or not message.tool_calls:
            yield speaker


def signed(message: Message, now: datetime, *, agent: str | None = None) -> Message:
    """Return *message* with its creation time and the *agent* that produced it."""
    metadata = message.metadata
    if agent is not None:
        # Not as its name, which would be sent and change bytes that a vendor has cached.
        metadata = {AGENT_KEY: agent, **(metadata or {})}
    return structs.replace(message, created_at=message.created_at or now, metadata=metadata)
