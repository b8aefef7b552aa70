"""A model on a client that a program has already: `open_model(client=…)`."""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

import anthropic
import openai
import pytest

from foldline.agent.agent import Agent
from foldline.errors import ConfigError
from foldline.history.messages import Message
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse, StreamingChatModel
from foldline.providers.vendors.client_model import ClientModel, FunctionModel
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.wire_formats import AnthropicMessages, OpenAIChat, OpenAIResponses
from tests.providers.vendors.test_client_model import (
    ANTHROPIC,
    CLIENTS,
    OPENAI,
    RESPONSES,
    SAID,
    client_of,
    fake,
)
from tests.servers.vendor import Answer, VendorServer


MARK = {"type": "ephemeral"}
REQUEST = ChatRequest(messages=(Message.user("Where is AB12?"),))


async def close(client: Any) -> None:
    """Close *client*, blocking or not: what is left open is found by a later test."""
    closing = client.close()
    if isawaitable(closing):
        await closing


@pytest.mark.parametrize("kind", CLIENTS)
async def test_an_agent_answers_through_the_client_of_a_program(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """Each client of the SDKs serves an agent, and is neither changed nor closed."""
    vendor.answers = [Answer.of(OPENAI if kind in CLIENTS[:2] else ANTHROPIC)] * 2
    client = client_of(kind, vendor)
    agent = Agent(open_model("some-model", client=client))
    said = [(await agent.run("Where is AB12?")).text for _ in range(2)]
    await agent.close()

    assert said == [SAID, SAID]
    assert not client.is_closed()
    await close(client)
    assert {asked.body["model"] for asked in vendor.asked} == {"some-model"}


async def test_a_client_without_a_key_of_ours_needs_no_extra_of_ours() -> None:
    """A function from the prompt to the answer needs neither a name nor a package."""
    model = open_model(client=lambda prompt: f"You said: {prompt}")
    answer = await model.respond(REQUEST)

    assert isinstance(model, FunctionModel)
    assert answer.messages[0].text == "You said: Where is AB12?"


async def test_an_async_client_streams(vendor: VendorServer) -> None:
    """Its answers come in pieces, in the format of the vendor."""
    pieces = [{"delta": {"content": text}, "index": 0} for text in ("in ", "Lisbon")]
    events = [{**OPENAI, "object": "chat.completion.chunk", "choices": [one]} for one in pieces]
    end = {"delta": {}, "index": 0, "finish_reason": "stop"}
    vendor.answers = [Answer.stream([*events, {**events[0], "choices": [end]}, "[DONE]"])]
    client = client_of(openai.AsyncOpenAI, vendor)
    model = open_model("some-model", client=client)
    assert isinstance(model, StreamingChatModel)
    got: list[ChatDelta | ChatResponse] = [one async for one in model.stream(REQUEST)]
    await client.close()

    assert isinstance(got[-1], ChatResponse)
    assert got[-1].messages[0].text == "in Lisbon"
    assert len(got) > 2


@pytest.mark.parametrize(
    ("spec", "kind", "wire"),
    [
        ("gpt-5-mini", openai.AsyncOpenAI, OpenAIResponses),
        ("openai:gpt-5-mini", openai.AsyncOpenAI, OpenAIResponses),
        ("openai-chat:gpt-5-mini", openai.AsyncOpenAI, OpenAIChat),
        ("claude-sonnet-4-6", anthropic.AsyncAnthropic, AnthropicMessages),
        ("anthropic:claude-sonnet-4-6", anthropic.AsyncAnthropic, AnthropicMessages),
    ],
)
def test_the_client_decides_the_format(spec: str, kind: Callable[..., Any], wire: type) -> None:
    """At the vendor itself the model has its whole name, so that its window and prices are known."""
    model = open_model(spec, client=kind(api_key="k"))

    assert type(model) is wire
    assert model.name.partition(":")[2] == spec.rpartition(":")[2]
    assert model.name.partition(":")[0] in {"openai", "anthropic"}
    assert getattr(model, "context_window", 0) > 100_000


@pytest.mark.parametrize("kind", CLIENTS[2:])
async def test_a_client_at_another_address_caches_by_marks_on_blocks(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """Behind a gateway, or at Bedrock or Vertex, the prompt is cached as at the vendor itself."""
    vendor.answers = [Answer.of(ANTHROPIC)]
    client = client_of(kind, vendor)
    request = ChatRequest(messages=(Message.system("Be brief."), *REQUEST.messages))
    await open_model("claude-sonnet-4-6", client=client).respond(request)
    sent = vendor.asked[0].body
    await close(client)

    assert [sent["system"][-1]["cache_control"], sent["messages"][-1]["content"][-1]] == [
        MARK,
        {"type": "text", "text": REQUEST.messages[0].text, "cache_control": MARK},
    ]
    assert "cache_control" not in sent


async def test_a_client_that_holds_the_history_is_asked_for_what_is_new(
    vendor: VendorServer,
) -> None:
    """The Responses API keeps the conversation for a client of one's own too."""
    vendor.answers = [Answer.of(RESPONSES)]
    client = client_of(openai.AsyncOpenAI, vendor)
    model = open_model("openai:some-model", client=client, holds_history=True)
    answer = await model.respond(REQUEST)
    await client.close()

    assert answer.service_thread_id == "r1"
    assert vendor.asked[0].body["store"] is True


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"client": 7}, "client must be a client of OpenAI or Anthropic, or a function .* got int"),
        (
            {"client": fake("messages", print)},
            "model must name the model that SimpleNamespace asks",
        ),
        ({"client": fake("messages", print), "spec": 7}, "model must be a str or None, got int"),
        ({"client": print, "holds_history": True}, "this client holds no history.*'openai:model'"),
    ],
)
def test_what_cannot_be_asked_is_refused_at_once(given: dict[str, Any], says: str) -> None:
    """One line names the argument and what was given."""
    with pytest.raises(ConfigError, match=says):
        open_model(**given)


async def test_what_looks_like_a_client_answers_at_once() -> None:
    """A client without streaming of an SDK serves as a model that does not stream."""

    async def create(**_: object) -> object:
        return ANTHROPIC

    model = open_model("claude-x", client=fake("messages", create))
    answer = await model.respond(REQUEST)

    assert isinstance(model, ClientModel)
    assert answer.messages[0].text == SAID


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
async def test_what_a_client_answers_is_sent_back_as_it_came(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """A client that blocks and one that does not send the same request with the last answer in it."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    vendor.answers = [
        Answer.of({**RESPONSES, "output": [reasoning, *RESPONSES["output"]]}),
        Answer.of(RESPONSES),
    ]
    client = client_of(kind, vendor)
    model = open_model("openai:gpt-5-mini", client=client)
    first = await model.respond(REQUEST)
    await model.respond(ChatRequest(messages=(*REQUEST.messages, *first.messages)))
    sent = vendor.asked[1].body["input"]
    await close(client)

    assert sent[1] == reasoning
    assert not [name for item in sent for name, value in item.items() if value is None]


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
async def test_a_client_sends_again_without_reasoning_that_cannot_be_read(
    kind: Callable[..., Any], vendor: VendorServer
) -> None:
    """After a change of the organization a thread goes on, with a client that blocks too."""
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
    error = {"error": {"code": "invalid_encrypted_content", "message": "?"}}
    vendor.answers = [
        Answer.of({**RESPONSES, "output": [reasoning, *RESPONSES["output"]]}),
        Answer.of(error, status=400),
        Answer.of(RESPONSES),
    ]
    client = client_of(kind, vendor)
    model = open_model("openai:gpt-5-mini", client=client)
    first = await model.respond(REQUEST)
    second = await model.respond(ChatRequest(messages=(*REQUEST.messages, *first.messages)))
    kinds = [[one.get("type") for one in asked.body["input"]] for asked in vendor.asked[1:]]
    await close(client)

    assert second.messages[0].text == first.messages[0].text
    assert ["reasoning" in one for one in kinds] == [True, False]
