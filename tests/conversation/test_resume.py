"""Conversations that are interrupted, and go on."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from foldline.agent.agent import Agent
from foldline.agent.tools import tool
from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestration import OrchestrationResult
from foldline.conversation.orchestrator import Orchestrator, RoundRobin
from foldline.errors import ConfigError, ModelError, RunStartError, StoreError
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.conversation.orchestrators import ON_EVERY_ORCHESTRATOR, Agents, Recorded
from tests.conversation.stories import agent_named, texts


class CrashedError(StoreError):
    """The process is gone."""


class CrashingStorage(MemoryStorage):
    """Crashes at the commit with the number *at*, and lives on for the next process."""

    def __init__(self, at: int, *, behind: bool) -> None:
        super().__init__()
        self.left = at
        self.behind = behind

    async def commit(self, key: ThreadKey, change: Change) -> None:
        self.left -= 1
        if self.left == 0 and not self.behind:
            raise CrashedError
        await super().commit(key, change)
        if self.left == 0:
            raise CrashedError


async def test_a_crash_between_the_message_and_the_choice(tmp_path: Path) -> None:
    """The message is stored before anybody is asked; another process finds it and answers."""

    async def act(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
        if len(orchestrator.histories) == 1:
            message = "no agent can be chosen now"
            raise ModelError(message)
        turn = await agents["b"].run()
        return OrchestrationResult.of_turn(turn, "b", strategy_name="Fails")

    orchestrator = Recorded(act)

    async def process(message: str | None) -> OrchestrationResult:
        async with SQLiteStore(tmp_path / "chat.db") as store:
            agents = [agent_named("a"), agent_named("b")]
            thread = await store.thread("t")
            conversation = Conversation(agents, orchestrator=orchestrator, thread=thread)
            return await conversation.send(message)

    async def stored() -> list[str]:
        async with SQLiteStore(tmp_path / "chat.db") as store:
            return texts(await (await store.thread("t")).get_messages())

    with pytest.raises(ModelError):
        await process("Hi")
    assert await stored() == ["Hi"]
    result = await process(None)

    assert (result.text, len(orchestrator.histories)) == ("b here", 2)
    assert await stored() == ["Hi", "b here"]


async def test_an_open_run_is_resumed_by_its_own_agent() -> None:
    """If the model fails in a turn, the same agent continues; nobody chooses again."""
    broken = ScriptedModel([ModelError("out of order"), "a again"])
    agents = [Agent(broken, name="a"), agent_named("b")]
    orchestrator = RoundRobin()
    conversation = Conversation(agents, orchestrator=orchestrator)
    with pytest.raises(ModelError):
        await conversation.send("Hi")
    with pytest.raises(RunStartError, match="Cannot add new messages"):
        await conversation.send("Are you there?", on_open="error")
    result = await conversation.resume()
    assert result is not None
    assert (result.selected_agent, result.metadata.strategy_name) == ("a", "Resume")
    assert texts(result.response) == ["a again"]
    assert texts(await conversation.messages()) == ["Hi", "a again"]
    assert await conversation.resume() is None


async def test_a_run_of_an_unknown_agent_is_told() -> None:
    """If the agent of an open run is missing, the error names it and the others."""
    broken = Agent(ScriptedModel([ModelError("out of order")]), name="gone")
    async with MemoryStore() as store:
        thread = await store.thread("t")
        with pytest.raises(ModelError):
            await Conversation(broken, thread=thread).send("Hi")
        several = Conversation(
            [agent_named("a"), agent_named("b")], orchestrator=RoundRobin(), thread=thread
        )
        with pytest.raises(ConfigError, match="'gone', and the conversation has a, b"):
            await several.resume()
        # One agent alone has no need of the name.
        assert (await Conversation(agent_named("a"), thread=thread).send()).text == "a here"


async def test_an_abandoned_run_leaves_a_message_that_waits() -> None:
    """Where the last word is a call that nobody answered, the message is answered again."""
    looks = asyncio.Event()

    async def look_up(order: str) -> None:
        looks.set()
        await asyncio.sleep(60)

    steps: list[ModelStep] = [calls(("look_up", {"order": "AB12"})), "It is lost."]
    conversation = Conversation(Agent(ScriptedModel(steps), tools=[look_up]))
    sending = asyncio.create_task(conversation.send("Where is AB12?"))
    await looks.wait()
    sending.cancel()
    await asyncio.wait([sending])
    assert conversation.thread is not None
    await conversation.thread.abandon_run()
    result = await conversation.resume()
    assert result is not None
    assert (result.text, result.turn_number) == ("It is lost.", 1)


@ON_EVERY_ORCHESTRATOR
async def test_with_nothing_to_answer_nothing_is_asked(orchestrator: Orchestrator | None) -> None:
    """`resume` gives None if nothing waits, and `send` without a message says so."""
    conversation = Conversation(agent_named("a"), orchestrator=orchestrator)
    assert await conversation.resume() is None
    with pytest.raises(RunStartError, match="nothing to run on"):
        await conversation.send()
    assert await conversation.resume() is None
    await conversation.send("Hi")
    assert await conversation.resume() is None
    with pytest.raises(RunStartError, match="nothing waits for an answer"):
        await conversation.send()
    assert texts(await conversation.messages()) == ["Hi", "a here"]


@ON_EVERY_ORCHESTRATOR
@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
def test_a_crash_at_any_commit_loses_nothing(
    orchestrator: Orchestrator | None, *, behind: bool
) -> None:
    """Whichever commit is the last, a new process continues, and all was said once."""
    want = ["one", "", "on its way", "It is on its way.", "two", "", "on its way"]
    want += ["It is on its way."]
    crashes = 0
    at = 1
    while True:
        storage = CrashingStorage(at, behind=behind)
        told, has_crashed = asyncio.run(_lived(storage, orchestrator))
        assert told == want, at
        if not has_crashed:
            break
        crashes += 1
        at += 1

    assert crashes >= 5


async def _lived(
    storage: CrashingStorage, orchestrator: Orchestrator | None
) -> tuple[list[str], bool]:
    """Say two things, in a new process after each crash."""
    crashed = False
    for text, length in (("one", 0), ("two", 4)):
        try:
            await (await _process(storage, orchestrator)).send(text)
        except CrashedError:
            crashed = True
            conversation = await _process(storage, orchestrator)
            assert conversation.thread is not None
            stored = conversation.thread.count
            # Anyone who gets no answer looks whether the message has arrived.
            await (conversation.send(text) if stored == length else conversation.resume())
    messages = await (await _process(storage, orchestrator)).messages()
    return [one.text or _results(one) for one in messages], crashed


def _results(message: Message) -> str:
    return "".join(str(answer.response) for answer in message.tool_call_responses)


@tool(policy="idempotent")
async def look_up(order: str) -> str:
    return "on its way"


async def _process(storage: CrashingStorage, orchestrator: Orchestrator | None) -> Conversation:
    def act(request: ChatRequest) -> str | Message:
        if request.messages[-1].role == "tool":
            return "It is on its way."
        return calls(("look_up", {"order": "AB12"}))

    agent = Agent(ScriptedModel(repeat=act), tools=[look_up])
    thread = await ThreadStore(storage).thread("t")
    return Conversation(agent, orchestrator=orchestrator, thread=thread)
