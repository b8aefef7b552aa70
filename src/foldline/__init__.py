"""
Keep long conversations of LLM agents inside a budget without losing a message.

A history is everything that was said. A view is what the model is sent. A reduction is the record
that turns one into the other: a summary, and the digest of the exact prefix that it stands for.
"""

from foldline.agent.cache import ReductionCache
from foldline.agent.reducer import HistoryReducer, ReducedHistory
from foldline.errors import (
    BlockingCallError,
    CheckpointError,
    CheckpointStaleError,
    CommitUnknownError,
    ConfigError,
    ExternalError,
    FoldlineError,
    FormatError,
    HistoryTooShortError,
    IntegrityError,
    MessagesNotLoadedError,
    MissingExtraError,
    NewerFormatError,
    RunStartError,
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
from foldline.providers.summarizer import Summarizer
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
from foldline.threads.checkpoint import Checkpoint
from foldline.threads.checkpointer import ThreadCheckpointer
from foldline.threads.cipher import AesCipher, Cipher
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.read_only import ReadOnlyThread, ThreadWindow
from foldline.threads.start import run_start
from foldline.threads.storage import ThreadStorage
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread, MessageStore
from foldline.threads.tool_run import ToolRun


__all__ = [
    "AesCipher",
    "AgentLoopState",
    "AgentRunConfig",
    "BlobPart",
    "BlockingCallError",
    "Checkpoint",
    "CheckpointError",
    "CheckpointStaleError",
    "Cipher",
    "CommitUnknownError",
    "CompactionPart",
    "ConfigError",
    "ConversationThread",
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
    "MemoryStore",
    "Message",
    "MessageStore",
    "MessagesNotLoadedError",
    "MissingExtraError",
    "NativeFormat",
    "NewerFormatError",
    "PostgresStore",
    "ProviderConfig",
    "ReadOnlyThread",
    "Reason",
    "ReasoningPart",
    "RedisStore",
    "ReducedHistory",
    "ReductionCache",
    "RunStartError",
    "SQLiteStore",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreKeyError",
    "StoreVersionError",
    "Summarizer",
    "SummarizerError",
    "SummaryLayer",
    "SummaryRequest",
    "TextPart",
    "ThreadCheckpointer",
    "ThreadConflictError",
    "ThreadExistsError",
    "ThreadIdError",
    "ThreadNotFoundError",
    "ThreadStorage",
    "ThreadStore",
    "ThreadWindow",
    "TokenCounter",
    "TokenEstimator",
    "ToolCallPart",
    "ToolCallResponsePart",
    "ToolRun",
    "UnknownFormatError",
    "UriPart",
    "Usage",
    "UsageError",
    "Verdict",
    "config_from_json",
    "config_from_mapping",
    "config_from_toml",
    "run_start",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Reading the version costs as much as the whole import, and is seldom wanted.
        from importlib.metadata import version  # noqa: PLC0415

        return version("foldline")
    message = f"module 'foldline' has no attribute {name!r}"
    raise AttributeError(message)
