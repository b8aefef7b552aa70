"""A message of a conversation is answered once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import pytest

from foldline import Agent, Conversation, MemoryStore, Message, RoundRobin
from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import OrchestrationOptions, OrchestrationResult
from foldline.errors import ModelError, RunStartError, TurnIdError, TurnRunningError
from foldline.testing.model import ScriptedModel
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread
from tests.agent.once.gated import GatedModel


def of_two(thread: ConversationThread, *models: ScriptedModel | GatedModel) -> Conversation:
    agents = [Agent(model, name=name) for name, model in zip("ab", models, strict=True)]
    return Conversation(agents, orchestrator=RoundRobin(), thread=thread)


def of_one(thread: ConversationThread, *models: ScriptedModel | GatedModel) -> Conversation:
    return Conversation(Agent(models[0], name="a"), thread=thread)


Make: TypeAlias = Callable[..., Conversation]
"""Makes a conversation on a thread, with two models."""

MAKERS = pytest.mark.parametrize("make", [of_one, of_two])


async def said(store: ThreadStore) -> list[str]:
    return [one.text for one in await (await store.thread("t")).get_messages()]


@MAKERS
async def test_a_known_message_is_not_sent_again(make: Make) -> None:
    """The stored answer comes back, from another conversation on the thread, and no model is asked."""
    models = ScriptedModel(["fine"]), ScriptedModel(["other"])
    async with MemoryStore() as store:
        first = await make(await store.thread("t"), *models).send("hello", turn_id="id")
        again = await make(await store.thread("t"), *models).send("hello", turn_id="id")
        with pytest.raises(TurnIdError):
            await make(await store.thread("t"), *models).send("goodbye", turn_id="id")
        thread = await store.thread("t")

    assert (first.text, again.text) == ("fine", "fine")
    assert (again.selected_agent, again.is_complete) == ("a", True)
    assert len(models[0].requests) == 1
    assert thread.lease is None


@MAKERS
async def test_a_double_click_is_answered_once(make: Make) -> None:
    """The second of two sends waits for the answer of the first, through one object or another."""
    models = GatedModel(), GatedModel()
    async with MemoryStore() as store:
        one, other = [make(await store.thread("t"), *models) for _ in range(2)]
        first = asyncio.create_task(one.send("hello", turn_id="id"))
        await models[0].asked.wait()
        with pytest.raises(TurnRunningError):
            await other.send("hello", turn_id="id", on_conflict="error")
        rest = [asyncio.create_task(each.send("hello", turn_id="id")) for each in (one, other)]
        await asyncio.sleep(0)
        models[0].gate.set()
        results = await asyncio.gather(first, *rest)
        texts = await said(store)

    assert {one.text for one in results} == {"answer to hello"}
    assert len(models[0].requests) + len(models[1].requests) == 1
    assert texts == ["hello", "answer to hello"]


@MAKERS
@pytest.mark.parametrize("resumes", [False, True])
async def test_an_open_message_is_resumed(make: Make, *, resumes: bool) -> None:
    """After a failure the same send, or `resume`, continues the run; its id has the answer then."""
    models = ScriptedModel([ModelError("down"), "fine"]), ScriptedModel(["other"])
    async with MemoryStore() as store:
        with pytest.raises(ModelError):
            await make(await store.thread("t"), *models).send("hello", turn_id="id")
        talk = make(await store.thread("t"), *models)
        result = await (talk.resume() if resumes else talk.send("hello", turn_id="id"))
        again = await make(await store.thread("t"), *models).send("hello", turn_id="id")
        texts = await said(store)

    assert result is not None
    assert (result.text, again.text) == ("fine", "fine")
    assert texts == ["hello", "fine"]


@MAKERS
@pytest.mark.parametrize(
    ("on_open", "wanted"),
    [
        ("leave", ["hello", "again", "late"]),
        ("resume", ["hello", "late", "again", "fine"]),
    ],
)
async def test_an_open_run_of_another_message(make: Make, on_open: str, wanted: list[str]) -> None:
    """It is left by default, and answered first with `resume`."""
    models = ScriptedModel([ModelError("down"), "late", "fine"]), ScriptedModel(["late", "fine"])
    if make is of_two and on_open == "resume":
        models = ScriptedModel([ModelError("down"), "late"]), ScriptedModel(["fine"])
    async with MemoryStore() as store:
        with pytest.raises(ModelError):
            await make(await store.thread("t"), *models).send("hello")
        await make(await store.thread("t"), *models).send("again", on_open=on_open)  # type: ignore[arg-type]
        texts = await said(store)

    assert texts == wanted


class Asking(RoundRobin):
    """Round robin, which looks at the thread while it chooses."""

    def __init__(self, store: ThreadStore) -> None:
        super().__init__()
        self.store = store
        self.seen: list[bool] = []
        self.conversation: Conversation | None = None

    async def orchestrate(
        self,
        history: Sequence[Message],
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        """Note whether somebody holds the thread, and try to send inside the answer."""
        assert self.conversation is not None
        self.seen.append((await self.store.thread("t")).lease is not None)
        with pytest.raises(RunStartError):
            await self.conversation.send("inside")
        return await super().orchestrate(history, agents, conversation_id, options)


async def test_a_conversation_holds_its_thread_between_agents() -> None:
    """While an orchestrator chooses, another worker waits, and a send inside it is refused."""
    agents = [Agent(ScriptedModel(repeat="fine"), name=name) for name in "ab"]
    async with MemoryStore() as store:
        asking = Asking(store)
        thread = await store.thread("t")
        asking.conversation = Conversation(agents, orchestrator=asking, thread=thread)
        result = await asking.conversation.send("hello")
        fresh = await store.thread("t")

    assert (result.text, asking.seen) == ("fine", [True])
    assert fresh.lease is None
