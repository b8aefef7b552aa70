"""A model that says one piece, and waits for the test before it says the rest; and all stores."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from foldline.history.messages import Message
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse, TextDelta


ON_EVERY_STORE = pytest.mark.parametrize(
    "store",
    [
        "memory",
        "sqlite",
        pytest.param("postgres", marks=pytest.mark.slow),
        pytest.param("redis", marks=pytest.mark.slow),
    ],
    indirect=True,
)
"""Runs a test on each kind of store."""


class GatedModel:
    """A model whose answers wait until `gate` is open."""

    name = "gated"

    def __init__(self, first: str = "half of ") -> None:
        self.first = first
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()
        self.requests: list[ChatRequest] = []

    @property
    def questions(self) -> list[str]:
        """What the last message of each request said."""
        return [one.messages[-1].text for one in self.requests]

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Answer once the gate is open."""
        self._note(request)
        await self.gate.wait()
        return ChatResponse(messages=(Message.assistant(self._answer(request)),))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Say one piece, and the rest once the gate is open."""
        self._note(request)
        if self.first:
            yield TextDelta(self.first)
        await self.gate.wait()
        yield TextDelta("it")
        yield ChatResponse(messages=(Message.assistant(f"{self.first}it"),))

    def _note(self, request: ChatRequest) -> None:
        self.requests.append(request)
        self.asked.set()

    def _answer(self, request: ChatRequest) -> str:
        return f"answer to {request.messages[-1].text}"
