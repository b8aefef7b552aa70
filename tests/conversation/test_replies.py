"""Agents that answer one another, without a message of the user in between."""

from pathlib import Path

import pytest

from foldline.agent.agent import Agent
from foldline.agent.events import RequestSentEvent
from foldline.conversation.conversation import Conversation
from foldline.conversation.model_router import ModelRouter
from foldline.conversation.orchestrator import RoundRobin
from foldline.errors import ModelError
from foldline.history.formats.renderings import render_anthropic
from foldline.history.messages import AGENT_KEY, Message
from foldline.history.parts import TextPart, ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.provider import ProviderConfig
from foldline.testing.grammars.anthropic import check_anthropic
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.conversation.stories import agent_named, texts
from tests.servers.claude import ClaudeServer


NOTE = "[The last answer is by a. Now it is the turn of b.]"


async def test_agents_talk_among_themselves(tmp_path: Path) -> None:
    """After one message of the user any number of answers follow, each by the next agent."""
    agents = [agent_named("a"), agent_named("b"), agent_named("c")]
    selected: list[str] = []
    said: list[Message] = []
    for n in range(15):
        async with SQLiteStore(tmp_path / "chat.db") as store:
            thread = await store.thread("t")
            conversation = Conversation(agents, orchestrator=RoundRobin(), thread=thread)
            selected.append((await conversation.send(None if n else "begin")).selected_agent)
            assert await conversation.resume() is None
            said = await conversation.messages()

    assert selected == [*"abcabcabcabcabc"]
    assert texts(said) == ["begin", *(f"{name} here" for name in selected)]
    assert [message.role for message in said] == ["user", *["assistant"] * 15]


async def test_a_reply_is_asked_for_by_a_note_that_is_not_stored() -> None:
    """The request ends with who has spoken and whose turn it is, is counted whole, and is valid."""
    model = ScriptedModel(repeat="b here", delay=0)
    agents = [agent_named("a"), Agent(model, name="b")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    await conversation.send("begin")
    events = [event async for event in conversation.send_stream()]

    (request,) = model.requests
    assert texts(request.messages) == ["begin", "a here", NOTE]
    assert render_anthropic(request.messages).messages[-1] == {"role": "user", "content": NOTE}
    (sent,) = [event for event in events if isinstance(event, RequestSentEvent)]
    counter = TokenEstimator()
    tokens = sum(count_message(message, counter) for message in request.messages)
    assert (sent.tokens, sent.message_count) == (tokens, 3)
    assert texts(await conversation.messages()) == ["begin", "a here", "b here"]


async def test_the_note_stays_while_tools_run(tmp_path: Path) -> None:
    """Later requests of the turn begin with the first one, also where another process goes on."""

    def look() -> str:
        return "a table"

    model = ScriptedModel([calls(("look", {})), ModelError("down"), calls(("look", {})), "b here"])
    agents = [agent_named("a"), Agent(model, name="b", tools=[look])]
    async with SQLiteStore(tmp_path / "chat.db") as store:
        conversation = Conversation(
            agents, orchestrator=RoundRobin(), thread=await store.thread("t")
        )
        await conversation.send("begin")
        with pytest.raises(ModelError):
            await conversation.send()
    async with SQLiteStore(tmp_path / "chat.db") as store:
        thread = await store.thread("t")
        await Conversation(agents, orchestrator=RoundRobin(), thread=thread).resume()
        said = await thread.get_messages()

    first, *others = [request.messages for request in model.requests]
    assert texts(first) == ["begin", "a here", NOTE]
    assert [one[: len(first)] for one in others] == [first] * 3
    assert others[-1][len(first) :] == tuple(said[2:-1])


async def test_agents_of_claude_with_and_without_tools() -> None:
    """No request is refused, and thinking goes back with the results of the tools it called."""

    def look() -> str:
        return "a table"

    with ClaudeServer() as vendor:
        provider = ProviderConfig(
            provider_key="anthropic", model_name=vendor.model, api_key="x", base_url=vendor.url
        )
        names = ("a", "look", "c")
        agents = [Agent(provider, name=name, tools=[look] * (name == "look")) for name in names]
        conversation = Conversation(agents, orchestrator=RoundRobin())
        for text in ("begin", *[None] * 5):
            await conversation.send(text)
        for agent in agents:
            await agent.close()

    assert (vendor.refusals, len(vendor.asked)) == ([], 8)
    assert vendor.thoughts == 4


async def test_each_one_who_has_spoken_since_is_named() -> None:
    """The note names who gave each answer since the agent or a user spoke, the oldest first."""
    model = ScriptedModel(repeat="d here", delay=0)
    agents = [agent_named("a"), agent_named("b"), agent_named("c"), Agent(model, name="d")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    for n in range(8):
        await conversation.send(None if n else "begin")
    for n in range(4):
        await conversation.send("once more" if n == 1 else None)

    by_all = "[The last 3 answers are by a, b and c. Now it is the turn of d.]"
    by_two = "[The last 2 answers are by b and c. Now it is the turn of d.]"
    assert [one.messages[-1].text for one in model.requests] == [by_all, by_all, by_two]


async def test_the_calls_of_another_agent_are_no_answers() -> None:
    """An answer that took calls counts once, and of a long talk only the newest are named."""
    model = ScriptedModel(repeat="d here", delay=0)
    thread = await MemoryStore().thread("t")
    call = ToolCallPart("1", "look", "{}")
    by_a, by_b = {AGENT_KEY: "a"}, {AGENT_KEY: "b"}
    looked = [
        Message(role="assistant", parts=(call,), metadata=by_a),
        Message.tool("1", "a table"),
        Message(role="assistant", parts=(TextPart("A table."),), metadata=by_a),
    ]
    answer = Message(role="assistant", parts=(TextPart("I see."),), metadata=by_b)
    await thread.add_messages([Message.user("What is there?"), *looked, answer])
    await Agent(model, name="d").run(thread=thread)
    await thread.add_messages([answer] * 9)
    await Agent(model, name="d").run(thread=thread)

    notes = [one.messages[-1].text for one in model.requests]
    assert notes[0] == "[The last 2 answers are by a and b. Now it is the turn of d.]"
    assert notes[1].startswith(f"[The last 8 answers are by {', '.join('b' * 7)} and b.")


async def test_an_agent_alone_gets_no_note() -> None:
    """An agent that continues after its own answer, or after one of nobody, is asked as before."""
    for said in ([], [Message.assistant("so")]):
        model = ScriptedModel(repeat="b here", delay=0)
        thread = await MemoryStore().thread("t")
        await thread.add_messages([Message.user("hi"), *said])
        agent = Agent(model, name="b")
        for _ in range(2):
            await agent.run(thread=thread)

        assert texts(model.requests[-1].messages) == texts(await thread.get_messages())[:-1]


async def test_a_reply_that_failed_is_resumed() -> None:
    """The agent whose turn it was answers, is told the same again, and nothing is said twice."""
    model = ScriptedModel([ModelError("down"), "b here"], delay=0)
    agents = [agent_named("a"), Agent(model, name="b")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    await conversation.send("begin")
    with pytest.raises(ModelError):
        await conversation.send()
    resumed = await conversation.resume()

    assert resumed is not None
    assert resumed.selected_agent == "b"
    assert [request.messages[-1].text for request in model.requests] == [NOTE, NOTE]
    assert texts(await conversation.messages()) == ["begin", "a here", "b here"]


async def test_the_next_agent_follows_from_the_last_answer() -> None:
    """After a rewind, on a fork and behind a system message the one after the last speaker answers."""
    agents = [agent_named("a"), agent_named("b"), agent_named("c")]
    store = MemoryStore()
    thread = await store.thread("t")
    conversation = Conversation(agents, orchestrator=RoundRobin(), thread=thread)
    for text in ("begin", None, None):
        await conversation.send(text)
    fork = Conversation(agents, orchestrator=RoundRobin(), thread=await thread.fork("f", at=3))
    await thread.pop()
    await thread.add_message(Message.system("be brief"))

    assert (await fork.send()).selected_agent == "c"
    assert (await conversation.send()).selected_agent == "c"
    assert (await conversation.send("and now?")).selected_agent == "b"


async def test_a_router_may_choose_who_replies() -> None:
    """The router sees the last answer, and the agent that it names answers that."""
    router = ScriptedModel(["a", "b"], delay=0)
    conversation = Conversation(
        [agent_named("a"), agent_named("b")], orchestrator=ModelRouter(router)
    )
    await conversation.send("begin")
    assert (await conversation.send()).selected_agent == "b"
    assert "a here" in router.requests[-1].messages[-1].text


async def test_a_talk_among_agents_is_folded_between_two_answers() -> None:
    """Without another message of the user every request fits, and each of them is valid."""
    said = "because of the long reasons that were given before " * 12
    model = ScriptedModel(repeat=lambda request: f"idea {len(request.messages)}: {said}")
    config = HistoryReductionConfig(context_window_size=4_000)
    agents = [Agent(model, name=name, history_reduction=config) for name in ("ann", "bob", "cy")]
    conversation = Conversation(agents, orchestrator=RoundRobin())
    await conversation.send("Find a name for the ship.")
    for _ in range(60):
        await conversation.send()
    counter = TokenEstimator()
    thread = conversation.thread
    reduction = None if thread is None else thread.last_reduction

    assert reduction is not None
    assert reduction.summarized_up_to_index > 30
    for request in model.requests:
        assert sum(count_message(one, counter) for one in request.messages) <= 2_800
        assert not check_anthropic("", render_anthropic(request.messages).messages)
