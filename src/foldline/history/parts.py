"""
The parts of a message: a closed union, named as in the OpenTelemetry GenAI message schema.

Source of the names: OpenTelemetry `semantic-conventions-genai`, the JSON schemas of
`gen_ai.input.messages` and `gen_ai.output.messages`.
"""

from typing import TypeAlias

from msgspec import Struct


__all__ = [
    "BlobPart",
    "CompactionPart",
    "FilePart",
    "GenericPart",
    "Part",
    "ReasoningPart",
    "ResponseContent",
    "TextPart",
    "ToolCallPart",
    "ToolCallResponsePart",
    "UriPart",
]


class TextPart(Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """Text that was said."""

    content: str
    """The text, exactly as it came."""


class ToolCallPart(Struct, frozen=True, gc=False, tag_field="type", tag="tool_call"):
    """A request of the model to run a tool."""

    id: str
    """What the response repeats; empty where a vendor gave none."""

    name: str
    """The tool's name."""

    arguments: str
    """The arguments as JSON text, exactly as the model wrote them, so perhaps not valid JSON."""


class BlobPart(Struct, frozen=True, gc=False, tag_field="type", tag="blob"):
    """Binary content, inline."""

    modality: str
    """`image`, `audio`, `video` or `document`."""

    mime_type: str
    """The media type; empty where it is unknown."""

    content: str
    """The bytes in base64."""


class UriPart(Struct, frozen=True, gc=False, tag_field="type", tag="uri"):
    """Content that lives at an address."""

    modality: str
    """`image`, `audio`, `video` or `document`."""

    uri: str
    """The address, never fetched by foldline."""


class FilePart(Struct, frozen=True, gc=False, tag_field="type", tag="file"):
    """Content that was uploaded to a vendor before."""

    modality: str
    """`image`, `audio`, `video` or `document`."""

    file_id: str
    """The vendor's identifier of the upload."""


class GenericPart(Struct, frozen=True, gc=False, tag_field="type", tag="generic"):
    """Content of a kind that foldline does not know: kept, hashed and sent back, never read."""

    kind: str
    """The kind, as the vendor names it."""

    data: str
    """The whole item as JSON text."""


ResponseContent: TypeAlias = TextPart | BlobPart | UriPart | FilePart | GenericPart
"""What a tool may answer with, where it answers with more than text."""


class ToolCallResponsePart(
    Struct, frozen=True, gc=False, tag_field="type", tag="tool_call_response"
):
    """What a tool answered."""

    id: str
    """The id of the call that it answers."""

    response: str | tuple[ResponseContent, ...]
    """The answer: text, or several parts where it is more than text."""


class ReasoningPart(Struct, frozen=True, gc=False, tag_field="type", tag="reasoning"):
    """What the model thought before it spoke; empty where the vendor keeps it sealed."""

    content: str
    """The reasoning, or its summary, as text."""


class CompactionPart(Struct, frozen=True, gc=False, tag_field="type", tag="compaction"):
    """A vendor's own summary of what came before, readable or sealed."""

    content: str
    """The summary as text; empty where the vendor keeps it sealed."""


Part: TypeAlias = (
    TextPart
    | ToolCallPart
    | ToolCallResponsePart
    | ReasoningPart
    | BlobPart
    | UriPart
    | FilePart
    | CompactionPart
    | GenericPart
)
"""Every kind of part; `match` over it is exhaustive."""
