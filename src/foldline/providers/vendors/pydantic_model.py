"""
Any model of pydantic-ai, for vendors whose wire format foldline cannot write.

What a message holds that pydantic-ai has no place for is sent as readable text, or left out.

What a vendor adds to a part (the thought signatures of Gemini, the ids and encrypted reasoning of
others) is in the metadata of its message, by a hash of the part, and goes back with that part: a
part that changes or is left out takes it along. Only the thinking of Claude goes back without its
signature, which is bound to everything before it. Source: ai.google.dev, "Thought signatures", read
on 2026-11-22.
"""

import base64
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from foldline.errors import ModelError, ServiceThreadLostError
from foldline.history.codec import encode_json
from foldline.history.formats.renderings import OPENING_NOTE
from foldline.history.formats.renderings.sending import scrubbed, summary_text
from foldline.history.formats.responses import usage_or_none
from foldline.history.formats.wire import (
    Object,
    is_failed,
    maybe_object,
    object_from_json,
    readable_text,
)
from foldline.history.media import blob_of
from foldline.history.messages import Message
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    FilePart,
    GenericPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolCallResponsePart,
    UriPart,
)
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.vendors.failure import error_of, model_error
from foldline.providers.vendors.vendor_model import VendorModel


if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse


_ADDRESSES = {"image": "ImageUrl", "audio": "AudioUrl", "video": "VideoUrl"}

_PIECES: dict[str, type[TextDelta | ReasoningDelta]] = {
    "text": TextDelta,
    "thinking": ReasoningDelta,
}
_COUNTS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")

_SIGNED = "signed_parts"
_SIGNATURES = ("id", "signature", "provider_name", "provider_details")
# What says of a whole response whose signatures are in it.
_SIGNERS = ("provider_name", "provider_url", "canonical_system")

_Placed: TypeAlias = tuple[bool, Any, Object]
"""A part of pydantic-ai, after whether it is the model's, before who signed its response."""


class PydanticModel(VendorModel):
    """A model that pydantic-ai asks; the settings of a request have the names of pydantic-ai."""

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return what the model says to *request*; raise what `ChatModel.respond` raises."""
        from pydantic_ai.direct import model_request  # noqa: PLC0415

        async with _errors(self.name):
            return _read(await model_request(**await self._asked(request)))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Yield the pieces of the response, then the whole; closing this ends the request."""
        from pydantic_ai.direct import model_request_stream  # noqa: PLC0415

        reader = _DeltaReader()
        asked = await self._asked(request)
        async with _errors(self.name), model_request_stream(**asked) as events:
            async for event in events:
                for delta in reader.deltas(event):
                    yield delta
            response = events.get()
        if response.state == "incomplete":
            raise ModelError(f"{self.name} broke off its answer")
        yield _read(response)

    async def _asked(self, request: ChatRequest) -> dict[str, Any]:
        if request.service_thread_id is not None:
            raise ServiceThreadLostError(model=self.name)
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415

        model = await self._clients.here()
        return {
            "model": model,
            "messages": pydantic_messages(request.messages, vendor=model.system),
            "model_settings": cast("Any", dict(request.settings)) or None,
            "model_request_parameters": ModelRequestParameters(
                function_tools=[*map(_tool, request.tools)]
            ),
        }


@asynccontextmanager
async def _errors(name: str) -> AsyncGenerator[None, None]:
    from pydantic_ai import exceptions  # noqa: PLC0415

    try:
        yield
    except exceptions.ModelAPIError as error:
        raise model_error(
            name,
            status=getattr(error, "status_code", None),
            error=_reported(error, overflow=exceptions.ModelContextWindowExceededError),
        ) from None
    except (exceptions.AgentRunError, exceptions.UserError) as error:
        raise ModelError(f"{name} could not answer: {type(error).__name__}") from None


def _reported(error: Any, *, overflow: type[Exception]) -> Object:
    body = maybe_object(error.body)
    reported = dict(error_of(body) or body)
    reported["code"] = error.provider_error_code or reported.get("code")
    reported["type"] = error.provider_error_type or reported.get("type")
    reported.setdefault("message", reported.get("Message", error.message))
    if isinstance(error, overflow):
        reported["code"] = "context_length_exceeded"
    return reported


def _tool(tool: ToolDefinition) -> Any:
    from pydantic_ai import tools  # noqa: PLC0415

    schema, description = dict(tool.parameters), tool.description or None
    return tools.ToolDefinition(
        name=tool.name, description=description, parameters_json_schema=schema
    )


def pydantic_messages(view: Iterable[Message], *, vendor: str) -> "list[ModelMessage]":
    """Write *view* for *vendor*; if the model would speak first, after a short user note."""
    from pydantic_ai import messages as theirs  # noqa: PLC0415

    writer = _Writer(vendor)
    placed = [one for message in view for one in writer.parts(message)]
    rules = (place for place, one in enumerate(placed) if one[1].part_kind != "system-prompt")
    first = next(rules, len(placed))
    if first == len(placed) or placed[first][0]:
        placed.insert(first, (False, theirs.UserPromptPart(OPENING_NOTE), {}))
    made: list[ModelMessage] = []
    for is_model, group in groupby(placed, key=itemgetter(0)):
        found = list(group)
        parts = [part for _, part, _ in found]
        none: Object = {}
        signers = next((signer for *_, signer in reversed(found) if signer), none)
        made.append(
            theirs.ModelResponse(parts=parts, **signers)
            if is_model
            else theirs.ModelRequest(parts=parts)
        )
    return made


class _Writer:
    def __init__(self, vendor: str) -> None:
        from pydantic_ai import messages  # noqa: PLC0415

        self._theirs = messages
        self._vendor = vendor
        self._tools: dict[str, str] = {}

    def parts(self, message: Message) -> Iterator[_Placed]:
        if message.is_summary:
            yield True, self._theirs.TextPart(scrubbed(summary_text(message))), {}
            return
        is_model = message.role == "assistant"
        signed = maybe_object((message.metadata or {}).get(_SIGNED))
        signers = {key: signed[key] for key in _SIGNERS if key in signed}
        by_part = maybe_object(signed.get("parts"))
        for part in message.parts:
            signature = maybe_object(by_part.get(_hash(part))) if by_part else {}
            if isinstance(part, ToolCallPart):
                self._tools[part.id] = part.name
                arguments = scrubbed(object_from_json(part.arguments))
                call = self._theirs.ToolCallPart(part.name, arguments, part.id, **signature)
                yield True, call, signers
            elif isinstance(part, ToolCallResponsePart):
                yield False, self._answer(part), {}
            elif (
                one := self._said(part, signature) if is_model else self._asked(part, message.role)
            ):
                yield is_model, one, signers

    def _answer(self, part: ToolCallResponsePart) -> Any:
        given = [TextPart(part.response)] if isinstance(part.response, str) else part.response
        content = [self._content(one) for one in given if not isinstance(one, GenericPart)]
        only_text = all(isinstance(one, str) for one in content)
        return self._theirs.ToolReturnPart(
            self._tools.get(part.id, "unknown"),
            "\n".join(content) if only_text else content,
            part.id,
            outcome="failed" if is_failed(part) else "success",
        )

    def _said(self, part: Part, signature: Object) -> Any:
        if isinstance(part, ReasoningPart):
            said = bool(part.content or signature)
            return self._theirs.ThinkingPart(scrubbed(part.content), **signature) if said else None
        if isinstance(part, BlobPart) and not isinstance(binary := self._content(part), str):
            return self._theirs.FilePart(binary, **signature)
        text = readable_text(part)
        if text is None or not (text or signature):
            return None
        return self._theirs.TextPart(scrubbed(text), **signature)

    def _asked(self, part: Part, role: str) -> Any:
        text = readable_text(part)
        if role == "system":
            return self._theirs.SystemPromptPart(scrubbed(text)) if text else None
        if isinstance(part, BlobPart | UriPart | FilePart):
            return self._theirs.UserPromptPart([self._content(part)])
        return None if text is None else self._theirs.UserPromptPart(scrubbed(text))

    def _content(self, part: TextPart | BlobPart | UriPart | FilePart) -> Any:
        match part:
            case BlobPart():
                with suppress(ValueError):
                    kind = part.mime_type or "application/octet-stream"
                    data = base64.b64decode(part.content)
                    return self._theirs.BinaryContent(data, media_type=kind)
                return readable_text(part)
            case UriPart():
                kind = _ADDRESSES.get(part.modality, "DocumentUrl")
                return getattr(self._theirs, kind)(part.uri)
            case FilePart():
                # Its type lists the vendors that pydantic-ai knows.
                held: Any = self._theirs.UploadedFile
                return held(part.file_id, self._vendor)
            case TextPart():
                return scrubbed(part.content)


def _read(response: "ModelResponse") -> ChatResponse:
    counts = response.usage
    usage = usage_or_none(
        reasoning_tokens=counts.output_reasoning_tokens,
        **{name: getattr(counts, name) for name in _COUNTS},
    )
    parts = tuple(part for part in map(part_from_pydantic, response.parts) if part is not None)
    metadata: Object = {"model": response.model_name} if response.model_name else {}
    message = Message(
        role="assistant",
        parts=parts,
        id=response.provider_response_id,
        usage=usage,
        metadata=metadata | _signatures(response) or None,
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


def _signatures(response: "ModelResponse") -> Object:
    """Return, as metadata, what the vendor added to the parts of *response*."""
    is_bound = "claude" in (response.model_name or "").lower()
    found: Object = {}
    for part in response.parts:
        own = part_from_pydantic(part)
        added = {key: value for key in _SIGNATURES if (value := getattr(part, key, None))}
        if own is None or not added or (is_bound and isinstance(own, ReasoningPart)):
            continue
        if response.provider_name:
            added.setdefault("provider_name", response.provider_name)
        found[_hash(own)] = added
    if not found:
        return {}
    signers = {key: value for key in _SIGNERS if (value := getattr(response, key, None))}
    from pydantic_core import to_jsonable_python  # noqa: PLC0415

    return {_SIGNED: to_jsonable_python({**signers, "parts": found}, fallback=repr)}


def _hash(part: Part) -> str:
    return sha256(encode_json(part)).hexdigest()[:16]


def part_from_pydantic(part: Any) -> Part | None:
    """Read a part of a `ModelResponse`; None if it says nothing."""
    match part.part_kind:
        case "text":
            # Gemini signs an empty text at the end of an answer.
            return TextPart(part.content) if part.content or part.provider_details else None
        case "thinking":
            return ReasoningPart(part.content)
        case "tool-call":
            return ToolCallPart(part.tool_call_id, part.tool_name, _arguments(part) or "{}")
        case "file":
            return blob_of(part.content.data, part.content.media_type)
        case "compaction":
            return CompactionPart(part.content or "")
        case kind:
            from pydantic_core import to_json  # noqa: PLC0415

            return GenericPart(kind, to_json(part, fallback=repr).decode())


def _arguments(part: Any) -> str:
    """Return the arguments as the model wrote them, which need not be JSON, or not yet."""
    if isinstance(part.args, str):
        return part.args
    arguments: str = part.args_as_json_str() if part.args else ""
    return arguments


class _DeltaReader:
    def __init__(self) -> None:
        self._calls: dict[int, int] = {}

    def deltas(self, event: Any) -> Iterator[ChatDelta]:
        if event.event_kind == "part_start":
            part, kind = event.part, event.part.part_kind
            if kind == "tool-call":
                index = self._calls[event.index] = len(self._calls)
                call_id, arguments = part.tool_call_id, _arguments(part)
                yield ToolCallDelta(
                    index=index, id=call_id, name=part.tool_name, arguments=arguments
                )
            elif kind in _PIECES and part.content:
                yield _PIECES[kind](part.content)
        elif event.event_kind == "part_delta":
            delta, kind = event.delta, event.delta.part_delta_kind
            if kind == "tool_call" and isinstance(delta.args_delta, str):
                index = self._calls.get(event.index, 0)
                yield ToolCallDelta(index=index, arguments=delta.args_delta)
            elif kind in _PIECES and delta.content_delta:
                yield _PIECES[kind](delta.content_delta)
