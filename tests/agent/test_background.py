"""Folds in the background: no turn waits for a summary."""

import asyncio

from foldline import (
    Agent,
    AgentRunConfig,
    BackgroundFold,
    ConversationThread,
    HistoryReductionConfig,
    HistoryReductionEvent,
    MemoryStore,
    Message,
    TurnResult,
)
from foldline.agent.background import FoldKey
from foldline.agent.reducer import DEFAULT_TIMEOUT
from foldline.providers.model import Summarizer
from foldline.reduction.event import Reason
from foldline.reduction.request import SummaryRequest
from foldline.testing.model import ScriptedModel


TALK = "and some words about the weather, the trains and the time that it takes"
CONFIG = HistoryReductionConfig(target_count=3, summarization_threshold=2, quote_user_messages=0)


class GatedSummarizer:
    """A summarizer that writes once it is let."""

    name = "gated"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.requests: list[SummaryRequest] = []
        self.text = "they talked"

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        await self.gate.wait()
        return self.text


async def filled(exchanges: int = 5, *, store: MemoryStore | None = None) -> ConversationThread:
    thread = await (store or MemoryStore()).thread("ahead")
    for number in range(exchanges):
        await thread.add_messages(
            [Message.user(f"{number} {TALK}"), Message.assistant(f"a{number} {TALK}")]
        )
    return thread


def key_of(thread: ConversationThread, agent: Agent) -> FoldKey:
    return thread.context.storage, thread.tenant, thread.id, agent.reducer.config_fingerprint


def agent_of(
    ahead: BackgroundFold, summarizer: Summarizer, *, model: ScriptedModel | None = None
) -> Agent:
    return Agent(
        model or ScriptedModel(repeat="fine"),
        history_reduction=CONFIG,
        summarizer=summarizer,
        background_fold=ahead,
    )


def told(result: TurnResult) -> list[tuple[str, Reason]]:
    events = [one for one in result.events if isinstance(one, HistoryReductionEvent)]
    return [(event.status, event.reason) for event in events]


async def test_a_turn_goes_on_while_the_summary_is_written() -> None:
    """The turn in which a fold is due sends what it has; the next one finds the reduction."""
    model, summarizer = ScriptedModel(repeat="fine"), GatedSummarizer()
    thread = await filled()
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer, model=model)
        first = await agent.run("question 5", thread=thread)
        assert len(ahead) == 1
        summarizer.gate.set()
        await ahead.wait(key_of(thread, agent))
        second = await agent.run("question 6", thread=thread)
        third = await agent.run("question 7", thread=thread)
    assert len(summarizer.requests) == 1

    assert told(first) == [("skipped", Reason.FOLDING_BEHIND)]
    assert told(second)[0][0] == "performed"
    assert told(second)[1] == ("cache_hit", Reason.REDUCTION_VALID)
    assert told(third) == [("cache_hit", Reason.REDUCTION_VALID)]
    assert len(model.requests[0].messages) == 11
    assert model.requests[1].messages[0].text == "they talked"
    assert (first.reduction, second.reduction is None) == (None, False)


async def test_a_turn_waits_where_too_much_has_gathered() -> None:
    """Beyond twice the threshold the turn waits for the running fold, and makes no other."""
    summarizer = GatedSummarizer()
    thread = await filled()
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer)
        for number in range(2):
            await agent.run(f"question {number}", thread=thread)
        asyncio.get_running_loop().call_later(0.05, summarizer.gate.set)
        result = await agent.run("the last question", thread=thread)
    events, requests = told(result), len(summarizer.requests)

    assert [status for status, _ in events] == ["performed", "cache_hit"]
    assert requests == 1


async def test_leaving_waits_for_what_is_running() -> None:
    """A fold that began in the last turn is stored when the context has ended."""
    summarizer = GatedSummarizer()
    thread = await filled()
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer)
        await agent.run("question 5", thread=thread)
        asyncio.get_running_loop().call_later(0.02, summarizer.gate.set)

    assert thread.last_reduction is not None


async def test_leaving_gives_up_what_takes_too_long() -> None:
    """Beyond its patience the fold is cancelled, nothing of it is stored, and no task is left."""
    assert DEFAULT_TIMEOUT > 1
    thread = await filled()
    async with BackgroundFold(patience=0.01) as ahead:
        agent = agent_of(ahead, GatedSummarizer())
        await agent.run("question 5", thread=thread)

    assert (thread.last_reduction is None, len(asyncio.all_tasks())) == (True, 1)


async def test_a_fold_that_is_asked_for_is_waited_for() -> None:
    """A run that triggers a fold has it before its model call, also where folds are made ahead."""
    summarizer = GatedSummarizer()
    summarizer.gate.set()
    thread = await filled(4)
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer)
        overrides = AgentRunConfig(trigger_history_reduction=True)
        result = await agent.run("now", thread=thread, config=overrides)

    assert told(result) == [("performed", Reason.FORCED)]


async def test_what_a_run_overrides_holds_for_its_fold() -> None:
    """A fold in the background keeps as much as the run that began it says, and has its focus."""
    summarizer = GatedSummarizer()
    summarizer.gate.set()
    thread = await filled(4)
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer)
        overrides = AgentRunConfig(
            history_reduction_target_override=2, history_reduction_focus="the trains"
        )
        await agent.run("question 4", thread=thread, config=overrides)
    reduction = thread.last_reduction

    assert reduction is not None
    assert reduction.summarized_up_to_index == 6
    assert [one.focus for one in summarizer.requests] == ["the trains"]


async def test_a_reopened_thread_goes_on_while_the_next_summary_is_written() -> None:
    """An object that holds no message before the cut sends the view of the reduction in force."""
    model, summarizer = ScriptedModel(repeat="fine"), GatedSummarizer()
    summarizer.gate.set()
    store = MemoryStore()
    thread = await store.thread("ahead")
    agent = Agent(model, history_reduction=CONFIG, summarizer=summarizer)
    for number in range(8):
        await agent.run(f"{number} {TALK}", thread=thread)
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer, model=model)
        result = await agent.run("next", thread=await store.thread("ahead"))

    assert told(result) == [("cache_hit", Reason.FOLDING_BEHIND)]
    assert model.requests[-1].messages[0].text == "they talked"
