"""A wire format as one model of one vendor speaks it, and what all of them share."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from operator import attrgetter
from typing import Any, ClassVar, Protocol

from foldline.errors import FormatError, ServiceThreadLostError
from foldline.history.codec import decode_json
from foldline.history.formats.fields import Object, maybe_list, maybe_object, maybe_text
from foldline.history.formats.wire import as_object, is_object
from foldline.history.messages import Message, Usage
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ToolDefinition,
)


__all__ = [
    "END",
    "Dialect",
    "StreamReader",
    "call_options",
    "cut_off",
    "described",
    "is_strict",
    "read_events",
]


END = "[DONE]"
"""The `type` of the event for the mark with which OpenAI ends a stream."""

_OPTIONS = frozenset({"extra_headers", "extra_query", "timeout"})
"""Settings that are for the SDK, not for the vendor."""

_JOINED = ("tools", "include")
"""Lists that settings extend instead of replacing them."""

_STRICT_KEYS = frozenset(
    [
        "$defs",
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "description",
        "enum",
        "items",
        "properties",
        "required",
        "title",
        "type",
    ]
)
"""What a schema may hold for a vendor to promise arguments that fit it."""


class StreamReader(Protocol):
    """Puts the events of one stream together."""

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        """Take *event* in and yield what it adds to the response."""
        ...

    def whole(self) -> Object:
        """Return what the vendor would have sent without streaming; `FormatError` if it was cut."""
        ...


class Dialect:
    """A wire format as one model of one vendor speaks it; each format is a subclass."""

    # Where the SDK has the method `create`, from its client on, and which fields that requires.
    _endpoint: ClassVar[str]
    _required: ClassVar[tuple[str, ...]] = ("model",)

    def __init__(self, name: str, *, model: str) -> None:
        """Speak to *model*; errors use *name*."""
        self._name = name
        self._model = model

    def body(self, request: ChatRequest, *, streamed: bool) -> Object:
        """
        Write *request*; its settings are added last.

        Raises:
            ServiceThreadLostError: It continues a conversation that this format cannot hold.
        """
        body = {"model": self._model, **self._written(request, streamed)}
        given = {key: value for key, value in request.settings.items() if key not in _OPTIONS}
        for key in _JOINED:
            if key in body and key in given:
                own = body[key]
                given[key] = [*own, *(item for item in maybe_list(given[key]) if item not in own)]
        return {**body, **given}

    def send(self, client: Any, body: Object, options: Object) -> AbstractAsyncContextManager[Any]:
        """Send *body* through *client*, the vendor's SDK; leaving the context ends the request."""
        create = attrgetter(f"{self._endpoint}.with_streaming_response.create")(client)
        # The SDK would walk through all messages; what is given beside them is sent unchanged.
        given: Object = {key: [] if key == "messages" else body[key] for key in self._required}
        sent: AbstractAsyncContextManager[Any] = create(**given, extra_body=body, **options)
        return sent

    def read(self, whole: Object) -> ChatResponse:
        """Read a whole response; `FormatError` if it is none."""
        # A message without parts says nothing, and no vendor takes it back.
        messages = tuple(message for message in self._messages(whole) if message.parts)
        finish = self._finish(whole)
        if finish == "stop" and any(message.tool_calls for message in messages):
            finish = "tool_call"
        return ChatResponse(
            messages=messages,
            usage=self._usage(maybe_object(whole.get("usage"))),
            model=maybe_text(whole.get("model")) or None,
            id=maybe_text(whole.get("id")) or None,
            finish_reason=finish,
            service_thread_id=self._thread(whole),
        )

    def reader(self) -> StreamReader:
        """Return what reads a stream."""
        raise NotImplementedError

    def _written(self, request: ChatRequest, streamed: bool) -> Object:  # noqa: FBT001
        raise NotImplementedError

    def _messages(self, whole: Object) -> tuple[Message, ...]:
        raise NotImplementedError

    def _usage(self, counts: Object) -> Usage | None:
        raise NotImplementedError

    def _finish(self, whole: Object) -> FinishReason:
        raise NotImplementedError

    def _thread(self, whole: Object) -> str | None:  # noqa: ARG002
        return None

    def _refuse_thread(self, request: ChatRequest) -> None:
        if request.service_thread_id is not None:
            raise ServiceThreadLostError(model=self._name)


def call_options(settings: Mapping[str, object]) -> Object:
    """Return those of *settings* that are for the SDK and not for the vendor."""
    return {key: value for key, value in settings.items() if key in _OPTIONS}


def cut_off() -> FormatError:
    """Return the error of a stream that ended too early."""
    return FormatError("the stream holds no whole response")


def described(tool: ToolDefinition) -> Object:
    """Return the name and the description of *tool*."""
    return {"name": tool.name} | ({"description": tool.description} if tool.description else {})


def is_strict(schema: Mapping[str, object]) -> bool:
    """Whether OpenAI takes *schema* as strict: an object, every property required, no others."""
    return schema.get("type") == "object" and _is_strict(dict(schema))


def _is_strict(schema: Object) -> bool:
    if not schema.keys() <= _STRICT_KEYS:
        return False
    properties = maybe_object(schema.get("properties"))
    kind = schema.get("type")
    if "object" in (kind if isinstance(kind, list) else [kind]) and (
        schema.get("additionalProperties") is not False
        or set(maybe_list(schema.get("required"))) != properties.keys()
    ):
        return False
    inner = [*properties.values(), *maybe_object(schema.get("$defs")).values()]
    inner += maybe_list(schema.get("anyOf"))
    inner += [schema["items"]] if "items" in schema else []
    return all(is_object(one) and _is_strict(one) for one in inner)


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
