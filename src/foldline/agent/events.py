"""
What a turn tells while it runs, one event after the other.

The order in a fresh turn: `TurnStartedEvent`, then for each model call `IterationStartedEvent`,
`DecisionEvent`, one `HistoryReductionEvent` where reduction is enabled, `RequestSentEvent`, what the
model says, what the tools answer and `IterationFinishedEvent`; in the end `TurnFinishedEvent` and
`RunCompletedEvent`. A `CheckpointEvent` follows each commit that it tells of.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.history.messages import Usage
from foldline.history.parts import ResponseContent
from foldline.providers.model import FinishReason
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.start import RunStart


__all__ = [
    "AgentEvent",
    "CheckpointEvent",
    "CheckpointOperation",
    "Decision",
    "DecisionEvent",
    "IterationFinishedEvent",
    "IterationStartedEvent",
    "ReasoningDeltaEvent",
    "ReasoningEndEvent",
    "ReasoningStartEvent",
    "RepeatBreakerEvent",
    "RequestSentEvent",
    "RunCompletedEvent",
    "TextDeltaEvent",
    "TextEndEvent",
    "TextStartEvent",
    "ToolCallArgumentsEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolResultEvent",
    "ToolStartedEvent",
    "TurnFinishedEvent",
    "TurnStartedEvent",
]


CheckpointOperation: TypeAlias = Literal[
    "saved", "restored", "pending_saved", "pending_loaded", "pending_deleted"
]
"""What was done with the checkpoint, or with tool calls whose answers are not yet messages."""


Decision: TypeAlias = Literal["call_model", "complete", "terminate"]
"""What comes next in a turn."""


class TurnStartedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="turn_started"):
    """A turn has begun, and its input is stored."""

    agent: str
    """The name of the agent."""

    thread_id: str
    """The thread."""

    run_id: str
    """The run."""

    start: RunStart
    """How it begins."""

    message_count: int
    """How many messages the thread holds, the input and system messages included."""


class CheckpointEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="checkpoint"):
    """A step was committed, or read back."""

    operation: CheckpointOperation
    """What was done."""

    iteration: int
    """The iteration of the state."""

    message_count: int
    """How many messages the thread holds."""

    pending: int = 0
    """How many tool calls the operation is about."""


class IterationStartedEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="iteration_started"
):
    """An iteration begins; exactly one event of this kind comes of each."""

    iteration: int
    """Its number, from 0."""

    state: AgentLoopState
    """The execution state."""


class DecisionEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="decision"):
    """What comes next was decided."""

    iteration: int
    """The iteration."""

    decision: Decision
    """What comes next."""

    reason: str | None = None
    """With `terminate`: why."""


class RequestSentEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="request_sent"):
    """The model is asked."""

    iteration: int
    """The iteration."""

    model: str
    """The model."""

    message_count: int
    """How many messages are sent."""

    tokens: int
    """How many tokens they have, by estimate."""

    is_delta: bool = False
    """Whether they continue a conversation that the vendor holds."""


class TextStartEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="text_start"):
    """The model begins to say something."""

    iteration: int
    """The iteration."""


class TextDeltaEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="text_delta"):
    """The model says more."""

    iteration: int
    """The iteration."""

    text: str
    """The new piece."""


class TextEndEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="text_end"):
    """The model has said it."""

    iteration: int
    """The iteration."""


class ReasoningStartEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning_start"
):
    """The model begins to think."""

    iteration: int
    """The iteration."""


class ReasoningDeltaEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning_delta"
):
    """The model thinks on."""

    iteration: int
    """The iteration."""

    text: str
    """The new piece."""


class ReasoningEndEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="reasoning_end"):
    """The model has thought."""

    iteration: int
    """The iteration."""


class ToolCallStartEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_call_start"
):
    """The model begins to write a call."""

    iteration: int
    """The iteration."""

    index: int
    """Which call of the response it is, from 0."""

    name: str
    """The tool."""


class ToolCallArgumentsEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_call_arguments"
):
    """The model writes more of the arguments."""

    iteration: int
    """The iteration."""

    index: int
    """Which call of the response it is, from 0."""

    delta: str
    """The new piece of JSON text."""


class ToolCallEndEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_call_end"):
    """The model has written a call."""

    iteration: int
    """The iteration."""

    index: int
    """Which call of the response it is, from 0."""

    call_id: str
    """The id of the call, under which it is stored."""

    name: str
    """The tool."""

    arguments: str
    """The arguments as JSON text."""


class ToolStartedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_started"):
    """A tool begins to run; its intent is stored."""

    iteration: int
    """The iteration."""

    call_id: str
    """The call."""

    name: str
    """The tool."""

    key: str
    """The idempotency key, the same each time that this call runs."""


class ToolResultEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    """A tool has answered."""

    iteration: int
    """The iteration."""

    call_id: str
    """The call."""

    name: str
    """The tool."""

    result: str | tuple[ResponseContent, ...]
    """The answer, as the model gets it."""

    is_error: bool = False
    """Whether it tells of a failure."""

    is_stored: bool = False
    """Whether it was stored before a crash, so that the tool did not run again."""

    duration: float = 0.0
    """How long the tool ran, in seconds."""


class RepeatBreakerEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="repeat_breaker"):
    """The same call was asked for too often in a row; the turn ends."""

    iteration: int
    """The iteration."""

    name: str
    """The tool."""

    count: int
    """How often it would have been called."""

    text: str
    """What is said instead of an answer."""


class IterationFinishedEvent(
    Struct, frozen=True, kw_only=True, tag_field="type", tag="iteration_finished"
):
    """An iteration is over, and what it said is stored."""

    iteration: int
    """Its number."""

    finish_reason: FinishReason
    """Why the model stopped."""

    usage: Usage | None = None
    """What the vendor counted."""

    model: str | None = None
    """The model that answered, as the vendor names it."""

    response_id: str | None = None
    """The vendor's id of the response."""


class TurnFinishedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="turn_finished"):
    """The turn is over, and everything of it is stored."""

    termination_reason: str
    """Why it ended."""

    iterations: int
    """How many model calls it took."""

    message_count: int
    """How many messages the thread holds now."""


class RunCompletedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="run_completed"):
    """The last event of a turn."""

    run_id: str
    """The run."""

    usage: Usage
    """What the vendor counted, in all."""

    duration: float
    """How long the turn took, in seconds; of a resumed one, since it was resumed."""


AgentEvent: TypeAlias = (
    TurnStartedEvent
    | CheckpointEvent
    | IterationStartedEvent
    | DecisionEvent
    | HistoryReductionEvent
    | RequestSentEvent
    | TextStartEvent
    | TextDeltaEvent
    | TextEndEvent
    | ReasoningStartEvent
    | ReasoningDeltaEvent
    | ReasoningEndEvent
    | ToolCallStartEvent
    | ToolCallArgumentsEvent
    | ToolCallEndEvent
    | ToolStartedEvent
    | ToolResultEvent
    | RepeatBreakerEvent
    | IterationFinishedEvent
    | TurnFinishedEvent
    | RunCompletedEvent
)
"""Every event of a turn; `match` over it is exhaustive."""
