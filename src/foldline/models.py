"""What a model or a summarizer of your own implements, receives and returns."""

from foldline.agent.pace import Pace, RateLimit
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.digest.tool_use import Extractor, Facts, ToolUse
from foldline.providers.digest.work import EXTRACTORS
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    PrewarmingModel,
    ReasoningDelta,
    StreamingChatModel,
    Summarizer,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.summarizer import ModelSummarizer
from foldline.providers.vendors.client_model import summarizer_from
from foldline.providers.vendors.compaction import VendorCompaction
from foldline.providers.vendors.opening import open_model
from foldline.reduction.record import Artefact, Section, SummaryRecord, Task
from foldline.reduction.request import Summary, SummaryRequest


__all__ = [
    "EXTRACTORS",
    "Artefact",
    "ChatDelta",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "DigestSummarizer",
    "Extractor",
    "Facts",
    "ModelSummarizer",
    "Pace",
    "PrewarmingModel",
    "RateLimit",
    "ReasoningDelta",
    "Section",
    "StreamingChatModel",
    "Summarizer",
    "Summary",
    "SummaryRecord",
    "SummaryRequest",
    "Task",
    "TextDelta",
    "ToolCallDelta",
    "ToolDefinition",
    "ToolUse",
    "VendorCompaction",
    "open_model",
    "summarizer_from",
]
