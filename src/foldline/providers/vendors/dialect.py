"""A wire format: how it is spoken, and what all of them share."""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from foldline.history.formats.fields import Object, maybe_list
from foldline.history.messages import Message
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse


__all__ = ["Body", "Dialect", "Reply", "StreamReader", "call_options", "said", "with_settings"]


_OPTIONS = frozenset({"extra_headers", "extra_query", "timeout"})
"""Settings that are none of the vendor's: its SDK takes them."""

_JOINED = ("tools", "include")
"""Lists to which settings add, instead of taking their place."""


class Body(Protocol):
    """The body of what a vendor sends back."""

    async def aread(self) -> bytes:
        """Return all of it."""
        ...

    def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        """Give its pieces as they come."""
        ...


class Reply(Protocol):
    """What a vendor sends back, as its SDK gives it before anybody has read it."""

    @property
    def http_response(self) -> Body:
        """What came over the wire."""
        ...


class StreamReader(Protocol):
    """What puts the events of one stream together."""

    def deltas(self, event: Object) -> Iterator[ChatDelta]:
        """Take *event* in and give what it adds to the response."""
        ...

    def whole(self) -> Object:
        """
        Return the object that the vendor would have sent without streaming.

        Raises:
            FormatError: The stream has been cut off.
        """
        ...


class Dialect(Protocol):
    """A wire format as one model of one vendor speaks it."""

    def body(self, request: ChatRequest, *, streamed: bool) -> Object:
        """
        Write *request*.

        Raises:
            ServiceThreadLostError: It goes on with a conversation that this format cannot hold.
        """
        ...

    def send(
        self, client: Any, body: Object, options: Object
    ) -> AbstractAsyncContextManager[Reply]:
        """Send *body* through *client*, the vendor's SDK; leaving the context ends the request."""
        ...

    def reader(self) -> StreamReader:
        """Return what reads a stream."""
        ...

    def read(self, whole: Object) -> ChatResponse:
        """
        Read a whole response.

        Raises:
            FormatError: It is none.
        """
        ...


def with_settings(body: Object, settings: Mapping[str, object]) -> Object:
    """Return *body* with *settings* in it; their tools come behind those that are there."""
    given = {key: value for key, value in settings.items() if key not in _OPTIONS}
    for key in _JOINED:
        if key in body and key in given:
            own = body[key]
            given[key] = [*own, *(item for item in maybe_list(given[key]) if item not in own)]
    return {**body, **given}


def call_options(settings: Mapping[str, object]) -> Object:
    """Return those of *settings* that are for the SDK and not for the vendor."""
    return {key: value for key, value in settings.items() if key in _OPTIONS}


def said(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return *messages* without those that say nothing, which no vendor takes back."""
    return tuple(message for message in messages if message.parts)
