"""
Keep long conversations of LLM agents inside a budget without losing a message.

A history is everything that was said. A view is what the model is sent. A reduction is the record
that turns one into the other: a summary, and the digest of the exact prefix that it stands for.
"""

from foldline.agent.agent import Agent
from foldline.agent.background import BackgroundFold
from foldline.agent.cache import ReductionCache
from foldline.agent.config import (
    AgentConfig,
    agent_config_from_json,
    agent_config_from_mapping,
    agent_config_from_toml,
)
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
from foldline.agent.input import TurnInput
from foldline.agent.options import AgentOptions
from foldline.agent.reducer import HistoryReducer, ReducedHistory
from foldline.agent.result import ReductionMetadata, TurnResult
from foldline.agent.streaming import StreamingTurnResult
from foldline.agent.telemetry import Observer, Telemetry
from foldline.agent.tools import Tool, ToolAnswer, ToolContext, tool
from foldline.conversation.blocking import call_sync
from foldline.conversation.conversation import Conversation
from foldline.conversation.events import AgentSelectedEvent, ConversationEvent
from foldline.conversation.model_router import ModelRouter
from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import (
    OrchestrationMetadata,
    OrchestrationOptions,
    OrchestrationResult,
    reduction_context,
)
from foldline.conversation.orchestrator import (
    BoundedOrchestrator,
    Orchestrator,
    StreamingOrchestrator,
)
from foldline.conversation.round_robin import RoundRobin
from foldline.conversation.single_agent import SingleAgent
from foldline.conversation.streaming import ConversationStream
from foldline.errors import (
    BlockingCallError,
    CheckpointError,
    CheckpointStaleError,
    CommitUnknownError,
    ConfigError,
    ContextOverflowError,
    ExternalError,
    FoldlineError,
    FormatError,
    HistoryTooShortError,
    IntegrityError,
    MessagesNotLoadedError,
    MissingExtraError,
    ModelError,
    NewerFormatError,
    RunStartError,
    ServiceThreadLostError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreKeyError,
    StoreVersionError,
    SummarizerError,
    ThreadConflictError,
    ThreadExistsError,
    ThreadIdError,
    ThreadNotFoundError,
    ToolDecisionError,
    TurnStoppedError,
    UnknownFormatError,
    UsageError,
)
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat, Usage
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.history.tokens import TokenCounter, TokenEstimator
from foldline.providers.digest import DigestSummarizer
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ReasoningDelta,
    StreamingChatModel,
    TextDelta,
    ToolCallDelta,
)
from foldline.providers.model_summarizer import ModelSummarizer
from foldline.providers.summarizer import Summarizer
from foldline.providers.tool_definition import ToolDefinition
from foldline.providers.vendors.opening import open_model
from foldline.reduction.config import HistoryReductionConfig, ProviderConfig
from foldline.reduction.config_reader import (
    config_from_json,
    config_from_mapping,
    config_from_toml,
)
from foldline.reduction.event import HistoryReductionEvent
from foldline.reduction.reason import Reason
from foldline.reduction.request import SummaryRequest
from foldline.reduction.run_config import AgentRunConfig
from foldline.reduction.state import HistoryReductionState, SummaryLayer
from foldline.reduction.verdict import Verdict
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.cipher import AesCipher, Cipher
from foldline.threads.loop_state import AgentLoopState, Checkpoint
from foldline.threads.read_only import ReadOnlyThread, ThreadWindow
from foldline.threads.start import run_start
from foldline.threads.storage import ThreadStorage
from foldline.threads.store import MessageStore, ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread, ThreadMoment
from foldline.threads.tools import ToolRun


__all__ = [
    "AesCipher",
    "Agent",
    "AgentConfig",
    "AgentEvent",
    "AgentLoopState",
    "AgentOptions",
    "AgentRunConfig",
    "AgentSelectedEvent",
    "BackgroundFold",
    "BlobPart",
    "BlockingCallError",
    "BoundedOrchestrator",
    "ChatDelta",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "Checkpoint",
    "CheckpointError",
    "CheckpointEvent",
    "CheckpointStaleError",
    "Cipher",
    "CommitUnknownError",
    "CompactionPart",
    "ConfigError",
    "ContextOverflowError",
    "Conversation",
    "ConversationEvent",
    "ConversationStream",
    "ConversationThread",
    "DecisionEvent",
    "DigestSummarizer",
    "ExternalError",
    "FilePart",
    "FoldlineError",
    "FormatError",
    "GenericPart",
    "History",
    "HistoryReducer",
    "HistoryReductionConfig",
    "HistoryReductionEvent",
    "HistoryReductionState",
    "HistoryTooShortError",
    "IntegrityError",
    "IterationFinishedEvent",
    "IterationStartedEvent",
    "MemoryStore",
    "Message",
    "MessageStore",
    "MessagesNotLoadedError",
    "MissingExtraError",
    "ModelError",
    "ModelRouter",
    "ModelSummarizer",
    "NativeFormat",
    "NewerFormatError",
    "Observer",
    "OrchestratedAgent",
    "OrchestrationMetadata",
    "OrchestrationOptions",
    "OrchestrationResult",
    "Orchestrator",
    "PostgresStore",
    "ProviderConfig",
    "ReadOnlyThread",
    "Reason",
    "ReasoningDelta",
    "ReasoningDeltaEvent",
    "ReasoningEndEvent",
    "ReasoningPart",
    "ReasoningStartEvent",
    "RedisStore",
    "ReducedHistory",
    "ReductionCache",
    "ReductionMetadata",
    "RepeatBreakerEvent",
    "RequestSentEvent",
    "RoundRobin",
    "RunCompletedEvent",
    "RunStartError",
    "SQLiteStore",
    "ServiceThreadLostError",
    "SingleAgent",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreKeyError",
    "StoreVersionError",
    "StreamingChatModel",
    "StreamingOrchestrator",
    "StreamingTurnResult",
    "Summarizer",
    "SummarizerError",
    "SummaryLayer",
    "SummaryRequest",
    "Telemetry",
    "TextDelta",
    "TextDeltaEvent",
    "TextEndEvent",
    "TextPart",
    "TextStartEvent",
    "ThreadCheckpointer",
    "ThreadConflictError",
    "ThreadExistsError",
    "ThreadIdError",
    "ThreadMoment",
    "ThreadNotFoundError",
    "ThreadStorage",
    "ThreadStore",
    "ThreadWindow",
    "TokenCounter",
    "TokenEstimator",
    "Tool",
    "ToolAnswer",
    "ToolCallArgumentsEvent",
    "ToolCallDelta",
    "ToolCallEndEvent",
    "ToolCallPart",
    "ToolCallResponsePart",
    "ToolCallStartEvent",
    "ToolContext",
    "ToolDecisionError",
    "ToolDefinition",
    "ToolResultEvent",
    "ToolRun",
    "ToolStartedEvent",
    "TurnFinishedEvent",
    "TurnInput",
    "TurnResult",
    "TurnStartedEvent",
    "TurnStoppedError",
    "UnknownFormatError",
    "UriPart",
    "Usage",
    "UsageError",
    "Verdict",
    "agent_config_from_json",
    "agent_config_from_mapping",
    "agent_config_from_toml",
    "call_sync",
    "config_from_json",
    "config_from_mapping",
    "config_from_toml",
    "open_model",
    "reduction_context",
    "run_start",
    "tool",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Reading the version costs as much as the whole import, and is seldom wanted.
        from importlib.metadata import version  # noqa: PLC0415

        return version("foldline")
    message = f"module 'foldline' has no attribute {name!r}"
    raise AttributeError(message)
