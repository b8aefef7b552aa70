"""What happens in a turn, as objects that a stream yields and observers receive."""

from foldline.agent.events import (
    AgentEvent,
    CheckpointEvent,
    DecisionEvent,
    IterationFinishedEvent,
    IterationStartedEvent,
    ReasoningDeltaEvent,
    ReasoningEndEvent,
    ReasoningStartEvent,
    RepeatBreakerEvent,
    RequestSentEvent,
    RunCompletedEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ToolCallArgumentsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolResultEvent,
    ToolStartedEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.agent.telemetry import Observer
from foldline.conversation.orchestration import AgentSelectedEvent, ConversationEvent
from foldline.reduction.event import HistoryReductionEvent, Reason


__all__ = [
    "AgentEvent",
    "AgentSelectedEvent",
    "CheckpointEvent",
    "ConversationEvent",
    "DecisionEvent",
    "HistoryReductionEvent",
    "IterationFinishedEvent",
    "IterationStartedEvent",
    "Observer",
    "Reason",
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
