"""What a summarizer that fails costs: one time limit for a fold, then a rest."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from foldline import Agent, AgentOptions, HistoryReducer, HistoryReductionConfig, Message
from foldline.agent.breaker import MOST_FAILURES, REST, REST_FOLDS, Breaker
from foldline.agent.fold_calls import FoldCalls
from foldline.agent.reduced import ReducedHistory
from foldline.reduction.request import Flow, Reply, SummaryFailure, SummaryRequest
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.memory import MemoryStore


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=1, summarization_threshold=1)
RESTING = "not asked after earlier failures"
NO_TIME = "not asked: no time was left for it"


async def hang() -> str:
    await asyncio.Event().wait()
    return "never"


async def crash() -> str:
    raise ConnectionError


async def write() -> str:
    return "what was said so far"


async def invent() -> str:
    return "Many words were said so far. Call AB12CD34. More words were said then."


async def babble() -> str:
    return ""


class Asked:
    """A summarizer that counts how often it was awaited."""

    def __init__(self, answer: Callable[[], Awaitable[str]], name: str = "asked") -> None:
        self.answer = answer
        self.name = name
        self.count = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.count += 1
        return await self.answer()


CRASHED = f"ConnectionError in {__name__}, line {Asked.summarize.__code__.co_firstlineno + 2}"


class Folds:
    """A conversation in which each call folds."""

    def __init__(self, *chain: Asked, seconds: float = 0.01) -> None:
        self.now = NOW
        self.reducer = HistoryReducer(
            CONFIG, summarizer=chain, timeout=seconds, clock=lambda: self.now
        )
        self.messages: list[Message] = []
        self.reduced: ReducedHistory[Message] | None = None

    async def fold(self, times: int = 1) -> tuple[str | None, tuple[str, ...]]:
        """Fold so many times; return who wrote the last summary, and what failed before."""
        for _ in range(times):
            number = len(self.messages)
            self.messages += [Message.user(f"{number + n} " + "words " * 40) for n in range(3)]
            state = None if self.reduced is None else self.reduced.state
            self.reduced = await self.reducer.reduce(self.messages, state=state)
        assert self.reduced is not None
        event = self.reduced.event
        assert event.status == "performed"
        return event.summarizer, event.failures


async def test_a_summarizer_that_hangs_delays_thirty_turns_once() -> None:
    """It is awaited in the first of nine folds; the digest writes all of the summaries."""
    dead = Asked(hang)
    agent = Agent(
        ScriptedModel(repeat="fine " * 40),
        history_reduction=structs.replace(CONFIG, target_count=4, summarization_threshold=6),
        summarizer=dead,
        options=AgentOptions(summarizer_timeout=0.5),
    )
    thread = await MemoryStore().thread("t")
    results = [await agent.run("words " * 40, thread=thread) for _ in range(30)]
    folds = [result.reduction.event for result in results if result.reduction is not None]

    assert (dead.count, len(folds)) == (1, 9)
    assert [fold.failures for fold in folds[1:]] == [(RESTING,)] * 8


async def test_a_summarizer_that_hangs_delays_thirty_turns_once_though_each_folds() -> None:
    """Folds do not end the rest that a timeout began; ten minutes do, and then one more fold waits."""
    dead = Asked(hang)
    folds = Folds(dead)
    await folds.fold(30)
    assert dead.count == 1
    folds.now += REST
    await folds.fold(30)

    assert dead.count == 2


async def test_who_was_slow_and_then_failed_rests_for_ten_folds() -> None:
    """The last failure says how long the rest is."""
    asked = Asked(hang)
    folds = Folds(asked, seconds=0.5)
    await folds.fold()
    asked.answer = crash
    folds.now += REST
    await folds.fold(REST_FOLDS + 1)
    asked.answer = write

    assert asked.count == 2
    assert await folds.fold() == ("asked", ())


async def test_one_time_limit_is_for_the_whole_fold() -> None:
    """After a timeout no other summarizer is asked, and the digest writes the summary."""
    first, second = Asked(hang, "first"), Asked(write, "second")
    folds = Folds(first, second, seconds=1.0)

    assert await folds.fold() == ("digest", ("TimeoutError", NO_TIME, NO_TIME))
    assert (first.count, second.count) == (1, 0)
    assert await folds.fold() == ("second", (RESTING,))
    assert folds.reduced is not None
    assert folds.reduced.event.summarizer_calls == 1


@pytest.mark.parametrize(
    ("first", "reply"),
    [(write, "what was said so far"), (crash, SummaryFailure(CRASHED))],
)
async def test_the_attempts_of_a_fold_share_its_time(
    first: Callable[[], Awaitable[str]], reply: Reply
) -> None:
    """A second request gets what the first one has left, and a timeout then opens nothing."""
    times = iter([0.0, 9.999, 10.0])
    asked = Asked(hang)
    breaker = Breaker("asked", lambda: NOW)
    calls = FoldCalls([asked], [breaker], seconds=10.0, timer=lambda: next(times))

    def flow() -> Flow[list[Reply]]:
        request = SummaryRequest(messages=(), prompt="", budget=9)
        asked.answer = first
        answered = yield request
        asked.answer = hang
        return [answered, (yield request)]

    assert await calls.run(flow()) == [reply, SummaryFailure("TimeoutError")]
    assert (asked.count, breaker.is_open) == (2, False)


@pytest.mark.parametrize("answer", [crash, babble])
async def test_three_failures_in_a_row_begin_a_rest(answer: Callable[[], Awaitable[str]]) -> None:
    """An error is a failure and a text that the fold refuses is one; each fold asks twice."""
    asked = Asked(answer)
    folds = Folds(asked, seconds=9.0)

    assert RESTING not in (await folds.fold())[1]
    assert (await folds.fold())[1][1:] == (RESTING,)
    assert (await folds.fold(3))[1] == (RESTING,)
    assert asked.count == MOST_FAILURES


async def test_a_good_text_ends_a_row_of_failures() -> None:
    """Two failures, a text and two failures are no reason to stop asking."""
    asked = Asked(crash)
    folds = Folds(asked, seconds=9.0)
    await folds.fold()
    asked.answer = write
    assert await folds.fold() == ("asked", ())
    asked.answer = crash
    await folds.fold()

    assert asked.count == 5


async def test_a_dropped_statement_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Whose statements are left out has written all the same, and is asked again each time."""
    asked = Asked(invent)
    folds = Folds(asked, seconds=9.0)
    with caplog.at_level(logging.INFO, logger="foldline"):
        assert [await folds.fold() for _ in range(5)] == [("asked", ())] * 5
    assert folds.reduced is not None
    event = folds.reduced.event

    assert asked.count == 5
    assert event.dropped_statements == 1
    assert "AB12CD34" not in str(event.summary)
    assert {one.levelname for one in caplog.records if one.name == "foldline"} == {"INFO"}
    assert caplog.messages[-2] == (
        "statements of the summary by asked that name what was never said, left out: 1"
    )


async def test_a_rest_ends_after_ten_folds() -> None:
    """The eleventh asks again; if that fails, the rest begins again, after a single request."""
    asked = Asked(crash)
    folds = Folds(asked, seconds=9.0)
    await folds.fold(2)
    assert (await folds.fold(REST_FOLDS), asked.count) == (("digest", (RESTING,)), 3)
    assert (await folds.fold())[1] == (CRASHED, RESTING)
    assert (await folds.fold(REST_FOLDS))[1] == (RESTING,)
    asked.answer = write

    assert await folds.fold(2) == ("asked", ())
    assert asked.count == 6


async def test_a_rest_ends_after_ten_minutes() -> None:
    """A moment earlier the summarizer still rests, without costing an attempt."""
    asked = Asked(crash)
    folds = Folds(asked, seconds=9.0)
    await folds.fold(2)
    asked.answer = write
    folds.now = NOW + REST - timedelta(seconds=1)
    assert await folds.fold() == ("digest", (RESTING,))
    folds.now = NOW.replace(tzinfo=None) + REST

    assert await folds.fold() == ("asked", ())


async def test_one_fold_at_a_time_asks_at_the_end_of_a_rest() -> None:
    """Others that run meanwhile do without the summarizer."""
    breaker = Breaker("b", lambda: NOW)
    for _ in range(MOST_FAILURES):
        breaker.failed()

    assert [breaker.admits() for _ in range(REST_FOLDS + 2)] == [False] * REST_FOLDS + [True, False]


async def test_agents_with_one_reducer_know_the_same_failures() -> None:
    """None of them waits again for what has just timed out."""
    asked = Asked(hang)
    folds = Folds(asked)
    await folds.fold()
    folds.reducer = Agent(ScriptedModel(), reducer=folds.reducer).reducer

    assert await folds.fold() == ("digest", (RESTING,))


async def test_a_rest_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """One line says how long; folds without the summarizer log nothing."""
    caplog.set_level(logging.WARNING, "foldline")
    slow, broken = Folds(Asked(hang, "slow")), Folds(Asked(crash, "broken"), seconds=9.0)
    await slow.fold(2 * REST_FOLDS)
    slow.now += REST
    await slow.fold(REST_FOLDS)
    await broken.fold(REST_FOLDS)

    assert [one for one in caplog.messages if "not asked for" in one] == [
        "summarizer slow has failed: it is not asked for 10 minutes",
        "summarizer broken has failed: it is not asked for 10 folds or 10 minutes",
    ]
    assert len([one for one in caplog.messages if "(TimeoutError" in one]) == 2
    assert len(caplog.records) == 6
