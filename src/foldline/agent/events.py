"""
The events of a turn, in the order they happen.

A new turn begins with `TurnStartedEvent`. Each model call gives `IterationStartedEvent`,
`DecisionEvent`, a `HistoryReductionEvent` if reduction is enabled, `RequestSentEvent`, the model's
output, the tools' results and `IterationFinishedEvent`. The turn ends with `TurnFinishedEvent` and
`RunCompletedEvent`. A `CheckpointEvent` follows the commits that a reader may want to know of.
"""

from re import sub
from typing import Literal, TypeAlias

from msgspec import Struct

from foldline.history.messages import Usage
from foldline.history.parts import ResponseContent
from foldline.providers.model import FinishReason
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.start import RunStart


CheckpointOperation: TypeAlias = Literal[
    "saved", "restored", "pending_saved", "pending_loaded", "pending_deleted"
]
"""What happened to the checkpoint, or to tool calls whose results are not messages yet."""


Decision: TypeAlias = Literal["call_model", "complete", "terminate"]
"""What comes next in a turn."""


ResentBecause: TypeAlias = Literal[
    "model",
    "expired",
    "tools",
    "edit",
    "unfolded",
    "fold",
    "batch",
    "instructions",
    "own_reducer",
    "vendor_history",
    "unexplained",
]
"""
Why a request does not begin with the one before it.

`model`: another model is asked. `expired`: the vendor's cache has dropped the request before, since
it is older than the lifetime in the prices. `tools`, `instructions`: these have changed; a system
message of the thread is an instruction. `edit`: the thread was edited or rewound. `fold`: another
prefix is folded. `batch`: the same one is, and more is shortened, or a pin changed. `unfolded`: the
reduction was undone, or the run skips it. `own_reducer`: the agent has a reducer that is not
foldline's. `vendor_history`: the vendor no longer holds the conversation. `unexplained`: none of
these, which is a bug to report.
"""


def _tag(name: str) -> str:
    return sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Event")).lower()


class _Event(Struct, frozen=True, kw_only=True, tag_field="type", tag=_tag):
    pass


class _IterationEvent(_Event, frozen=True, kw_only=True):
    iteration: int
    """The iteration, from 0."""


class TurnStartedEvent(_Event, frozen=True, kw_only=True):
    """A turn has begun, and its input is stored."""

    agent: str
    """The name of the agent."""

    thread_id: str
    """The thread."""

    run_id: str
    """The run."""

    start: RunStart | Literal["stored"]
    """Whether the run is fresh, continued or resumed, or its answer was stored before."""

    message_count: int
    """How many messages the thread has, including the input and system messages."""

    waited: float = 0.0
    """How many seconds it has waited for turns of others on the thread."""


class CheckpointEvent(_Event, frozen=True, kw_only=True):
    """A step was committed, or loaded."""

    operation: CheckpointOperation
    """What happened."""

    iteration: int
    """The iteration of the state."""

    message_count: int
    """How many messages the thread has."""

    pending: int = 0
    """How many tool calls it concerns."""


class IterationStartedEvent(_IterationEvent, frozen=True, kw_only=True):
    """An iteration has begun; there is exactly one such event for each."""

    state: AgentLoopState
    """The execution state."""


class DecisionEvent(_IterationEvent, frozen=True, kw_only=True):
    """The turn has decided what to do next."""

    decision: Decision
    """What comes next."""

    reason: str | None = None
    """Why, if the decision is `terminate`."""


class RequestSentEvent(_IterationEvent, frozen=True, kw_only=True):
    """A request is sent to the model."""

    model: str
    """The model."""

    message_count: int
    """How many messages are sent."""

    tokens: int
    """The estimated number of tokens in them."""

    is_delta: bool = False
    """Whether they continue a conversation that the vendor stores."""

    kept_tokens: int = 0
    """Those of *tokens* with which the request before began too: the vendor's cache may serve them."""

    fresh_tokens: int = 0
    """Those that it cannot serve: the rest."""

    resent_tokens: int = 0
    """Those of them that the request before had at the same place."""

    resent_because: ResentBecause | None = None
    """Why these are sent again; None if there are none."""


class PromptCutEvent(_IterationEvent, frozen=True, kw_only=True):
    """
    The server has read only the end of a request, without an error: Ollama with an unset `num_ctx`.

    If the view can be folded to *window*, the request is sent once more: with its `RequestSentEvent`
    what the first answer has streamed is void.
    """

    model: str
    """The model."""

    tokens: int
    """The estimated number of tokens that were sent."""

    read_tokens: int
    """What the server counted."""

    window: int
    """The window that it seems to have, to which later requests keep."""


class _PieceEvent(_IterationEvent, frozen=True, kw_only=True):
    text: str
    """The new piece."""


class _CallEvent(_IterationEvent, frozen=True, kw_only=True):
    index: int
    """The position of the call in the response, from 0."""


class _ToolEvent(_IterationEvent, frozen=True, kw_only=True):
    call_id: str
    """The id of the call, under which it is stored."""

    name: str
    """The tool."""


class TextStartEvent(_IterationEvent, frozen=True, kw_only=True):
    """The model has begun a text."""


class TextDeltaEvent(_PieceEvent, frozen=True, kw_only=True):
    """A piece of the model's text."""


class TextEndEvent(_IterationEvent, frozen=True, kw_only=True):
    """The model's text is complete."""


class ReasoningStartEvent(_IterationEvent, frozen=True, kw_only=True):
    """The model has begun a block of reasoning."""


class ReasoningDeltaEvent(_PieceEvent, frozen=True, kw_only=True):
    """A piece of the model's reasoning."""


class ReasoningEndEvent(_IterationEvent, frozen=True, kw_only=True):
    """A block of reasoning is complete."""


class ToolCallStartEvent(_CallEvent, frozen=True, kw_only=True):
    """The model has begun a tool call."""

    name: str
    """The tool."""


class ToolCallArgumentsEvent(_CallEvent, frozen=True, kw_only=True):
    """A piece of the arguments of a tool call."""

    delta: str
    """The new piece of JSON."""


class ToolCallEndEvent(_CallEvent, frozen=True, kw_only=True):
    """A tool call is complete."""

    call_id: str
    """The id of the call, under which it is stored."""

    name: str
    """The tool."""

    arguments: str
    """The arguments as JSON."""


class ToolStartedEvent(_ToolEvent, frozen=True, kw_only=True):
    """A tool starts; the intent to run it is stored."""

    key: str
    """The idempotency key: the same whenever this call runs again."""


class ToolResultEvent(_ToolEvent, frozen=True, kw_only=True):
    """A tool has finished."""

    result: str | tuple[ResponseContent, ...]
    """The result, as the model receives it."""

    is_error: bool = False
    """Whether the tool failed."""

    is_stored: bool = False
    """Whether the result was stored before a crash, so the tool did not run again."""

    duration: float = 0.0
    """How long the tool ran, in seconds."""


class RepeatBreakerEvent(_IterationEvent, frozen=True, kw_only=True):
    """The model repeated the same call too often; the turn ends."""

    name: str
    """The tool."""

    count: int
    """How many times it would have been called."""

    text: str
    """The final message of the turn."""


class IterationFinishedEvent(_IterationEvent, frozen=True, kw_only=True):
    """An iteration is over, and its messages are stored."""

    finish_reason: FinishReason
    """Why the model stopped."""

    usage: Usage | None = None
    """The vendor's token counts."""

    missed_tokens: int = 0
    """What its cache did not serve, although the request began with the one before: a block or more."""

    cache_miss: str | None = None
    """Why its cache did not serve that, in the vendor's word; None unless the settings ask for it."""

    model: str | None = None
    """The model that answered, by the vendor's name."""

    response_id: str | None = None
    """The vendor's id of the response."""


class TurnFinishedEvent(_Event, frozen=True, kw_only=True):
    """The turn is over, and all of it is stored."""

    termination_reason: str
    """Why it ended."""

    iterations: int
    """How many model calls it made."""

    message_count: int
    """How many messages the thread has now."""


class RunCompletedEvent(_Event, frozen=True, kw_only=True):
    """The last event of a turn."""

    run_id: str
    """The run."""

    usage: Usage
    """The vendor's token counts for the turn."""

    duration: float
    """How long the turn took, in seconds; if resumed, since then."""


AgentEvent: TypeAlias = (
    TurnStartedEvent
    | CheckpointEvent
    | IterationStartedEvent
    | DecisionEvent
    | HistoryReductionEvent
    | RequestSentEvent
    | PromptCutEvent
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
