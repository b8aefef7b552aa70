"""A chat on a terminal: Ctrl-C, Ctrl-D and a kill."""

import asyncio
import io
import json
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from foldline.agent.agent import Agent
from foldline.apps.cli.chat.recording import Speaker
from foldline.apps.cli.chat.screen import JsonLines
from foldline.apps.cli.chat.session import Chat
from foldline.apps.cli.main import main
from foldline.errors import UsageError
from foldline.history.messages import Message
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.chat_terminal import on_terminal
from tests.apps.conftest import Run, Typed


PROMPT = "\n> "
WAY_ON = "an empty line resumes it, anything else leaves it"
# So slow that an answer is still being written when a busy machine comes to interrupt it.
SLOW = ("--delay", "0.1")
ANSWER = "Parcel 0 is on its way. " * 4
# A terminal has no blanks at the end of a line.
SHOWN = ANSWER.rstrip()


def said(folder: Path) -> list[tuple[str, str]]:
    """Return who said what, but for the tools."""

    async def read() -> list[tuple[str, str]]:
        async with SQLiteStore(folder / "chat.db") as store:
            messages = await (await store.thread("chat")).get_messages()
        return [(one.role, one.text) for one in messages if one.text and one.role != "tool"]

    return asyncio.run(read())


@pytest.fixture
def model(chat: Path) -> tuple[str, ...]:
    """Return how the recording of the parcels is talked to."""
    return ("chat", "--model", f"scripted:{chat}")


@pytest.mark.slow
def test_a_stopped_turn_is_resumed_or_left(tmp_path: Path, model: tuple[str, ...]) -> None:
    """A turn that Ctrl-C has stopped is resumed by an empty line, and left by anything else."""
    with on_terminal(tmp_path, *model, *SLOW) as terminal:
        terminal.expect("> ")
        terminal.type("first")
        terminal.expect("Parcel 0 ")
        terminal.interrupt()
        terminal.expect(f"stopped: {WAY_ON}{PROMPT}")
        terminal.type("")
        terminal.expect(f"{SHOWN}\n")
        terminal.expect(PROMPT)
        terminal.type("second")
        terminal.expect("Parcel 1 ")
        terminal.interrupt()
        terminal.expect(f"stopped: {WAY_ON}{PROMPT}")
        terminal.type("third")
        terminal.expect("the interrupted run is left; everything it stored is kept")
        terminal.expect("tokens in")
        terminal.expect(PROMPT)
        code = terminal.leave()

    assert code == 130
    assert "Traceback" not in terminal.shown
    assert "\x1b[36m→ look_up" in terminal.raw
    next_answer = ANSWER.replace("0", "1")
    assert said(tmp_path) == [
        ("user", "first"),
        ("assistant", ANSWER),
        ("user", "second"),
        ("user", "third"),
        ("assistant", next_answer),
    ]


def test_a_killed_chat_is_resumed(tmp_path: Path, model: tuple[str, ...], run: Run) -> None:
    """After a kill in the middle of an answer `--resume` resumes the run, then says its message."""
    with on_terminal(tmp_path, *model, *SLOW) as terminal:
        terminal.expect("> ")
        terminal.type("Where is it?")
        terminal.expect("Parcel 0 ")
        terminal.kill()

    resumed = run(*model, "--resume", stdin=b"next")

    assert resumed.out.splitlines()[0] == ANSWER
    assert [text for role, text in said(tmp_path) if role == "user"] == ["Where is it?", "next"]


def test_what_was_said_of_a_stopped_message_is_kept(tmp_path: Path, model: tuple[str, ...]) -> None:
    """Ctrl-C in a single message exits with 130; the last line of JSON says that it has ended."""
    with on_terminal(tmp_path, *model, *SLOW, "--message", "Where is it?", "--json") as terminal:
        terminal.expect('"type":"text_delta"')
        terminal.interrupt()
        code = terminal.wait()

    last = json.loads(terminal.shown.splitlines()[-1])
    assert code == 130
    assert "Traceback" not in terminal.shown
    assert (last["type"], last["code"], last["resumable"]) == ("error", "interrupted", False)
    assert last["message"] == "stopped; what was said is stored"


def test_what_others_say_is_seen(
    tmp_path: Path, model: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """What another program has said since the last line is there before the next is answered."""

    async def speak() -> None:
        async with SQLiteStore(tmp_path / "chat.db") as store:
            thread = await store.thread("chat")
            await thread.add_messages([Message.user("other"), Message.assistant("Fine.")])

    def typed() -> Generator[str]:
        yield "first"
        asyncio.run(speak())
        yield "third"
        yield "/quit"

    lines = typed()
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setattr(sys, "stdin", Typed(io.BytesIO()))

    assert main([*model]) == 0

    assert [text for role, text in said(tmp_path) if role == "user"] == ["first", "other", "third"]


@pytest.fixture
def talk() -> Generator[Chat]:
    """Return a chat in which any work can be done, on a thread in memory."""
    with asyncio.Runner() as runner:
        thread = runner.run(MemoryStore().thread("t"))
        speaker = Speaker(Agent(ScriptedModel()))
        yield Chat(runner, thread, speaker, JsonLines())


async def _stubborn() -> None:
    """Ignore the first cancellation, and interrupt again."""
    try:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_stops_the_work(talk: Chat) -> None:
    """Ctrl-C cancels the work, and the chat can be used again."""
    done: list[int] = []

    async def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

    async def work() -> None:
        done.append(1)

    assert (talk.do(interrupted), talk.do(work), done) == (False, True, [1])


def test_a_second_interrupt_does_not_wait(talk: Chat) -> None:
    """If the work does not stop, Ctrl-C a second time leaves."""
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        talk.do(_stubborn)

    assert signal.getsignal(signal.SIGINT) is before


def test_work_goes_on_where_interrupts_are_ignored(talk: Chat) -> None:
    """If Ctrl-C is ignored, as in the background of a shell, work continues to its end."""
    done: list[int] = []

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(1)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        finished = talk.do(work)
    finally:
        signal.signal(signal.SIGINT, before)

    assert (finished, done) == (True, [1])


def test_an_error_of_the_work_is_raised(talk: Chat) -> None:
    """What goes wrong in the work is the caller's."""

    async def work() -> None:
        message = "no"
        raise UsageError(message)

    with pytest.raises(UsageError, match="no"):
        talk.do(work)
