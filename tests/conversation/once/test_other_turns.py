"""What others on the thread mean for a message of a conversation of several agents."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from datetime import timedelta

import pytest

from foldline import Agent, Conversation, Message, RoundRobin
from foldline.conversation.orchestration import OrchestrationResult
from foldline.conversation.orchestrator import Orchestrator
from foldline.errors import ModelError, RunStartError
from foldline.events import TextDeltaEvent
from foldline.testing.model import ModelStep, ScriptedModel
from foldline.threads.store import ThreadStore
from tests.agent.once.gated import ON_EVERY_STORE, GatedModel
from tests.conversation.orchestrators import Agents, Recorded, result_of
from tests.threads.clock import Clock


class DownError(Exception):
    """The process ends."""


async def conversation(
    store: ThreadStore,
    *steps: ModelStep,
    model: ScriptedModel | GatedModel | None = None,
    orchestrator: Orchestrator | None = None,
) -> Conversation:
    model = model or ScriptedModel(steps)
    return Conversation(
        [Agent(model, name=name) for name in "ab"],
        orchestrator=orchestrator or RoundRobin(),
        thread=await store.thread("t"),
    )


async def said(store: ThreadStore) -> list[str]:
    return [one.text for one in await (await store.thread("t")).get_messages()]


async def close(talk: Conversation) -> None:
    async with aclosing(talk.send_stream("one?", turn_id="one")) as stream:
        async for event in stream:
            if isinstance(event, TextDeltaEvent):
                return


async def dies_at_once(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    raise DownError


async def dies_between(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    await agents["a"].run()
    raise DownError


async def hands_over(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    with pytest.raises(ModelError):
        await agents["a"].run()
    turn = await agents["b"].run()
    return result_of(turn.messages, "b")


async def one_by_one(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    turns = [await agents[name].run() for name in "ab"]
    return result_of(turns[-1].messages, "b")


@ON_EVERY_STORE
async def test_a_message_is_stored_after_the_one_that_is_finished_first(store: ThreadStore) -> None:
    """With `resume` the earlier message is answered, and then this one, each under its own id."""
    async with store:
        with pytest.raises(ModelError):
            await (await conversation(store, ModelError("down"))).send("one?", turn_id="one")
        talk = await conversation(store, "one.", "two.")
        second = await talk.send("two?", turn_id="two", on_open="resume")
        first = await talk.send("one?", turn_id="one")
        texts = await said(store)

    assert (first.text, second.text) == ("one.", "two.")
    assert texts == ["one?", "one.", "two?", "two."]


@ON_EVERY_STORE
async def test_a_closed_tab_keeps_its_own_answer(store: ThreadStore) -> None:
    """What was streamed is the answer of its message, whatever was said after it."""
    async with store:
        talk = await conversation(store, model=GatedModel())
        await close(talk)
        talk = await conversation(store, "two.")
        await talk.send("two?", turn_id="two")
        again = await talk.send("one?", turn_id="one")
        texts = await said(store)

    assert (again.text, again.is_complete) == ("half of ", False)
    assert texts == ["one?", "half of ", "two?", "two."]


@ON_EVERY_STORE
async def test_what_is_said_after_an_agent_is_no_part_of_its_message(store: ThreadStore) -> None:
    """If the process ends between two agents, what the first has answered is the answer."""
    async with store:
        talk = await conversation(store, "one.", orchestrator=Recorded(dies_between))
        with pytest.raises(DownError):
            await talk.send("one?", turn_id="one")
        talk = await conversation(store, "two.")
        await talk.send("two?")
        again = await talk.send("one?", turn_id="one")

    assert [one.text for one in again.response] == ["one."]


@ON_EVERY_STORE
async def test_the_answer_to_another_message_is_not_that_to_this_one(store: ThreadStore) -> None:
    """A message that no agent had begun is an error after another one was answered."""
    async with store:
        talk = await conversation(store, orchestrator=Recorded(dies_at_once))
        with pytest.raises(DownError):
            await talk.send("one?", turn_id="one")
        talk = await conversation(store, "two.")
        await talk.send("two?", turn_id="two")
        with pytest.raises(RunStartError, match="was left for the next message"):
            await talk.send("one?", turn_id="one")
        texts = await said(store)

    assert texts == ["one?", "two?", "two."]


@ON_EVERY_STORE
async def test_a_message_that_nobody_began_is_answered_later(store: ThreadStore) -> None:
    """The same send answers a message that is stored, and nothing else."""
    async with store:
        talk = await conversation(store, orchestrator=Recorded(dies_at_once))
        with pytest.raises(DownError):
            await talk.send("one?", turn_id="one")
        talk = await conversation(store, "one.")
        result = await talk.send("one?", turn_id="one")
        again = await talk.send("one?", turn_id="one")
        texts = await said(store)

    assert (result.text, again.text, texts) == ("one.", "one.", ["one?", "one."])


async def test_who_waits_gets_the_answer_of_the_last_agent(store: ThreadStore) -> None:
    """The same message at the same time waits while a second agent answers after the first."""
    model = GatedModel()
    agents = [Agent(ScriptedModel(["so far"]), name="a"), Agent(model, name="b")]
    async with store:
        talks = [
            Conversation(agents, orchestrator=Recorded(one_by_one), thread=await store.thread("t"))
            for _ in range(2)
        ]
        first = asyncio.create_task(talks[0].send("one?", turn_id="one"))
        await model.asked.wait()
        second = asyncio.create_task(talks[1].send("one?", turn_id="one"))
        done, _ = await asyncio.wait([second], timeout=0)
        model.gate.set()
        results = await asyncio.gather(first, second)

    assert not done
    assert [one.text[:9] for one in results] == ["answer to"] * 2
    assert len(model.requests) == 1


@ON_EVERY_STORE
async def test_who_waits_already_waits_through_a_handover(store: ThreadStore) -> None:
    """Between two agents the thread is not free: a double click and another message wait on."""
    answers = ScriptedModel(repeat=lambda request: f"on {request.messages[-1].text}", delay=0.01)
    down = ScriptedModel([ModelError("down")], repeat="fine")
    agents = [Agent(down, name="a"), Agent(answers, name="b")]
    async with store:
        first, twin, other = [
            Conversation(agents, orchestrator=orchestrator, thread=await store.thread("t"))
            for orchestrator in (Recorded(hands_over), Recorded(hands_over), RoundRobin())
        ]
        results = await asyncio.gather(
            first.send("one?", turn_id="one"), twin.send("one?", turn_id="one"), other.send("two?")
        )
        texts = await said(store)

    assert [one.text for one in results] == ["on one?", "on one?", "on two?"]
    assert texts == ["one?", "on one?", "two?", "on two?"]


async def test_who_was_taken_over_gets_the_answer(store: ThreadStore, clock: Clock) -> None:
    """A worker that stood still returns the answer of the one who took its message over."""
    slow, other = GatedModel(), GatedModel()
    async with store:
        one = await conversation(store, model=slow)
        first = asyncio.create_task(one.send("hello", turn_id="id"))
        await slow.asked.wait()
        clock.now += timedelta(seconds=16)
        two = await conversation(store, model=other)
        second = asyncio.create_task(two.send("hello", turn_id="id"))
        await other.asked.wait()
        slow.gate.set()
        await asyncio.sleep(0)
        other.gate.set()
        results = await asyncio.gather(first, second)
        texts = await said(store)

    assert [one.text for one in results] == ["answer to hello"] * 2
    assert texts == ["hello", "answer to hello"]


async def test_what_another_one_has_answered_is_not_answered_again(store: ThreadStore) -> None:
    """Of two that resume after a restart, the second one has no other agent answer the answer."""
    model = ScriptedModel(["fine"])
    async with store:
        await (await store.thread("t")).add_message(Message.user("Hi"))
        both = [await conversation(store, model=model) for _ in range(2)]
        results = [await one.resume() for one in both]

    assert [one and one.text for one in results] == ["fine", "fine"]
