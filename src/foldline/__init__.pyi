# Made by `make docs`: what `foldline.__getattr__` loads, for type checkers.
from collections.abc import Mapping

from foldline.agent.agent import (
    Agent as Agent,
)
from foldline.agent.background import (
    BackgroundFold as BackgroundFold,
)
from foldline.agent.cache import (
    ReductionCache as ReductionCache,
)
from foldline.agent.config import (
    AgentConfig as AgentConfig,
    AgentOptions as AgentOptions,
)
from foldline.agent.event_stream import (
    StreamingTurnResult as StreamingTurnResult,
)
from foldline.agent.own_reducer import (
    ChatReducer as ChatReducer,
)
from foldline.agent.recall import (
    RecalledPage as RecalledPage,
    recall as recall,
    recall_tool as recall_tool,
)
from foldline.agent.reduced import (
    ReducedHistory as ReducedHistory,
)
from foldline.agent.reducer import (
    HistoryReducer as HistoryReducer,
)
from foldline.agent.result import (
    ReductionMetadata as ReductionMetadata,
    TurnResult as TurnResult,
)
from foldline.agent.stats import (
    reduction_stats as reduction_stats,
)
from foldline.agent.telemetry import (
    Telemetry as Telemetry,
)
from foldline.agent.tools import (
    Tool as Tool,
    ToolAnswer as ToolAnswer,
    ToolContext as ToolContext,
    tool as tool,
)
from foldline.agent.turn_input import (
    TurnInput as TurnInput,
)
from foldline.conversation.conversation import (
    Conversation as Conversation,
    call_sync as call_sync,
)
from foldline.conversation.model_router import (
    ModelRouter as ModelRouter,
)
from foldline.conversation.orchestrated_agent import (
    OrchestratedAgent as OrchestratedAgent,
)
from foldline.conversation.orchestration import (
    OrchestrationOptions as OrchestrationOptions,
    OrchestrationResult as OrchestrationResult,
)
from foldline.conversation.orchestrator import (
    Orchestrator as Orchestrator,
    RoundRobin as RoundRobin,
    SingleAgent as SingleAgent,
)
from foldline.errors import (
    ConfigError as ConfigError,
    FoldlineError as FoldlineError,
    StoreError as StoreError,
    ThreadConflictError as ThreadConflictError,
    ThreadNotFoundError as ThreadNotFoundError,
)
from foldline.history.history import (
    History as History,
)
from foldline.history.messages import (
    Message as Message,
    Usage as Usage,
)
from foldline.history.tokens import (
    TokenCounter as TokenCounter,
    TokenEstimator as TokenEstimator,
)
from foldline.providers.digest.summarizer import (
    DigestSummarizer as DigestSummarizer,
)
from foldline.providers.model import (
    ChatModel as ChatModel,
    Summarizer as Summarizer,
)
from foldline.providers.summarizer import (
    ModelSummarizer as ModelSummarizer,
)
from foldline.providers.vendors.client_model import (
    summarizer_from as summarizer_from,
)
from foldline.providers.vendors.opening import (
    open_model as open_model,
)
from foldline.reduction.config import (
    AgentRunConfig as AgentRunConfig,
    HistoryReductionConfig as HistoryReductionConfig,
)
from foldline.reduction.config_reader import (
    config_from_json as config_from_json,
    config_from_mapping as config_from_mapping,
    config_from_toml as config_from_toml,
)
from foldline.reduction.event import (
    HistoryReductionEvent as HistoryReductionEvent,
    Reason as Reason,
)
from foldline.reduction.ledger import (
    ReductionStats as ReductionStats,
)
from foldline.reduction.prices import (
    Prices as Prices,
)
from foldline.reduction.provider import (
    ProviderConfig as ProviderConfig,
)
from foldline.reduction.request import (
    SummaryRequest as SummaryRequest,
)
from foldline.reduction.state import (
    HistoryReductionState as HistoryReductionState,
)
from foldline.reduction.verdict import (
    Verdict as Verdict,
)
from foldline.threads.checkpointer import (
    ThreadCheckpointer as ThreadCheckpointer,
)
from foldline.threads.loop_state import (
    AgentLoopState as AgentLoopState,
)
from foldline.threads.read_only import (
    ThreadWindow as ThreadWindow,
)
from foldline.threads.store import (
    MessageStore as MessageStore,
    ThreadStore as ThreadStore,
)
from foldline.threads.stores.memory import (
    MemoryStore as MemoryStore,
)
from foldline.threads.stores.postgres.store import (
    PostgresStore as PostgresStore,
)
from foldline.threads.stores.redis.store import (
    RedisStore as RedisStore,
)
from foldline.threads.stores.sqlite.store import (
    SQLiteStore as SQLiteStore,
)
from foldline.threads.thread import (
    ConversationThread as ConversationThread,
)

__all__ = [
    "Agent",
    "AgentConfig",
    "AgentLoopState",
    "AgentOptions",
    "AgentRunConfig",
    "BackgroundFold",
    "ChatModel",
    "ChatReducer",
    "ConfigError",
    "Conversation",
    "ConversationThread",
    "DigestSummarizer",
    "FoldlineError",
    "History",
    "HistoryReducer",
    "HistoryReductionConfig",
    "HistoryReductionEvent",
    "HistoryReductionState",
    "MemoryStore",
    "Message",
    "MessageStore",
    "ModelRouter",
    "ModelSummarizer",
    "OrchestratedAgent",
    "OrchestrationOptions",
    "OrchestrationResult",
    "Orchestrator",
    "PostgresStore",
    "Prices",
    "ProviderConfig",
    "Reason",
    "RecalledPage",
    "RedisStore",
    "ReducedHistory",
    "ReductionCache",
    "ReductionMetadata",
    "ReductionStats",
    "RoundRobin",
    "SQLiteStore",
    "SingleAgent",
    "StoreError",
    "StreamingTurnResult",
    "Summarizer",
    "SummaryRequest",
    "Telemetry",
    "ThreadCheckpointer",
    "ThreadConflictError",
    "ThreadNotFoundError",
    "ThreadStore",
    "ThreadWindow",
    "TokenCounter",
    "TokenEstimator",
    "Tool",
    "ToolAnswer",
    "ToolContext",
    "TurnInput",
    "TurnResult",
    "Usage",
    "Verdict",
    "__version__",
    "call_sync",
    "config_from_json",
    "config_from_mapping",
    "config_from_toml",
    "open_model",
    "recall",
    "recall_tool",
    "reduction_stats",
    "summarizer_from",
    "tool",
]

HOMES: Mapping[str, str]
__version__: str
