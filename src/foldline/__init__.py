"""
Keep long conversations of LLM agents inside a budget without losing a message.

A history is everything that was said. A view is what the model is sent. A reduction is the record
that turns one into the other: a summary, and the digest of the exact prefix that it stands for.
"""

from foldline.agent.cache import ReductionCache
from foldline.agent.reducer import HistoryReducer, ReducedHistory
from foldline.errors import FoldlineError
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


__all__ = [
    "AgentRunConfig",
    "BlobPart",
    "CompactionPart",
    "DigestSummarizer",
    "FilePart",
    "FoldlineError",
    "GenericPart",
    "History",
    "HistoryReducer",
    "HistoryReductionConfig",
    "HistoryReductionEvent",
    "HistoryReductionState",
    "Message",
    "NativeFormat",
    "ProviderConfig",
    "Reason",
    "ReasoningPart",
    "ReducedHistory",
    "ReductionCache",
    "Summarizer",
    "SummaryLayer",
    "SummaryRequest",
    "TextPart",
    "TokenCounter",
    "TokenEstimator",
    "ToolCallPart",
    "ToolCallResponsePart",
    "UriPart",
    "Usage",
    "Verdict",
    "config_from_json",
    "config_from_mapping",
    "config_from_toml",
]


def __getattr__(name: str) -> str:
    if name == "__version__":
        # Reading the version costs as much as the whole import, and is seldom wanted.
        from importlib.metadata import version  # noqa: PLC0415

        return version("foldline")
    message = f"module 'foldline' has no attribute {name!r}"
    raise AttributeError(message)
