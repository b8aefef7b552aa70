"""The live prefix meter: what a request sends again, and why."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from msgspec import structs

from foldline import (
    Agent,
    ConversationThread,
    HistoryReducer,
    HistoryReductionConfig,
    MemoryStore,
    SQLiteStore,
)
from foldline.agent.reduced import ReducedHistory
from foldline.errors import ModelError
from foldline.events import HistoryReductionEvent, IterationFinishedEvent, RequestSentEvent
from foldline.history.messages import Message, Usage
from foldline.providers.model import ChatRequest
from foldline.reduction.prices import Prices
from foldline.testing.model import ScriptedModel, calls
from foldline.testing.summarizer import ScriptedSummarizer
from tests.agent.telemetry.watched import watch
from tests.agent.test_service_history import HoldingModel
from tests.servers.caching import BLOCK, CachingVendor


FOLDING = HistoryReductionConfig(
    trigger="count",
    target_count=3,
    summarization_threshold=2,
    context_window_size=20_000,
    prices=Prices(input=2.0, output=8.0, cached_read=0.2),
)
TURNS, STEPS = 10, 3
DOWN = ModelError("the vendor is down")
INSTRUCTIONS = "You keep the books of a harbor, and answer in few words. " * 120

Event: TypeAlias = RequestSentEvent | HistoryReductionEvent | IterationFinishedEvent
Move: TypeAlias = Callable[[SQLiteStore, str, int], Awaitable[ConversationThread]]


def look(number: int) -> str:
    return f"ship {number} carries timber, coal, salt and letters. " * (20 + number % 5)


class Clerk:
    """Calls the tool some times in each turn, then answers; fails where it is told to."""

    def __init__(self, failing: Sequence[int] = ()) -> None:
        self._failing = set(failing)
        self.asked = 0

    def __call__(self, request: ChatRequest) -> Message:
        self.asked += 1
        if self.asked in self._failing:
            self._failing.discard(self.asked)
            raise DOWN
        since = 0
        for message in reversed(request.messages):
            if message.role == "user":
                break
            since += message.role == "assistant"
        if since < STEPS:
            return calls(("look", {"number": self.asked}), text="Let me see.", first=self.asked)
        return Message.assistant(f"Ship {self.asked} is in harbor. " * 10)


def agent_of(vendor: CachingVendor, **options: Any) -> Agent:
    given: dict[str, Any] = {
        "history_reduction": FOLDING,
        "instructions": INSTRUCTIONS,
        "tools": [look],
    } | options
    summarizer = ScriptedSummarizer(repeat="They spoke of ships and what they carry.")
    return Agent(vendor, summarizer=summarizer, **given)


async def events_of(agent: Agent, thread: ConversationThread, text: str | None) -> list[Event]:
    """Return what a turn sent and folded, resumed until its end."""
    found = list[Event]()
    stream = agent.run_stream(text, thread=thread)
    try:
        async for event in stream:
            found += [event] if isinstance(event, Event) else []
    except ModelError:
        found += await events_of(agent, thread, None)
    return found


async def _same(store: SQLiteStore, name: str, _: int) -> ConversationThread:
    return await store.thread(name)


async def _forked(store: SQLiteStore, name: str, turn: int) -> ConversationThread:
    thread = await store.thread(name if turn < 5 else f"{name}.fork")
    return await thread.fork(f"{name}.fork") if turn == 4 else thread


async def _through_json(store: SQLiteStore, name: str, turn: int) -> ConversationThread:
    """Return a thread of another name with what the one of the turn before holds."""
    if not turn:
        return await store.thread(f"{name}.0")
    before = await store.thread(f"{name}.{turn - 1}")
    return await store.restore(await before.to_snapshot(), thread_id=f"{name}.{turn}")


@pytest.mark.slow
@pytest.mark.parametrize("like", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("move", "restarts", "failing"),
    [
        (_same, False, ()),
        (_same, False, (3, 14, 15, 27)),
        (_forked, False, ()),
        (_same, True, ()),
        (_through_json, True, ()),
    ],
    ids=["in one process", "resumed", "forked", "restarted", "through JSON"],
)
async def test_nothing_is_sent_again_between_folds(
    move: Move, failing: Sequence[int], like: Any, tmp_path: Path, *, restarts: bool
) -> None:
    """Every token that is sent again has a fold as its cause, and the vendor's cache agrees."""
    vendor = CachingVendor(Clerk(failing), like=like)
    agent, found = agent_of(vendor), list[Event]()
    async with SQLiteStore(tmp_path / "chat.db") as store:
        kept = None
        for turn in range(TURNS):
            if kept is None or restarts or turn == 4:
                kept = await move(store, "story", turn)
            if restarts:
                agent = agent_of(vendor)
            found += await events_of(agent, kept, f"what is at pier {turn}?")
    sent = [one for one in found if isinstance(one, RequestSentEvent)]
    folds = [one for one in found if isinstance(one, HistoryReductionEvent)]
    done = [one for one in found if isinstance(one, IterationFinishedEvent)]
    answered = [
        (one, after.usage or Usage())
        for one, after in pairwise(
            one for one in found if not isinstance(one, HistoryReductionEvent)
        )
        if isinstance(one, RequestSentEvent) and isinstance(after, IterationFinishedEvent)
    ]
    broken = [one for one in sent if one.resent_tokens]

    assert len(sent) >= TURNS * (STEPS + 1)
    assert {one.resent_because for one in broken} == {"fold"}
    assert len(broken) == sum(one.status == "performed" for one in folds) >= 2
    assert not any(one.missed_tokens for one in done)
    for event, usage in answered:
        if event.kept_tokens:
            kept_tokens = event.kept_tokens * usage.input_tokens / event.tokens
            assert -1 <= kept_tokens - usage.cache_read_tokens <= BLOCK


LONG = "of the ships in the harbor and what they carry, " * 6
Act: TypeAlias = Callable[[ConversationThread, Agent], Awaitable[Agent]]


def plain(**options: Any) -> Agent:
    given: dict[str, Any] = {"model": ScriptedModel(repeat="fine " * 20), "tools": [look]} | options
    return Agent(**given)


def other(**options: Any) -> Act:
    async def act(thread: ConversationThread, agent: Agent) -> Agent:
        return plain(**options)

    return act


async def _edit(thread: ConversationThread, agent: Agent) -> Agent:
    await thread.edit(0, Message.user("tell me something else"))
    return agent


async def _rewind(thread: ConversationThread, agent: Agent) -> Agent:
    await thread.rewind(2)
    return agent


async def _pin(thread: ConversationThread, agent: Agent) -> Agent:
    await agent.fold(thread, keep=1)
    await agent.run("and now?", thread=thread)
    await thread.pin(1)
    return agent


async def _fold(thread: ConversationThread, agent: Agent) -> Agent:
    await agent.fold(thread, keep=1)
    return agent


async def _undo(thread: ConversationThread, agent: Agent) -> Agent:
    await agent.fold(thread, keep=1)
    await agent.run("and now?", thread=thread)
    await thread.undo_reduction()
    return agent


async def _wait(thread: ConversationThread, agent: Agent) -> Agent:
    Clock.now += timedelta(seconds=301)
    return agent


class Clock:
    now = datetime(2026, 11, 23, tzinfo=UTC)


class Newest:
    """A reducer of a user: the newest messages alone."""

    async def reduce(self, messages: Sequence[Message]) -> list[Message]:
        return list(messages[-2:])


class Changing(HistoryReducer):
    """A reducer with a bug: its views begin with another message each time."""

    async def reduce_within(self, *given: Any, **options: Any) -> ReducedHistory[Message]:
        made = await super().reduce_within(*given, **options)
        first = Message.user(f"{len(made.messages)} messages")
        return structs.replace(made, messages=[first, *made.messages])


@pytest.mark.parametrize(
    ("cause", "agent", "act"),
    [
        (None, {}, other()),
        ("model", {}, other(model=ScriptedModel(repeat="fine", name="another"))),
        ("tools", {}, other(tools=[])),
        ("instructions", {}, other(instructions="Answer briefly.")),
        ("edit", {}, _edit),
        ("edit", {}, _rewind),
        ("fold", {}, _fold),
        ("batch", {}, _pin),
        ("unfolded", {}, _undo),
        ("expired", {}, _wait),
        ("own_reducer", {"reducer": Newest()}, None),
        ("unexplained", {"reducer": Changing()}, None),
    ],
)
async def test_a_cause_is_named_once(
    cause: str | None, agent: dict[str, Any], act: Act | None
) -> None:
    """What makes a request send something again is named there, and not at the next request."""
    made = plain(**agent)
    thread = await MemoryStore(clock=lambda: Clock.now).thread("t")
    for number in range(4):
        await made.run(f"{number}: tell me {LONG}", thread=thread)
    made = made if act is None else await act(thread, made)
    first, second = [
        [one for one in result.events if isinstance(one, RequestSentEvent)][-1]
        for result in [
            await made.run(f"{word} of {LONG}", thread=thread) for word in ("more", "again")
        ]
    ]

    assert first.resent_because == cause
    assert (first.resent_tokens > 0) == (cause is not None)
    assert first.kept_tokens + first.fresh_tokens == first.tokens
    assert second.resent_because == (cause if act is None else None)
    assert act is None or second.resent_tokens == 0 < second.kept_tokens


async def test_a_conversation_that_the_vendor_lost_is_sent_again() -> None:
    """What continues it sends nothing again; when it is gone, everything is, and that is named."""
    model = HoldingModel()
    agent, thread = Agent(model), await MemoryStore().thread("held")
    sent: list[RequestSentEvent] = []
    for number in range(3):
        if number == 2:
            model.held.clear()
        result = await agent.run(f"{number}: tell me {LONG}", thread=thread)
        sent += [one for one in result.events if isinstance(one, RequestSentEvent)]

    assert [one.is_delta for one in sent] == [False, True, True, False]
    assert [one.resent_because for one in sent] == [None, None, None, "vendor_history"]
    assert sent[3].kept_tokens == 0 < sent[3].resent_tokens


async def test_what_the_cache_of_the_vendor_missed_is_counted() -> None:
    """A request that begins with the one before, and is not served, is reported with its tokens."""
    vendor = CachingVendor(Clerk())
    agent, thread = agent_of(vendor), await MemoryStore().thread("t")
    await agent.run("what is at pier 1?", thread=thread)
    vendor.forget()
    result = await agent.run("what is at pier 2?", thread=thread)
    done = [one for one in result.events if isinstance(one, IterationFinishedEvent)]
    last = thread.execution_state

    assert last is not None
    assert last.last_request is not None
    assert done[0].missed_tokens > BLOCK
    assert not any(one.missed_tokens for one in done[1:])


async def test_metrics_count_what_is_sent_again_and_what_is_missed() -> None:
    """Tokens sent again are counted by their cause, and those that the vendor's cache missed."""
    watched, vendor = watch(), CachingVendor(Clerk(), name="openai:caching")
    agent = agent_of(vendor, telemetry=watched.telemetry)
    thread = await MemoryStore().thread("t")
    sent, missed = 0, 0
    for turn in range(7):
        if turn == 2:
            vendor.forget()
        result = await agent.run(f"what is at pier {turn}?", thread=thread)
        sent += sum(one.resent_tokens for one in result.events if isinstance(one, RequestSentEvent))
        done = (one for one in result.events if isinstance(one, IterationFinishedEvent))
        missed += sum(one.missed_tokens for one in done)

    assert sent > 0 < missed
    assert watched.points("foldline.tokens.resent") == {("openai", "caching", "fold"): sent}
    assert watched.points("foldline.tokens.missed") == {("openai", "caching"): missed}
