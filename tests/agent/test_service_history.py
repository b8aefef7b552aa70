"""A history that the vendor holds: only news is sent; a fold begins a new conversation."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foldline import (
    Agent,
    ConversationThread,
    HistoryReductionConfig,
    MemoryStore,
    Message,
    ThreadCheckpointer,
)
from foldline.errors import ModelError, ServiceThreadLostError
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.testing.model import calls
from foldline.testing.summarizer import ScriptedSummarizer


class HoldingModel:
    """A vendor that keeps conversations, and knows what is in each."""

    def __init__(self, answer: Callable[[ChatRequest], Message] | None = None) -> None:
        self._answer = answer or (lambda _: Message.assistant("fine"))
        self._made = 0
        self.name = "holding"
        self.names_it = True
        self.held: dict[str, list[Message]] = {}
        self.requests: list[ChatRequest] = []

    async def respond(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        before: list[Message] = []
        if request.service_thread_id is not None:
            if request.service_thread_id not in self.held:
                raise ServiceThreadLostError(model=self.name, status=404)
            before = self.held[request.service_thread_id]
        answer = self._answer(request)
        self._made += 1
        name = f"conversation-{self._made}"
        self.held[name] = [*before, *request.messages, answer]
        return ChatResponse(messages=(answer,), service_thread_id=name if self.names_it else None)

    @property
    def newest(self) -> list[str]:
        return [message.text for message in self.held[f"conversation-{self._made}"]]


def texts(request: ChatRequest) -> list[str]:
    return [message.text for message in request.messages]


async def new_thread() -> ConversationThread:
    return await MemoryStore().thread("held")


async def begun() -> tuple[HoldingModel, Agent, ConversationThread]:
    """Return a thread on which one question was answered, with who answers on it."""
    model, thread = HoldingModel(), await new_thread()
    agent = Agent(model)
    await agent.run("one", thread=thread)
    return model, agent, thread


async def test_only_what_is_new_is_sent() -> None:
    """Each turn sends its question alone, and what the vendor holds is the whole conversation."""
    model = HoldingModel()
    agent = Agent(model, instructions="be brief")
    thread = await new_thread()
    for text in ("one", "two", "three"):
        await agent.run(text, thread=thread)

    assert [texts(request) for request in model.requests] == [
        ["be brief", "one"],
        ["two"],
        ["three"],
    ]
    assert model.newest == ["be brief", "one", "fine", "two", "fine", "three", "fine"]


def test_tool_results_are_sent_alone() -> None:
    """Within a turn the vendor gets the answers of the tools, and no call a second time."""
    steps = [calls(("look", {"at": 1}), ("look", {"at": 2}), first=1), Message.assistant("seen")]
    model = HoldingModel(lambda _: steps.pop(0))

    def look(at: int) -> str:
        return f"saw {at}"

    asyncio.run(Agent(model, tools=[look]).run("look"))

    assert [one.role for one in model.requests[1].messages] == ["tool", "tool"]
    assert model.requests[1].service_thread_id == "conversation-1"


async def test_rewritten_call_ids_end_the_tracking() -> None:
    """Once a call was given another id than the vendor knows, the next request has everything."""
    steps = [calls(("look", {})), Message.assistant("seen")]
    model = HoldingModel(lambda _: steps.pop(0))

    def look() -> str:
        return "saw"

    await Agent(model, tools=[look]).run("look")

    assert model.requests[1].service_thread_id is None
    assert [one.role for one in model.requests[1].messages] == ["user", "assistant", "tool"]


async def test_a_fold_begins_a_new_conversation() -> None:
    """The vendor gets the whole view once more, and the next turn continues that conversation."""
    model = HoldingModel()
    agent = Agent(
        model,
        history_reduction=HistoryReductionConfig(
            target_count=1, summarization_threshold=1, quote_user_messages=0
        ),
        summarizer=ScriptedSummarizer(repeat="they talked"),
    )
    long = "about many things that take some words to say, and then some more of them"
    thread = await new_thread()
    for number in range(4):
        await agent.run(f"{number} {long}", thread=thread)

    assert [len(request.messages) for request in model.requests] == [1, 1, 2, 1]
    assert model.requests[2].service_thread_id is None
    assert texts(model.requests[2]) == ["they talked", f"2 {long}"]
    assert texts(model.requests[3]) == [f"3 {long}"]


async def test_a_vendor_that_forgot_gets_everything_again() -> None:
    """Where the vendor no longer knows the conversation, the same call begins a new one."""
    model, agent, thread = await begun()
    model.held.clear()
    await agent.run("two", thread=thread)

    assert model.newest == ["one", "fine", "two", "fine"]
    assert [request.service_thread_id for request in model.requests] == [
        None,
        "conversation-1",
        None,
    ]


async def test_a_response_without_an_id_ends_the_tracking() -> None:
    """Once a response names no conversation, the next call sends everything."""
    model, agent, thread = await begun()
    model.names_it = False
    await agent.run("two", thread=thread)
    await agent.run("three", thread=thread)

    assert texts(model.requests[2]) == ["one", "fine", "two", "fine", "three"]


@pytest.mark.parametrize(
    "change",
    [
        lambda thread: thread.edit(0, Message.user("another one")),
        lambda thread: thread.rewind(0),
        lambda thread: thread.add_message(Message.system("be formal")),
    ],
    ids=["edit", "rewind", "system"],
)
async def test_a_history_that_diverged_is_sent_whole(
    change: Callable[[ConversationThread], Awaitable[object]],
) -> None:
    """An edit, a rewind and a new system message begin a new conversation."""
    model, agent, thread = await begun()
    await change(thread)
    await agent.run("two", thread=thread)

    assert [request.service_thread_id for request in model.requests] == [None, None]


async def test_a_message_appended_between_runs_is_sent_too() -> None:
    """What another has appended is after the watermark, and is sent with the question."""
    model, agent, thread = await begun()
    await thread.add_message(Message.user("by the way"))
    await agent.run("two", thread=thread)

    assert texts(model.requests[1]) == ["by the way", "two"]


@pytest.mark.parametrize(
    ("name", "instructions", "sent"),
    [
        ("holding", "be brief", ["two"]),
        ("holding", "be long", ["be long", "one", "fine", "two"]),
        ("another", "be brief", ["be brief", "one", "fine", "two"]),
    ],
)
async def test_another_model_or_other_instructions_begin_anew(
    name: str, instructions: str, sent: list[str]
) -> None:
    """A conversation is continued only by the model and the instructions that it was begun with."""
    model = HoldingModel()
    thread = await new_thread()
    await Agent(model, instructions="be brief").run("one", thread=thread)
    model.name = name
    await Agent(model, instructions=instructions).run("two", thread=thread)

    assert texts(model.requests[-1]) == sent


async def test_calls_that_were_given_up_begin_anew() -> None:
    """Where the vendor waits for answers that never came, the repaired view is sent instead."""
    steps = [calls(("look", {"at": 1}), first=1), Message.assistant("fine")]
    model = HoldingModel(lambda _: steps.pop(0))
    begun = asyncio.Event()

    async def look(at: int) -> None:
        begun.set()
        await asyncio.sleep(60)

    thread = await new_thread()
    agent = Agent(model, tools=[look])
    turn = asyncio.create_task(agent.run("look", thread=thread))
    await begun.wait()
    turn.cancel()
    await asyncio.wait([turn])
    await thread.abandon_run()
    await agent.run("never mind", thread=thread)
    last = model.requests[-1]

    assert last.service_thread_id is None
    assert [one.role for one in last.messages] == ["user", "assistant", "tool", "user"]


class KeepingModel:
    """A vendor whose conversation keeps its name, and to which everything that is sent is added."""

    name = "keeping"

    def __init__(self, fails: set[int]) -> None:
        self._fails = fails
        self._calls = 0
        self._made = 0
        self.held: dict[str, list[str]] = {}

    async def respond(self, request: ChatRequest) -> ChatResponse:
        self._calls += 1
        name = request.service_thread_id
        if name is None:
            self._made += 1
            name = f"c{self._made}"
        held = self.held.setdefault(name, [])
        held += [message.text for message in request.messages]
        held.append("fine")
        if self._calls in self._fails:
            message = "the answer was lost on its way"
            raise ModelError(message)
        return ChatResponse(messages=(Message.assistant("fine"),), service_thread_id=name)


@pytest.mark.parametrize("is_moment", [False, True], ids=["snapshot", "moment"])
async def test_a_restored_thread_hears_nothing_of_later(*, is_moment: bool) -> None:
    """Nothing said after a snapshot is in a conversation that the restored thread uses."""
    model = KeepingModel(set())
    store = MemoryStore(checkpoints="full")
    thread = await store.thread("held")
    agent, checkpointer = Agent(model), ThreadCheckpointer(store)
    await agent.run("one", thread=thread)
    data, newest = await thread.to_snapshot(), (await checkpointer.history("held"))[0].id
    await agent.run("my number is 1234", thread=thread)
    if is_moment:
        moment = await checkpointer.load_at("held", newest)
        assert moment is not None
        data = await moment.to_snapshot()
    await store.delete("held")
    await agent.run("two", thread=await store.restore(data))

    assert model.held["c2"] == ["one", "fine", "two", "fine"]


@pytest.mark.parametrize("abandons", [False, True], ids=["resumed", "abandoned"])
async def test_an_answer_that_was_lost_doubles_nothing(*, abandons: bool) -> None:
    """Where the vendor may hold what nobody has stored, the next call begins a new conversation."""
    model = KeepingModel({2})
    thread = await new_thread()
    agent = Agent(model)
    await agent.run("one", thread=thread)
    with pytest.raises(ModelError):
        await agent.run("pay", thread=thread)
    if abandons:
        await thread.abandon_run("changed my mind")
        await agent.run("please", thread=thread)
    else:
        await agent.run(thread=thread)
    held = model.held["c2"]

    assert held == ["one", "fine", "pay", *(["please"] if abandons else []), "fine"]
