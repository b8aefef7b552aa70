"""Models of pydantic-ai that foldline does not speak to itself."""

import base64
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic_ai import messages as theirs
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    UserError,
)
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel as CannedModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from foldline.errors import ContextOverflowError, ModelError, ServiceThreadLostError
from foldline.history.codec import decode_message, encode_message
from foldline.history.messages import Message, Usage
from foldline.history.parts import (
    BlobPart,
    CompactionPart,
    GenericPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
)
from foldline.providers.model import ReasoningDelta, TextDelta, ToolCallDelta, ToolDefinition
from foldline.providers.vendors.opening import open_model
from foldline.providers.vendors.pydantic_model import PydanticModel, pydantic_messages
from foldline.providers.vendors.vendor_model import WireModel
from tests.providers.vendors.asking import KEY, ask, ask_stream, request_of
from tests.servers.vendor import Answer, VendorServer


QUESTION = Message.user("x")
CANARY = "canary words"
PIXEL = base64.b64encode(b"pixel").decode()


def opened(model: Model[Any]) -> PydanticModel:
    found = open_model(model)
    assert isinstance(found, PydanticModel)
    return found


def answering(*parts: theirs.ModelResponsePart, **fields: Any) -> PydanticModel:
    def answer(given: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        return theirs.ModelResponse(parts=list(parts), **fields)

    return opened(FunctionModel(answer, model_name=fields.get("model_name")))


def failure(error: Exception, *, streams: bool = False) -> ModelError:
    def answer(given: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        raise error

    async def stream(given: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "so"
        raise error

    model = opened(FunctionModel(answer, stream_function=stream))
    with pytest.raises(ModelError) as caught:
        (ask_stream if streams else ask)(model, request_of(QUESTION))
    return caught.value


def test_an_answer_is_read() -> None:
    """Every kind of part comes back as a part of foldline, with usage, model and id."""
    counts: dict[str, Any] = {
        "input_tokens": 9,
        "output_tokens": 5,
        "cache_read_tokens": 3,
        "cache_write_tokens": 2,
    }
    model = answering(
        theirs.ThinkingPart("hm", signature="sealed"),
        theirs.TextPart("so"),
        theirs.TextPart(""),
        theirs.ToolCallPart("find", {"q": 1}, "a"),
        theirs.CompactionPart("was"),
        theirs.FilePart(theirs.BinaryContent(b"pixel", media_type="image/png")),
        theirs.FilePart(theirs.BinaryContent(b"page", media_type="application/pdf")),
        theirs.NativeToolCallPart("web_search", {"q": 1}, "n"),
        usage=RequestUsage(**counts, output_reasoning_tokens=1),
        model_name="m1",
        provider_response_id="r1",
    )

    (response,) = ask(model, request_of(QUESTION))

    (message,) = response.messages
    assert message.parts[:-1] == (
        ReasoningPart("hm"),
        TextPart("so"),
        ToolCallPart("a", "find", '{"q":1}'),
        CompactionPart("was"),
        BlobPart("image", "image/png", PIXEL),
        BlobPart("document", "application/pdf", base64.b64encode(b"page").decode()),
    )
    assert isinstance(message.parts[-1], GenericPart)
    assert message.parts[-1].kind == "builtin-tool-call"
    assert message.native is None
    assert response.usage == message.usage
    assert response.usage == Usage(**counts, reasoning_tokens=1)
    assert (response.id, message.id, response.finish_reason) == ("r1", "r1", "tool_call")


def test_tools_and_settings_are_passed() -> None:
    """The model sees the tools, the settings and the messages of the request."""
    seen: list[tuple[list[theirs.ModelMessage], AgentInfo]] = []

    def answer(given: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        seen.append((given, info))
        return theirs.ModelResponse(parts=[theirs.TextPart("so")])

    schema = {"type": "object", "properties": {}}
    tool = ToolDefinition(name="find", description="Find it.", parameters=schema)

    ask(opened(FunctionModel(answer)), request_of(QUESTION, tools=[tool], temperature=0.5))

    ((given, info),) = seen
    (found,) = info.function_tools
    assert (found.name, found.description) == ("find", "Find it.")
    assert found.parameters_json_schema == schema
    assert info.model_settings is not None
    assert info.model_settings.get("temperature") == 0.5
    assert len(given) == 1


def test_a_stream_is_read() -> None:
    """Thoughts, words and calls come in pieces, and then whole."""

    async def answer(given: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        yield {0: DeltaThinkingPart(content="h")}
        yield {0: DeltaThinkingPart(content="m")}
        yield {1: DeltaToolCall("find", '{"q"', tool_call_id="a")}
        yield {1: DeltaToolCall(json_args=":1}")}

    model = opened(FunctionModel(stream_function=answer))

    (found,) = ask_stream(model, request_of(QUESTION))

    assert found.deltas == [
        ReasoningDelta("h"),
        ReasoningDelta("m"),
        ToolCallDelta(index=0, id="a", name="find", arguments='{"q"'),
        ToolCallDelta(index=0, arguments=":1}"),
    ]
    assert found.response.messages[0].parts == (
        ReasoningPart("hm"),
        ToolCallPart("a", "find", '{"q":1}'),
    )


def test_a_canned_model_answers() -> None:
    """A model answers whole and as a stream; one that falls back on others has no profile."""
    model = opened(CannedModel(custom_output_text="all is well"))

    (response,) = ask(
        opened(FallbackModel(CannedModel(custom_output_text="all is well"))), request_of(QUESTION)
    )
    (found,) = ask_stream(model, request_of(QUESTION))

    assert response.messages[0].text == found.text == "all is well"
    assert all(isinstance(delta, TextDelta) for delta in found.deltas)
    assert model.name == "test:test"
    assert model.context_window is None
    assert repr(model) == "PydanticModel('test:test')"


@pytest.mark.parametrize(
    ("error", "message", "status"),
    [
        (
            ModelHTTPError(429, "m", body={"error": {"code": "slow_down", "message": CANARY}}),
            "failed: status 429, slow_down",
            429,
        ),
        (ModelHTTPError(500, "m", body=CANARY), "failed: status 500", 500),
        (ModelAPIError("m", CANARY), "failed: no reason given", None),
        (ContentFilterError(CANARY), "could not answer: ContentFilterError", None),
        (UserError(CANARY), "could not answer: UserError", None),
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_failures(error: Exception, message: str, status: int | None, streams: bool) -> None:
    """A failure is reported by its kind, its status and its code, without a word of the vendor."""
    found = failure(error, streams=streams)

    assert f"{found}".endswith(message)
    assert found.status == status
    assert CANARY not in f"{found}"


def test_overflows() -> None:
    """An overflow is recognized by the kind of the error or by its text."""
    numbered = {"message": "prompt is too long: 9 tokens > 5 maximum"}
    found = [
        failure(ModelContextWindowExceededError("m", "whatever it says")),
        failure(ModelHTTPError(400, "m", body=numbered)),
        failure(
            ModelHTTPError(400, "m", body={"Message": "Input is too long for requested model"})
        ),
    ]

    windows = [one.window for one in found if isinstance(one, ContextOverflowError)]
    assert windows == [None, 5, None]


def test_an_empty_answer_and_a_held_conversation() -> None:
    """An answer without parts adds no message; none can continue a conversation at the vendor."""
    (response,) = ask(answering(finish_reason="content_filter"), request_of(QUESTION))

    assert (response.messages, response.finish_reason) == ((), "content_filter")
    with pytest.raises(ServiceThreadLostError):
        ask(answering(theirs.TextPart("so")), request_of(QUESTION, thread="r0"))


async def test_a_known_model_keeps_its_own_client(vendor: VendorServer) -> None:
    """A model of pydantic-ai for OpenAI is asked by us through its client, which stays open."""
    whole = {"id": "c", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}
    vendor.answers = [Answer.of(whole), Answer.of(whole)]
    provider = OpenAIProvider(api_key=KEY, base_url=f"{vendor.url}/v1")

    given = OpenAIChatModel("gpt-4o", provider=provider)
    model = open_model(given)
    assert isinstance(model, WireModel)

    for _ in range(2):
        assert (await model.respond(request_of(QUESTION))).messages[0].text == "yes"
        await model.close()
    assert not given.client.is_closed()
    await given.client.close()


def test_an_answer_that_breaks_off_is_an_error() -> None:
    """A stream that pydantic-ai calls incomplete is an error, not a response."""

    class Torn(CannedModel):
        @asynccontextmanager
        async def request_stream(self, *given: Any, **more: Any) -> AsyncGenerator[Any, None]:
            async with super().request_stream(*given, **more) as stream:
                stream.state = "incomplete"
                yield stream

    with pytest.raises(ModelError, match="broke off its answer"):
        ask_stream(opened(Torn()), request_of(QUESTION))


def test_classes_from_elsewhere_are_left_to_pydantic_ai() -> None:
    """A class that somebody derived may ask in a way of its own, so it is asked itself."""

    class Own(OpenAIChatModel):
        pass

    provider = OpenAIProvider(api_key=KEY, base_url="http://127.0.0.1:9")

    assert isinstance(open_model(Own("gpt-4o", provider=provider)), PydanticModel)


GEMINI = {"model_name": "gemini-3-pro", "provider_name": "google", "canonical_system": "google"}
SIGNED: tuple[theirs.ModelResponsePart, ...] = (
    theirs.ThinkingPart("", id="rs_1", signature="E", provider_name="google"),
    theirs.ToolCallPart("find", {"q": 1}, "a", provider_details={"thought_signature": "AA=="}),
    theirs.ToolCallPart("find", {"q": 2}, "b"),
    theirs.FilePart(
        theirs.BinaryContent(b"pixel", media_type="image/png"),
        provider_details={"thought_signature": "BB=="},
    ),
    theirs.TextPart("", provider_details={"thought_signature": "CC=="}),
)


def signatures(*messages: Message) -> list[tuple[str, str, str | None]]:
    """Return the kind, the signature and the signer of each signed part that is sent back."""
    return [
        (part.part_kind, (part.provider_details or {}).get("thought_signature", ""), signer)
        for message in pydantic_messages([QUESTION, *messages], vendor="google")
        if isinstance(message, theirs.ModelResponse)
        for part in message.parts
        if (signer := part.provider_name) is not None
    ]


def test_signatures_go_back_with_their_parts() -> None:
    """What the vendor adds to a part is stored with its message and sent back with that part."""
    (response,) = ask(answering(*SIGNED, **GEMINI), request_of(QUESTION))
    (message,) = response.messages
    stored = decode_message(encode_message(message))
    (_, sent) = pydantic_messages([QUESTION, stored], vendor="google")

    assert isinstance(sent, theirs.ModelResponse)
    assert (sent.provider_name, sent.canonical_system) == ("google", "google")
    assert sent.parts[0] == SIGNED[0]
    assert signatures(stored) == [
        ("thinking", "", "google"),
        ("tool-call", "AA==", "google"),
        ("file", "BB==", "google"),
        ("text", "CC==", "google"),
    ]


def test_signatures_leave_with_their_parts() -> None:
    """A part that is changed or left out takes its signature along, and no other."""
    (response,) = ask(answering(*SIGNED, **GEMINI), request_of(QUESTION))
    (message,) = response.messages
    changed = replace(
        message, parts=(replace(message.parts[1], arguments="{}"), *message.parts[2:])
    )

    assert signatures(changed) == [("file", "BB==", "google"), ("text", "CC==", "google")]
    assert signatures(replace(message, metadata={"model": "gemini-3-pro"})) == []


def test_thinking_of_claude_goes_back_unsigned() -> None:
    """Its signature is bound to everything before it, so only other parts keep theirs."""
    parts = (
        theirs.ThinkingPart("hm", signature="S", provider_name="bedrock"),
        theirs.TextPart("so", id="t1", provider_name="bedrock"),
    )
    named = {"model_name": "us.anthropic.claude-opus-5-5-v1:0", "provider_name": "bedrock"}
    (response,) = ask(answering(*parts, **named), request_of(QUESTION))

    assert signatures(*response.messages) == [("text", "", "bedrock")]
