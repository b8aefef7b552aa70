"""What pydantic-ai gives back, as messages of foldline. None of its types is kept."""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from foldline.history.formats.usage import usage_or_none
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from foldline.providers.model import (
    ChatDelta,
    ChatResponse,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)


if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent


__all__ = ["DeltaReader", "read_pydantic_response"]


_MODALITIES = frozenset({"image", "audio", "video"})


def read_pydantic_response(response: "ModelResponse") -> ChatResponse:
    """Read a whole response."""
    usage = _usage(response)
    parts = tuple(part for one in response.parts for part in _parts(one))
    message = Message(
        role="assistant",
        parts=parts,
        id=response.provider_response_id,
        usage=usage,
        metadata={"model": response.model_name} if response.model_name else None,
    )
    finish: FinishReason = response.finish_reason or "stop"
    if finish == "stop" and message.tool_calls:
        finish = "tool_call"
    return ChatResponse(
        messages=(message,) if parts else (),
        usage=usage,
        model=response.model_name,
        id=response.provider_response_id,
        finish_reason=finish,
    )


def _usage(response: "ModelResponse") -> Usage | None:
    counts = response.usage
    return usage_or_none(
        input_tokens=counts.input_tokens,
        output_tokens=counts.output_tokens,
        cache_read_tokens=counts.cache_read_tokens,
        cache_write_tokens=counts.cache_write_tokens,
        reasoning_tokens=counts.output_reasoning_tokens,
    )


def _parts(part: Any) -> Iterator[Part]:
    match part.part_kind:
        case "text":
            if part.content:
                yield TextPart(part.content)
        case "thinking":
            yield ReasoningPart(part.content)
        case "tool-call":
            yield ToolCallPart(part.tool_call_id, part.tool_name, _arguments(part) or "{}")
        case "file":
            yield _blob(part.content)
        case "compaction":
            yield CompactionPart(part.content or "")
        case kind:
            from pydantic_core import to_json  # noqa: PLC0415

            yield GenericPart(kind, to_json(part, fallback=repr).decode())


def _arguments(part: Any) -> str:
    """Return the arguments as the model wrote them, which may be no JSON, or not yet."""
    if isinstance(part.args, str):
        return part.args
    arguments: str = part.args_as_json_str() if part.args else ""
    return arguments


def _blob(content: Any) -> BlobPart:
    modality = content.media_type.partition("/")[0]
    modality = modality if modality in _MODALITIES else "document"
    return BlobPart(modality, content.media_type, base64.b64encode(content.data).decode())


class DeltaReader:
    """What turns the events of one stream into deltas."""

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}

    def deltas(self, event: "ModelResponseStreamEvent") -> Iterator[ChatDelta]:
        """Take *event* in and give what it adds to the response."""
        if event.event_kind == "part_start":
            yield from self._started(event.part, event.index)
        elif event.event_kind == "part_delta":
            yield from self._grown(event.delta, event.index)

    def _started(self, part: Any, place: int) -> Iterator[ChatDelta]:
        if part.part_kind == "text" and part.content:
            yield TextDelta(part.content)
        elif part.part_kind == "thinking" and part.content:
            yield ReasoningDelta(part.content)
        elif part.part_kind == "tool-call":
            index = self._calls[place] = len(self._calls)
            yield ToolCallDelta(
                index=index, id=part.tool_call_id, name=part.tool_name, arguments=_arguments(part)
            )

    def _grown(self, delta: Any, place: int) -> Iterator[ChatDelta]:
        if delta.part_delta_kind == "text" and delta.content_delta:
            yield TextDelta(delta.content_delta)
        elif delta.part_delta_kind == "thinking" and delta.content_delta:
            yield ReasoningDelta(delta.content_delta)
        elif delta.part_delta_kind == "tool_call" and isinstance(delta.args_delta, str):
            yield ToolCallDelta(index=self._calls.get(place, 0), arguments=delta.args_delta)
