"""Asking a model in a test: one call, one stream, one growing conversation."""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

import pytest
from msgspec import Struct

from foldline.errors import ModelError
from foldline.history.codec import canonical_json
from foldline.history.formats.wire import listed_blocks
from foldline.history.messages import Message
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ReasoningDelta,
    StreamingChatModel,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.vendor_model import VendorModel, WireModel
from foldline.reduction.provider import ProviderConfig
from tests.servers.vendor import Answer, VendorServer


_Answer = TypeVar("_Answer")

KEY = "sk-secret-canary"
"""The key of every model under test."""


class Streamed(Struct, kw_only=True):
    """A stream that came to its end."""

    deltas: list[ChatDelta]
    response: ChatResponse

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.deltas if isinstance(one, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(one.text for one in self.deltas if isinstance(one, ReasoningDelta))

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """Return the id, the name and the arguments of each call, put together."""
        found: dict[int, tuple[str, str, str]] = {}
        for one in self.deltas:
            if isinstance(one, ToolCallDelta):
                own_id, name, arguments = found.get(one.index, ("", "", ""))
                found[one.index] = (own_id + one.id, name + one.name, arguments + one.arguments)
        return [found[index] for index in sorted(found)]


def config(vendor: VendorServer, spec: str, *, path: str = "/v1") -> ProviderConfig:
    key, _, name = spec.partition(":")
    address = vendor.url if key == "anthropic" else f"{vendor.url}{path}"
    return ProviderConfig(provider_key=key, model_name=name, api_key=KEY, base_url=address)


def opened(vendor: VendorServer, spec: str, **options: Any) -> WireModel:
    model = open_model(config(vendor, spec), **options)
    assert isinstance(model, WireModel)
    assert isinstance(model, StreamingChatModel)
    return model


def request_of(
    *messages: Message,
    tools: Iterable[ToolDefinition] = (),
    thread: str | None = None,
    **settings: object,
) -> ChatRequest:
    given: Mapping[str, object] = settings
    return ChatRequest(
        messages=messages, tools=tuple(tools), service_thread_id=thread, settings=given
    )


def ask(model: ChatModel, *requests: ChatRequest) -> list[ChatResponse]:
    """Ask *model* one request after the other, in one event loop, and close it."""
    return asyncio.run(_all(model, [model.respond(request) for request in requests]))


def ask_stream(model: StreamingChatModel, *requests: ChatRequest) -> list[Streamed]:
    """Ask *model* for streams, one after the other, in one event loop, and close it."""
    return asyncio.run(_all(model, [streamed(model, request) for request in requests]))


async def _all(model: object, answers: list[Coroutine[Any, Any, _Answer]]) -> list[_Answer]:
    try:
        return [await answer for answer in answers]
    finally:
        for answer in answers:
            answer.close()
        if isinstance(model, VendorModel):
            await model.close()


async def errors(
    vendor: VendorServer, spec: str, request: ChatRequest, *answers: Answer, streams: bool = False
) -> list[ModelError]:
    """Return the error that each of *answers* becomes."""
    vendor.answers = list(answers)
    found = []
    async with opened(vendor, spec) as model:
        for _ in answers:
            with pytest.raises(ModelError) as caught:
                await (streamed(model, request) if streams else model.respond(request))
            found.append(caught.value)
    return found


async def streamed(model: StreamingChatModel, request: ChatRequest) -> Streamed:
    """Read a stream of *model* to its end."""
    async with aclosing(model.stream(request)) as pieces:
        found = [piece async for piece in pieces]
    *deltas, response = found
    assert isinstance(response, ChatResponse)
    pieces_alone = [delta for delta in deltas if not isinstance(delta, ChatResponse)]
    assert len(pieces_alone) == len(deltas)
    return Streamed(deltas=pieces_alone, response=response)


def shared_prefix(first: list[Any], second: list[Any]) -> int:
    """Return how many items at the beginning of *first* and *second* are the same but for marks."""
    pairs = zip(first, second, strict=False)
    same = [unmarked(one) == unmarked(other) for one, other in pairs]
    return same.index(False) if False in same else len(same)


def unmarked(item: Any) -> bytes:
    """Write *item* without cache marks, which turn a str into a block."""
    item = dict(item)
    if item.get("content"):
        item["content"] = [
            {name: one[name] for name in one if name != "cache_control"}
            for one in listed_blocks(item["content"])
        ]
    return canonical_json(item)
