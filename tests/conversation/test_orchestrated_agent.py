"""Agents in an orchestrator: one after the other, at once, and in place of each other."""

import asyncio
from collections.abc import Sequence

import pytest

from foldline.agent.agent import Agent
from foldline.agent.result import TurnResult
from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestration import OrchestrationResult
from foldline.errors import ModelError, RunStartError, ThreadConflictError
from foldline.history.messages import Message, total_usage
from foldline.providers.model import ChatRequest
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStore
from tests.conversation.orchestrators import Agents, Recorded, named, result_of, thread_of
from tests.conversation.stories import agent_named, texts


def test_several_agents_may_answer_in_one_message() -> None:
    """Two turns on the thread follow each other; the second sees the first."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        first = await agents["a"].run()
        second = await agents["b"].run("Do you agree?")
        return result_of([*first.messages, *second.messages], "b")

    model = ScriptedModel(["I do."])
    conversation = Conversation([agent_named("a"), named("b", model)], orchestrator=Recorded(act))

    result = asyncio.run(conversation.send("one"))

    heard = ["one", "a here", "Do you agree?"]
    assert texts(model.requests[0].messages) == heard
    assert texts(asyncio.run(conversation.messages())) == [*heard, "I do."]
    assert (result.execution_order, result.execution_count) == (("a", "b"), 2)


@pytest.mark.parametrize("is_stored", [True, False])
def test_the_usage_is_that_of_all_turns(*, is_stored: bool) -> None:
    """A result that is made of the last of two turns has the token counts of both."""
    turns: list[TurnResult] = []

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        for name in ("a", "b"):
            agent = agents[name]
            turns.append(await (agent.run() if is_stored else agent.respond(history)))
        return OrchestrationResult.of_turn(turns[-1], "b", strategy_name="Both")

    agents = [named(name, ScriptedModel([f"{name} here"], usage=True)) for name in ("a", "b")]
    conversation = Conversation(agents, orchestrator=Recorded(act))

    result = asyncio.run(conversation.send("one"))

    assert result.usage == total_usage(turn.usage for turn in turns)


def test_agents_may_be_asked_at_once() -> None:
    """Answers to a history that is handed over are not stored; the one that is returned is."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        first, second = await asyncio.gather(*(agent.respond(history) for agent in agents.values()))
        assert (first.text, second.text) == ("a here", "b here")
        return result_of(second.messages, "b")

    conversation = Conversation([agent_named("a"), agent_named("b")], orchestrator=Recorded(act))

    asyncio.run(conversation.send("one"))

    assert texts(asyncio.run(conversation.messages())) == ["one", "b here"]


def test_turns_on_the_thread_do_not_run_at_once() -> None:
    """The second of two turns that begin at once is refused."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        first = asyncio.create_task(agents["a"].run())
        await asyncio.sleep(0)
        with pytest.raises(RunStartError):
            await agents["b"].run()
        return result_of((await first).messages)

    slow = ScriptedModel(["a here"], delay=0.01)
    conversation = Conversation([named("a", slow), agent_named("b")], orchestrator=Recorded(act))

    asyncio.run(conversation.send("one"))

    assert texts(asyncio.run(conversation.messages())) == ["one", "a here"]


def test_another_agent_may_take_over() -> None:
    """Where the model of one agent fails, the orchestrator may let another one go on."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        with pytest.raises(ModelError):
            await agents["a"].run()
        return result_of((await agents["b"].run()).messages, "b")

    broken = ScriptedModel([ModelError("out of order")])
    conversation = Conversation([named("a", broken), agent_named("b")], orchestrator=Recorded(act))

    result = asyncio.run(conversation.send("one"))

    assert texts(asyncio.run(conversation.messages())) == ["one", "b here"]
    assert result.execution_order == ("b",)
    assert result.checkpoint is not None
    assert result.checkpoint.agent_name == "b"
    assert asyncio.run(conversation.resume()) is None


def test_what_a_failed_turn_has_stored_is_not_stored_twice() -> None:
    """Where the response repeats the thread, the steps of the agent that failed are known too."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        with pytest.raises(ModelError):
            await agents["a"].run()
        turn = await agents["b"].run()
        return result_of(await turn.thread.get_messages(), "b")

    steps: list[ModelStep] = [calls(("look", {})), ModelError("out of order")]
    broken = Agent(ScriptedModel(steps), name="a", tools=[look])
    conversation = Conversation([broken, agent_named("b")], orchestrator=Recorded(act))

    asyncio.run(conversation.send("one"))

    said = asyncio.run(conversation.messages())
    assert [message.role for message in said] == ["user", "assistant", "tool", "assistant"]


def look() -> str:
    return "seen"


async def test_an_agent_that_is_too_slow_may_be_given_up() -> None:
    """A response after a turn that was cancelled in a tool leaves nothing pending."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        turn = asyncio.create_task(agents["a"].run())
        await waits.wait()
        turn.cancel()
        await asyncio.wait([turn])
        return result_of([Message.assistant("That takes too long.")], "host")

    waits = asyncio.Event()

    async def wait() -> None:
        waits.set()
        await asyncio.sleep(60)

    agent = Agent(ScriptedModel([calls(("wait", {}))]), name="a", tools=[wait])
    conversation = Conversation(agent, orchestrator=Recorded(act))
    await conversation.send("one")
    assert thread_of(conversation).pending_tools == ()
    assert await conversation.resume() is None
    assert texts(await conversation.messages()) == ["one", "", "That takes too long."]


async def test_a_lost_race_is_not_hidden() -> None:
    """Where a turn has lost a race, an answer that the orchestrator gives instead is not stored."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        with pytest.raises(ThreadConflictError):
            await agents["a"].run()
        return result_of([Message.assistant("as if nothing had happened")])

    async with MemoryStore() as store:
        mine, yours = await store.thread("t"), await store.thread("t")

        async def interrupted(request: ChatRequest) -> str:
            await yours.append([Message.user("wait!")])
            return "too late"

        agent = named("a", ScriptedModel([interrupted]))
        conversation = Conversation(agent, orchestrator=Recorded(act), thread=mine)
        with pytest.raises(ThreadConflictError):
            await conversation.send("one")
        await yours.refresh()
        assert texts(await yours.get_messages()) == ["one", "wait!"]
