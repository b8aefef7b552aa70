"""Running tools: threads, timeouts, errors and the end of a turn."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from functools import partial, wraps

import pytest

from foldline.agent.tools.answer import ToolAnswer
from foldline.agent.tools.running import run_tool, unknown_tool
from foldline.agent.tools.signature import ToolContext, ToolFunction
from foldline.agent.tools.tool import Tool, tool


CONTEXT = ToolContext(call_id="call_1", name="t", idempotency_key="k", thread_id="a", attempt=2)
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


def run(function: ToolFunction, text: str = "{}", *, timeout: float | None = None) -> ToolAnswer:
    made = function if isinstance(function, Tool) else tool(function, name="t", timeout=timeout)
    return asyncio.run(run_tool(made, text, CONTEXT))


def good(content: str) -> ToolAnswer:
    return ToolAnswer(content, is_error=False)


def bad(content: str) -> ToolAnswer:
    return ToolAnswer(content, is_error=True)


def plain(a: int, b: int = 2) -> int:
    return a + b


async def later(a: int, b: int = 2) -> int:
    await asyncio.sleep(0)
    return a + b


class Adder:
    def __call__(self, a: int) -> int:
        return a + 2

    async def later(self, a: int) -> int:
        return a + 2


class AsyncAdder:
    async def __call__(self, a: int) -> int:
        return a + 2


def hidden(function: Callable[[int], Coroutine[object, object, int]]) -> Callable[[int], object]:
    @wraps(function)
    def inner(a: int) -> object:
        return function(a)

    return inner


FUNCTIONS: list[ToolFunction] = [
    plain,
    later,
    partial(plain, b=2),
    partial(later, b=2),
    Adder(),
    Adder().later,
    AsyncAdder(),
    hidden(later),
    Tool(name="t", function=plain),
    Tool(name="t", function=later),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=[str(n) for n in range(len(FUNCTIONS))])
def test_every_kind_of_function_runs(function: ToolFunction) -> None:
    """Async ones are awaited, also where a wrapper hides that they are."""
    assert run(function, '{"a": 1}') == good("3")


def test_what_cannot_be_read_does_not_run() -> None:
    """The answer says that nothing has happened, and why."""
    ran: list[int] = []
    answer = run(tool(lambda: ran.append(1), name="t"), "{")

    assert answer.is_error
    assert answer.text.startswith("Error: t was not run: the arguments are not valid JSON")
    assert ran == []


async def test_a_blocking_function_runs_beside_the_loop() -> None:
    """It has a thread of its own, with the context variables of the turn, and blocks nobody."""
    seen: list[tuple[bool, str]] = []
    go = threading.Event()

    def block() -> str:
        seen.append((threading.current_thread() is threading.main_thread(), WHO.get()))
        WHO.set("the tool")
        return str(go.wait(5))

    WHO.set("the turn")
    task = asyncio.create_task(run_tool(tool(block), "", CONTEXT))
    await asyncio.sleep(0.01)
    go.set()

    assert (await task, WHO.get()) == (good("True"), "the turn")
    assert seen == [(False, "the turn")]


class ToldError(Exception):
    """An error of a tool."""


class SilentError(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToldError("no order 7"), "Error: ToldError: no order 7"),
        (ToldError(), "Error: ToldError"),
        (KeyError("a"), "Error: KeyError: 'a'"),
        (TimeoutError("the server"), "Error: TimeoutError: the server"),
        (StopIteration(), "Error: RuntimeError: coroutine raised StopIteration"),
        (SystemExit(2), "Error: SystemExit: 2"),
        (SilentError(), "Error: SilentError"),
        (asyncio.CancelledError(), "Error: CancelledError"),
        (
            ExceptionGroup("both", [ToldError("a"), ToldError("b")]),
            "Error: ExceptionGroup: both (2 sub-exceptions)",
        ),
    ],
    ids=lambda value: value[7:40] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("is_async", [True, False])
def test_whatever_a_tool_raises_is_told(error: BaseException, said: str, is_async: bool) -> None:
    """Type and message of an exception go to the model, and the turn goes on."""

    def fail() -> None:
        raise error

    async def fail_later() -> None:
        raise error

    assert run(fail_later if is_async else fail, timeout=5) == bad(said)


def test_an_async_tool_is_stopped_at_its_timeout() -> None:
    """The model reads that it was stopped; the tool could put things in order."""
    seen: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(5)
        finally:
            seen.append("ended")

    assert run(slow, timeout=0.02) == bad(
        "Error: t did not finish within 0.02 seconds and was stopped"
    )
    assert seen == ["ended"]


def test_a_blocking_tool_outlives_its_timeout() -> None:
    """The model reads that it may still have an effect; what it returns then is dropped."""
    go, ended = threading.Event(), threading.Event()

    def slow() -> str:
        go.wait(5)
        ended.set()
        return "too late"

    answer = run(slow, timeout=0.02)

    assert answer == bad(
        "Error: t did not finish within 0.02 seconds; it cannot be stopped and may still have an effect"
    )
    go.set()
    assert ended.wait(5)


async def test_the_end_of_the_loop_does_not_wait_for_a_tool() -> None:
    """A tool that hangs holds up neither the loop nor later tools."""
    go = threading.Event()
    hanging = [tool(lambda: go.wait(60), name="t", timeout=0.02) for _ in range(64)]
    answers = await asyncio.gather(*(run_tool(one, "", CONTEXT) for one in hanging))
    *failed, last = [*answers, await run_tool(tool(plain), '{"a": 1}', CONTEXT)]
    hangs = any(thread.name == "tool t" for thread in threading.enumerate())
    go.set()

    assert all(answer.is_error for answer in failed)
    assert last == good("3")
    assert hangs


def test_a_result_that_cannot_be_written_is_an_error() -> None:
    """Where not even a text can be made of it, the model is told so."""

    def broken() -> SilentError:
        return SilentError()

    assert run(broken) == bad("Error: RuntimeError")


KNOWN = ["look_up", "look_around", "send_mail", "stop"]


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("lookup", KNOWN, "Error: there is no tool 'lookup'; did you mean look_up"),
        ("LOOK_UP", KNOWN, "Error: there is no tool 'LOOK_UP'; did you mean look_up"),
        ("xyz", KNOWN, "'xyz'; there are look_around, look_up, send_mail, stop"),
        ("xyz", [], "Error: there is no tool 'xyz': there are no tools"),
        ("", KNOWN, "Error: there is no tool ''; there are"),
        ("a\nb\ud800", ["c"], r"'a\nb\ud800'; there are c"),
        ("x" * 9_999, ["c"], f"'{'x' * 64}'; there are c"),
        ("x", [f"tool_{n:03}" for n in range(50)], "tool_018, tool_019, …"),
    ],
    ids=lambda value: str(value)[:20].encode("ascii", "replace").decode(),
)
def test_a_tool_that_does_not_exist_is_told(name: str, known: list[str], said: str) -> None:
    """The model reads the nearest names, or those that there are."""
    answer = unknown_tool(name, known)

    assert said in answer.text
    assert answer.is_error
    assert len(answer.text) < 600


def test_a_result_that_is_cut_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """One warning names the tool and both sizes; what fits has none."""
    for most in (99, 300):
        read = tool(lambda: "x" * 300, name="read", description="", max_result_chars=most)
        asyncio.run(run_tool(read, "{}", ToolContext(call_id="c", name="read")))

    (told,) = caplog.records
    assert (told.levelname, told.args) == ("WARNING", ("read", 300, 99))


def test_an_exception_is_logged_and_may_be_hidden(caplog: pytest.LogCaptureFixture) -> None:
    """The log names tool and type; the model reads the message only if it should."""

    def broken() -> None:
        message = "the password is hunter2"
        raise ValueError(message)

    shown = asyncio.run(run_tool(tool(broken), "{}", ToolContext(call_id="c", name="broken")))
    hidden = asyncio.run(
        run_tool(tool(broken, shows_errors=False), "{}", ToolContext(call_id="c", name="broken"))
    )

    assert "hunter2" in shown.text
    assert hidden.text == "Error: ValueError"
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        "tool broken failed: ValueError"
    ] * 2
