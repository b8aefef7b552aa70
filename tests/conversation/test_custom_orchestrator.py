"""Orchestrators of the user's own: the one of the C# documents, and others that promise less."""

import asyncio
from collections.abc import Callable, Sequence
from typing import cast

import pytest
from msgspec import structs

from foldline.agent.result import answered_by
from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestration import OrchestrationResult
from foldline.errors import ConfigError, ThreadConflictError
from foldline.history.digest import chain_digest_with_nulls
from foldline.history.messages import Message
from foldline.history.parts import GenericPart
from foldline.reduction.config import AgentRunConfig
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.memory import MemoryStore
from tests.conversation.orchestrators import (
    Act,
    Agents,
    Custom,
    Recorded,
    named,
    result_of,
    talk,
    thread_of,
)
from tests.conversation.stories import SUMMARY, agent_named, folding, said, texts


def test_the_orchestrator_of_the_documents_works() -> None:
    """Its response is stored once and behind its reduction, which the next message hits."""
    conversation = Conversation(folding(), orchestrator=Custom())

    results = asyncio.run(talk(conversation, 6))

    folds = [at for at, result in enumerate(results) if result.reduction is not None]
    thread = thread_of(conversation)
    assert folds == [3, 5]
    assert thread.count == 12
    assert len(asyncio.run(thread.reductions())) == 2
    assert thread.last_reduction is not None
    assert thread.last_reduction.summarized_up_to_index == 8
    context = results[3].metadata.context
    assert sorted(context) == ["MessagesRemovedCount", "SummaryMessage"]
    assert context["MessagesRemovedCount"] == 4
    assert results[3].metadata.agent_scores == {"agent": 1.0}
    assert results[4].metadata.context == {}


async def on_the_thread(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turn = await agents["agent"].run()
    return OrchestrationResult.of_turn(turn, "agent", strategy_name="Custom")


def test_the_two_ways_to_answer_leave_the_same_thread() -> None:
    """On the thread or as a response: the messages and the reductions are the same."""
    durable = Conversation(folding(), orchestrator=Recorded(on_the_thread))
    returned = Conversation(folding(), orchestrator=Custom())
    for conversation in (durable, returned):
        asyncio.run(talk(conversation, 6))
    first, second = (thread_of(conversation) for conversation in (durable, returned))

    assert texts(asyncio.run(durable.messages())) == texts(asyncio.run(returned.messages()))
    assert first.last_reduction is not None
    assert second.last_reduction is not None
    assert first.last_reduction.message_hash == second.last_reduction.message_hash


async def test_the_orchestrator_is_told_everything() -> None:
    """It gets the full history, the new message last, and the options."""
    orchestrator = Recorded(on_the_thread)
    conversation = Conversation(folding(), orchestrator=orchestrator)
    await talk(conversation, 4)
    await conversation.send("and?", options={"mood": "calm"}, config=AgentRunConfig())
    thread = thread_of(conversation)
    first, last = orchestrator.options[0], orchestrator.options[-1]
    assert [len(history) for history in orchestrator.histories] == [1, 3, 5, 7, 9]
    assert orchestrator.histories[-1][-1] == "and?"
    assert set(orchestrator.ids) == {thread.id}
    assert (first.last_reduction, first.last_agent, first.turn_number) == (None, None, 1)
    assert last.last_reduction is not None
    assert last.last_reduction.summary_content == SUMMARY
    assert (last.last_agent, last.turn_number) == ("agent", 5)
    assert (first.values, last.values) == ({}, {"mood": "calm"})
    assert (first.config, last.config) == (None, AgentRunConfig())


def test_a_minimal_orchestrator_is_filled_in() -> None:
    """What the orchestrator leaves out of its result is known from the turns that it ran."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        turn = await agents["agent"].run()
        return result_of(turn.messages, "agent")

    conversation = Conversation(folding(), orchestrator=Recorded(act))

    last = asyncio.run(talk(conversation, 4))[-1]

    assert last.reduction is not None
    assert last.metadata.context["MessagesRemovedCount"] == 4
    assert (last.turn_number, last.execution_order) == (4, ("agent",))
    assert last.usage is not None
    assert last.run_id


async def keep(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    return result_of((await agents["a"].run()).messages)


async def copy(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turn = await agents["a"].run()
    return result_of([Message.assistant(turn.text)])


async def empty(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    await agents["a"].run()
    return result_of([])


async def final_history(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turn = await agents["a"].run()
    return result_of(await turn.thread.get_messages())


async def plain_agent(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    # The agent stores the history that it is given on a thread of its own.
    return result_of((await agents["a"].agent.run(history)).messages)


async def own_words(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    return result_of([Message.assistant("a here")])


@pytest.mark.parametrize("act", [keep, copy, empty, final_history, plain_agent, own_words])
async def test_nothing_is_stored_twice(act: Act) -> None:
    """Whichever way the response comes, each message is on the thread once."""
    conversation = Conversation([agent_named("a")], orchestrator=Recorded(act))
    await conversation.send("one")
    await conversation.send("two")
    assert texts(await conversation.messages()) == ["one", "a here", "two", "a here"]


async def test_what_is_said_beside_a_turn_is_stored_too() -> None:
    """A message that the orchestrator adds to a turn is stored after it."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        turn = await agents["a"].run()
        return result_of([*turn.messages, Message.assistant("That was a.")], "host")

    orchestrator = Recorded(act)
    conversation = Conversation([agent_named("a")], orchestrator=orchestrator)
    await conversation.send("one")
    result = await conversation.send("two")
    assert texts(await conversation.messages())[-2:] == ["a here", "That was a."]
    assert texts(result.response) == ["a here", "That was a."]
    assert orchestrator.options[1].last_agent == "host"


async def said_again(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turn = await agents["a"].run()
    return result_of([*turn.messages, Message.assistant(turn.text)])


async def said_before(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turn = await agents["a"].run()
    return result_of([Message.assistant(turn.text), *await turn.thread.get_messages(last=1)])


async def said_by_both(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    first, second = await agents["a"].run(), await agents["a"].run("again")
    assert first.text == second.text
    return result_of([*first.messages, *second.messages])


async def asked_back(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turn = await agents["a"].run()
    return result_of([*turn.messages, Message.user(history[-1].text)])


@pytest.mark.parametrize(
    ("act", "want"),
    [
        (asked_back, ["one", "a here", "one"]),
        (said_again, ["one", "a here", "a here"]),
        (said_before, ["one", "a here", "a here"]),
        (said_by_both, ["one", "a here", "again", "a here"]),
    ],
)
def test_a_message_that_equals_another_one_is_not_lost(act: Act, want: list[str]) -> None:
    """What a turn has stored is left out as often as it was stored, and no oftener."""
    conversation = Conversation([agent_named("a")], orchestrator=Recorded(act))

    asyncio.run(conversation.send("one"))

    assert texts(asyncio.run(conversation.messages())) == want


@pytest.mark.parametrize("act", [keep, own_words])
def test_a_stored_response_tells_who_said_it(act: Act) -> None:
    """The agent stands in the metadata, which no vendor is sent and no digest covers."""
    conversation = Conversation([agent_named("a")], orchestrator=Recorded(act))

    result = asyncio.run(conversation.send("one"))
    question, answer = asyncio.run(conversation.messages())

    assert (answered_by(question), answered_by(answer)) == (None, "a")
    assert (answer.name, answer.created_at is None) == (None, False)
    assert result.response == (answer,)


def test_a_reduction_of_other_messages_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """A reduction of other messages is not applied; the answer is kept."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        turn = await agents["agent"].respond(other_beginning(history))
        return OrchestrationResult.of_turn(turn, "agent", strategy_name="Custom")

    async def longer(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        turn = await agents["agent"].respond([*map(Message.user, said(20)), *history])
        return OrchestrationResult.of_turn(turn, "agent", strategy_name="Custom")

    for orchestrator in (Recorded(act), Recorded(longer)):
        conversation = Conversation(folding(), orchestrator=orchestrator)
        last = asyncio.run(talk(conversation, 4))[-1]
        thread = thread_of(conversation)
        assert (thread.last_reduction, last.reduction, thread.count) == (None, None, 8)
        assert "does not match the messages" in caplog.text


def test_a_response_uses_the_reduction_of_rows_of_an_earlier_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its digests are not those of the history that is handed over, which has the same messages."""
    agent = folding(target=4, threshold=2)
    found = Message(role="assistant", parts=(GenericPart("web", '{"found":1,"page":null}'),))
    asked = [one for text in said(6) for one in (Message.user(text), found)]

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        turn = await agents["agent"].respond(history)
        return OrchestrationResult.of_turn(turn, "agent", strategy_name="Custom")

    async def run() -> None:
        store = MemoryStore()
        with monkeypatch.context() as earlier:
            earlier.setattr("foldline.threads.head.chain_digest", chain_digest_with_nulls)
            thread = await store.thread("t")
            await thread.add_messages(asked)
            await agent.fold(thread)
        thread = await store.thread("t")
        await Conversation(agent, Recorded(act), thread).send("one")
        assert len(await thread.reductions()) == 1

    asyncio.run(run())


def other_beginning(history: Sequence[Message]) -> list[Message]:
    return [Message.user("something else"), *history[1:]]


def last_alone(history: Sequence[Message]) -> list[Message]:
    return list(history[-1:])


@pytest.mark.parametrize("change", [other_beginning, last_alone])
def test_a_changed_history_is_answered_as_it_is(
    change: Callable[[Sequence[Message]], list[Message]],
) -> None:
    """The reduction of the thread is used only if it matches the given history."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        if len(history) < 9:
            turn = await agents["agent"].respond(history)
            return OrchestrationResult.of_turn(turn, "agent", strategy_name="Custom")
        turn = await agents["b"].respond(change(history))
        return OrchestrationResult.of_turn(turn, "b", strategy_name="Custom")

    model = ScriptedModel(["b here"])
    agents = [folding(), named("b", model)]
    conversation = Conversation(agents, orchestrator=Recorded(act))

    asyncio.run(talk(conversation, 5))
    messages = asyncio.run(conversation.messages())
    thread = thread_of(conversation)

    assert texts(model.requests[0].messages) == texts(change(messages[:-1]))
    assert (thread.count, messages[-1].text) == (10, "b here")
    assert thread.last_reduction is not None
    assert thread.last_reduction.summarized_up_to_index == 4


def test_somebody_else_on_the_thread_is_noticed() -> None:
    """A response is not appended behind a message that the orchestrator has not seen."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        await thread_of(conversation).append([Message.user("wait!")])
        return result_of([Message.assistant("too late")])

    conversation = Conversation([agent_named("a")], orchestrator=Recorded(act))

    with pytest.raises(ThreadConflictError):
        asyncio.run(conversation.send("one"))
    assert texts(asyncio.run(conversation.messages())) == ["one", "wait!"]


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, "Recorded must return an OrchestrationResult, got NoneType"),
        ("hello", "Recorded must return an OrchestrationResult, got str"),
        (
            structs.replace(result_of([]), response="hello"),
            "response must be a list or tuple, got str",
        ),
        (
            structs.replace(result_of([]), response=("hello",)),
            r"response\[0\] must be a Message, got str",
        ),
    ],
)
def test_what_is_no_result_is_refused(returned: object, text: str) -> None:
    """An orchestrator that returns something else is told so; the message waits for an answer."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        return cast("OrchestrationResult", returned)

    conversation = Conversation([agent_named("a")], orchestrator=Recorded(act))

    with pytest.raises(ConfigError, match=text):
        asyncio.run(conversation.send("one"))
    assert texts(asyncio.run(conversation.messages())) == ["one"]
