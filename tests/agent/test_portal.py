"""The blocking face."""

import asyncio
import os
import signal
import subprocess
import sys
from contextvars import ContextVar
from threading import Timer, get_ident
from time import monotonic

import pytest

from foldline.agent.portal import Portal, finished
from foldline.agent.reducer import HistoryReducer
from foldline.errors import BlockingCallError
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.reduction.config import AgentRunConfig
from tests.agent.test_reducer import CONFIG, reducer, talk


VALUE: ContextVar[str] = ContextVar("VALUE", default="unset")

FORKING = """
import os
from foldline.agent.portal import PORTAL

async def work(number):
    return number

assert PORTAL.run(work, 1) == 1
child = os.fork()
if child == 0:
    assert PORTAL.run(work, 2) == 2
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert PORTAL.run(work, 3) == 3
"""

LEAVING = """
import asyncio
from foldline.agent.portal import PORTAL

tasks = []

async def work():
    tasks.append(asyncio.create_task(asyncio.sleep(60)))

PORTAL.run(work)
"""


DROPPING = """
import threading
from foldline import HistoryReducer, HistoryReductionConfig, Message

config = HistoryReductionConfig(enabled=True, strategy="message_counting", target_count=4)
talk = [Message.user(f"{number} was said") for number in range(90)]
assert HistoryReducer(config).reduce_sync(talk).event.status == "performed"
assert threading.active_count() == 1
"""

NO_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system knows no fork")
PROGRAMS = [
    pytest.param(FORKING, marks=NO_FORK, id="forking"),
    pytest.param(LEAVING, id="leaving"),
    pytest.param(DROPPING, id="dropping"),
]


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def place() -> tuple[asyncio.AbstractEventLoop, int]:
    return asyncio.get_running_loop(), get_ident()


def test_an_error_comes_out_and_the_next_call_works() -> None:
    """What the work raises is raised, also what would end a process."""
    portal = Portal()

    async def fail(error: BaseException) -> None:
        raise error

    async def fail_in_a_task(error: BaseException) -> None:
        await asyncio.create_task(fail(error))

    for error in (ValueError("x"), KeyboardInterrupt(), SystemExit(3), OSError()):
        for work in (fail, fail_in_a_task):
            with pytest.raises(type(error)) as caught:
                portal.run(work, error)
            assert caught.value is error
    assert portal.run(double, 4) == 8


def test_the_context_of_the_caller_is_seen() -> None:
    """A tracer's variables reach the work, and what the work sets stays inside."""
    VALUE.set("caller")

    async def work() -> str:
        before = VALUE.get()
        VALUE.set("work")
        return before

    assert Portal().run(work) == "caller"
    assert VALUE.get() == "caller"


def test_an_interrupt_gets_out_and_cancels_the_work() -> None:
    """Ctrl-C ends the wait at once, and what was waited for."""
    portal, cancelled = Portal(), list[bool]()

    async def hang() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    started = monotonic()
    Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        portal.run(hang)
    portal.run(asyncio.sleep, 0)

    assert monotonic() - started < 10
    assert cancelled == [True]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_process_ends_well(program: str) -> None:
    """It may fork, leave something behind in the loop, or fold without a loop: no warning tells of it."""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_inside_a_loop_a_blocking_call_waits_for_no_summarizer() -> None:
    """It serves, and folds by code, as `reduce` does; only a summary that is due is refused."""
    made = await reducer().reduce(talk(9))
    with pytest.raises(BlockingCallError, match="block the loop with `call_sync"):
        reducer().reduce_sync(talk(9))
    with pytest.raises(BlockingCallError, match="await the method"):
        reducer().fold_sync(talk(9))

    assert reducer().reduce_sync(talk(2)).messages == talk(2)
    assert reducer().reduce_sync(talk(9), state=made.state).messages == made.messages
    counting = AgentRunConfig(history_reduction_strategy_override="message_counting")
    assert reducer().reduce_sync(talk(9), overrides=counting).event.status == "performed"
    by_code = HistoryReducer(CONFIG, summarizer=DigestSummarizer())
    assert by_code.reduce_sync(talk(9)).event.status == "performed"


def test_a_loop_of_the_portal_that_is_seen_elsewhere_is_nobodys_own() -> None:
    """To gevent threads are greenlets of one thread, so that the caller sees the portal's loop."""
    portal = Portal()
    loop, _ = portal.run(place)
    asyncio._set_running_loop(loop)
    try:
        assert portal.run(double, 2) == 4
    finally:
        asyncio._set_running_loop(None)


def test_what_waits_is_not_finished_in_place() -> None:
    """It is refused where no loop would go on with it."""
    with pytest.raises(BlockingCallError):
        finished(double(2))
