"""Any model of pydantic-ai, for vendors whose wire format foldline does not speak."""

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Self, cast

from foldline.errors import ModelError, ServiceThreadLostError
from foldline.history.formats.fields import Object, maybe_object
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse
from foldline.providers.vendors.failure import error_of, model_error
from foldline.providers.vendors.per_loop import PerLoop
from foldline.providers.vendors.pydantic_request import pydantic_messages, pydantic_tools
from foldline.providers.vendors.pydantic_response import DeltaReader, read_pydantic_response


__all__ = ["PydanticModel"]


class PydanticModel:
    """
    A model that pydantic-ai speaks to. Settings of a request carry the names of pydantic-ai.

    One instance serves any number of conversations, tasks and event loops at once.
    """

    def __init__(self, name: str, *, clients: PerLoop, context_window: int | None = None) -> None:
        self._name = name
        self._clients = clients
        self._context_window = context_window

    @property
    def name(self) -> str:
        """The identity of the model, as in `google:gemini-3-flash`."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """The window in tokens; None where it is unknown."""
        return self._context_window

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """
        Return what the model says to *request*.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The request goes on with a conversation; none is held here.
            ModelError: Anything else went wrong at the vendor.
        """
        from pydantic_ai.direct import model_request  # noqa: PLC0415

        with _errors(self._name):
            response = await model_request(**await self._asked(request))
            return read_pydantic_response(response)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """
        Give the pieces of the response as they come, and the whole of it last.

        Closing the generator ends the request.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The request goes on with a conversation; none is held here.
            ModelError: Anything else went wrong at the vendor.
        """
        from pydantic_ai.direct import model_request_stream  # noqa: PLC0415

        reader = DeltaReader()
        asked = await self._asked(request)
        async with _errors_of_stream(self._name), model_request_stream(**asked) as events:
            async for event in events:
                for delta in reader.deltas(event):
                    yield delta
            response = events.get()
        if response.state == "incomplete":
            message = f"{self._name} broke off its answer"
            raise ModelError(message)
        yield read_pydantic_response(response)

    async def close(self) -> None:
        """Close the connections that the running event loop has opened."""
        await self._clients.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _asked(self, request: ChatRequest) -> dict[str, Any]:
        if request.service_thread_id is not None:
            raise ServiceThreadLostError(model=self._name)
        model = await self._clients.here()
        return {
            "model": model,
            "messages": pydantic_messages(request.messages, vendor=model.system),
            "model_settings": cast("Any", dict(request.settings)) or None,
            "model_request_parameters": pydantic_tools(request.tools),
        }


@asynccontextmanager
async def _errors_of_stream(name: str) -> AsyncGenerator[None, None]:
    with _errors(name):
        yield


@contextmanager
def _errors(name: str) -> Generator[None]:
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
        message = f"{name} could not answer: {type(error).__name__}"
        raise ModelError(message) from None


def _reported(error: Any, *, overflow: type[Exception]) -> Object:
    body = maybe_object(error.body)
    reported = dict(error_of(body) or body)
    reported["code"] = error.provider_error_code or reported.get("code")
    reported["type"] = error.provider_error_type or reported.get("type")
    reported.setdefault("message", reported.get("Message", error.message))
    if isinstance(error, overflow):
        reported["code"] = "context_length_exceeded"
    return reported
