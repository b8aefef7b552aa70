"""A summary that is asked for on the request that the model has in its cache."""

from collections.abc import Sequence
from typing import Any

import pytest

from foldline import (
    Agent,
    AgentOptions,
    HistoryReductionConfig,
    MemoryStore,
    ModelSummarizer,
    Prices,
    tool,
)
from foldline.errors import SummarizerError
from foldline.history.formats.renderings import render_anthropic, render_openai_chat
from foldline.history.messages import Message, Usage
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE, RidingSummarizer
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest
from foldline.testing.grammars import check_anthropic, check_openai_chat
from foldline.testing.model import ScriptedModel


CACHED = Prices(input=3, output=15, cached_read=0.3, cache_write=3.75, minimum_prefix=0)
UNCACHED = Prices(input=3, output=15)
SAID = "The user asked about many parcels, and each was on its way to Porto."
SUMMARY = f"{FIRST_LINE}\n{SAID}\n{LAST_LINE}"
USAGE = Usage(input_tokens=10, output_tokens=2)


@tool
def where(parcel: str) -> str:
    """Say where a parcel is."""
    return f"{parcel} is in Porto"


class Model:
    """Answers each question, and writes summaries; it keeps what it was sent."""

    name = "acme:model"

    def __init__(self, *, calls_tool: bool = False) -> None:
        """Write good summaries; with *calls_tool* call a tool at first."""
        self.requests: list[ChatRequest] = []
        self.summaries: list[ChatRequest] = []
        self._refusals = int(calls_tool)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return a summary if one is asked for."""
        if FIRST_LINE not in request.messages[-1].text:
            self.requests.append(request)
            said = Message.assistant("It is on its way. " * 40)
            return ChatResponse(messages=(said,), usage=USAGE)
        self.summaries.append(request)
        if self._refusals:
            self._refusals -= 1
            call = ToolCallPart("call_1", "where", '{"parcel":"P-1"}')
            return ChatResponse(messages=(Message(role="assistant", parts=(call,)),))
        return ChatResponse(messages=(Message.assistant(SUMMARY),), usage=USAGE)


def config(prices: Prices, **fields: object) -> HistoryReductionConfig:
    """Return a configuration that folds a few times in a short talk."""
    return HistoryReductionConfig(
        trigger="balance",
        counting_unit="messages",
        target_count=4,
        quote_user_messages=0,
        prices=prices,
        **fields,  # type: ignore[arg-type]
    )


async def talk(model: Model, how: HistoryReductionConfig, **given: Any) -> None:
    """Have a talk with an agent that has a tool, and whatever else it is *given*."""
    agent = Agent(model, instructions="Be brief.", tools=[where], history_reduction=how, **given)
    async with MemoryStore() as store:
        thread = await store.thread("t")
        for turn in range(60):
            await agent.run(f"Where is parcel P-{turn}? " * 20, thread=thread)


def follows(before: ChatRequest, after: ChatRequest) -> bool:
    """Whether *after* begins with all that *before* was, with the same tools and settings."""
    count = len(before.messages)
    return (
        after.messages[:count] == before.messages
        and after.tools == before.tools
        and after.settings == before.settings
    )


async def test_a_summary_is_asked_for_on_the_request_before() -> None:
    """Byte for byte the last request, what came since, and one more message."""
    model = Model()
    await talk(model, config(CACHED))

    assert model.summaries
    for request in model.summaries:
        assert any(follows(sent, request) for sent in model.requests)
        assert request.tools
        assert "Call no tool" in request.messages[-1].text
        assert "message of the" in request.messages[-1].text
        assert not check_openai_chat(render_openai_chat(request.messages))
        rendered = render_anthropic(request.messages)
        assert not check_anthropic(rendered.system, rendered.messages)


@pytest.mark.parametrize(
    "how",
    [
        config(UNCACHED),
        config(CACHED, use_single_summary=False),
        config(CACHED, redact="always"),
    ],
    ids=["without a cache", "in layers", "with all redacted"],
)
async def test_a_summary_of_its_own_is_asked_for_where_a_ride_is_dearer_or_wrong(
    how: HistoryReductionConfig,
) -> None:
    """A transcript is read instead, without tools."""
    model = Model()
    await talk(model, how)

    assert model.summaries
    assert all(len(one.messages) == 2 and not one.tools for one in model.summaries)


async def test_another_model_does_not_ride() -> None:
    """Its cache has nothing of the conversation."""
    model, writer = Model(), Model()
    writer.name = "acme:small"
    await talk(model, config(CACHED), summarizer=ModelSummarizer(writer))

    assert writer.summaries
    assert not model.summaries
    assert all(len(one.messages) == 2 for one in writer.summaries)


@pytest.mark.parametrize(
    ("settings", "rides"),
    [
        ({"tool_choice": {"type": "any"}}, False),
        ({"max_tokens": 100}, False),
        ({"max_tokens": 8_192}, True),
    ],
)
async def test_settings_that_leave_no_room_for_a_summary_do_not_ride(
    settings: dict[str, object], rides: bool
) -> None:
    """With a forced call the model cannot write, and without it the cache would miss."""
    model = Model()
    await talk(model, config(CACHED), options=AgentOptions(settings=settings))

    assert model.summaries
    assert any(len(one.messages) > 2 for one in model.summaries) is rides


async def test_a_summarizer_with_settings_of_its_own_does_not_ride() -> None:
    """A ride has the settings of the conversation, or the cache would miss."""
    model = Model()
    writer = ModelSummarizer(model, settings={"temperature": 0})
    await talk(model, config(CACHED), summarizer=writer)

    assert model.summaries
    assert all(len(one.messages) == 2 for one in model.summaries)


@pytest.mark.parametrize("changed", [{"instructions": "Be long."}, {"tools": []}])
async def test_other_instructions_or_tools_do_not_ride(changed: dict[str, Any]) -> None:
    """Nothing of the conversation is in the cache behind them."""
    model, how = Model(), config(CACHED)
    given: dict[str, Any] = {
        "instructions": "Be brief.",
        "tools": [where],
        "history_reduction": how,
    }
    other = Agent(model, **(given | changed))
    async with MemoryStore() as store:
        thread = await store.thread("t")
        for turn in range(60):
            agent = other if model.summaries or turn % 2 else Agent(model, **given)
            await agent.run(f"Where is parcel P-{turn}? " * 20, thread=thread)

    assert len(model.summaries[0].messages) == 2


async def test_the_first_request_of_a_thread_has_no_cache_to_ride_on() -> None:
    """What was said before elsewhere was never sent to this model."""
    model = Model()
    agent = Agent(model, tools=[where], history_reduction=config(CACHED))
    said: list[Message] = []
    for turn in range(60):
        said += [Message.user(f"Where is P-{turn}? " * 20), Message.assistant("On its way. " * 40)]
    async with MemoryStore() as store:
        thread = await store.thread("t")
        await thread.append(said)
        await agent.run("And now?", thread=thread)

    assert len(model.summaries) == 1
    assert len(model.summaries[0].messages) == 2


async def test_a_call_in_the_answer_is_refused_and_asked_again_on_the_same_prefix() -> None:
    """Another tool choice would lose the cache, so the words alone forbid calls."""
    model = Model(calls_tool=True)
    await talk(model, config(CACHED))
    first, second = model.summaries[:2]

    assert first.messages[:-1] == second.messages[:-1]
    assert first.tools == second.tools
    assert "call no tool, and write the summary as text" in second.messages[-1].text


def riding(kept: Message, model: Model) -> RidingSummarizer:
    """Return a summarizer that rides on two messages, of which the second one stays."""
    sent = ChatRequest(messages=(Message.user("one"), Message.assistant("two")))
    return RidingSummarizer(ModelSummarizer(model), sent, span=1, kept=kept)


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        (Message.user("And\nnow what?"), "message of the user that begins with 'And now what?'"),
        (
            Message.assistant(tool_calls=[ToolCallPart("c", "where", '{"parcel":"P-1"}')]),
            'call of where with the arguments \'{"parcel":"P-1"}\'',
        ),
        (Message(role="tool"), "next message of the tool"),
    ],
)
async def test_the_first_message_that_stays_is_named(kept: Message, words: str) -> None:
    """By its beginning, or by what it calls."""
    model = Model()
    request = SummaryRequest(messages=(Message.user("one"),), prompt="Sum up.", budget=100)
    text = await riding(kept, model).summarize(request)

    assert text == "The user asked about many parcels, and each was on its way to Porto."
    assert f"up to the {words}.\n" in model.summaries[0].messages[-1].text


async def test_a_part_of_the_span_is_read_as_a_transcript() -> None:
    """The view shows more than what that text is to replace."""
    model = Model()
    parts: Sequence[Message] = (Message.user("one"), Message.user("two"))
    request = SummaryRequest(messages=tuple(parts), prompt="Sum up.", budget=100)
    await riding(parts[0], model).summarize(request)

    assert model.summaries[0].messages[0].role == "system"


async def test_a_reply_that_is_no_summary_is_refused() -> None:
    """As from a model that reads a transcript."""
    summarizer = RidingSummarizer(
        ModelSummarizer(ScriptedModel(["Sure!"])),
        ChatRequest(messages=()),
        span=0,
        kept=Message.user("x"),
    )
    with pytest.raises(SummarizerError, match="without the first line"):
        await summarizer.summarize(SummaryRequest(messages=(), prompt=DEFAULT_PROMPT, budget=9))
