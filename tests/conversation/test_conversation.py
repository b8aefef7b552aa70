"""A conversation of one agent, and what every conversation promises."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from foldline.agent.agent import Agent
from foldline.agent.config import AgentOptions
from foldline.conversation.conversation import Conversation, call_sync
from foldline.conversation.orchestrator import RoundRobin, SingleAgent
from foldline.errors import ConfigError, ThreadConflictError, TurnRunningError
from foldline.history.messages import Message
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.event import CIRCUIT_BREAKER_TERMINATION
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStore
from tests.conversation.stories import agent_named, folding, said, texts


def look_up(order: str) -> str:
    return f"{order} is in Lisbon"


class Blocking:
    """Forgets `async`."""

    def orchestrate(self, *_: object) -> None:
        """Do nothing."""


def test_a_single_agent_answers_directly() -> None:
    """With one agent no orchestrator is needed, and the strategy is `SingleAgent`."""
    conversation = Conversation(agent_named("helper", "Hello."))

    result = asyncio.run(conversation.send("Hi"))

    assert (result.text, result.selected_agent) == ("Hello.", "helper")
    assert (result.metadata.strategy_name, result.metadata.decision_duration) == ("SingleAgent", 0)
    assert (result.status, result.is_complete, result.turn_number) == ("completed", True, 1)
    assert result.execution_order == result.activated_agents == ("helper",)
    assert texts(asyncio.run(conversation.messages())) == ["Hi", "Hello."]
    assert result.response == tuple(asyncio.run(conversation.messages())[1:])


def test_orchestrator_and_thread_may_be_given_by_place() -> None:
    """The agents come first, then who chooses among them, then the thread."""
    thread = call_sync(MemoryStore().thread, "t")
    agents = [agent_named("one", "1"), agent_named("two", "2")]
    conversation = Conversation(agents, RoundRobin(), thread)

    assert [conversation.send_sync("Hi").text for _ in agents] == ["1", "2"]
    assert texts(call_sync(conversation.messages)) == ["Hi", "1", "Hi", "2"]


def test_a_result_tells_what_it_cost() -> None:
    """The run, its state, its time and its usage are in the result."""
    agent = Agent(ScriptedModel(["Hello."], usage=True), name="helper")

    result = asyncio.run(Conversation(agent).send("Hi"))

    assert result.usage is not None
    assert result.usage.input_tokens > 0
    assert result.execution_time > 0
    assert result.execution_count == 1
    assert result.checkpoint is not None
    assert (result.run_id, result.checkpoint.agent_name) == (result.checkpoint.run_id, "helper")


def test_a_response_holds_the_tools_and_not_the_question() -> None:
    """The response is what was said to the message: calls, answers of tools and the last word."""
    model = ScriptedModel([calls(("look_up", {"order": "AB12"})), "It is in Lisbon."])
    conversation = Conversation(Agent(model, tools=[look_up]))

    result = asyncio.run(conversation.send("Where is AB12?"))

    assert [message.role for message in result.response] == ["assistant", "tool", "assistant"]
    assert result.text == "It is in Lisbon."


async def test_without_a_thread_one_in_memory_is_made() -> None:
    """The thread is there from the first use on, and everything goes on in it."""
    conversation = Conversation(agent_named("helper"))
    assert (conversation.thread, await conversation.messages()) == (None, [])
    await conversation.send("one")
    thread = conversation.thread
    result = await conversation.send("two")
    assert conversation.thread is thread
    assert result.turn_number == 2


def test_agents_are_given_by_name_too() -> None:
    """A mapping by name is the same as a sequence."""
    agents = {"a": agent_named("a"), "b": agent_named("b")}

    assert Conversation(agents, orchestrator=RoundRobin()).agents == agents


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"agents": "openai:gpt-5"},
            r"agent must be an Agent, got str: `Agent\(model\)` makes one",
        ),
        ({"agents": [3]}, "agent must be an Agent, got int"),
        (
            {"agents": [*map(agent_named, "abc")]},
            "3 agents needs an orchestrator, such as RoundRobin",
        ),
        ({"agents": [], "orchestrator": RoundRobin()}, "agents must not be empty"),
        ({"agents": {}, "orchestrator": RoundRobin()}, "agents must not be empty"),
        (
            {"agents": [*map(agent_named, "aa")], "orchestrator": RoundRobin()},
            "different names, got a twice",
        ),
        ({"agents": {"b": agent_named("a")}}, "the key of an agent must be its name"),
        (
            {"orchestrator": RoundRobin},
            "orchestrator must be an instance, got the class RoundRobin",
        ),
        ({"orchestrator": "round robin"}, "orchestrator must be an Orchestrator, got str"),
        ({"orchestrator": Blocking()}, r"Blocking\.orchestrate must be async"),
        ({"thread": "t"}, "thread must be a ConversationThread or None, got str"),
    ],
)
def test_a_wrong_part_is_refused(arguments: Mapping[str, object], text: str) -> None:
    """What is no agent, orchestrator or thread is named, and so is a wrong number or name."""
    given: dict[str, object] = {"agents": agent_named("a"), **arguments}

    with pytest.raises(ConfigError, match=text):
        Conversation(**given)  # type: ignore[arg-type]  # what a caller without a checker does


def test_options_of_a_message_are_a_mapping() -> None:
    """Those of an agent are refused, and nothing is stored."""
    conversation = Conversation(agent_named("a"))
    options: Any = AgentOptions()

    with pytest.raises(
        ConfigError, match=r"^options must be a Mapping or None, got AgentOptions: they"
    ):
        conversation.send_sync("Hi", options=options)
    assert conversation.thread is None


@pytest.mark.parametrize("message", [3, [Message.user("a"), "b"]])
def test_a_wrong_message_is_refused(message: object) -> None:
    """A message is a text or messages, and nothing is stored of anything else."""
    conversation = Conversation(agent_named("a"))

    with pytest.raises(ConfigError, match=r"^message.* must be a (str or )?Message"):
        asyncio.run(conversation.send(message))  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ConfigError, match=r"^message.* must be a (str or )?Message"):
        conversation.send_stream(message)  # type: ignore[arg-type]  # what is refused
    assert conversation.thread is None


async def test_a_message_may_be_more_than_a_text() -> None:
    """Messages are taken as they are, one or several, and stored in order."""
    conversation = Conversation(agent_named("a"), orchestrator=RoundRobin())
    messages = [Message.user("one", name="Ann"), Message.user("two", name="Bob")]
    await conversation.send(messages)
    await conversation.send(messages[0])
    told = await conversation.messages()
    assert [message.name for message in told] == ["Ann", "Bob", None, "Ann", None]
    assert all(message.created_at for message in told)


async def test_one_answer_at_a_time() -> None:
    """Who sends with `error` while an answer is being given is refused, and the first answer comes."""
    conversation = Conversation(Agent(ScriptedModel(["first"], delay=0.01)))
    first = asyncio.create_task(conversation.send("one"))
    await asyncio.sleep(0)
    with pytest.raises(TurnRunningError, match="a turn is running"):
        await conversation.send("two", on_conflict="error")
    assert (await first).text == "first"
    assert texts(await conversation.messages()) == ["one", "first"]


async def test_the_reduction_is_applied_before_the_response_is_appended() -> None:
    """After a fold thread and result have the record of the messages before the answer."""
    conversation = Conversation(folding())
    results = [await conversation.send(text) for text in said(4)]
    assert [result.reduction is None for result in results] == [True, True, True, False]
    reduction, thread = results[3].reduction, conversation.thread
    assert thread is not None
    assert reduction is not None
    assert thread.last_reduction == reduction.state
    assert reduction.state.summarized_up_to_index == 4
    assert thread.count == 8


async def test_overrides_last_for_one_message() -> None:
    """A fold that is asked for happens with this message and not with the next one."""
    conversation = Conversation(folding(target=1, threshold=9))
    first, second, third = said(3)
    await conversation.send(first)
    now = AgentRunConfig(trigger_history_reduction=True)
    forced = await conversation.send(second, config=now)
    assert forced.reduction is not None
    assert (await conversation.send(third)).reduction is None


async def test_a_fold_that_ends_the_turn_leaves_it_pending() -> None:
    """With the circuit breaker the message waits; sending nothing gives the answer."""
    conversation = Conversation(folding(behavior="circuit_breaker"))
    results = [await conversation.send(text) for text in said(4)]
    halted = results[3]
    assert (halted.status, halted.is_complete, halted.response) == ("pending", False, ())
    assert halted.text == ""
    assert halted.metadata.context["MessagesRemovedCount"] == 4
    assert halted.checkpoint is not None
    assert halted.checkpoint.termination_reason == CIRCUIT_BREAKER_TERMINATION
    answered = await conversation.send()
    assert (answered.is_complete, answered.turn_number) == (True, 4)
    assert (await conversation.messages())[-1].text == answered.text


def test_a_limit_is_a_failure() -> None:
    """A turn that a limit ends is not complete, and its last word says why."""
    model = ScriptedModel(repeat=calls(("look_up", {"order": "AB12"})))
    conversation = Conversation(Agent(model, tools=[look_up]))

    result = asyncio.run(conversation.send("Where is AB12?"))

    assert (result.status, result.is_complete) == ("failed", False)
    assert "Circuit breaker triggered" in result.text


def test_a_named_agent_may_answer_always() -> None:
    """`SingleAgent` lets one of several answer, and says so when there is none of that name."""
    agents = [agent_named("a"), agent_named("b")]

    assert (
        asyncio.run(Conversation(agents, orchestrator=SingleAgent("b")).send("x")).text == "b here"
    )
    with pytest.raises(
        ConfigError, match=r"must be an agent of the conversation \(a, b\), got 'c'"
    ):
        asyncio.run(Conversation(agents, orchestrator=SingleAgent("c")).send("x"))


async def test_two_handles_of_one_thread_do_not_mix() -> None:
    """Of two conversations on a thread the one that is behind is refused, if it asks for that."""
    async with MemoryStore() as store:
        mine, yours = await store.thread("t"), await store.thread("t")
        await Conversation(agent_named("a"), thread=mine).send("me first")
        with pytest.raises(ThreadConflictError):
            await Conversation(
                [agent_named("a"), agent_named("b")], orchestrator=RoundRobin(), thread=yours
            ).send("no, me", on_conflict="error")
        assert texts(await mine.get_messages()) == ["me first", "a here"]


def test_the_name_of_the_single_agent_is_a_str() -> None:
    """Another type is refused when the orchestrator is made."""
    with pytest.raises(ConfigError, match=r"^name must be a str, got int$"):
        SingleAgent(3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
