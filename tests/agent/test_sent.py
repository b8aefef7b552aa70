"""The live prefix meter: what a request sends again, and why."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from foldline import Agent, ConversationThread, HistoryReductionConfig, SQLiteStore
from foldline.errors import ModelError
from foldline.events import HistoryReductionEvent, IterationFinishedEvent, RequestSentEvent
from foldline.history.messages import Message, Usage
from foldline.providers.model import ChatRequest
from foldline.reduction.prices import Prices
from foldline.testing.model import calls
from foldline.testing.summarizer import ScriptedSummarizer
from tests.servers.caching import BLOCK, CachingVendor


FOLDING = HistoryReductionConfig(
    enabled=True,
    strategy="summarizing",
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
    given = {"history_reduction": FOLDING, "instructions": INSTRUCTIONS, "tools": [look]} | options
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
