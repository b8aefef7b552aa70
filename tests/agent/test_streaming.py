"""A turn that is watched: events in order, values behind it, and its early end."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest

from foldline import Agent, MemoryStore, Message, StreamingTurnResult
from foldline.errors import ModelError
from foldline.events import AgentEvent, TextDeltaEvent
from foldline.providers.model import ChatRequest, ChatResponse, TextDelta
from foldline.testing.model import ScriptedModel, calls


def names(events: Sequence[AgentEvent]) -> list[str]:
    return [type(event).__name__.removesuffix("Event") for event in events]


def look(at: int) -> str:
    return f"saw {at}"


async def test_the_events_come_in_their_order() -> None:
    """A turn with a tool tells everything once, from its start to its end."""
    model = ScriptedModel([calls(("look", {"at": 1}), text="let me see"), "done"])

    assert names([event async for event in Agent(model, tools=[look]).run_stream("look")]) == [
        "TurnStarted",
        "Checkpoint",
        "IterationStarted",
        "Decision",
        "HistoryReduction",
        "RequestSent",
        "TextStart",
        "TextDelta",
        "TextDelta",
        "TextDelta",
        "TextEnd",
        "ToolCallStart",
        "ToolCallArguments",
        "ToolCallEnd",
        "Checkpoint",
        "ToolStarted",
        "ToolResult",
        "Checkpoint",
        "Checkpoint",
        "IterationFinished",
        "IterationStarted",
        "Decision",
        "HistoryReduction",
        "RequestSent",
        "TextStart",
        "TextDelta",
        "TextEnd",
        "Checkpoint",
        "Decision",
        "IterationFinished",
        "TurnFinished",
        "RunCompleted",
    ]


async def test_pieces_come_before_the_answer_is_whole() -> None:
    """A piece is seen while the model still writes the next one."""
    thread = await MemoryStore().thread("t")
    stream = Agent(ScriptedModel(["one two three"], delay=0)).run_stream("hi", thread=thread)
    async for event in stream:
        if isinstance(event, TextDeltaEvent):
            break

    assert (event.text, thread.count) == ("one ", 1)  # type: ignore[union-attr]
    assert (await stream.final_result).text == "one two three"


async def test_a_value_runs_the_turn_to_its_end() -> None:
    """Without iterating, history, result and reduction can be awaited, repeatedly."""
    stream = Agent(ScriptedModel(["fine"])).run_stream("hi")
    history = await stream.final_history
    same = await stream.final_result is await stream.final_result

    assert ([message.text for message in history], same, await stream.reduction) == (
        ["hi", "fine"],
        True,
        None,
    )


async def test_nothing_happens_before_somebody_watches() -> None:
    """A stream that nobody iterates asks no model and stores nothing."""
    model, thread = ScriptedModel(), await MemoryStore().thread("t")
    stream = Agent(model).run_stream("hi", thread=thread)
    await asyncio.sleep(0)
    await stream.aclose()

    assert (len(model.requests), thread.count) == (0, 0)


async def test_an_error_reaches_who_iterates_and_who_awaits() -> None:
    """The error of the model ends the iteration, and the values raise it too."""

    async def drain(stream: StreamingTurnResult) -> None:
        async for _ in stream:
            pass

    stream = Agent(ScriptedModel([ModelError("down")])).run_stream("hi")
    with pytest.raises(ModelError, match="down"):
        await drain(stream)
    with pytest.raises(ModelError, match="down"):
        await stream.final_result


async def test_a_model_that_streams_no_pieces_is_told_whole() -> None:
    """Where a stream gives the response alone, its text is told all the same."""

    class Whole:
        name = "whole"

        async def respond(self, request: ChatRequest) -> ChatResponse:
            return ChatResponse(messages=(Message.assistant("all at once"),))

        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatResponse, None]:
            yield await self.respond(request)

    stream = Agent(Whole()).run_stream("hi")

    assert [event.text async for event in stream if isinstance(event, TextDeltaEvent)] == [
        "all at once"
    ]


async def test_a_stream_that_breaks_closes_what_it_has_opened() -> None:
    """A text that has begun ends also where the model fails in the middle of it."""

    class Broken:
        name = "broken"

        async def respond(self, request: ChatRequest) -> ChatResponse:
            raise NotImplementedError

        async def stream(self, request: ChatRequest) -> AsyncGenerator[TextDelta, None]:
            yield TextDelta("half a ")
            message = "cut off"
            raise ModelError(message)

    async def read(found: list[AgentEvent]) -> None:
        async for event in Agent(Broken()).run_stream("hi"):
            found.append(event)  # noqa: PERF401 - what came before the error counts

    found: list[AgentEvent] = []
    with pytest.raises(ModelError):
        await read(found)

    assert names(found)[-3:] == ["TextStart", "TextDelta", "TextEnd"]
