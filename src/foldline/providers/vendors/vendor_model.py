"""
What all bindings of vendors share: a wire format, and one client for each event loop.

A connection belongs to the loop that opened it. One binding serves any number of loops, one after
another or at once, so every loop has its own client, made when a call first needs it.
"""

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from functools import partial
from operator import attrgetter
from threading import Lock
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar

from msgspec.structs import replace

from foldline.errors import ModelError, ServiceThreadLostError
from foldline.history.codec import decode_json
from foldline.history.formats.responses import openai_usage, read_response
from foldline.history.formats.wire import Object, as_object, maybe_list, maybe_object, maybe_text
from foldline.history.messages import Message, NativeFormat
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.vendors.failure import (
    raise_if_failed,
    refuses_reasoning,
    refuses_turns,
    sdk_errors,
)


_Answer = TypeVar("_Answer")

TURNS = "turns"
"""What marks two messages of one speaker in a row."""

END = "[DONE]"
"""The `type` of the event for the mark with which OpenAI ends a stream."""

# Settings that are for the SDK, not for the vendor.
_OPTIONS = frozenset({"extra_headers", "extra_query", "timeout"})
# The fields of a request that every version of the SDKs has arguments for.
_NAMED = frozenset({"input", "max_tokens", "messages", "model", "store", "system"})
_JSON, _EVENTS = "application/json", "text/event-stream"
# Lists that settings extend instead of replacing them.
_JOINED = ("tools", "include")
# Reasoning of many long conversations; beyond that each of them is refused once more.
_MOST_REFUSED = 10_000
_FINISHES: Mapping[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_call",
    "function_call": "tool_call",
    "tool_use": "tool_call",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "error": "error",
}


class StreamReader(ABC):
    """Puts the events of one stream together."""

    def __init__(self) -> None:
        self._calls: dict[int, int] = {}

    @abstractmethod
    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        """Take *event* in and yield what it adds to the response."""

    @abstractmethod
    def whole(self) -> Object | None:
        """Return what the vendor would have sent without streaming; None if that was cut."""

    def _started(self, place: int, own_id: object, name: object) -> ToolCallDelta:
        index = self._calls[place] = len(self._calls)
        return ToolCallDelta(index=index, id=maybe_text(own_id), name=maybe_text(name))

    def _grown(self, place: int, arguments: str) -> Iterator[ToolCallDelta]:
        if place in self._calls and arguments:
            yield ToolCallDelta(index=self._calls[place], arguments=arguments)


def described(tool: ToolDefinition) -> Object:
    """Return the name and the description of *tool*."""
    return {"name": tool.name} | ({"description": tool.description} if tool.description else {})


class PerLoop:
    """The client of the running loop; without *make* it is the first, which its caller closes."""

    def __init__(self, first: Any, make: Callable[[], Any] | None = None) -> None:
        self._first = first
        self._make = make
        self._lock = Lock()
        self._held: dict[asyncio.AbstractEventLoop, Any] = {}

    async def here(self) -> Any:
        """Return the client or the model of the running loop."""
        if self._make is None:
            return self._first
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop in self._held:
                return self._held[loop]
            lost = [self._held.pop(one) for one in list(self._held) if one.is_closed()]
            held = self._held[loop] = self._first or self._make()
            self._first = None
        await held.__aenter__()
        for one in lost:
            # Its connections cannot be closed any more. Unless it counts as closed, it tries that in
            # this loop once it is collected, and asyncio logs a failure.
            with suppress(RuntimeError):
                await _close(one)
        return held

    async def close(self) -> None:
        """Close the connections of the running loop; the next call opens new ones."""
        with self._lock:
            held = self._held.pop(asyncio.get_running_loop(), None)
        if held is not None:
            await _close(held)


async def _close(held: Any) -> None:
    await held.__aexit__(None, None, None)
    close = getattr(getattr(held, "client", None), "close", None)
    if inspect.iscoroutinefunction(close):
        await close()


class VendorModel:
    """A model at a vendor, for any number of tasks and event loops; each binding is a subclass."""

    def __init__(self, name: str, *, clients: PerLoop, context_window: int | None = None) -> None:
        self.name = name
        """The identity of the model, such as `openai:gpt-5-mini`."""
        self._clients = clients
        self.context_window = context_window

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class WireModel(VendorModel, ABC):
    """A vendor's model that is sent our own rendering, past the types of its SDK."""

    # Where the SDK has the method `create`, from its client on, and which fields that requires.
    _endpoint: ClassVar[str]
    _required: ClassVar[tuple[str, ...]] = ("model",)
    _format: ClassVar[NativeFormat]
    _reader: ClassVar[type[StreamReader]]
    _usage = staticmethod(openai_usage)

    def __init__(
        self,
        name: str,
        *,
        model: str,
        clients: PerLoop,
        context_window: int | None = None,
        # What the model can do, in the words of pydantic-ai.
        profile: Mapping[str, Any] = MappingProxyType({}),
        holds_history: bool = False,
        caches_prompt: bool = True,
    ) -> None:
        super().__init__(name, clients=clients, context_window=context_window)
        self._model = model
        self._profile = profile
        self._holds_history = holds_history
        self._caches_prompt = caches_prompt

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return what the model says to *request*; raise what `ChatModel.respond` raises."""
        return await self._asked(request, self.read)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Yield the pieces of the response, then the whole; closing this ends the request."""
        async with AsyncExitStack() as stack:

            async def begun() -> tuple[ChatDelta | ChatResponse, AsyncGenerator[Any, None]]:
                """Return the first piece, and the others."""
                pieces = await stack.enter_async_context(aclosing(self._pieces(request)))
                return await anext(pieces), pieces

            # Some servers (LM Studio, LocalAI) refuse a request in a stream that is open already.
            piece, pieces = await self.taught(request, begun)
            yield piece
            async for piece in pieces:
                yield piece

    async def _pieces(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        reader = self._reader()
        # Every generator is closed here, so that none is left to the loop to close later.
        async with (
            self._sent(request, streamed=True) as reply,
            aclosing(reply.http_response.aiter_bytes()) as chunks,
            aclosing(read_events(chunks)) as events,
        ):
            async for event in events:
                raise_if_failed(self.name, event)
                for delta in reader.deltas(event):
                    yield delta
            whole = reader.whole() or self._sent_at_once(reply.http_response)
            response = self.read(as_object(whole, "the stream"))
        yield response

    async def prewarm(self, request: ChatRequest) -> bool:
        """Do what `PrewarmingModel.prewarm` does; return False if the vendor has no such request."""
        if not self._caches_prompt or self._holds_history:
            return False
        fields = self._prewarming(request.settings)
        if not fields:
            return False
        request = replace(request, settings={**request.settings, **fields})
        await self._asked(request, partial(raise_if_failed, self.name))
        return True

    refused: frozenset[object] = frozenset()
    """What marks what the vendor has refused: a conversation goes on without it."""

    # Whether a request can be written so that speakers take turns.
    _takes_turns: ClassVar[bool] = False

    async def taught(self, request: ChatRequest, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Return what *ask* returns, which sends *request*; again if it can leave out what is refused."""
        while True:
            # Another request may teach something while this one waits.
            before = self.refused
            try:
                return await ask()
            except ModelError as error:
                refused = frozenset[object]()
                if refuses_turns(error) and self._takes_turns:
                    refused = frozenset({TURNS})
                elif refuses_reasoning(error):
                    refused = frozenset(self._thoughts(request))
                if refused <= before:
                    raise
                known = self.refused if len(self.refused) < _MOST_REFUSED else frozenset[object]()
                self.refused = known | refused

    def _thoughts(self, request: ChatRequest) -> Iterable[object]:  # noqa: ARG002
        """Return what marks each reasoning in *request*, as `refused` has it."""
        return ()

    def _prewarming(self, settings: Mapping[str, object]) -> Object:  # noqa: ARG002
        """Return the settings that ask for no answer; none if the vendor refuses that."""
        return {}

    def body(self, request: ChatRequest, *, streamed: bool) -> Object:
        """Write *request* and its settings; raises ServiceThreadLostError where it cannot."""
        if request.service_thread_id is not None and not self._holds_history:
            raise ServiceThreadLostError(model=self.name)
        body = {"model": self._model, **self._written(request, streamed)}
        given = {key: value for key, value in request.settings.items() if key not in _OPTIONS}
        # Where the SDKs take fields that they do not know.
        given |= maybe_object(given.pop("extra_body", None))
        for key in _JOINED:
            if key in body and key in given:
                own = body[key]
                given[key] = [*own, *(item for item in maybe_list(given[key]) if item not in own)]
        return {**body, **given}

    async def _asked(self, request: ChatRequest, read: Callable[[Object], _Answer]) -> _Answer:
        """Return what *read* makes of the answer to *request*."""

        async def ask() -> _Answer:
            async with self._sent(request, streamed=False) as reply:
                data = await reply.http_response.aread()
                return read(as_object(decode_json(data), "the response"))

        return await self.taught(request, ask)

    @asynccontextmanager
    async def _sent(self, request: ChatRequest, *, streamed: bool) -> AsyncGenerator[Any, None]:
        body = self.body(request, streamed=streamed)
        held = await self._clients.here()
        client = getattr(held, "client", held)
        # Without it an SDK refuses a long answer that is not streamed.
        options: Object = {"timeout": client.timeout} | ({"stream": True} if streamed else {})
        options |= self._options(body, request.settings)
        create = self.method(client, "with_streaming_response.create")
        # The SDK would walk through all messages; what is given beside them is sent unchanged.
        given: Object = {key: [] if key == "messages" else body[key] for key in self._required}
        with sdk_errors(self.name):
            async with create(**given, extra_body=body, **options) as reply:
                if streamed and _kind(reply.http_response) == _JSON:
                    await reply.http_response.aread()
                yield reply

    def _sent_at_once(self, answer: Any) -> object:
        """Return what a server answers that does not stream; None if a stream was cut."""
        kind = _kind(answer)
        if kind == _JSON:
            return decode_json(answer.content)
        if kind not in {_EVENTS, ""}:
            message = f"{self.name} was asked for a stream of events, and sent {kind[:80]!r}"
            raise ModelError(message)
        return None

    @classmethod
    def method(cls, client: Any, name: str = "create") -> Any:
        """Return the method of *client*, an SDK or what looks like one; None if it has none."""
        try:
            return attrgetter(f"{cls._endpoint}.{name}")(client)
        except AttributeError:
            return None

    def arguments(self, request: ChatRequest) -> Object:
        """Return what `create` of the vendor's SDK takes for *request*: an argument for each field."""
        body = self.body(request, streamed=False)
        options = self._options(body, request.settings)
        given = {key: body.pop(key) for key in _NAMED & body.keys()}
        return given | options | ({"extra_body": body} if body else {})

    def _options(self, body: Object, settings: Mapping[str, object]) -> Object:  # noqa: ARG002
        """Return what the SDK takes beside *body*, from which a header is taken out."""
        return {key: settings[key] for key in _OPTIONS & settings.keys()}

    def read(self, whole: Object) -> ChatResponse:
        """Return what *whole*, the vendor's answer, says; raise the error that it reports."""
        raise_if_failed(self.name, whole)
        # A message without parts says nothing, and no vendor takes it back.
        messages = tuple(message for message in self._messages(whole) if message.parts)
        finish = _FINISHES.get(self._stopped(whole), "stop")
        if finish == "stop" and any(message.tool_calls for message in messages):
            finish = "tool_call"
        return ChatResponse(
            messages=messages,
            usage=self._usage(maybe_object(whole.get("usage"))),
            model=maybe_text(whole.get("model")) or None,
            id=maybe_text(whole.get("id")) or None,
            finish_reason=finish,
            cache_miss=_cache_miss(whole),
        )

    @abstractmethod
    def _written(self, request: ChatRequest, streamed: bool) -> Object: ...  # noqa: FBT001

    def _messages(self, whole: Object) -> tuple[Message, ...]:
        return read_response(whole, self._format)

    @abstractmethod
    def _stopped(self, whole: Object) -> str: ...


def _cache_miss(whole: Object) -> str | None:
    """Return what the diagnostics of Anthropic or OpenAI say, which are there if asked for."""
    reason = maybe_object(maybe_object(whole.get("diagnostics")).get("cache_miss_reason"))
    found = maybe_object(whole.get("prompt_cache_diagnostics")) or reason
    said = maybe_text(found.get("reason")) or maybe_text(found.get("type"))
    return None if said in {"", "cache_hit"} else said


def _kind(answer: Any) -> str:
    """Return the media type of *answer*."""
    kind: str = answer.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[Object, None]:
    """Yield the server-sent event that each block of *chunks* holds; it must be a JSON object."""
    data: list[bytes] = []
    async with aclosing(_lines(chunks)) as lines:
        async for line in lines:
            if line.startswith(b"data:"):
                data.append(line[len(b"data:") :].strip())
            elif not line and data:
                yield _event(b"\n".join(data))
                data = []
    if data:
        yield _event(b"\n".join(data))


def _event(data: bytes) -> Object:
    return {"type": END} if data == END.encode() else as_object(decode_json(data), "the event")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    # Only the one character that ends a line: strings may hold others that Unicode calls line ends.
    rest: list[bytes] = []
    async for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*rest, line)).rstrip(b"\r")
            rest = []
        rest.append(last)
    yield b"".join(rest).rstrip(b"\r")
