"""What a model or a summarizer of your own implements, receives and returns."""

from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    PrewarmingModel,
    ReasoningDelta,
    StreamingChatModel,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.summarizer import ModelSummarizer, Summarizer
from foldline.providers.vendors.client_model import summarizer_from
from foldline.providers.vendors.compaction import VendorCompaction
from foldline.providers.vendors.opening import open_model
from foldline.reduction.record import Section, SummaryRecord
from foldline.reduction.request import Summary, SummaryRequest


__all__ = [
    "ChatDelta",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "DigestSummarizer",
    "ModelSummarizer",
    "PrewarmingModel",
    "ReasoningDelta",
    "Section",
    "StreamingChatModel",
    "Summarizer",
    "Summary",
    "SummaryRecord",
    "SummaryRequest",
    "TextDelta",
    "ToolCallDelta",
    "ToolDefinition",
    "VendorCompaction",
    "open_model",
    "summarizer_from",
]
