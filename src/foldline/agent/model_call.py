"""One model call: its request, its pieces, its response."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from os import urandom
from types import MappingProxyType
from typing import TypeAlias

from msgspec import structs

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
from foldline.agent.telemetry import Observer
from foldline.errors import ConfigError, ModelError
from foldline.history.messages import Message, Usage
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
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


__all__ = ["Deltas", "ask_model", "with_own_ids"]


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


class Deltas:
    """Turns the pieces of one response into events that start, continue and end."""

    def __init__(self, iteration: int, emit: Callable[[AgentEvent], None]) -> None:
        self._iteration = iteration
        self._emit = emit
        self._open: _Block | None = None
        self._calls: set[int] = set()
        self.has_begun = False
        """Whether any piece has arrived."""

    def add(self, piece: ChatDelta) -> None:
        """Emit the events of *piece*."""
        self.has_begun = True
        if isinstance(piece, ToolCallDelta):
            self.close()
            self._call(piece)
        elif piece.text:
            block = _BLOCKS[type(piece)]
            if block is not self._open:
                self.close()
                self._emit(block[0](iteration=self._iteration))
                self._open = block
            self._emit(block[1](iteration=self._iteration, text=piece.text))

    def _call(self, piece: ToolCallDelta) -> None:
        iteration, index = self._iteration, piece.index
        if index not in self._calls:
            self._calls.add(index)
            self._emit(ToolCallStartEvent(iteration=iteration, index=index, name=piece.name))
        if piece.arguments:
            event = ToolCallArgumentsEvent(iteration=iteration, index=index, delta=piece.arguments)
            self._emit(event)

    def close(self) -> None:
        """Emit the end of the open block, if there is one."""
        if self._open is not None:
            self._emit(self._open[2](iteration=self._iteration))
        self._open = None

    def add_all(self, response: ChatResponse) -> None:
        """Emit the events of a response that arrived as a whole."""
        calls = 0
        for message in response.messages:
            for part in message.parts:
                if isinstance(part, TextPart):
                    self.add(TextDelta(part.content))
                elif isinstance(part, ReasoningPart):
                    self.add(ReasoningDelta(part.content))
                elif isinstance(part, ToolCallPart):
                    piece = ToolCallDelta(
                        index=calls, id=part.id, name=part.name, arguments=part.arguments
                    )
                    self.add(piece)
                    calls += 1


async def ask_model(
    model: ChatModel,
    request: ChatRequest,
    emit: Callable[[AgentEvent], None],
    *,
    iteration: int,
    streams: bool,
    observer: Observer,
    reduction: HistoryReductionEvent | None,
) -> ChatResponse:
    """
    Return the answer of *model* to *request*, and emit it while it arrives.

    *streams* asks the model to stream if it can; *reduction* is how the request's view was made.
    """
    deltas = Deltas(iteration, emit)
    streaming = model if streams and isinstance(model, StreamingChatModel) else None
    observed = observer.model_call(
        request, model=model.name, streams=streaming is not None, reduction=reduction
    )
    try:
        with observed as answered:
            if streaming is not None:
                response = await _streamed(streaming, request, deltas)
            else:
                response = _checked(await model.respond(request), model)
            answered(response)
        if not deltas.has_begun:
            deltas.add_all(response)
    finally:
        deltas.close()
    return response


async def _streamed(
    model: StreamingChatModel, request: ChatRequest, deltas: Deltas
) -> ChatResponse:
    response = None
    async with aclosing(model.stream(request)) as pieces:
        async for piece in pieces:
            if isinstance(piece, ChatResponse):
                response = _checked(piece, model)
            else:
                deltas.add(piece)
    if response is None:
        message = f"{model.name} ended its stream without a response"
        raise ModelError(message)
    return response


def _checked(response: ChatResponse, model: ChatModel) -> ChatResponse:
    """Return *response* without empty messages."""
    # A custom model may return anything, whatever its annotation says.
    if not isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"{model.name} must return a ChatResponse, got {type(response).__name__}"
        raise ModelError(message)
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
    for one in response.messages:
        if one.role != "assistant":
            message = f"{model.name} must return assistant messages, got role {one.role!r}"
            raise ModelError(message)
        if one.parts:
            said.append(one)
    if said and response.usage is not None and said[-1].usage is None:
        said[-1] = structs.replace(said[-1], usage=response.usage)
    return structs.replace(response, messages=tuple(said))


def with_own_ids(messages: Iterable[Message]) -> list[Message]:
    """
    Return *messages* with a unique id for each call.

    Some vendors give none, or the same one twice, and only the id links a result to its call.
    """
    known = {""}
    result: list[Message] = []
    for message in messages:
        parts = list(message.parts)
        for place, part in enumerate(parts):
            if isinstance(part, ToolCallPart):
                own = f"call_{urandom(16).hex()}" if part.id in known else part.id
                parts[place] = structs.replace(part, id=own)
                known.add(own)
        # A vendor's own item would contain the old id.
        is_same = tuple(parts) == message.parts
        result.append(
            message if is_same else structs.replace(message, parts=tuple(parts), native=None)
        )
    return result
