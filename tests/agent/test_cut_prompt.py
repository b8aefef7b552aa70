"""A server that reads only the end of a request that is too long, and answers without an error."""

import logging
from collections.abc import Callable

import pytest

from foldline import (
    Agent,
    AgentOptions,
    AgentRunConfig,
    HistoryReducer,
    HistoryReductionConfig,
    MemoryStore,
    Message,
)
from foldline.errors import ModelError
from foldline.events import PromptCutEvent, TextDeltaEvent
from foldline.history.messages import Usage
from foldline.history.parts import BlobPart, ReasoningPart, TextPart, ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.testing.model import ScriptedModel


TALK = "and some words about the weather, the trains and the time that it takes " * 4
ESTIMATOR = TokenEstimator()
NAME = "openai-chat:qwen3:8b"


def size(request: ChatRequest) -> int:
    return sum(count_message(message, ESTIMATOR) for message in request.messages)


def answering(
    counts: Callable[[ChatRequest], int], name: str = NAME, delay: float | None = None
) -> ScriptedModel:
    """Return a model whose vendor counts as *counts* says."""

    def answer(request: ChatRequest) -> ChatResponse:
        usage = Usage(input_tokens=counts(request), output_tokens=9)
        return ChatResponse(messages=(Message.assistant(f"fine {TALK}"),), usage=usage)

    return ScriptedModel(repeat=answer, name=name, delay=delay)


def ollama(request: ChatRequest, window: int = 4_096) -> int:
    """Return what Ollama counts: of what is longer than its window it reads half of that."""
    return size(request) if size(request) <= window else window // 2 + 2


def talk(exchanges: int) -> list[Message]:
    return [make(TALK) for _ in range(exchanges) for make in (Message.user, Message.assistant)]


def cuts(events: object) -> list[PromptCutEvent]:
    assert isinstance(events, tuple | list)
    return [one for one in events if isinstance(one, PromptCutEvent)]


async def test_a_cut_prompt_is_folded_and_sent_again(caplog: pytest.LogCaptureFixture) -> None:
    """The turn is answered to a request of which the server has read all; a warning says what to set."""
    model = answering(ollama)
    with caplog.at_level(logging.WARNING, "foldline"):
        result = await Agent(model).run([*talk(60), Message.user("and now?")])
    found = cuts(result.events)

    assert [size(one) <= 4_096 for one in model.requests] == [False, True]
    assert model.requests[-1].messages[-1].text == "and now?"
    assert [(one.read_tokens, one.window) for one in found] == [(2_050, 4_096)]
    assert result.usage.input_tokens == 2_050 + size(model.requests[-1])
    assert result.iterations == 1
    assert "set num_ctx or OLLAMA_CONTEXT_LENGTH" in caplog.text
    assert "weather" not in caplog.text


async def test_a_conversation_that_grows_is_cut_once() -> None:
    """The window is kept with the thread: one request is repeated, and all others fit."""
    model = answering(ollama)
    async with MemoryStore() as store:
        for number in range(60):
            thread = await store.thread("grows")
            await Agent(model).run(f"{number} {TALK}", thread=thread)

    assert len(model.requests) == 61
    assert sum(size(one) > 4_096 for one in model.requests) <= 2


async def test_a_window_that_is_configured_anew_is_tried() -> None:
    """Who follows the warning, and sets it for the server and the agent, has it on old threads too."""
    thread = await MemoryStore().thread("larger")
    await thread.add_messages(talk(60))
    first = await Agent(answering(ollama)).run("and now?", thread=thread)
    await thread.undo_reduction()
    model = answering(lambda request: ollama(request, 16_384))
    config = HistoryReductionConfig(context_window_size=16_384)
    later = await Agent(model, history_reduction=config).run("and then?", thread=thread)

    assert [len(cuts(one.events)) for one in (first, later)] == [1, 0]
    assert size(model.requests[0]) > 4_096


@pytest.mark.parametrize("streams", [False, True])
async def test_a_cut_answer_stays_where_nothing_can_be_folded(*, streams: bool) -> None:
    """Of one long question, with instructions or without reduction, the first answer is the answer."""
    model = answering(ollama)
    off = HistoryReductionConfig(enabled=False)
    for agent, overrides in (
        (Agent(model, history_reduction=off), None),
        (Agent(model, options=AgentOptions(max_overflow_folds=0)), None),
        (Agent(model), AgentRunConfig(skip_history_reduction=True)),
    ):
        before = len(model.requests)
        said = [*talk(60), Message.user("and now?")]
        if streams:
            async with agent.run_stream(said, config=overrides) as stream:
                events = [one async for one in stream]
                result = await stream.final_result
        else:
            result = await agent.run(said, config=overrides)
            events = [*result.events]
        assert result.text.startswith("fine")
        assert (len(model.requests) - before, len(cuts(events))) == (1, 1)


async def test_instructions_that_fill_the_window_end_no_later_turn() -> None:
    """Each turn is cut and answered as the first one is, and says so, until the server is set."""
    model, events = answering(ollama), []
    agent = Agent(model, instructions=TALK * 80)
    async with MemoryStore() as store:
        thread = await store.thread("full")
        for _ in range(3):
            result = await agent.run(TALK, thread=thread)
            assert result.text.startswith("fine")
            events += cuts(result.events)

    assert [one.window for one in events] == [4_096] * 3
    assert len(model.requests) == 3


async def test_a_stream_that_is_left_keeps_no_words_of_the_void_answer() -> None:
    """What the reader has seen since the prompt was cut is stored as the partial answer."""
    model = answering(ollama, delay=0)
    thread = await MemoryStore().thread("left")
    await thread.add_messages(talk(60))
    async with Agent(model).run_stream("and now?", thread=thread) as stream:
        texts, is_void = list[str](), True
        async for event in stream:
            if isinstance(event, PromptCutEvent):
                is_void = False
            elif isinstance(event, TextDeltaEvent) and not is_void:
                texts.append(event.text)
                break

    assert (await thread.get_messages())[-1].text == "".join(texts)


async def test_a_server_that_counts_too_little_of_everything_is_asked_twice() -> None:
    """It has taken more than it would have read of the second request."""
    model = answering(lambda request: size(request) * 2 // 5, "my model")
    result = await Agent(model).run([*talk(450), Message.user("and now?")])

    assert result.text.startswith("fine")
    assert (len(model.requests), len(cuts(result.events))) == (2, 1)


async def test_a_window_that_took_a_request_is_no_smaller() -> None:
    """A count below half of an earlier one is of what was not in a cache, whatever else it has."""
    counts = iter([8_000, 1_400, 8_400])
    model = answering(lambda _: next(counts))
    thread = await MemoryStore().thread("counted")
    await thread.add_messages(talk(70))
    for _ in range(3):
        result = await Agent(model).run("and now?", thread=thread)
        assert cuts(result.events) == []


def uncached() -> Callable[[ChatRequest], int]:
    """Return what counts, as Ollama did, only what was not in the request before."""
    known: list[Message] = []

    def count(request: ChatRequest) -> int:
        same = next(
            (at for at, (a, b) in enumerate(zip(known, request.messages, strict=False)) if a != b),
            min(len(known), len(request.messages)),
        )
        known[:] = request.messages
        return sum(count_message(one, ESTIMATOR) for one in request.messages[same:])

    return count


@pytest.mark.parametrize("words", [1, 20, 60])
async def test_a_vendor_that_counts_only_what_is_new_has_cut_nothing(words: int) -> None:
    """So did Ollama, and a model of one's own may; no request is repeated, and no window learned."""
    model = answering(uncached())
    agent = Agent(model)
    async with MemoryStore() as store:
        thread = await store.thread("grows")
        for number in range(40):
            result = await agent.run(f"{number} {TALK * words}", thread=thread)
            assert cuts(result.events) == []
        state = thread.execution_state

    assert state is not None
    assert state.learned[NAME].window is None


@pytest.mark.parametrize(
    "said",
    [
        Message(
            role="user",
            parts=(TextPart("what is it?"), BlobPart("image", "image/png", "A" * 40_000)),
        ),
        Message(role="assistant", parts=(ReasoningPart(TALK * 9), TextPart("yes"))),
        Message.assistant(f"<think>{TALK * 9}</think>yes"),
    ],
    ids=["images", "thoughts", "unparsed thoughts"],
)
async def test_what_vendors_count_in_their_own_way_is_no_sign(said: Message) -> None:
    """Images may cost less than is assumed, and templates leave earlier thoughts out."""
    model = answering(lambda _: 1_500)
    given = [one for _ in range(30) for one in (Message.user("and?"), said)]
    result = await Agent(model).run([*given, Message.user("and now?")])

    assert size(model.requests[0]) > 4_000
    assert (len(model.requests), cuts(result.events)) == (1, [])


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("openai:gpt-5-mini", 0),
        ("groq:llama-3.3-70b-versatile", 0),
        ("openai-chat:anthropic/claude-sonnet-4-6", 0),
        ("claude-sonnet-4-6", 0),
        ("anthropic:qwen3:8b", 1),
        ("openai-chat:gpt-oss", 1),
        ("my model", 1),
    ],
)
async def test_vendors_that_refuse_have_not_cut(name: str, found: int) -> None:
    """A low count of them has other reasons; behind the interface of one there may be Ollama."""
    result = await Agent(answering(ollama, name)).run([*talk(60), Message.user("and now?")])

    assert len(cuts(result.events)) == found


@pytest.mark.parametrize(
    "usage",
    [Usage(input_tokens=4_200), Usage(input_tokens=1_500, cache_read_tokens=5_800), Usage()],
    ids=["vocabulary", "proxy", "none"],
)
async def test_a_low_count_for_another_reason_is_no_sign(usage: Usage) -> None:
    """DeepSeek's and Qwen's vocabularies have 0.58 tokens for one of ours in plain Chinese."""
    answer = ChatResponse(messages=(Message.assistant("fine"),), usage=usage)
    model = ScriptedModel([answer], name="openai-chat:deepseek-chat")
    result = await Agent(model).run([*talk(60), Message.user("and now?")])

    assert size(model.requests[0]) > 7_200
    assert cuts(result.events) == []


@pytest.mark.parametrize(("counted", "found"), [(1_400, 0), (2_050, 1)], ids=["proxy", "ollama"])
async def test_tools_that_fill_a_window_are_noticed_by_the_half_of_it(
    counted: int, found: int
) -> None:
    """Some proxies count no tools, so of another count only the text is compared."""

    def look(room: str) -> str:
        return room

    look.__doc__ = TALK * 60
    agent = Agent(answering(lambda _: counted), tools=[look])
    result = await agent.run([*talk(10), Message.user("and now?")])

    assert len(cuts(result.events)) == found


async def test_a_tool_that_a_void_answer_calls_does_not_run() -> None:
    """A turn that ends before the second request goes on without it too."""
    ran = list[str]()

    def look(room: str) -> str:
        """Look into a room."""
        ran.append(room)
        return room

    call = Message(role="assistant", parts=(ToolCallPart("c1", "look", '{"room":"1"}'),))
    cut = ChatResponse(messages=(call,), usage=Usage(input_tokens=2_050))
    thread = await MemoryStore().thread("void")
    await thread.add_messages(talk(60))
    failing = ScriptedModel([cut, ModelError("gone")], name=NAME)
    with pytest.raises(ModelError):
        await Agent(failing, tools=[look]).run("and now?", thread=thread)
    model = answering(ollama)
    result = await Agent(model, tools=[look]).run(thread=thread)

    assert (ran, len(failing.requests), len(model.requests)) == ([], 2, 1)
    assert [one.role for one in await thread.get_messages()][-2:] == ["user", "assistant"]
    assert result.is_complete


@pytest.mark.parametrize(
    ("model", "read", "is_cut"),
    [
        ("ollama:qwen3:8b", 2_050, True),
        (None, 4_090, True),
        (None, 6_000, False),
        ("openai:gpt-5-mini", 2_050, False),
    ],
)
def test_a_loop_of_its_own_is_warned(
    model: str | None, read: int, *, is_cut: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A count of less than half is said in the log, and makes no room for a longer request."""
    config = HistoryReductionConfig(context_window_size=16_384, trigger="count")
    reducer = HistoryReducer(config, model=model)
    said = [{"role": one.role, "content": one.text} for one in talk(100)]
    with caplog.at_level(logging.WARNING, "foldline"):
        kinds = [reducer.plan(said, usage={"prompt_tokens": n}).kind for n in (0, read)]

    assert ("set num_ctx" in caplog.text and "window= to the same" in caplog.text) == is_cut
    assert kinds == ["fold", "fold" if is_cut else "skip"]
    assert "weather" not in caplog.text


@pytest.mark.parametrize("name", ["prompt_tokens", "input_tokens"])
def test_what_a_proxy_has_not_counted_from_a_cache_is_not_taken_for_cut(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """More from the cache than was read in all is not in that count; it is added, and nothing said."""
    said = [{"role": one.role, "content": one.text} for one in talk(100)]
    whole = {name: 9_000, f"{name}_details": {"cached_tokens": 8_000}}
    apart = {name: 1_000, f"{name}_details": {"cached_tokens": 8_000}}
    reducer = HistoryReducer(HistoryReductionConfig(context_window_size=16_384, trigger="count"))

    assert reducer.plan(said, usage=whole) == reducer.plan(said, usage=apart)
    assert not caplog.text


def test_who_sent_less_than_the_view_is_told_what_the_warning_takes_for_granted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The last request of a conversation that was trimmed before foldline came is no cut prompt."""
    said = [{"role": one.role, "content": one.text} for one in talk(100)]
    HistoryReducer().plan(said, usage=4_000)

    assert "if all of the view was sent to it" in caplog.text
