"""Folds that were cancelled, or late: what summarizers have read for them is not read again."""

import asyncio
import threading
from datetime import UTC, datetime

import pytest
from msgspec import structs

from foldline.agent.breaker import Breaker
from foldline.agent.cache import ReductionCache
from foldline.agent.fold_calls import FoldCalls
from foldline.agent.reducer import HistoryReducer
from foldline.agent.unfinished import UnfinishedFolds, key_of
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.request import (
    Flow,
    Remembered,
    Reply,
    SummaryFailure,
    SummaryRequest,
    aside,
)
from tests.passing import let_pass


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ROLLING = HistoryReductionConfig(
    counting_unit="messages", target_count=4, summarization_threshold=2
)
KINDS = pytest.mark.parametrize("single", [True, False], ids=["rolling", "layers"])
WINDOW = 700


def marked(count: int) -> list[Message]:
    return [
        Message.user(f"mark-{n} " + "so it was said " * 30)
        if n % 2 == 0
        else Message.assistant(f"mark-{n} " + "and so it was done " * 30)
        for n in range(count)
    ]


class Reader:
    """Writes at once, and from its reading *stop* on not at all, for which *seconds* pass."""

    name = "reader"

    def __init__(self, stop: int | None = None, *, seconds: float = 0.0) -> None:
        self.stop, self.seconds, self.requests = stop, seconds, list[SummaryRequest]()
        self.waits = asyncio.Event()

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        if self.stop is not None and len(self.requests) > self.stop:
            self.waits.set()
            let_pass(self.seconds)
            await asyncio.Event().wait()
        return f"what was said up to here, number {len(self.requests)}"

    @property
    def marks(self) -> list[str]:
        texts = [one.text for request in self.requests for one in request.messages]
        return [text.split()[0] for text in texts]


def reducer(
    asked: Reader,
    *,
    single: bool = True,
    cache: ReductionCache | None = None,
) -> HistoryReducer:
    return HistoryReducer(
        structs.replace(ROLLING, use_single_summary=single),
        summarizer=asked,
        summarizer_window=WINDOW,
        timeout=60.0,
        cache=cache,
        clock=lambda: NOW,
    )


async def cancelled(one: HistoryReducer, asked: Reader, messages: list[Message]) -> None:
    task = asyncio.create_task(one.reduce(messages))
    await asked.waits.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@KINDS
async def test_a_cancelled_fold_goes_on_where_it_was(*, single: bool) -> None:
    """Only the chunk that was being read is asked for again; the event counts new calls alone."""
    asked = Reader(stop=5)
    one = reducer(asked, single=single)
    await cancelled(one, asked, marked(60))
    asked.stop = None
    known = len(asked.requests)
    reduced = await one.reduce(marked(60))
    again = [mark for mark in set(asked.marks) if asked.marks.count(mark) > 1]

    assert asked.requests[known] == asked.requests[known - 1]
    assert len(again) == len(asked.requests[known].messages)
    assert set(asked.marks) == {f"mark-{n}" for n in range(56)}
    assert reduced.event.summarizer_calls == len(asked.requests) - known
    assert reduced.event.reason is Reason.THRESHOLD_EXCEEDED


async def test_a_tenant_gets_nothing_of_another() -> None:
    """The same messages of another scope are read again."""
    asked = Reader(stop=5)
    one = reducer(asked)
    await cancelled(one, asked, marked(60))
    asked.stop = None
    known = len(asked.requests)
    await one.reduce(marked(60), scope="other")

    assert asked.requests[known] == asked.requests[0]


async def test_a_fold_that_came_to_its_end_is_asked_for_again() -> None:
    """A text that somebody rejects does not come back."""
    asked, cache = Reader(), ReductionCache()
    one = reducer(asked, cache=cache)
    await one.reduce(marked(60))
    known = len(asked.requests)
    cache.clear()
    await one.reduce(marked(60))

    assert len(asked.requests) == 2 * known


@KINDS
async def test_a_late_fold_is_gone_on_with(*, single: bool) -> None:
    """What was read is a reduction; the call after it reads the rest, and then nothing is due."""
    asked, messages = Reader(stop=5, seconds=60.0), marked(60)
    one = reducer(asked, single=single)
    first = await one.reduce(messages)
    state = first.state
    assert state is not None
    asked.stop = None
    known = len(asked.requests)
    other = reducer(asked, single=single)
    second = await other.reduce(messages, state=state)
    third = await other.reduce(messages, state=second.state)

    assert first.event.reason is Reason.READ_IN_PART
    assert (first.event.status, first.event.summarizer) == ("performed", "reader")
    assert 0 < state.summarized_up_to_index < 56
    assert asked.requests[known].messages[0] == messages[state.summarized_up_to_index]
    assert second.state is not None
    assert second.state.summarized_up_to_index == 56
    assert third.event.status == "cache_hit"


async def test_a_late_reading_of_one_long_message_is_gone_on_with() -> None:
    """It has no reduction of its own, so its parts come from memory."""
    words = " ".join(f"word{n}" for n in range(2_000))
    messages = [Message.user(words), *marked(8)]
    asked, cache = Reader(stop=4, seconds=60.0), ReductionCache()
    one = reducer(asked, cache=cache)
    first = await one.reduce(messages)
    known = len(asked.requests)
    asked.stop = None
    cache.clear()
    await one.fold(messages, state=None)
    read = [request.messages[0].text for request in asked.requests[known:]]

    assert first.event.reason is Reason.FOLDED_BY_FALLBACK
    assert asked.requests[known] == asked.requests[known - 1]
    assert all(text not in read for text in [asked.requests[n].messages[0].text for n in range(4)])


def calls_of(asked: Reader, times: list[float], unfinished: UnfinishedFolds) -> FoldCalls:
    clock = iter(times)
    return FoldCalls(
        [asked],
        [Breaker("reader", lambda: NOW)],
        seconds=10.0,
        timer=lambda: next(clock),
        unfinished=(unfinished, ""),
    )


def request(number: int, **fields: object) -> SummaryRequest:
    made = SummaryRequest(messages=tuple(marked(number)), prompt="p", budget=9)
    return structs.replace(made, **fields)


def asking(*requests: SummaryRequest) -> Flow[list[Reply]]:
    replies: dict[int, Reply] = {}
    for place, one in enumerate(requests):
        replies[place] = yield one
    return [*replies.values()]


async def test_what_would_be_cut_off_is_not_begun() -> None:
    """If less time is left than a reading took, the next fold begins it; a defect is told all the same."""
    asked, late = Reader(), SummaryFailure("not asked: no time was left for it", was_asked=False)
    flow = asking(request(1), request(2), request(3), request(3, defects=("Too long.",)))
    replies = await calls_of(asked, [0.0, 4.0, 7.0, 8.0], UnfinishedFolds()).run(flow)

    assert replies[2] == late
    assert [len(one.messages) for one in asked.requests] == [1, 2, 3]


async def test_a_text_that_was_refused_is_not_remembered() -> None:
    """Of a fold that breaks off, the good texts are there for the next one, once."""

    def broken() -> Flow[None]:
        yield request(1)
        yield request(2)
        yield request(2, defects=("Too long.",))
        raise ConnectionError

    asked, unfinished = Reader(), UnfinishedFolds()
    with pytest.raises(ConnectionError):
        await calls_of(asked, [0.0] * 9, unfinished).run(broken())
    known = asking(request(1), request(2), request(1))
    replies = await calls_of(asked, [0.0] * 9, unfinished).run(known)

    assert [isinstance(one, Remembered) for one in replies] == [True, False, False]


async def test_a_text_whose_review_is_cancelled_is_remembered() -> None:
    """A fold that is cancelled while a text is reviewed in a thread does not ask for it again."""
    begun, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def review() -> None:
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(10)

    def reviewing() -> Flow[None]:
        yield request(1)
        yield from aside(review)

    asked, unfinished = Reader(), UnfinishedFolds()
    fold = asyncio.create_task(calls_of(asked, [0.0] * 9, unfinished).run(reviewing()))
    await begun.wait()
    fold.cancel()
    await asyncio.wait([fold])
    may_end.set()
    replies = await calls_of(asked, [0.0] * 9, unfinished).run(asking(request(1)))

    assert fold.cancelled()
    assert [type(one) for one in replies] == [Remembered]


def test_the_oldest_texts_are_forgotten() -> None:
    """The memory is bounded."""
    memory = UnfinishedFolds()
    memory.keep({bytes([n // 256, n % 256]): f"{n}" for n in range(600)})

    assert len(memory) == 512
    assert memory.take(b"\0\0") is None
    assert memory.take(bytes([599 // 256, 599 % 256])) == "599"
    assert len(memory) == 511


def test_a_key_is_of_what_is_read() -> None:
    """The budget is no part of it; the earlier summary, prompt, focus and place are."""
    one = request(2)
    others = [
        request(3),
        request(2, earlier=("so far",)),
        request(2, prompt="other"),
        request(2, focus="prices"),
        request(2, summarizer=1),
    ]

    assert key_of(request(2, budget=99), "") == key_of(one, "")
    assert len({key_of(one, ""), key_of(one, "a"), *(key_of(other, "") for other in others)}) == 7
    assert History(one.messages).tokens() > 0
