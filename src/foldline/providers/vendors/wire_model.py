"""
A model that is sent our own rendering, and whose answers are read by our own reader.

The vendor's SDK handles connections, authentication and retries. The conversation does not pass
through its types: what is sent is what `history.formats.renderings` wrote, and what came back is
stored unchanged. So the bytes before the new messages are the same from call to call.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from foldline.history.codec import decode_json
from foldline.history.formats.fields import Object
from foldline.history.formats.wire import as_object
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse
from foldline.providers.vendors.dialect import Dialect, call_options, read_events
from foldline.providers.vendors.failure import raise_if_failed, sdk_errors
from foldline.providers.vendors.vendor_model import PerLoop, VendorModel


__all__ = ["WireModel"]


class WireModel(VendorModel):
    """A vendor's model, asked in the vendor's own wire format."""

    def __init__(
        self, name: str, *, dialect: Dialect, clients: PerLoop, context_window: int | None
    ) -> None:
        super().__init__(name, clients=clients, context_window=context_window)
        self._dialect = dialect

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r}, {type(self._dialect).__name__})"

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return what the model says to *request*; raise what `ChatModel.respond` raises."""
        async with self._asked(request, streamed=False) as reply:
            data = await reply.http_response.aread()
            return self._read(as_object(decode_json(data), "the response"))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Yield the pieces of the response, then the whole; closing this ends the request."""
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

    @asynccontextmanager
    async def _asked(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Any, None]:
        body = self._dialect.body(request, streamed=streamed)
        held = await self._clients.here()
        client = getattr(held, "client", held)
        # Without it an SDK refuses a long answer that is not streamed.
        options: Object = {"timeout": client.timeout, **call_options(request.settings)}
        if streamed:
            options["stream"] = True
        with sdk_errors(self._name):
            async with self._dialect.send(client, body, options) as reply:
                yield reply

    def _read(self, whole: Object) -> ChatResponse:
        raise_if_failed(self._name, whole)
        return self._dialect.read(whole)
