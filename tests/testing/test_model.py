"""The scripted model and summarizer: what they answer, and that they fail on a surprise."""

import asyncio
from typing import Any

import pytest
from msgspec import structs

from foldline.errors import ConfigError, ModelError
from foldline.history.messages import SUMMARY_KEY, Message, Native, NativeFormat, Usage
from foldline.history.parts import BlobPart, ReasoningPart, TextPart, ToolCallPart
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ReasoningDelta,
    StreamingChatModel,
    Summarizer,
    TextDelta,
    ToolCallDelta,
    ToolDefinition,
)
from foldline.reduction.request import SummaryRequest
from foldline.testing.model import ScriptedModel, calls
from foldline.testing.summarizer import ScriptedSummarizer, Step


REQUEST = ChatRequest(messages=(Message.user("a"),))


def ask(model: ChatModel, request: ChatRequest = REQUEST) -> ChatResponse:
    return asyncio.run(model.respond(request))


def say(model: ChatModel, request: ChatRequest = REQUEST) -> str:
    return "".join(message.text for message in ask(model, request).messages)


def ids(response: ChatResponse) -> list[str]:
    return [call.id for message in response.messages for call in message.tool_calls]


def stream(model: StreamingChatModel) -> list[ChatDelta | ChatResponse]:
    async def pieces() -> list[ChatDelta | ChatResponse]:
        return [piece async for piece in model.stream(REQUEST)]

    return asyncio.run(pieces())


async def later(request: ChatRequest) -> str:
    await asyncio.sleep(0)
    return request.messages[0].text


def test_steps_are_answered_in_order_then_repeated() -> None:
    """Texts, messages, responses and functions come as written, then the repeated one for ever."""
    model = ScriptedModel(
        [
            "one",
            Message.assistant("two"),
            ChatResponse(messages=(Message.assistant("three"),)),
            lambda request: Message.assistant(request.messages[0].text),
            later,
        ],
        repeat="more",
    )

    assert [say(model) for _ in range(7)] == ["one", "two", "three", "a", "a", "more", "more"]
    assert model.requests == [REQUEST] * 7


def test_it_is_a_streaming_model() -> None:
    """It has both protocols, and the name that it is given."""
    assert isinstance(ScriptedModel(), StreamingChatModel)
    assert ScriptedModel().name == "scripted"
    assert ask(ScriptedModel(["a"], name="me")).model == "me"


def test_a_response_that_is_given_stays() -> None:
    """What a whole response says of itself is not overwritten."""
    fields: dict[str, Any] = {"model": "other", "id": "r", "service_thread_id": "s"}
    given = ChatResponse(messages=(), usage=Usage(input_tokens=7), finish_reason="length", **fields)

    assert ask(ScriptedModel([given], usage=True)) == given


@pytest.mark.parametrize(
    "error", [TimeoutError(), ModelError("a", status=500), asyncio.CancelledError()]
)
def test_an_error_of_the_script_is_raised(error: BaseException) -> None:
    """A step may be an error, or a function that gives one."""
    with ScriptedModel([error, lambda _: error]) as model:
        for _ in range(2):
            with pytest.raises(type(error)):
                ask(model)


def test_a_surprise_is_remembered() -> None:
    """Anyone who swallows the error is still found out at the end."""
    with (
        pytest.raises(AssertionError, match="1 unexpected requests, 0 steps left over"),
        ScriptedModel() as model,
        pytest.raises(AssertionError, match="has ended"),
    ):
        ask(model)


def test_a_leftover_is_an_error() -> None:
    """A step that nobody asked for means that something did not happen."""
    left = "0 unexpected requests, 1 steps left over"
    with pytest.raises(AssertionError, match=left), ScriptedModel(["never"]):
        pass
    # What the block itself raises is not replaced.
    with pytest.raises(KeyError), ScriptedModel(["never"]):
        raise KeyError


def test_a_step_of_another_role_is_refused() -> None:
    """A model speaks for the assistant alone."""
    with pytest.raises(ConfigError, match="a message of the user"):
        ask(ScriptedModel([Message.user("a")]))


@pytest.mark.parametrize("step", [{"role": "assistant"}, lambda _: 5])
def test_a_step_of_another_kind_is_refused(step: Any) -> None:
    """The error names the kind, not what is in it; a text is no list of steps."""
    with pytest.raises(
        ConfigError, match=r"^a step of own must be a Message, got (dict|int): or a text"
    ):
        ask(ScriptedModel([step], name="own"))
    with pytest.raises(ConfigError, match=r"^steps must be a list, got str$"):
        ScriptedModel("Hello.")


def test_a_call_is_a_name_and_its_arguments() -> None:
    """Both belong into one tuple, since there may be several calls."""
    wrong: Any = ("look_up", {"id": 1})
    with pytest.raises(
        ConfigError, match=r"^wanted\[0\] must be a tuple or list, got str: calls\(\(name, arg"
    ):
        calls(*wrong)


def test_calls_are_written_as_json() -> None:
    """A call has its arguments as JSON, or as the text that is given, behind what is said."""
    message = calls(("look_up", {"id": 1, "q": "é"}), ("stop", "not json"), text="now")

    assert message == Message(
        role="assistant",
        parts=(
            TextPart("now"),
            ToolCallPart("", "look_up", '{"id":1,"q":"é"}'),
            ToolCallPart("", "stop", "not json"),
        ),
    )


def test_each_call_gets_its_own_id() -> None:
    """Ids go up from call to call and from answer to answer, a repeated one too."""
    model = ScriptedModel([calls(("a", {}), ("b", {}))], repeat=calls(("a", {})))

    assert [ids(ask(model)) for _ in range(3)] == [["call_1", "call_2"], ["call_3"], ["call_4"]]
    assert ask(model).finish_reason == "tool_call"


def test_ids_avoid_those_of_the_conversation() -> None:
    """A new model goes on above the calls that the request shows, those given by hand too."""
    known = calls(("a", {}), first=4)
    request = ChatRequest(messages=(known, Message.tool("call_9", "b"), Message.tool("call_x", "")))
    model = ScriptedModel([calls(("a", {})), calls(("a", {}), first=20), calls(("a", {}))])

    assert [ids(ask(model, request)) for _ in range(3)] == [["call_10"], ["call_20"], ["call_11"]]


def test_mixed_ids_do_not_meet() -> None:
    """In one message a number that is given by hand is not given again."""
    two = [ToolCallPart("call_1", "a", "{}"), ToolCallPart("", "b", "{}")]
    mixed = Message.assistant(tool_calls=two)
    both = ChatResponse(messages=(calls(("a", {}), first=1), Message.assistant("b"), mixed))

    assert ids(ask(ScriptedModel([mixed]))) == ["call_1", "call_2"]
    assert ids(ask(ScriptedModel([both]))) == ["call_1", "call_1", "call_2"]


@pytest.mark.parametrize("text", ["", "a", " two  spaces ", "line\nline\ttab 東京 🚂", "x" * 999])
def test_a_text_comes_in_pieces(text: str) -> None:
    """The pieces of a text are exact when joined, and the response is the last."""
    *pieces, last = stream(ScriptedModel([text]))

    assert "".join(one.text for one in pieces if isinstance(one, TextDelta)) == text
    assert isinstance(last, ChatResponse)
    assert last.messages == (Message.assistant(text),)


def test_everything_that_is_written_comes_in_pieces() -> None:
    """Reasoning, text and calls stream in their order; a picture comes with the response only."""
    arguments = '{"query":"the weather in the north"}'
    said = Message(
        role="assistant",
        parts=(
            ReasoningPart("well then"),
            TextPart("I look"),
            ToolCallPart("", "look_up", arguments),
            BlobPart("image", "image/png", "aGVsbG8="),
            ToolCallPart("x", "stop", ""),
        ),
    )
    *pieces, last = stream(ScriptedModel([said]))

    assert pieces == [
        ReasoningDelta("well "),
        ReasoningDelta("then"),
        TextDelta("I "),
        TextDelta("look"),
        ToolCallDelta(index=0, id="call_1", name="look_up"),
        ToolCallDelta(index=0, arguments=arguments[:16]),
        ToolCallDelta(index=0, arguments=arguments[16:32]),
        ToolCallDelta(index=0, arguments=arguments[32:]),
        ToolCallDelta(index=1, id="x", name="stop"),
    ]
    assert isinstance(last, ChatResponse)
    assert ids(last) == ["call_1", "x"]


def test_usage_is_estimated_on_request() -> None:
    """With *usage* each answer costs something, and more with tools."""
    tool = ToolDefinition(name="look_up", parameters={"type": "object"})
    model = ScriptedModel(repeat="so be it", usage=True)
    plain = ask(model).usage
    dearer = ask(model, structs.replace(REQUEST, tools=(tool,))).usage

    assert ask(ScriptedModel(["a"])).usage is None
    assert plain is not None
    assert dearer is not None
    assert min(plain.input_tokens, plain.output_tokens) > 4
    assert dearer.input_tokens > plain.input_tokens


async def test_a_delay_gives_time_to_cancel() -> None:
    """A model that waits can be cancelled before it answers, streaming or not."""
    model = ScriptedModel(repeat="one two three", delay=3600)
    for answer in (anext(model.stream(REQUEST)), model.respond(REQUEST)):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer, 0.001)

    assert len(model.requests) == 2


async def test_a_delay_of_nothing_lets_others_run() -> None:
    """With a delay of 0 something else happens before the answer and after each piece."""
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(len(ticks))
            await asyncio.sleep(0)

    task = asyncio.create_task(tick())
    pieces = [piece async for piece in ScriptedModel(["a b"], delay=0).stream(REQUEST)]

    assert len(ticks) == len(pieces)
    task.cancel()


SAID_AGAIN = Native(format=NativeFormat.OPENAI_CHAT, item='{"role":"assistant","content":"again"}')
THOUGHT = Message(role="assistant", parts=(ReasoningPart("hm"),), usage=Usage(output_tokens=3))
RECORDED = [
    Message.system("rules"),
    Message.user("one"),
    Message(role="assistant", parts=(TextPart("earlier"),), metadata={SUMMARY_KEY: True}),
    structs.replace(THOUGHT, id="m1", metadata={"mine": 1}),
    calls(("a", {}), first=1),
    Message.tool("call_1", "ok"),
    Message.assistant("done"),
    Message.user("two"),
    Message(role="assistant", parts=(TextPart("again"),), native=SAID_AGAIN),
]


def test_a_recording_is_said_again() -> None:
    """Messages of the assistant that follow each other are one answer, as they were recorded."""
    model = ScriptedModel.from_messages(RECORDED)
    first, second, third = (ask(model) for _ in range(3))

    assert first.messages == (THOUGHT, RECORDED[4])
    assert first.finish_reason == "tool_call"
    assert first.usage == Usage(output_tokens=3)
    assert second.messages == (Message.assistant("done"),)
    assert second.usage is not None
    assert third.messages == (RECORDED[-1],)


def test_a_recording_ends_with_advice() -> None:
    """After the last answer each request fails with an error that says what to do."""
    with ScriptedModel.from_messages(RECORDED, skip=2) as model:
        assert say(model) == "again"
        for _ in range(2):
            with pytest.raises(ModelError, match=r"all of its 3 answers .* begin a new thread"):
                ask(model)


def test_a_recording_without_answers_is_refused() -> None:
    """Where the assistant says nothing there is nothing to say again."""
    with pytest.raises(ConfigError, match="no message of the assistant"):
        ScriptedModel.from_messages([Message.user("a")])


def test_a_scripted_summarizer_answers_in_order_then_repeats() -> None:
    """Texts, functions and errors come as written, then the repeated one for ever."""
    steps: list[Step] = ["one", lambda asked: asked.prompt, TimeoutError()]
    scripted = ScriptedSummarizer(steps, repeat="more", name="me")
    asked = SummaryRequest(messages=(Message.user("a"),), prompt="p", budget=9)

    said = [asyncio.run(scripted.summarize(asked)) for _ in range(2)]
    with pytest.raises(TimeoutError):
        asyncio.run(scripted.summarize(asked))
    said += [asyncio.run(scripted.summarize(asked)) for _ in range(2)]

    assert isinstance(scripted, Summarizer)
    assert said == ["one", "p", "more", "more"]
    assert (scripted.name, scripted.requests) == ("me", [asked] * 5)
