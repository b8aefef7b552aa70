"""One call of the model: its request, its pieces, its response."""

from collections.abc import Callable, Iterable
from contextlib import aclosing

from msgspec import structs

from foldline.agent.deltas import Deltas
from foldline.agent.events import AgentEvent
from foldline.agent.telemetry import UNOBSERVED, Observer
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
    tell: Callable[[AgentEvent], None],
    *,
    iteration: int,
    streams: bool,
    observer: Observer = UNOBSERVED,
    reduction: HistoryReductionEvent | None = None,
) -> ChatResponse:
    """
    Return what *model* says to *request*, and tell what it says while it says it.

    Args:
        model: Who answers.
        request: What it is asked.
        tell: Is given the events.
        iteration: The number of the call in its turn.
        streams: Whether the model is asked to say what it says as it goes, where it can.
        observer: Who watches.
        reduction: How the view in the request came to be.

    Raises:
        ModelError: The model failed, or answered with what is no answer.
    """
    deltas = Deltas(iteration, tell)
    streaming = model if streams and isinstance(model, StreamingChatModel) else None
    watched = observer.model_call(
        request, model=model.name, streams=streaming is not None, reduction=reduction
    )
    try:
        with watched as answered:
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
        ModelError: It is no answer, or holds a value that could not be read again once stored.
    """
    # A model of somebody's own may return anything, whatever its annotation says.
    if not isinstance(response, ChatResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"{model.name} answered with a {type(response).__name__}, not a ChatResponse"
        raise ModelError(message)
    _check_fields(response, model)
    if any(message.role != "assistant" for message in response.messages):
        message = f"{model.name} answered with a message that is not of the assistant"
        raise ModelError(message)
    said = tuple(message for message in response.messages if message.parts)
    if said and response.usage is not None and said[-1].usage is None:
        said = (*said[:-1], structs.replace(said[-1], usage=response.usage))
    return structs.replace(response, messages=said)


def _check_fields(response: ChatResponse, model: ChatModel) -> None:
    """
    See that every field of *response* is of its kind: the wrapper of *model* is to blame otherwise.
    """
    name = f"the response of {model.name}"
    try:
        check_fields(name, response, ChatResponse)
        check_messages(response.messages)
    except ConfigError as error:
        raise ModelError(str(error)) from None
    # A dict that looks like one has passed until here.
    if type(response.usage) not in {Usage, type(None)}:
        message = f"{name} cannot be stored: a {type(response.usage).__name__} - at `$.usage`"
        raise ModelError(message)


def with_own_ids(
    messages: Iterable[Message], taken: Iterable[str], new_id: Callable[[], str]
) -> tuple[Message, ...]:
    """
    Return *messages* with an id of its own for each call.

    Some vendors give none, or the same twice, and answers are told apart by nothing else.

    Args:
        messages: What a model said.
        taken: The ids that are not free.
        new_id: Makes an id.
    """
    known = {"", *taken}
    result: list[Message] = []
    for message in messages:
        parts = tuple(_own(part, known, new_id) for part in message.parts)
        if parts != message.parts:
            # The vendor's own item has the old id in it.
            message = structs.replace(message, parts=parts, native=None)  # noqa: PLW2901
        result.append(message)
    return tuple(result)


def _own(part: Part, known: set[str], new_id: Callable[[], str]) -> Part:
    if not isinstance(part, ToolCallPart):
        return part
    if part.id in known:
        part = ToolCallPart(f"call_{new_id()}", part.name, part.arguments)
    known.add(part.id)
    return part
