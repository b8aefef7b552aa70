"""A chat with a person: one line after the other."""

from contextlib import suppress
from importlib import import_module
from pathlib import Path

from rich.console import Console

from foldline.apps.cli.chat_commands import obey
from foldline.apps.cli.chat_interrupts import at_prompt
from foldline.apps.cli.chat_session import Chat
from foldline.apps.cli.chat_standing import standing_line
from foldline.apps.cli.threads_counts import counted
from foldline.errors import (
    FoldlineError,
    ModelError,
    ThreadConflictError,
    ToolDecisionError,
    UsageError,
)


__all__ = ["INTERRUPTED", "advised", "converse"]


INTERRUPTED = 130
"""The exit code where Ctrl-C has ended the chat."""

_PROMPT = "> "
_WAY_ON = "an empty line goes on with it, anything else leaves it"
_ADVICE = {
    401: "check the key in the environment",
    403: "check the key in the environment, and what it may use",
    404: "check the name of the model",
    429: "wait a while",
}
_NOT_FOUND = 404
_ADVICE_ELSEWHERE = (
    "check the model's name and the address; servers that speak Chat Completions are `openai-chat:`"
)


async def converse(talk: Chat, console: Console, *, place: Path | None, resumes: bool) -> int:
    """
    Ask for lines and answer them until there are no more; return the exit code.

    Args:
        talk: The chat.
        console: Where the answers of commands go.
        place: The file of the store; None where it is a server.
        resumes: Whether a run that was interrupted is taken up at once.
    """
    with suppress(ImportError):
        # Lines can be edited and recalled then; else they are read as they come.
        import_module("readline")
    await _greet(talk, place)
    try:
        await _until_left(talk, console, resumes=resumes)
    except KeyboardInterrupt:
        console.print()
        return INTERRUPTED
    return 0


async def _until_left(talk: Chat, console: Console, *, resumes: bool) -> None:
    line: str | None = ""
    if not (resumes and talk.has_open_run):
        line = _ask(talk)
    while line is not None:
        if not await _answered(talk, line.strip(), console):
            return
        line = _ask(talk)
    console.print()


async def _greet(talk: Chat, place: Path | None) -> None:
    thread = talk.thread
    where = "" if place is None else f" in {place}"
    talk.display.note(
        f"{talk.speaker.name}, thread {thread.id}{where}, {counted(thread.count, 'message')}; "
        "/help lists what can be typed"
    )
    try:
        left = await standing_line(thread)
    except FoldlineError as error:
        # The chat may still be mended, as by /rewind.
        left = f"error: {error}"
    if left:
        talk.display.note(left)
    if talk.has_open_run:
        talk.display.note(f"an interrupted run waits: {_WAY_ON}", style="yellow")


def _ask(talk: Chat) -> str | None:
    """
    Return the next line; None where there is none.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    while True:
        try:
            with at_prompt():
                return input(_PROMPT)
        except EOFError:
            return None
        except UnicodeDecodeError:
            talk.display.note("error: that is no text in this terminal's encoding", style="red")


async def _answered(talk: Chat, line: str, console: Console) -> bool:
    """Answer *line*, and tell what goes wrong; False where it asks to leave."""
    try:
        return await _answer(talk, line, console)
    except FoldlineError as error:
        way_on = _WAY_ON if talk.has_open_run else ""
        told = " ".join(
            str(advised(error, way_on, is_elsewhere=talk.speaker.has_own_address)).split()
        )
        talk.display.note(f"error: {told}", style="red")
        return True


async def _answer(talk: Chat, line: str, console: Console) -> bool:
    if line.startswith("/") and not line.startswith("//"):
        return await obey(talk, line, console)
    finished = await (talk.say(line.removeprefix("/")) if line else talk.go_on())
    if not finished:
        way_on = f": {_WAY_ON}" if talk.has_open_run else ""
        talk.display.note(f"stopped{way_on}", style="yellow")
    return True


def advised(error: FoldlineError, way_on: str, *, is_elsewhere: bool = False) -> FoldlineError:
    """
    Return *error* with what to do about it here.

    Args:
        error: What went wrong.
        way_on: What to do where a run stays open.
        is_elsewhere: Whether somebody else than the vendor was asked.
    """
    if isinstance(error, ThreadConflictError):
        message = (
            f"somebody else has gone on with thread {error.thread_id!r}: look at it, then say it "
            "again, or fork it"
        )
        return UsageError(message)
    if isinstance(error, ToolDecisionError):
        called = ", ".join(error.call_ids)
        message = f"the interrupted tool calls {called} wait for their program: {way_on}"
        return UsageError(message)
    if not isinstance(error, ModelError):
        return error
    advice = _ADVICE.get(error.status or 0)
    if is_elsewhere and error.status == _NOT_FOUND:
        advice = _ADVICE_ELSEWHERE
    told = "; ".join(filter(None, (str(error), advice, way_on)))
    return ModelError(told, status=error.status)
