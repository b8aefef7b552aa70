"""
A model that is sent our own rendering, and whose answers are read with our own reader.

The SDK of the vendor keeps the connections, signs, and tries again. The conversation does not pass
through its types: what is sent is what `history.formats.renderings` wrote, and what came back is
kept as it came. So the bytes in front of the new messages are the same from call to call.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast

from foldline.history.codec import decode_json
from foldline.history.formats.fields import Object
from foldline.history.formats.wire import as_object
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse
from foldline.providers.vendors.dialect import Dialect, Reply, call_options
from foldline.providers.vendors.events import read_events
from foldline.providers.vendors.failure import raise_if_failed, sdk_errors
from foldline.providers.vendors.per_loop import PerLoop


__all__ = ["WireModel"]


class WireModel:
    """
    A model of a vendor, spoken to in the vendor's own wire format.

    One instance serves any number of conversations, tasks and event loops at once.
    """

    def __init__(
        self, name: str, *, dialect: Dialect, clients: PerLoop, context_window: int | None
    ) -> None:
        self._name = name
        self._dialect = dialect
        self._clients = clients
        self._context_window = context_window

    @property
    def name(self) -> str:
        """The identity of the model, as in `openai:gpt-5-mini`."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """The window in tokens; None where it is unknown."""
        return self._context_window

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {type(self._dialect).__name__})"

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """
        Return what the model says to *request*.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The vendor no longer holds the conversation.
            ModelError: Anything else went wrong at the vendor.
        """
        async with self._asked(request, streamed=False) as reply:
            data = await reply.http_response.aread()
            return self._read(as_object(decode_json(data), "the response"))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """
        Give the pieces of the response as they come, and the whole of it last.

        Closing the generator ends the request.

        Raises:
            ContextOverflowError: The request is longer than the window.
            ServiceThreadLostError: The vendor no longer holds the conversation.
            ModelError: Anything else went wrong at the vendor.
        """
        reader = self._dialect.reader()
        # Every generator is closed here, so that none is left to the loop to close later.
        async with (
            self._asked(request, streamed=True) as reply,
            aclosing(reply.http_response.aiter_bytes()) as chunks,
            aclosing(read_events(chunks)) as events,
        ):
            async for event in events:
                raise_if_failed(self._name, event)
                for delta in reader.deltas(event):
                    yield delta
            response = self._read(reader.whole())
        yield response

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

    @asynccontextmanager
    async def _asked(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Reply, None]:
        body = self._dialect.body(request, streamed=streamed)
        client = cast("Any", await self._clients.here()).client
        # Given, so that an SDK does not refuse a long answer that is not streamed.
        options: Object = {"timeout": client.timeout, **call_options(request.settings)}
        if streamed:
            options["stream"] = True
        with sdk_errors(self._name):
            async with self._dialect.send(client, body, options) as reply:
                yield reply

    def _read(self, whole: Object) -> ChatResponse:
        raise_if_failed(self._name, whole)
        return self._dialect.read(whole)
