"""Tools and summarizers get a limited time, whatever they do with being cancelled."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from foldline import Agent, ConfigError, HistoryReducer, HistoryReductionConfig, Message, tool
from foldline.agent import bounded as module
from foldline.agent.bounded import Outcome, bounded
from foldline.reduction.request import SummaryRequest
from foldline.testing.model import ScriptedModel, calls


FOLDING = HistoryReductionConfig(
    counting_unit="messages", target_count=2, summarization_threshold=1
)
TALK = [Message.user(f"question {number} " * 30) for number in range(8)]


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE", 0.01)


class Stubborn:
    """Work that ignores being cancelled until it is released."""

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.begun = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, *_: object) -> str:
        self.begun.set()
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
        raise ValueError(self.cancelled)


async def fail(error: BaseException) -> str:
    raise error


async def say(text: str) -> str:
    return text


@pytest.mark.parametrize(
    "error", [ValueError("x"), TimeoutError(), GeneratorExit(), SystemExit(1)], ids=repr
)
def test_an_error_is_an_outcome(error: BaseException) -> None:
    """Errors that would end a task or the process are outcomes like any other."""
    assert asyncio.run(bounded(lambda: fail(error), seconds=None)) == Outcome(error=error)
    assert asyncio.run(bounded(lambda: say("hi"), seconds=9.0)) == Outcome(value="hi")


async def test_work_that_gives_up_by_itself_has_failed() -> None:
    """A cancellation that nobody asked for is an error of the work."""
    outcome = await bounded(lambda: fail(asyncio.CancelledError()), seconds=9.0)

    assert isinstance(outcome.error, asyncio.CancelledError)
    assert not outcome.has_expired


def test_work_may_clean_up_and_answer_late() -> None:
    """What it returns while it cleans up counts."""

    async def answer() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "half"
        return "whole"

    assert asyncio.run(bounded(answer, seconds=0.01)) == Outcome(value="half")


async def test_nobody_waits_for_stubborn_work(caplog: pytest.LogCaptureFixture) -> None:
    """Its time is over, and what it raises much later is not logged as lost."""
    work = Stubborn()
    with caplog.at_level(logging.DEBUG, logger="asyncio"):
        outcome = await bounded(work, seconds=0.01)
        (left,) = asyncio.all_tasks() - {asyncio.current_task()}
        work.released.set()
        await asyncio.wait([left])
        del left
        gc.collect()

    assert (outcome, work.cancelled) == (Outcome(has_expired=True), 1)
    assert "never retrieved" not in caplog.text


async def left_behind(begin: Callable[[Stubborn], Awaitable[object]]) -> object:
    """Cancel what *begin* begins once its work runs; return how it ended, with the work left."""
    work = Stubborn()
    task = asyncio.ensure_future(begin(work))
    await work.begun.wait()
    task.cancel()
    await asyncio.wait([task])
    work.released.set()
    return task.cancelled()


async def turn(work: Stubborn, *, seconds: float | None = None) -> str:
    async def dig() -> str:
        return await work()

    model = ScriptedModel([calls(("dig", {})), "done"])
    result = await Agent(model, tools=[tool(dig, timeout=seconds)]).run("dig")
    work.released.set()
    (answer,) = (one for said in result.messages for one in said.tool_call_responses)
    return str(answer.response)


async def test_a_stubborn_tool_does_not_hold_up_the_turn() -> None:
    """The model reads that the tool was stopped, and the turn continues."""
    assert "did not finish within 0.01 seconds" in (await turn(Stubborn(), seconds=0.01))


def test_a_turn_with_a_stubborn_tool_can_be_cancelled() -> None:
    """The turn ends at once, although its tool does not."""
    assert asyncio.run(left_behind(turn))


class Writer:
    name = "writer"

    def __init__(self, write: Callable[[], Awaitable[str]]) -> None:
        self.write = write

    async def summarize(self, request: SummaryRequest) -> str:
        return await self.write()


async def reduced(write: Callable[[], Awaitable[str]], *, seconds: float = 9.0) -> Any:
    reducer = HistoryReducer(FOLDING, summarizer=Writer(write), timeout=seconds)
    return (await reducer.reduce(TALK)).event


async def test_a_stubborn_summarizer_does_not_hold_up_a_fold() -> None:
    """The next summarizer writes the summary, and the event says why."""
    work = Stubborn()
    event = await reduced(work, seconds=0.01)
    work.released.set()

    assert (event.status, event.summarizer) == ("performed", "digest")
    assert event.failures[0] == "TimeoutError"


@pytest.mark.parametrize("error", [GeneratorExit(), SystemExit(1)], ids=repr)
def test_a_summarizer_ends_no_process(error: BaseException) -> None:
    """Whatever it raises, the fold is made by the next one."""
    event = asyncio.run(reduced(lambda: fail(error)))

    assert event.status == "performed"
    assert event.failures[0].startswith(f"{type(error).__name__} in {__name__}, line ")


@pytest.mark.parametrize("now", [None, 0, "today"])
def test_a_clock_gives_a_time(now: Any) -> None:
    """A clock that gives something else is named, where it is first read."""
    reducer = HistoryReducer(FOLDING, clock=lambda: now)

    with pytest.raises(ConfigError, match=r"^clock\(\) must be a datetime, got"):
        reducer.reduce_sync(TALK)
    assert HistoryReducer(FOLDING, clock=lambda: datetime(2026, 1, 1)).reduce_sync(TALK).state  # noqa: DTZ001 - without a zone too
