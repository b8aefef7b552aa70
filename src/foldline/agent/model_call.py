"""One model call: its request, its pieces, its response."""

from collections.abc import Callable, Mapping
from contextlib import aclosing, nullcontext
from os import urandom
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct, structs

from foldline.agent.events import (
    AgentEvent,
    ReasoningDeltaEvent,
    ReasoningEndEvent,
    ReasoningStartEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ToolCallArgumentsEvent,
    ToolCallStartEvent,
)
from foldline.agent.progress import TurnSetup
from foldline.agent.telemetry import Observation
from foldline.errors import ConfigError, ModelError
from foldline.history.codec import canonical_json
from foldline.history.messages import Message, Usage
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.history.signed import bound, is_signed, sendable
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ReasoningDelta,
    StreamingChatModel,
    TextDelta,
    ToolCallDelta,
)
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.change import check_fields, check_messages


_Block: TypeAlias = (
    tuple[type[TextStartEvent], type[TextDeltaEvent], type[TextEndEvent]]
    | tuple[type[ReasoningStartEvent], type[ReasoningDeltaEvent], type[ReasoningEndEvent]]
)

_BLOCKS: Mapping[type[ChatDelta], _Block] = MappingProxyType(
    {
        TextDelta: (TextStartEvent, TextDeltaEvent, TextEndEvent),
        ReasoningDelta: (ReasoningStartEvent, ReasoningDeltaEvent, ReasoningEndEvent),
    }
)


class _Deltas(Struct):
    iteration: int
    emit: Callable[[AgentEvent], None]
    open: _Block | None = None
    calls: set[int] = set()
    # Whether any piece has arrived.
    has_begun: bool = False

    def add(self, piece: ChatDelta) -> None:
        """Emit the events of *piece*."""
        self.has_begun = True
        iteration = self.iteration
        if isinstance(piece, ToolCallDelta):
            self.close()
            index = piece.index
            if index not in self.calls:
                self.calls.add(index)
                self.emit(ToolCallStartEvent(iteration=iteration, index=index, name=piece.name))
            if piece.arguments:
                delta = piece.arguments
                self.emit(ToolCallArgumentsEvent(iteration=iteration, index=index, delta=delta))
        elif piece.text:
            block = _BLOCKS[type(piece)]
            if block is not self.open:
                self.close()
                self.emit(block[0](iteration=iteration))
                self.open = block
            self.emit(block[1](iteration=iteration, text=piece.text))

    def close(self) -> None:
        """Emit the end of the open block, if there is one."""
        if self.open is not None:
            self.emit(self.open[2](iteration=self.iteration))
        self.open = None

    def add_all(self, response: ChatResponse) -> None:
        """Emit the events of a response that arrived as a whole."""
        for message in response.messages:
            for part in message.parts:
                if isinstance(part, TextPart):
                    self.add(TextDelta(part.content))
                elif isinstance(part, ReasoningPart):
                    self.add(ReasoningDelta(part.content))
                elif isinstance(part, ToolCallPart):
                    index, arguments = len(self.calls), part.arguments
                    self.add(ToolCallDelta(index=index, name=part.name, arguments=arguments))


async def ask_model(
    setup: TurnSetup,
    request: ChatRequest,
    emit: Callable[[AgentEvent], None],
    *,
    iteration: int,
    streams: bool,
    reduction: HistoryReductionEvent | None,
) -> ChatResponse:
    """Return the model's answer to *request*, and emit it while it arrives."""
    model, observer = setup.model, setup.observer
    if any(map(is_signed, request.messages)):
        request = sendable_request(request, model)
    deltas = _Deltas(iteration, emit)
    streaming = model if streams and isinstance(model, StreamingChatModel) else None
    observed: Observation[ChatResponse] | nullcontext[None] = nullcontext()
    if observer is not None:
        observed = observer.model_call(
            request, model=model.name, streams=streaming is not None, reduction=reduction
        )
    try:
        with observed as answered:
            if streaming is not None:
                response = await _streamed(streaming, request, deltas)
            else:
                response = _checked(await model.respond(request), model)
            if answered is not None:
                answered(response)
        if not deltas.has_begun:
            deltas.add_all(response)
    finally:
        deltas.close()
    if any(map(is_signed, response.messages)):
        said = bound(response.messages, request.messages, _opening(request, model))
        response = structs.replace(response, messages=said)
    return response


def sendable_request(request: ChatRequest, model: ChatModel) -> ChatRequest:
    """Return *request* without the thinking that *model* would refuse in it."""
    view = sendable(request.messages, _opening(request, model))
    return structs.replace(request, messages=view)


def _opening(request: ChatRequest, model: ChatModel) -> bytes:
    """Return what *request* says before its messages, to which a vendor binds thinking as well."""
    given = [request.settings.get(name) for name in ("system", "tools")]
    tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
    # A vendor that refuses that is sent a tool as well.
    return canonical_json([model.name, request.lacks_tools or tools, given])


async def _streamed(
    model: StreamingChatModel, request: ChatRequest, deltas: _Deltas
) -> ChatResponse:
    response, streamed = None, model.stream(request)
    # A custom model may stream anything, whatever its annotation says.
    if not hasattr(streamed, "aclose"):
        message = f"{model.name}.stream must be an async generator, got a {type(streamed).__name__}"
        raise ModelError(message)
    async with aclosing(streamed) as pieces:
        async for piece in pieces:
            if isinstance(piece, ChatResponse):
                response = _checked(piece, model)
            elif isinstance(piece, ChatDelta):  # pyright: ignore[reportUnnecessaryIsInstance]
                deltas.add(piece)
            else:
                message = f"{model.name} must stream deltas and a ChatResponse, got {type(piece).__name__}"
                raise ModelError(message)
    if response is None:
        raise ModelError(f"{model.name} ended its stream without a response")
    return response


def _checked(response: ChatResponse, model: ChatModel) -> ChatResponse:
    # A custom model may return anything, whatever its annotation says.
    if not isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ModelError(f"{model.name} must return a ChatResponse, got {type(response).__name__}")
    name = f"the response of {model.name}"
    try:
        check_fields(name, response, ChatResponse)
        check_messages(response.messages)
    except ConfigError as error:
        raise ModelError(str(error)) from None
    # A dict with the right keys has passed until here.
    if type(response.usage) not in {Usage, type(None)}:
        message = f"{name} cannot be stored: a {type(response.usage).__name__} - at `$.usage`"
        raise ModelError(message)
    said: list[Message] = []
    known, service = {""}, response.service_thread_id
    for one in response.messages:
        if one.role != "assistant":
            raise ModelError(f"{model.name} must return assistant messages, got role {one.role!r}")
        if one.parts:
            own = _with_own_ids(one, known) if one.tool_calls else one
            # What the vendor stores has the ids that it gave.
            service = service if own is one else None
            said.append(own)
    if said and response.usage is not None and said[-1].usage is None:
        said[-1] = structs.replace(said[-1], usage=response.usage)
    return structs.replace(response, messages=tuple(said), service_thread_id=service)


def _with_own_ids(message: Message, known: set[str]) -> Message:
    # Some vendors give no id, or the same one twice, and only the id links a result to its call.
    parts = list(message.parts)
    for place, part in enumerate(parts):
        if isinstance(part, ToolCallPart):
            own = f"call_{urandom(16).hex()}" if part.id in known else part.id
            parts[place] = structs.replace(part, id=own)
            known.add(own)
    if tuple(parts) == message.parts:
        return message
    # A vendor's own item would contain the old id.
    return structs.replace(message, parts=tuple(parts), native=None)
