"""What a model of somebody's own may answer: values of the right kinds, and no others."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from foldline import Agent, MemoryStore, Message
from foldline.errors import ModelError
from foldline.history.messages import Usage
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse


GOOD: dict[str, Any] = {"messages": (Message.assistant("fine"),)}


class Own:
    """A model that gives one response after another, whatever is in them."""

    name = "own"

    def __init__(self, *responses: Any) -> None:
        self._responses = list(responses)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        assert request.messages
        response: ChatResponse = self._responses.pop(0)
        return response


class OwnStream(Own):
    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        yield await self.respond(request)


def said(*parts: Any) -> dict[str, Any]:
    return {"messages": (Message(role="assistant", parts=parts),)}


ILL_TYPED: dict[str, tuple[str, Any]] = {
    "a text": ("own must return a ChatResponse, got str", "secret"),
    "a role": (
        "own must return assistant messages, got role",
        {"messages": (Message.user("secret"),)},
    ),
    "id": (r"own\.id cannot be stored: .* got `int`", {"id": 12345}),
    "model": ("model", {"model": b"m"}),
    "service_thread_id": ("service_thread_id", {"service_thread_id": 7}),
    "finish_reason": ("finish_reason", {"finish_reason": "tired"}),
    "usage": ("usage.input_tokens", {"usage": Usage(input_tokens="5")}),  # type: ignore[arg-type]
    "usage dict": ("a dict - at `\\$.usage`", {"usage": {"input_tokens": 5}}),
    "messages": ("messages", {"messages": None}),
    "a message that is a dict": (
        r"messages\[0\] must be a Message",
        {"messages": ({"role": "assistant"},)},
    ),
    "a part that is a text": (r"messages\[0\]\.parts\[0\]", said("secret")),
    "a part that is a dict": (r"parts\[0\]", said({"type": "text", "content": "secret"})),
}


@pytest.mark.parametrize("kind", [Own, OwnStream])
@pytest.mark.parametrize("name", ILL_TYPED)
async def test_an_ill_typed_answer_ends_the_turn_and_not_the_thread(
    name: str, kind: type[Own]
) -> None:
    """The error names model and field; the turn stays open, and continues with the next answer."""
    text, given = ILL_TYPED[name]
    bad = given if isinstance(given, str) else ChatResponse(**{**GOOD, **given})
    model = kind(bad, ChatResponse(**GOOD))
    async with MemoryStore() as store:
        thread = await store.thread("t")
        with pytest.raises(ModelError, match=text) as caught:
            await Agent(model).run("hello", thread=thread)
        found = await store.find("t")
        assert "own" in str(caught.value) or "messages[0]" in str(caught.value)
        assert "secret" not in str(caught.value)
        assert found is not None
        assert found.execution_state is not None
        assert found.execution_state.is_open
        assert [message.text for message in await found.get_messages()] == ["hello"]
        result = await Agent(model).run(thread=found)
        assert (result.text, found.count) == ("fine", 2)


class Whole(Own):
    """Returns a list of pieces."""

    def stream(self, request: ChatRequest) -> list[object]:
        """Return no piece."""
        return list(request.settings)


class Texts(Own):
    """Streams mere texts."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Any, None]:
        """Yield a text."""
        assert request.messages
        yield "secret"


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (Whole(), "own.stream must be an async generator, got a list"),
        (Texts(), "own must stream deltas and a ChatResponse, got str"),
    ],
)
async def test_what_is_streamed_are_pieces_and_a_response(model: Own, text: str) -> None:
    """Anything else ends the turn with a line that says what was meant; the turn stays open."""
    thread = await MemoryStore().thread("t")
    with pytest.raises(ModelError, match=f"^{text}$"):
        await Agent(model).run_stream("hello", thread=thread).final_result

    assert thread.has_open_run


def test_a_whole_answer_is_taken_as_it_is() -> None:
    """An answer with every field of its kind is stored, with its id and its usage."""
    usage = Usage(input_tokens=5)
    model = Own(ChatResponse(**GOOD, id="resp_1", model="m", usage=usage, finish_reason="length"))
    result = asyncio.run(Agent(model).run("hello"))

    assert result.thread.execution_state is not None
    assert result.thread.execution_state.last_assistant_message_id == "resp_1"
    assert result.messages[-1].usage == usage
