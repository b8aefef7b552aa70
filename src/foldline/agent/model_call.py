"""One model call: its request, its pieces, its response."""

from collections.abc import Callable, Iterable
from contextlib import aclosing

from msgspec import structs

from foldline.agent.deltas import Deltas
from foldline.agent.events import AgentEvent
from foldline.agent.telemetry import Observer
from foldline.errors import ConfigError, ModelError
from foldline.history.messages import Message, Usage
from foldline.history.parts import Part, ToolCallPart
from foldline.providers.model import ChatModel, ChatRequest, ChatResponse, StreamingChatModel
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.change import check_fields, check_messages


__all__ = ["ask_model", "with_own_ids"]


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

    Args:
        model: The model.
        request: The request.
        emit: Receives the events.
        iteration: The number of the call in its turn.
        streams: Whether the model is asked to stream, if it can.
        observer: Receives the call.
        reduction: How the view in the request was made.

    Raises:
        ModelError: The model failed, or its answer is not valid.
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
    """
    Return *response* without empty messages.

    Raises:
        ModelError: It is not valid, or could not be read again once stored.
    """
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


def with_own_ids(messages: Iterable[Message], new_id: Callable[[], str]) -> list[Message]:
    """
    Return *messages* with a unique id for each call.

    Some vendors give none, or the same one twice, and only the id links a result to its call.
    """
    known = {""}
    result: list[Message] = []
    for message in messages:
        parts = tuple([_own(part, known, new_id) for part in message.parts])
        if parts != message.parts:
            # The vendor's own item contains the old id.
            message = structs.replace(message, parts=parts, native=None)  # noqa: PLW2901
        result.append(message)
    return result


def _own(part: Part, known: set[str], new_id: Callable[[], str]) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    if part.id in known:
        part = ToolCallPart(f"call_{new_id()}", part.name, part.arguments)
    known.add(part.id)
    return part
