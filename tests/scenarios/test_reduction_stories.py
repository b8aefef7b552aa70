"""What the documents of the C# original tell of reduction in an agent, each story as a test."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from foldline import Agent, AgentRunConfig, HistoryReductionConfig, MemoryStore
from foldline.providers.model import ChatRequest
from foldline.reduction.event import CIRCUIT_BREAKER_TERMINATION, Reason
from foldline.testing.model import ScriptedModel, calls
from foldline.testing.summarizer import ScriptedSummarizer, Step
from tests.scenarios.stories import TALK, config, events, filled, said, texts, told


@pytest.mark.parametrize(
    ("single", "shown"), [(True, ["second"]), (False, ["first", "second"])], ids=["one", "layers"]
)
async def test_one_summary_or_layers(*, single: bool, shown: list[str]) -> None:
    """A single summary replaces the one before; layers stay side by side, oldest first."""
    model = ScriptedModel(repeat="fine")
    with ScriptedSummarizer(["first", "second"]) as summarizer:
        agent = Agent(model, history_reduction=config(single=single), summarizer=summarizer)
        thread = await filled(MemoryStore(), said(1, 5))
        for number in range(6, 10):
            await agent.run(f"question {number} {TALK}", thread=thread)
    assert [one.text for one in model.requests[-1].messages if one.is_summary] == shown


async def test_the_circuit_breaker_ends_the_turn_and_the_next_run_proceeds() -> None:
    """The fold and the user's message are stored, no model is asked, and the next run is a hit."""
    model = ScriptedModel(["fine"])
    with ScriptedSummarizer(["they spoke of trains"]) as summarizer:
        agent = Agent(model, history_reduction=config(breaker=True), summarizer=summarizer)
        thread = await filled(MemoryStore(), said(1, 5))
        stopped = await agent.run("question 6", thread=thread)
        assert not model.requests
        assert thread.last_reduction is not None
        went_on = await agent.run("please go on", thread=thread)
    stored = await told(thread)

    assert stopped.termination_reason == CIRCUIT_BREAKER_TERMINATION
    assert stopped.response is None
    assert not stopped.is_complete
    assert [event.status for event in events(stopped)] == ["performed"]
    assert [event.status for event in events(went_on)] == ["cache_hit"]
    assert stored[-3:] == ["question 6", "please go on", "fine"]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("overrides", "count", "status", "answers"),
    [
        (AgentRunConfig(skip_history_reduction=True), 8, "skipped", True),
        (
            AgentRunConfig(skip_history_reduction=True, trigger_history_reduction=True),
            8,
            "skipped",
            True,
        ),
        (AgentRunConfig(trigger_history_reduction=True), 4, "performed", True),
        (
            AgentRunConfig(history_reduction_behavior_override="circuit_breaker"),
            8,
            "performed",
            False,
        ),
        (
            AgentRunConfig(
                trigger_history_reduction=True,
                history_reduction_behavior_override="circuit_breaker",
            ),
            4,
            "performed",
            False,
        ),
    ],
)
async def test_a_run_overrides(
    overrides: AgentRunConfig, count: int, status: str, *, answers: bool
) -> None:
    """Skip wins over all, trigger folds whatever the counts, and a behavior is of one run."""
    model = ScriptedModel(repeat="fine")
    summarizer = ScriptedSummarizer(repeat="they spoke of trains")
    agent = Agent(model, history_reduction=config(), summarizer=summarizer)
    thread = await filled(MemoryStore(), said(1, count))
    result = await agent.run("and now?", thread=thread, config=overrides)
    after = await agent.run("and then?", thread=thread)

    assert [event.status for event in events(result)] == [status]
    assert (result.text == "fine") is answers
    assert after.text == "fine"
    if status == "skipped":
        assert len(model.requests[0].messages) == 2 * count + 1


async def test_a_trigger_folds_once_in_a_run_of_many_calls() -> None:
    """A fold that a run asks for comes before its first model call, and not before each."""
    eager = HistoryReductionConfig.documented(
        enabled=True,
        strategy="summarizing",
        counting_unit="messages",
        target_count=2,
        summarization_threshold=50,
    )

    def look(at: int) -> str:
        return f"seen {at} {TALK}"

    model = ScriptedModel([calls(("look", {"at": n})) for n in range(3)], repeat="done")
    summarizer = ScriptedSummarizer(repeat="they spoke of trains")
    agent = Agent(model, tools=[look], history_reduction=eager, summarizer=summarizer)
    thread = await filled(MemoryStore(), said(1, 4))
    overrides = AgentRunConfig(trigger_history_reduction=True)
    result = await agent.run("look", thread=thread, config=overrides)
    # What has gathered since could be folded: asking once more does it.
    await agent.run("again", thread=thread, config=overrides)
    assert ([event.status for event in events(result)], len(summarizer.requests)) == (
        ["performed", "cache_hit", "cache_hit", "cache_hit"],
        2,
    )


async def test_ten_tool_iterations_send_no_old_message_again() -> None:
    """No request has a message from before the cut, and the last one has all ten results."""

    def look(at: int) -> str:
        return f"seen {at}"

    model = ScriptedModel(
        [calls(("look", {"at": number})) for number in range(10)], repeat="all seen"
    )
    with ScriptedSummarizer(["they spoke of trains"]) as summarizer:
        agent = Agent(model, tools=[look], history_reduction=config(), summarizer=summarizer)
        thread = await filled(MemoryStore(), said(1, 5))
        await agent.run("look ten times", thread=thread)
    requests = model.requests
    results = [one for one in requests[-1].messages if one.role == "tool"]

    assert len(requests) == 11
    assert not any("question 1 " in texts(request) for request in requests)
    assert [one.tool_call_responses[0].response for one in results] == [
        f"seen {number}" for number in range(10)
    ]
    for sooner, later in pairwise(requests):
        assert later.messages[: len(sooner.messages)] == sooner.messages


@pytest.mark.parametrize(
    "step",
    [
        RuntimeError("secret"),
        "",
        lambda _: 7,
        "x " * 100_000,
        '<tool_call>{"name": "look"}</tool_call>',
        "Sure! The train of question 7 leaves at nine.",
    ],
    ids=["raises", "nothing", "no text", "200 kB", "a tool call", "the next answer"],
)
async def test_a_failing_summarizer_never_fails_the_turn(step: Step) -> None:
    """The turn is answered, the digest writes the summary, and the event says so."""
    agent = Agent(
        ScriptedModel(["fine"]),
        history_reduction=config(),
        summarizer=ScriptedSummarizer(repeat=step),
    )
    thread = await filled(MemoryStore(), said(1, 12))
    result = await agent.run("question 13", thread=thread)
    (event,) = events(result)

    assert result.text == "fine"
    assert (event.status, event.reason) == ("performed", Reason.FOLDED_BY_FALLBACK)
    assert (event.summarizer, event.summarizer_calls, len(event.failures)) == ("digest", 3, 2)
    assert "secret" not in str(event.failures)


async def test_one_agent_serves_a_hundred_threads_as_a_hundred_agents_would() -> None:
    """Interleaved on one agent, 100 threads hold what each would hold with an agent of its own."""

    def answer(request: ChatRequest) -> str:
        return f"{len(request.messages)}: {request.messages[-1].text}"

    def agent() -> Agent:
        reduction = HistoryReductionConfig.documented(
            enabled=True, counting_unit="messages", target_count=2, summarization_threshold=1
        )
        return Agent(ScriptedModel(repeat=answer), history_reduction=reduction)

    async def live(agents: Sequence[Agent], count: int) -> list[list[str]]:
        store = MemoryStore()
        threads = [await store.thread(f"t{number}") for number in range(count)]
        for turn in range(4):
            await asyncio.gather(
                *(
                    agents[number % len(agents)].run(
                        f"{number}-{turn} {TALK}", thread=threads[number]
                    )
                    for number in range(count)
                )
            )
        return [await told(thread) for thread in threads]

    together, apart = await live([agent()], 100), await live([agent() for _ in range(100)], 100)

    assert together == apart
    assert together[7][0] == f"7-0 {TALK}"
    assert together[7][-1].startswith("3: 7-3")


async def test_what_a_stream_has_folded_is_known_behind_it() -> None:
    """The fold of a streamed turn is awaited, and so is the final history."""
    agent = Agent(
        ScriptedModel(["fine and good"]),
        history_reduction=config(),
        summarizer=ScriptedSummarizer(["they spoke of trains"]),
    )
    thread = await filled(MemoryStore(), said(1, 5))
    stream = agent.run_stream("question 6", thread=thread)
    pieces = [getattr(event, "text", "") async for event in stream]
    reduction = await stream.reduction
    assert reduction is not None
    assert (reduction.messages_removed_count, len(await stream.final_history), "".join(pieces)) == (
        6,
        12,
        "fine and good",
    )
