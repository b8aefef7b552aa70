"""Keep long conversations of LLM agents inside a budget without losing a message.

A history is everything that was said. A view is what the model is sent. A reduction is the record
that turns one into the other: a summary, and the digest of the exact prefix that it replaces.

Names are loaded when they are first used.
"""

from importlib import import_module
from types import MappingProxyType


HOMES = MappingProxyType(
    {
        "Agent": "foldline.agent.agent",
        "AgentConfig": "foldline.agent.config",
        "AgentLoopState": "foldline.threads.loop_state",
        "AgentOptions": "foldline.agent.config",
        "AgentRunConfig": "foldline.reduction.config",
        "BackgroundFold": "foldline.agent.background",
        "ChatModel": "foldline.providers.model",
        "ChatReducer": "foldline.agent.own_reducer",
        "ConfigError": "foldline.errors",
        "Conversation": "foldline.conversation.conversation",
        "ConversationThread": "foldline.threads.thread",
        "DigestSummarizer": "foldline.providers.digest.summarizer",
        "FoldlineError": "foldline.errors",
        "History": "foldline.history.history",
        "HistoryReducer": "foldline.agent.reducer",
        "HistoryReductionConfig": "foldline.reduction.config",
        "HistoryReductionEvent": "foldline.reduction.event",
        "HistoryReductionState": "foldline.reduction.state",
        "MemoryStore": "foldline.threads.stores.memory",
        "Message": "foldline.history.messages",
        "MessageStore": "foldline.threads.store",
        "ModelRouter": "foldline.conversation.model_router",
        "ModelSummarizer": "foldline.providers.summarizer",
        "OrchestratedAgent": "foldline.conversation.orchestrated_agent",
        "OrchestrationOptions": "foldline.conversation.orchestration",
        "OrchestrationResult": "foldline.conversation.orchestration",
        "Orchestrator": "foldline.conversation.orchestrator",
        "PostgresStore": "foldline.threads.stores.postgres.store",
        "Prices": "foldline.reduction.prices",
        "ProviderConfig": "foldline.reduction.provider",
        "Reason": "foldline.reduction.event",
        "RecalledPage": "foldline.agent.recall",
        "RedisStore": "foldline.threads.stores.redis.store",
        "ReducedHistory": "foldline.agent.reduced",
        "ReductionCache": "foldline.agent.cache",
        "ReductionMetadata": "foldline.agent.result",
        "ReductionStats": "foldline.reduction.ledger",
        "RoundRobin": "foldline.conversation.orchestrator",
        "SQLiteStore": "foldline.threads.stores.sqlite.store",
        "SingleAgent": "foldline.conversation.orchestrator",
        "StoreError": "foldline.errors",
        "StreamingTurnResult": "foldline.agent.event_stream",
        "Summarizer": "foldline.providers.model",
        "SummaryRequest": "foldline.reduction.request",
        "Telemetry": "foldline.agent.telemetry",
        "ThreadCheckpointer": "foldline.threads.checkpointer",
        "ThreadConflictError": "foldline.errors",
        "ThreadNotFoundError": "foldline.errors",
        "ThreadStore": "foldline.threads.store",
        "ThreadWindow": "foldline.threads.read_only",
        "TokenCounter": "foldline.history.tokens",
        "TokenEstimator": "foldline.history.tokens",
        "ToolAnswer": "foldline.agent.tools",
        "Tool": "foldline.agent.tools",
        "ToolContext": "foldline.agent.tools",
        "TurnInput": "foldline.agent.turn_input",
        "TurnResult": "foldline.agent.result",
        "Usage": "foldline.history.messages",
        "Verdict": "foldline.reduction.verdict",
        "call_sync": "foldline.conversation.conversation",
        "config_from_json": "foldline.reduction.config_reader",
        "config_from_mapping": "foldline.reduction.config_reader",
        "config_from_toml": "foldline.reduction.config_reader",
        "open_model": "foldline.providers.vendors.opening",
        "recall": "foldline.agent.recall",
        "recall_tool": "foldline.agent.recall",
        "reduction_stats": "foldline.agent.stats",
        "summarizer_from": "foldline.providers.vendors.client_model",
        "tool": "foldline.agent.tools",
    }
)
"""The module of each name."""


__all__ = sorted([*HOMES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll] - lazy


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - costs more than this import

        return version("foldline")
    if name in HOMES:
        value: object = getattr(import_module(HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'foldline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
