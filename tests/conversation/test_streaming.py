"""Answers that are watched while they are given."""

from collections.abc import AsyncGenerator, Sequence

import pytest

from foldline.agent.agent import Agent
from foldline.agent.events import RunCompletedEvent, TextDeltaEvent, TurnStartedEvent
from foldline.conversation.conversation import Conversation, ConversationStream
from foldline.conversation.orchestration import (
    AgentSelectedEvent,
    ConversationEvent,
    OrchestrationOptions,
    OrchestrationResult,
)
from foldline.conversation.orchestrator import RoundRobin
from foldline.errors import ConfigError, TurnStoppedError
from foldline.history.messages import Message
from foldline.reduction.event import HistoryReductionEvent
from foldline.testing.model import ScriptedModel
from tests.conversation.orchestrators import Agents, Custom, Recorded, result_of
from tests.conversation.stories import SUMMARY, agent_named, folding, said, texts


class Narrator(Custom):
    """Streams by itself: a piece of its own, then the turn of the last agent."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self._is_silent = is_silent

    async def orchestrate_stream(
        self,
        history: Sequence[Message],
        agents: Agents,
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> AsyncGenerator[ConversationEvent | OrchestrationResult, None]:
        yield TextDeltaEvent(iteration=0, text="Let us see. ")
        name = list(agents)[-1]
        stream = agents[name].run_stream()
        async for event in stream:
            yield event
        if not self._is_silent:
            turn = await stream.final_result
            yield OrchestrationResult.of_turn(turn, name, strategy_name="Narrator")


async def told(stream: ConversationStream) -> list[ConversationEvent]:
    return [event async for event in stream]


def spoken(events: Sequence[ConversationEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDeltaEvent))


async def test_the_chosen_agent_is_told_before_its_turn() -> None:
    """First comes who was selected, then every event of the turn, and the result at the end."""
    agents = [agent_named("a", "Hello there, friend."), agent_named("b")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    stream = conversation.send_stream("Hi")
    events = await told(stream)
    assert conversation.thread is not None
    first, second, last = events[0], events[1], events[-1]
    assert first == AgentSelectedEvent(agent="a", conversation_id=conversation.thread.id)
    assert isinstance(second, TurnStartedEvent)
    assert isinstance(last, RunCompletedEvent)
    assert spoken(events) == "Hello there, friend."
    result = await stream.final_result
    assert (result.text, result.selected_agent) == ("Hello there, friend.", "a")
    assert texts(await stream.final_history) == ["Hi", "Hello there, friend."]


async def test_the_reduction_is_there_only_after_the_stream() -> None:
    """Awaited behind the stream, it is the fold of this very message and of no other one."""
    conversation = Conversation(folding())
    first, second, third, fourth, fifth = said(5)
    for text in (first, second, third):
        assert await conversation.send_stream(text).reduction is None
    stream = conversation.send_stream(fourth)
    events = await told(stream)
    assert any(isinstance(event, HistoryReductionEvent) for event in events)
    reduction = await stream.reduction
    assert reduction is not None
    assert reduction.summary_message is not None
    assert reduction.summary_message.text.startswith(f"{SUMMARY}\n")
    assert (await stream.final_result).metadata.context["MessagesRemovedCount"] == 4
    assert await conversation.send_stream(fifth).reduction is None


async def test_leaving_stops_it_and_loses_nothing() -> None:
    """A stream that is left is stopped where it is; what was said stays, and the next message goes on."""
    model = ScriptedModel(["never heard", "Hello."], delay=0)
    agents = [Agent(model, name="a"), agent_named("b")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    async with conversation.send_stream("Hi") as stream:
        async for event in stream:
            if isinstance(event, TextDeltaEvent):
                break
    with pytest.raises(TurnStoppedError):
        await stream.final_result
    said = texts(await conversation.messages())
    assert said[0] == "Hi"
    assert "never heard".startswith(said[1])
    assert await conversation.resume() is None
    result = await conversation.send("Go on")
    assert (result.text, result.selected_agent) == ("b here", "b")
    assert texts(await conversation.messages()) == [*said, "Go on", "b here"]


async def test_an_orchestrator_may_stream_by_itself() -> None:
    """Its own events come as it gives them, and its result comes last; nothing is stored twice."""
    conversation = Conversation(
        [agent_named("a"), agent_named("b", "Hello.")], orchestrator=Narrator()
    )
    stream = conversation.send_stream("Hi")
    events = await told(stream)
    assert spoken(events) == "Let us see. Hello."
    result = await stream.final_result
    assert (result.selected_agent, result.execution_order) == ("b", ("b",))
    assert texts(await stream.final_history) == ["Hi", "Hello."]


async def test_a_stream_without_a_result_is_an_error() -> None:
    """An orchestrator that ends without a result is told so; what its agent said is stored."""
    conversation = Conversation(agent_named("a"), orchestrator=Narrator(is_silent=True))
    with pytest.raises(
        ConfigError, match="Narrator must return an OrchestrationResult, got NoneType"
    ):
        await told(conversation.send_stream("Hi"))
    assert texts(await conversation.messages()) == ["Hi", "a here"]


async def test_a_host_that_answers_by_itself_is_told_too() -> None:
    """Where no agent had a turn, the selection is told when the result is there."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        return result_of([Message.assistant("not streamed")], "host")

    conversation = Conversation(agent_named("a"), orchestrator=Recorded(act))
    (event,) = await told(conversation.send_stream("Hi"))
    assert isinstance(event, AgentSelectedEvent)
    assert event.agent == "host"
