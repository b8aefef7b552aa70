"""Telemetry of a real agent: spans of its turns, calls, tools and folds."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from foldline.agent.agent import Agent
from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentOptions
from foldline.agent.result import TurnResult
from foldline.errors import ContextOverflowError, ModelError
from foldline.history.messages import Message
from foldline.providers.model import ChatDelta, ChatRequest, ChatResponse
from foldline.providers.summarizer import ModelSummarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStore
from tests.agent.telemetry.watched import Watched, attributes, id_of, parent_of, watch


REDUCING = HistoryReductionConfig(
    counting_unit="messages", target_count=4, summarization_threshold=6
)
TWO_CALLS = calls(("look", {"name": "a"}), ("read", {"name": "b"}))
TEXT = "so many words were said about the weather in the north and the south " * 20


class Vendor(ScriptedModel):
    """A model whose SDK makes a span of each request."""

    writes_summaries = True
    tracer: trace.Tracer

    async def respond(self, request: ChatRequest) -> ChatResponse:
        with self.tracer.start_as_current_span("vendor"):
            await asyncio.sleep(0)
            return await super().respond(request)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        with self.tracer.start_as_current_span("vendor stream"):
            pass
        async for piece in super().stream(request):
            yield piece


class Writer:
    """A summarizer that makes a span of each text."""

    name = "writer"

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    async def summarize(self, request: SummaryRequest) -> str:
        with self._tracer.start_as_current_span("writing"):
            await asyncio.sleep(0)
            return "they talked about the weather"


def tools(tracer: trace.Tracer) -> list[Callable[..., object]]:
    async def look(name: str) -> str:
        with tracer.start_as_current_span("in look"):
            await asyncio.sleep(0)
            return name

    def read(name: str) -> str:
        with tracer.start_as_current_span("in read"):
            return name

    return [look, read]


def agent_of(watched: Watched, *steps: ModelStep, parallel: bool = True, **given: object) -> Agent:
    tracer = watched.provider.get_tracer("vendor")
    model = Vendor(steps, name="openai:gpt-5-mini", usage=True)
    model.tracer = tracer
    return Agent(
        model,
        name="helper",
        tools=tools(tracer),
        options=AgentOptions(parallel_tool_calls=parallel),
        telemetry=watched.telemetry,
        **given,  # type: ignore[arg-type] # the rest of what an agent is made of
    )


def named(watched: Watched, name: str) -> list[ReadableSpan]:
    return [span for span in watched.spans if span.name == name]


def talk(count: int) -> list[Message]:
    return [
        Message.user(f"u{n} {TEXT}") if n % 2 == 0 else Message.assistant(f"a{n} {TEXT}")
        for n in range(count)
    ]


async def on_long_thread(agent: Agent, *messages: str) -> list[TurnResult]:
    thread = await MemoryStore().thread("t-9")
    await thread.add_messages(talk(10))
    return [await agent.run(message, thread=thread) for message in messages]


def test_a_turn_is_traced_with_all_that_it_does() -> None:
    """Calls and tools are children of the turn, and what they do is traced under them."""
    watched = watch()
    asyncio.run(agent_of(watched, TWO_CALLS, "both").run("a and b"))
    turn = watched.span("invoke_agent helper")
    chats = named(watched, "chat gpt-5-mini")
    look, read = watched.span("execute_tool look"), watched.span("execute_tool read")

    assert {parent_of(span) for span in (*chats, look, read)} == {id_of(turn)}
    assert [parent_of(span) for span in named(watched, "vendor")] == [id_of(one) for one in chats]
    assert parent_of(watched.span("in look")) == id_of(look)
    assert parent_of(watched.span("in read")) == id_of(read)
    assert parent_of(turn) is None


def test_the_span_of_a_caller_is_the_parent_of_the_turn() -> None:
    """A turn belongs to the caller's span, also from a stream and the blocking face."""
    watched = watch()
    agent = agent_of(watched, "one", "two", "three")
    tracer = watched.provider.get_tracer("caller")

    async def main() -> None:
        await agent.run("1")
        await agent.run_stream("2").final_result

    with tracer.start_as_current_span("request") as request:
        asyncio.run(main())
        agent.run_sync("3")
    turns = named(watched, "invoke_agent helper")

    assert [parent_of(span) for span in turns] == [request.get_span_context().span_id] * 3


async def test_a_stream_is_traced_as_a_stream() -> None:
    """A streamed call says so and when it began; the vendor's spans nest under it."""
    watched = watch()
    async for _ in agent_of(watched, "hello you").run_stream("hi"):
        pass
    chat = watched.span("chat gpt-5-mini")

    assert attributes(chat)["gen_ai.request.stream"] is True
    assert attributes(chat)["gen_ai.response.time_to_first_chunk"] > 0  # type: ignore[operator]
    assert parent_of(watched.span("vendor stream")) == id_of(chat)


def test_a_fold_is_one_span_and_the_calls_behind_it_are_compacted() -> None:
    """One `compact_history` for the fold, none for the hit; both views are compacted."""
    watched = watch()
    writer = Writer(watched.provider.get_tracer("writer"))
    agent = agent_of(watched, "one", "two", history_reduction=REDUCING, summarizer=writer)
    first, second = asyncio.run(on_long_thread(agent, "now", "then"))
    fold, chats = watched.span("compact_history"), named(watched, "chat gpt-5-mini")

    assert (first.reduction is not None, second.reduction) == (True, None)
    assert attributes(fold)["foldline.fold.status"] == "performed"
    assert attributes(fold)["foldline.fold.summarizer.name"] == "writer"
    assert attributes(fold)["gen_ai.conversation.id"] == "t-9"
    assert parent_of(fold) == id_of(named(watched, "invoke_agent helper")[0])
    assert parent_of(watched.span("writing")) == id_of(fold)
    assert [attributes(one).get("gen_ai.conversation.compacted") for one in chats] == [True, True]


SUMMARY = "Summary of the conversation so far:\nthey talked about the weather\nEnd of summary."


def test_a_fold_by_a_model_of_its_own_is_a_call_inside_of_it() -> None:
    """What a given summarizer asks is traced and counted once, also if another agent has it too."""
    watched, cheap = watch(), ModelSummarizer(ScriptedModel([SUMMARY], name="cheap"))
    agent, _ = (
        agent_of(watched, "one", history_reduction=REDUCING, summarizer=[cheap]) for _ in range(2)
    )
    asyncio.run(on_long_thread(agent, "now"))

    assert parent_of(watched.span("chat cheap")) == id_of(watched.span("compact_history"))


def test_a_fold_by_the_model_of_the_agent_is_a_call_inside_of_it() -> None:
    """What the default summarizer asks is traced and counted as any call of a model."""
    watched = watch()
    agent = agent_of(watched, SUMMARY, "one", history_reduction=REDUCING)
    asyncio.run(on_long_thread(agent, "now"))
    fold = watched.span("compact_history")
    writing, answering = named(watched, "chat gpt-5-mini")

    assert parent_of(writing) == id_of(fold)
    assert attributes(writing)["gen_ai.conversation.id"] == "t-9"
    assert parent_of(answering) == parent_of(fold)


async def test_a_fold_in_the_background_belongs_to_its_turn() -> None:
    """A fold that nobody waits for is a child of the turn that wanted it, and counted once."""
    watched = watch()
    writer = Writer(watched.provider.get_tracer("writer"))
    async with BackgroundFold() as ahead:
        agent = agent_of(
            watched,
            "one",
            "two",
            history_reduction=REDUCING,
            summarizer=writer,
            background_fold=ahead,
        )
        thread = await MemoryStore().thread("t-9")
        await thread.add_messages(talk(10))
        await agent.run("now", thread=thread)
        await ahead.wait(
            (thread.context.storage, thread.tenant, thread.id, agent.reducer.config_fingerprint)
        )
        await agent.run("then", thread=thread)

    assert parent_of(watched.span("compact_history")) == id_of(
        named(watched, "invoke_agent helper")[0]
    )
    assert watched.points("foldline.folds") == {("performed", "summarizing"): 1}


def test_a_refused_request_is_a_failed_call_before_the_next() -> None:
    """An overflow fails its call, the harder fold is a span, and the turn has not failed."""
    watched = watch()
    writer = Writer(watched.provider.get_tracer("writer"))
    refusal = ContextOverflowError(model="m", window=300, tokens=600)
    agent = agent_of(watched, refusal, "one", history_reduction=REDUCING, summarizer=writer)
    asyncio.run(on_long_thread(agent, "now"))
    failed, answered = named(watched, "chat gpt-5-mini")

    assert attributes(failed)["error.type"] == "context_overflow"
    assert answered.status.status_code is StatusCode.UNSET
    assert len(named(watched, "compact_history")) == 2
    assert watched.span("invoke_agent helper").status.status_code is StatusCode.UNSET


async def test_a_failing_model_fails_the_turn_and_resuming_is_a_turn_of_its_own() -> None:
    """The error is on call and turn; the turn that goes on says that it resumes."""
    watched = watch()
    agent = agent_of(watched, ModelError("the vendor is away"), "here again")
    thread = await MemoryStore().thread("t-1")
    with pytest.raises(ModelError):
        await agent.run("hi", thread=thread)
    await agent.run(thread=thread)
    first, second = named(watched, "invoke_agent helper")

    assert attributes(first)["error.type"] == "model"
    assert attributes(first)["foldline.run.id"] == attributes(second)["foldline.run.id"]
    assert attributes(second)["foldline.run.start"] == "resume"
    assert second.status.status_code is StatusCode.UNSET


async def cancelled(turn: Awaitable[object], begun: asyncio.Event) -> None:
    task = asyncio.ensure_future(turn)
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_turn_ends_its_spans() -> None:
    """Cancelled while its tools run, tools and turn end as cancelled, and the call as it was."""
    watched = watch()
    waiting: list[None] = []
    begun = asyncio.Event()

    async def wait() -> None:
        waiting.append(None)
        if len(waiting) == 2:
            begun.set()
        await asyncio.sleep(60)

    agent = Agent(
        ScriptedModel([calls(("wait", {}), ("wait", {}))]),
        name="helper",
        tools=[wait],
        telemetry=watched.telemetry,
    )
    asyncio.run(cancelled(agent.run("wait"), begun))
    chat, *others = watched.spans

    assert chat.name == "chat scripted"
    assert "foldline.cancelled" not in attributes(chat)
    assert [span.name for span in others] == [
        "execute_tool wait",
        "execute_tool wait",
        "invoke_agent helper",
    ]
    assert all(attributes(span)["foldline.cancelled"] is True for span in others)
    assert all(span.status.status_code is StatusCode.UNSET for span in others)


def test_nothing_is_traced_where_nobody_asks() -> None:
    """An agent without a telemetry makes no span, whatever providers the process has."""
    seen: list[trace.Span] = []

    def look() -> str:
        seen.append(trace.get_current_span())
        return "seen"

    asyncio.run(Agent(ScriptedModel([calls(("look", {})), "done"]), tools=[look]).run("hi"))

    assert seen == [trace.INVALID_SPAN]
