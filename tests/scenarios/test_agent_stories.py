"""What the documents of the C# original tell of an agent, each story as a test."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from foldline import (
    Agent,
    HistoryReductionEvent,
    MemoryStore,
    Message,
    ModelSummarizer,
    SQLiteStore,
    TurnResult,
)
from foldline.errors import CheckpointStaleError, ModelError, RunStartError
from foldline.events import IterationStartedEvent
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE
from foldline.reduction.event import Reason
from foldline.testing.model import ModelStep, ScriptedModel, calls
from foldline.testing.summarizer import ScriptedSummarizer, Step
from foldline.threads.loop_state import COMPLETED
from tests.scenarios.stories import TALK, config, events, filled, said, texts, told


async def test_a_fresh_run_without_reduction_sends_everything() -> None:
    """Below the threshold the model reads the whole history, and one event says why."""
    model = ScriptedModel(["fine"])
    agent = Agent(model, history_reduction=config(), summarizer=ScriptedSummarizer())
    thread = await filled(MemoryStore(), said(1, 4))
    result = await agent.run("question 5", thread=thread)
    stored = await told(thread)
    (event,) = events(result)

    assert [one.text for one in model.requests[0].messages] == stored[:-1]
    assert stored[-2:] == ["question 5", "fine"]
    assert (event.status, event.reason) == ("skipped", Reason.BELOW_THRESHOLD)
    assert result.reduction is None
    assert result.termination_reason == COMPLETED


async def test_a_fresh_run_with_reduction_keeps_the_full_history() -> None:
    """
    Above the threshold the model reads a summary and the newest exchanges; the thread keeps all.
    """
    model = ScriptedModel(["fine"])
    summarizer = ScriptedSummarizer(["they spoke of trains"])
    agent = Agent(model, history_reduction=config(), summarizer=summarizer)
    thread = await filled(MemoryStore(), said(1, 5))
    result = await agent.run("question 6", thread=thread)
    stored = await thread.get_messages()
    request, (event,) = model.requests[0], events(result)

    assert len(stored) == 12
    assert [one.text for one in request.messages][:2] == [
        "they spoke of trains",
        f"question 4 {TALK}",
    ]
    assert len(request.messages) == 6
    assert event.status == "performed"
    assert result.reduction is not None
    assert result.reduction.messages_removed_count == event.removed_count == 6
    assert result.reduction.summary_message is not None
    assert result.reduction.summary_message.text == "they spoke of trains"


async def test_the_second_turn_is_a_cache_hit() -> None:
    """
    The next turn asks no summarizer, sends the same bytes in front, and its result has no fold.
    """
    model = ScriptedModel(["fine", "good"])
    summarizer = ScriptedSummarizer(["they spoke of trains"])
    agent = Agent(model, history_reduction=config(), summarizer=summarizer)
    thread = await filled(MemoryStore(), said(1, 5))
    await agent.run("question 6", thread=thread)
    result = await agent.run("question 7", thread=thread)
    (event,) = events(result)
    first, second = (request.messages for request in model.requests)

    assert (event.status, event.reason) == ("cache_hit", Reason.REDUCTION_VALID)
    assert result.reduction is None
    assert len(summarizer.requests) == 1
    assert second[: len(first)] == first
    assert [one.text for one in second[len(first) :]] == ["fine", "question 7"]


def test_a_hit_survives_a_restart(tmp_path: Path) -> None:
    """Another process with another store object finds the reduction, and asks no summarizer."""

    async def live(answer: str, *, fold: bool) -> HistoryReductionEvent:
        steps: list[Step] = ["they spoke of trains"] if fold else []
        with ScriptedSummarizer(steps) as summarizer:
            agent = Agent(
                ScriptedModel([answer]), history_reduction=config(), summarizer=summarizer
            )
            async with SQLiteStore(tmp_path / "chat.db") as store:
                thread = await store.thread("story")
                await thread.add_messages(said(1, 5) if fold else [])
                result = await agent.run(f"ask for {answer}", thread=thread)
        return events(result)[0]

    assert asyncio.run(live("one", fold=True)).status == "performed"
    assert asyncio.run(live("two", fold=False)).status == "cache_hit"


async def test_a_fork_hits_what_was_folded_before(tmp_path: Path) -> None:
    """A fork behind the cut shares the reduction, and no summary is made again."""
    with ScriptedSummarizer(["they spoke of trains"]) as summarizer:
        model = ScriptedModel(repeat="fine")
        agent = Agent(model, history_reduction=config(), summarizer=summarizer)
        async with SQLiteStore(tmp_path / "chat.db") as store:
            thread = await filled(store, said(1, 5))
            await agent.run("question 6", thread=thread)
            fork = await thread.fork("other", at=10)
            result = await agent.run("another question", thread=fork)
    assert (events(result)[0].status, fork.count) == ("cache_hit", 12)


def test_a_run_is_resumed_from_its_checkpoint(tmp_path: Path) -> None:
    """
    A run whose model failed goes on without new messages, in another process, and loses nothing.
    """

    async def live(steps: Sequence[ModelStep], text: str | None) -> TurnResult:
        agent = Agent(ScriptedModel(steps), tools=[double])
        async with SQLiteStore(tmp_path / "chat.db") as store:
            return await agent.run(text, thread=await store.thread("story"))

    def double(number: int) -> int:
        return 2 * number

    failing: list[ModelStep] = [
        calls(("double", {"number": 4}), first=1),
        ModelError("the vendor is down"),
    ]
    with pytest.raises(ModelError):
        asyncio.run(live(failing, "what is twice four?"))
    result = asyncio.run(live(["eight"], None))

    assert [one.role for one in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert result.text == "eight"
    assert result.events[0].start == "resume"  # type: ignore[union-attr]
    assert [
        one.state.iteration for one in result.events if isinstance(one, IterationStartedEvent)
    ] == [1]


async def test_new_messages_do_not_go_into_an_open_run() -> None:
    """If asked for, the error names thread and iteration, and abandoning the run makes room."""
    agent = Agent(ScriptedModel([ModelError("down"), "hello"]))
    thread = await MemoryStore().thread("story")
    with pytest.raises(ModelError):
        await agent.run("hi", thread=thread)
    with pytest.raises(RunStartError) as refused:
        await agent.run("are you there?", thread=thread, on_open="error")
    await thread.abandon_run()
    message, text = str(refused.value), (await agent.run("are you there?", thread=thread)).text

    assert "Cannot add new messages when resuming mid-execution" in message
    assert "'story' is at iteration 0" in message
    assert text == "hello"


def test_a_run_with_nothing_to_start_from_says_what_would_do() -> None:
    """Without input, history and checkpoint the error lists the three ways."""
    with pytest.raises(RunStartError) as refused:
        Agent(ScriptedModel()).run_sync()

    assert all(f"({number})" in str(refused.value) for number in (1, 2, 3))


def test_a_history_alone_is_enough_to_run() -> None:
    """Without input the model answers the history that is there."""

    async def live() -> TurnResult:
        thread = await filled(MemoryStore(), [Message.user("hello")])
        return await Agent(ScriptedModel(["hi"])).run(thread=thread)

    assert [one.text for one in asyncio.run(live()).messages] == ["hi"]


async def test_a_stale_checkpoint_is_refused() -> None:
    """A checkpoint of a shorter history does not resume; the error has both counts."""
    agent = Agent(ScriptedModel([ModelError("down")]))
    thread = await MemoryStore().thread("story")
    with pytest.raises(ModelError):
        await agent.run("hi", thread=thread)
    await thread.add_messages(said(1, 2))
    with pytest.raises(CheckpointStaleError) as stale:
        await agent.run(thread=thread)
    message = str(stale.value)

    assert "Conversation has 5 messages but checkpoint expects 1" in message
    assert "created at iteration 0" in message


async def test_a_cheaper_model_writes_the_summaries() -> None:
    """The summarizer is asked for the summary alone, and the agent's model for the answer alone."""
    dear, cheap = (
        ScriptedModel(["fine"], name="dear"),
        ScriptedModel([f"{FIRST_LINE}\nthey spoke of trains\n{LAST_LINE}"], name="cheap"),
    )
    agent = Agent(dear, history_reduction=config(), summarizer=ModelSummarizer(cheap))
    thread = await filled(MemoryStore(), said(1, 5))
    result = await agent.run("question 6", thread=thread)
    assert events(result)[0].summarizer == "cheap"

    assert len(dear.requests) == len(cheap.requests) == 1
    assert "question 1" in texts(cheap.requests[0])
    assert "question 1" not in texts(dear.requests[0])


def test_without_a_summarizer_the_agents_model_writes_them() -> None:
    """The model of the agent is asked twice: for the summary, then for the answer."""

    async def live() -> ScriptedModel:
        model = ScriptedModel([f"{FIRST_LINE}\nthey spoke of trains\n{LAST_LINE}", "fine"])
        model.writes_summaries = True
        agent = Agent(model, history_reduction=config())
        thread = await filled(MemoryStore(), said(1, 5))
        assert (await agent.run("question 6", thread=thread)).text == "fine"
        return model

    assert len(asyncio.run(live()).requests) == 2
