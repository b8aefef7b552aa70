"""Messages and the parts they are made of."""

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


__all__ = [
    "BlobPart",
    "CompactionPart",
    "FilePart",
    "GenericPart",
    "History",
    "Message",
    "NativeFormat",
    "ReasoningPart",
    "TextPart",
    "ToolCallPart",
    "ToolCallResponsePart",
    "UriPart",
    "Usage",
]
