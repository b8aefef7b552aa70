"""
What all bindings of vendors share: a model that has one client for each event loop.

A connection belongs to the loop that opened it. One binding serves any number of loops, one after
another or at once, so every loop has its own client, made when a call first needs it.
"""

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from threading import Lock
from types import TracebackType
from typing import Any, Self

from foldline.history.codec import decode_json
from foldline.history.formats.fields import Object
from foldline.history.formats.wire import as_object
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse
from foldline.providers.vendors.dialect import Dialect, call_options, read_events
from foldline.providers.vendors.failure import raise_if_failed, sdk_errors


__all__ = ["PerLoop", "VendorModel", "WireModel"]


class PerLoop:
    """The client of the running loop: that of an SDK, or a model of pydantic-ai with one inside."""

    def __init__(self, first: Any, make: Callable[[], Any] | None = None) -> None:
        """
        Begin with *first*, which is unused yet.

        Args:
            make: Makes another one; None if *first* belongs to the caller, who closes it.
        """
        self._given = first if make is None else None
        self._make = make
        self._lock = Lock()
        self._spare = [] if make is None else [first]
        self._held: dict[asyncio.AbstractEventLoop, Any] = {}

    async def here(self) -> Any:
        """Return the client or the model of the running loop."""
        if self._make is None:
            return self._given
        loop = asyncio.get_running_loop()
        with self._lock:
            held = self._held.get(loop)
            if held is not None:
                return held
            # What is left of a closed loop can neither be used nor closed any more.
            for closed in [one for one in self._held if one.is_closed()]:
                del self._held[closed]
            held = self._held[loop] = self._spare.pop() if self._spare else self._make()
        await held.__aenter__()
        return held

    async def close(self) -> None:
        """Close the connections of the running loop; the next call opens new ones."""
        with self._lock:
            held = self._held.pop(asyncio.get_running_loop(), None)
        if held is None:
            return
        await held.__aexit__(None, None, None)
        close = getattr(getattr(held, "client", None), "close", None)
        if inspect.iscoroutinefunction(close):
            await close()


class VendorModel:
    """
    A model at a vendor; each binding is a subclass.

    One instance serves any number of conversations, tasks and event loops at once.
    """

    def __init__(self, name: str, *, clients: PerLoop, context_window: int | None = None) -> None:
        self._name = name
        self._clients = clients
        self._context_window = context_window

    @property
    def name(self) -> str:
        """The identity of the model, such as `openai:gpt-5-mini`."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """The context window in tokens; None if it is unknown."""
        return self._context_window

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    async def close(self) -> None:
        """Close the connections of the running event loop."""
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


class WireModel(VendorModel):
    """
    A vendor's model that is sent our own rendering, and whose answers our own reader reads.

    The vendor's SDK handles connections, authentication and retries. The conversation does not pass
    through its types, so the bytes before the new messages are the same from call to call.
    """

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
