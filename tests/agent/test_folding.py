"""Folds of a reducer: where summarizers run, what they may do, and that none is made twice."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from foldline.agent.cache import ReductionCache
from foldline.agent.portal import PORTAL
from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from foldline.testing.summarizer import ScriptedSummarizer


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEXT = "so many words were said about the weather in the north and the south " * 3
CONFIG = HistoryReductionConfig(
    enabled=True,
    strategy="summarizing",
    counting_unit="messages",
    target_count=4,
    summarization_threshold=2,
)


def talk(count: int, mark: str = "") -> list[Message]:
    return [
        Message.user(f"{mark}u{n} {TEXT}") if n % 2 == 0 else Message.assistant(f"a{n} {TEXT}")
        for n in range(count)
    ]


class Pooled:
    """Keeps a worker in the loop in which it was first asked, as a client keeps its pool."""

    name = "pooled"

    def __init__(self) -> None:
        self._inbox: asyncio.Queue[asyncio.Future[str] | None] | None = None
        self.worker: asyncio.Task[None] | None = None

    async def _work(self, inbox: asyncio.Queue[asyncio.Future[str] | None]) -> None:
        while (reply := await inbox.get()) is not None:
            reply.set_result("from the pool")

    async def summarize(self, request: SummaryRequest) -> str:
        if self._inbox is None:
            self._inbox = asyncio.Queue()
            self.worker = asyncio.create_task(self._work(self._inbox))
        reply: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._inbox.put_nowait(reply)
        return await reply

    async def close(self) -> None:
        assert self._inbox is not None
        assert self.worker is not None
        self._inbox.put_nowait(None)
        await self.worker


class Slow:
    """Takes a moment, and counts how often it was asked and how often at once."""

    name = "slow"

    def __init__(self, write: Callable[[int], str] = lambda _: "what was said so far") -> None:
        self._write = write
        self.asked = 0

    async def summarize(self, request: SummaryRequest) -> str:
        self.asked += 1
        number = self.asked
        await asyncio.sleep(0.02)
        return self._write(number)


def test_a_summarizer_may_keep_what_belongs_to_a_loop() -> None:
    """Fold after fold, from several threads and two reducers, a blocking caller gets its text."""
    pooled = Pooled()
    one, two = (HistoryReducer(CONFIG, summarizer=pooled, timeout=5) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        folded = list(
            pool.map(lambda n: (one, two)[n % 2].reduce_sync(talk(9, f"{n} ")).event, range(12))
        )
    PORTAL.run(pooled.close)

    assert {event.summarizer for event in folded if event is not None} == {"pooled"}
    assert {event.summarizer_calls for event in folded if event is not None} == {1}


def test_a_hit_needs_no_loop() -> None:
    """A cached turn is served in the thread of the caller, while the loop is busy or not."""
    one = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(["what was said so far"]))
    state = one.reduce_sync(talk(9)).state
    ends = one.reduce(talk(9), state=state)
    # Without a loop to wait in, a coroutine that never waits comes to its end at once.
    with pytest.raises(StopIteration) as end:
        ends.send(None)

    assert end.value.value.verdict.kind == "hit"


async def test_ten_calls_at_once_make_one_fold() -> None:
    """With a cache the same fold is made once: the others wait for it and are hits."""
    slow, cache = Slow(), ReductionCache()
    reducers = [HistoryReducer(CONFIG, summarizer=slow, cache=cache) for _ in range(2)]
    calls = [reducers[n % 2].reduce(talk(9)) for n in range(10)]

    assert (
        sorted([reduced.verdict.kind for reduced in await asyncio.gather(*calls)])
        == ["fold"] + ["hit"] * 9
    )
    assert slow.asked == 1
    assert len(cache.folds) == 0


def test_threads_make_one_fold_too() -> None:
    """Blocking calls share a loop, so that they wait for each other as well."""
    slow = Slow()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=ReductionCache())
    with ThreadPoolExecutor(8) as pool:
        kinds = list(pool.map(lambda _: one.reduce_sync(talk(9)).verdict.kind, range(8)))

    assert sorted(kinds) == ["fold"] + ["hit"] * 7
    assert slow.asked == 1


async def test_calls_with_an_older_state_make_one_fold_too() -> None:
    """Where a fold is due the cache is asked, also where a state was passed in that fits."""
    slow = Slow()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=ReductionCache())
    first = await one.reduce(talk(9))
    again = [one.reduce(talk(14), state=first.state) for _ in range(5)]

    assert [reduced.verdict.cut for reduced in await asyncio.gather(*again)] == [10] * 5
    assert slow.asked == 2


async def test_other_prefixes_tenants_and_endings_do_not_wait_in_vain() -> None:
    """Another scope folds for itself, and so does a history that has grown much further."""
    slow = Slow()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=ReductionCache())
    calls = [
        one.reduce(talk(9)),
        one.reduce(talk(9), scope="other"),
        one.reduce(talk(30)),
        one.reduce([*talk(8), Message.user("another end")]),
    ]

    assert [reduced.verdict.kind for reduced in await asyncio.gather(*calls)] == [
        "fold",
        "fold",
        "fold",
        "hit",
    ]
    assert slow.asked == 3


async def test_where_the_first_is_cancelled_the_next_takes_over() -> None:
    """A fold that nobody finishes is made by one of those who waited."""
    slow, cache = Slow(), ReductionCache()
    one = HistoryReducer(CONFIG, summarizer=slow, cache=cache)
    first = asyncio.create_task(one.reduce(talk(9)))
    others = [asyncio.create_task(one.reduce(talk(9))) for _ in range(3)]
    await asyncio.sleep(0.005)
    first.cancel()

    assert [reduced.verdict.kind for reduced in await asyncio.gather(*others)] == [
        "fold",
        "hit",
        "hit",
    ]
    assert slow.asked == 2
    assert len(cache.folds) == 0


def test_a_failed_fold_never_shows_what_was_not_in_force() -> None:
    """Where the state passed in stands for other messages, a failed fold sends the full history."""
    stale = HistoryReducer(CONFIG).reduce_sync(talk(9, "other ")).state
    failing = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat=""))
    failing._summarizers = failing._summarizers[:1]  # pyright: ignore[reportPrivateUsage]
    reduced = failing.reduce_sync(talk(9), state=stale)

    assert reduced.messages == talk(9)
    assert reduced.event is not None
    assert (reduced.event.status, reduced.event.summary) == ("failed", None)
    assert reduced.state is stale


def test_the_text_of_an_error_is_logged_for_debugging_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """At DEBUG the exception itself is in the log, and its message in no record's own text."""
    failing = ScriptedSummarizer(repeat=PermissionError("key sk-1"))
    with caplog.at_level(logging.DEBUG, logger="foldline"):
        HistoryReducer(CONFIG, summarizer=failing).reduce_sync(talk(9))
    told = [record for record in caplog.records if record.exc_info]

    assert {record.levelno for record in told} == {logging.DEBUG}
    assert [record.exc_info[0] for record in told if record.exc_info] == [PermissionError] * 2
    assert not any("sk-1" in record.getMessage() for record in caplog.records)


def test_the_digest_counts_as_the_history_does() -> None:
    """With a counter of the caller's own the digest keeps to the budget by that one."""

    class Letters:
        def count(self, text: str) -> int:
            return len(text)

    one = HistoryReducer(CONFIG, summary_budget=300)
    reduced = one.reduce_sync(History(talk(60), counter=Letters()))

    assert reduced.event is not None
    assert reduced.event.summarizer_calls == 1
    assert reduced.state is not None
    assert 0 < len(reduced.state.summary_content) <= 300
