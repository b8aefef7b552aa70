"""The command `foldline chat`: one turn or slash command after the other."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

import typer
from msgspec import structs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from foldline.agent.arguments import by_hand
from foldline.agent.stats import reduction_stats
from foldline.apps.cli.chat.options import DEFAULT_STORE, ChatOptions, speaker_of
from foldline.apps.cli.chat.recording import Recording, Speaker
from foldline.apps.cli.chat.screen import (
    Display,
    JsonLines,
    Screen,
    advised,
    place_line,
    print_failure,
)
from foldline.apps.cli.options import ConfigOptions, takes
from foldline.apps.cli.prices import source_of, window_for
from foldline.apps.cli.stores import file_of, folded_in, opened_store
from foldline.apps.cli.terminal import clean, error_console, first_line, output_console
from foldline.apps.cli.threads_costs import print_costs
from foldline.apps.cli.viewing import as_pinned, show_view
from foldline.errors import (
    FoldlineError,
    ModelError,
    ThreadConflictError,
    ToolDecisionError,
    UsageError,
)
from foldline.providers.price_list import prices_for
from foldline.reduction.event import Reason
from foldline.replay.numbers import counted
from foldline.threads.key import ThreadKey
from foldline.threads.thread import ConversationThread


_INTERRUPTED = 130
_PROMPT = "> "
_QUIT = "/quit"
_USUAL_LAST = 20
_A_MESSAGE = "the number of a message"
_LEFT_FOR_NEW = "Left for a new message"
_WAY_ON = "an empty line resumes it, anything else leaves it"
_RESUMABLE = "--resume resumes it, and a message leaves it"


class Chat:
    """A conversation with a model."""

    def __init__(
        self, runner: asyncio.Runner, thread: ConversationThread, speaker: Speaker, display: Display
    ) -> None:
        self.thread = thread
        self.speaker = speaker
        self.display = display
        self._runner = runner

    def say(self, text: str) -> bool:
        """Say *text*, and leave a run that was interrupted; False if Ctrl-C stopped the turn."""
        return self.do(lambda: self._say(text))

    def resume(self) -> bool:
        """Resume what is open or unanswered, else say the next request of a recording."""
        return self.do(self._resume)

    def do(self, work: Callable[[], Coroutine[object, object, None]]) -> bool:
        """Do *work*; False if Ctrl-C stopped it, and a second one raises `KeyboardInterrupt`."""
        was_stopped = False

        async def _fresh() -> None:
            nonlocal was_stopped
            try:
                # Others may have continued the thread since we last looked.
                await self.thread.refresh()
                await work()
            except (FoldlineError, asyncio.CancelledError) as error:
                was_stopped = isinstance(error, asyncio.CancelledError)
                # A commit may have been made that nobody waited for any more.
                with suppress(FoldlineError):
                    await self.thread.refresh()
                raise

        try:
            self._runner.run(_fresh())
        except KeyboardInterrupt:
            if not was_stopped:
                raise
        finally:
            self.display.close()
        return not was_stopped

    def place(self) -> str:
        """Return the last question and how far its turn came; empty without one."""
        return self._runner.run(place_line(self.thread))

    async def _say(self, text: str) -> None:
        if self.thread.lease is not None:
            self.display.note("another program answers here, or was killed: waiting for its end")
        elif self.thread.has_open_run:
            await self.thread.abandon_run(_LEFT_FOR_NEW)
            self.display.note("the interrupted run is left; everything it stored is kept")
        await self._turn(text)

    async def _resume(self) -> None:
        # The last message may wait for an answer, as after a circuit breaker or a rewind.
        last = await self.thread.get_messages(last=1)
        if self.thread.has_open_run or any(
            one.role != "assistant" or one.tool_calls for one in last
        ):
            await self._turn(None)
            return
        text = await self.speaker.request(self.thread)
        if not text:
            raise UsageError("there is nothing to resume: type something")
        self.display.note(f"> {first_line(text)}")
        await self._turn(text)

    async def _turn(self, text: str | None) -> None:
        agent = await self.speaker.agent(self.thread)
        stream = agent.run_stream(text, thread=self.thread)
        async with stream:
            async for event in stream:
                self.display.hear(event)
        self.display.end(await stream.final_result)
        self.display.gauge()
        if await self.speaker.left(self.thread) == 0:
            self.display.note("that was the last answer of the recording")


async def _help(_chat: Chat, _: str, console: Console) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, (argument, meaning, _run) in _COMMANDS.items():
        grid.add_row(Text(f"{name} {argument}"), Text(meaning))
    grid.add_row(Text(_QUIT), Text("Leave; Ctrl-D does too."))
    console.print(grid)


async def _history(chat: Chat, argument: str, console: Console) -> None:
    thread = chat.thread
    last = _number(argument, "/history 20") if argument else _USUAL_LAST
    number = start = max(0, thread.head.length - last)
    cut = folded_in(thread.last_reduction)
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(ratio=1)
    for message in as_pinned(await thread.get_range(start), thread.pins, start):
        place = "" if message.role == "system" else f"{number:,}"
        grid.add_row(Text(place, style="dim"), show_view([message], summary_lines=None))
        number += message.role != "system"
        if number == cut and message.role != "system":
            grid.add_row("", Text(f"folded up to here: {counted(cut, 'message')}", style="yellow"))
    console.print(grid)
    tokens = counted(thread.head.tokens + thread.head.system_tokens, "token")
    console.print(Text(f"{counted(thread.head.length, 'message')}, {tokens}", style="dim"))


async def _summary(chat: Chat, _: str, console: Console) -> None:
    reduction = chat.thread.last_reduction
    cut = folded_in(reduction)
    if reduction is None or not cut:
        console.print("there is no summary: nothing was folded yet")
        return
    size = counted(reduction.summary_tokens, "token")
    console.print(Text(f"{counted(cut, 'message')} folded into {size}", style="dim"))
    console.print(Text(clean(reduction.summary_content) or "(no summary: they are left out)"))


async def _costs(chat: Chat, _: str, console: Console) -> None:
    how, name = chat.speaker.reduction, chat.speaker.name
    prices = prices_for(how, name)
    source = source_of(None if how.prices else name)
    print_costs(
        console,
        chat.thread.id,
        await reduction_stats(
            chat.thread, prices, window=window_for(how.context_window_size, name)
        ),
        source,
    )
    if prices is None:
        console.print(Text(f"the prices of {name} are unknown: no amounts", style="dim"))


async def _fold(chat: Chat, argument: str, console: Console) -> None:
    number, _, rest = argument.partition(" ")
    keep, focus = (int(number), rest.strip()) if _is_number(number) else (None, argument)
    if keep == 0:
        raise UsageError("/fold must keep at least 1, for example /fold 10")
    reduced = await chat.speaker.fold(chat.thread, focus=focus, keep=keep)
    event = reduced.event
    if event.status in {"performed", "failed"}:
        chat.display.hear(event)
        chat.display.gauge()
        return
    line = f"nothing was folded: {event.reason.value}"
    if event.reason is Reason.NOTHING_TO_CUT:
        unit = event.counting_unit
        run = by_hand(None, chat.speaker.reduction, keep=1)
        kept = run.history_reduction_unit_override or unit
        hint = f"; /fold N keeps N {kept}" if keep is None else ""
        line = f"{line}; {event.units:,} {unit} have gathered{hint}"
    console.print(Text(line, style="dim"), soft_wrap=True)


async def _undo(chat: Chat, _: str, console: Console) -> None:
    before = chat.thread.last_reduction
    after = await chat.thread.undo_reduction()
    if before is None:
        console.print("there is no reduction to undo")
        return
    console.print(
        f"undone: {counted(folded_in(before), 'message')} folded before, {folded_in(after):,} now"
    )


async def _rewind(chat: Chat, argument: str, console: Console) -> None:
    before = chat.thread.head.length
    number = _number(argument, "/rewind 4")
    if number > before:
        message = f"the thread has {counted(before, 'message')}: give a number from 0 to {before:,}"
        raise UsageError(message)
    await chat.thread.rewind(number)
    taken = counted(before - chat.thread.head.length, "message")
    console.print(f"taken back: {taken}; the thread has {chat.thread.head.length:,}")


async def _fork(chat: Chat, argument: str, console: Console) -> None:
    if not argument:
        raise UsageError("name the new thread, for example /fork other")
    left = chat.thread.id
    chat.thread = await chat.thread.fork(ThreadKey.named(argument))
    console.print(f"this is thread {chat.thread.id} now; {left} stays as it is")


async def _pin(chat: Chat, argument: str, console: Console) -> None:
    index = _number(argument, "/pin 4", noun=_A_MESSAGE) if argument else None
    if index is None:
        # What was said last is in the window, however long the thread is.
        index = (await chat.thread.window()).history.last_user()
    if index is None:
        raise UsageError("there is no user message to pin")
    await chat.thread.pin(index)
    console.print(f"message {index} is pinned")


async def _unpin(chat: Chat, argument: str, console: Console) -> None:
    index = _number(argument, "/unpin 4", noun=_A_MESSAGE)
    was_pinned = index in chat.thread.pins
    await chat.thread.unpin(index)
    console.print(f"message {index} {'is unpinned' if was_pinned else 'was not pinned'}")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10  # noqa: PLR2004 - more is no count


def _number(argument: str, example: str, *, noun: str = "a number of messages") -> int:
    if not _is_number(argument):
        raise UsageError(f"give {noun}, for example {example}")
    return int(argument)


_Command: TypeAlias = Callable[[Chat, str, Console], Coroutine[object, object, None]]
# The argument of each slash command, what it does, and how.
_COMMANDS: dict[str, tuple[str, str, _Command]] = {
    "/help": ("", "Show this.", _help),
    "/history": ("[N]", "Show the last messages, 20 by default.", _history),
    "/summary": ("", "Show the summary of what is folded.", _summary),
    "/costs": ("", "Show what this thread has sent and cost, and what folds saved.", _costs),
    "/fold": (
        "[N] [TEXT]",
        "Fold now, down to the newest N, and keep what TEXT says above all.",
        _fold,
    ),
    "/pin": ("[N]", "Keep message N, or your last one, word for word in summaries.", _pin),
    "/unpin": ("N", "Stop keeping message N.", _unpin),
    "/undo": ("", "Take back the newest fold.", _undo),
    "/rewind": ("N", "Keep the first N messages, and take back the rest.", _rewind),
    "/fork": ("ID", "Continue in a new thread with everything so far.", _fork),
}


@takes(ChatOptions, ConfigOptions, fixed={"file": ""})
def chat(options: ChatOptions, flags: ConfigOptions) -> None:
    """
    Talk with a model; the conversation is kept in a store, and folded as it grows.

    On a terminal it asks for one line after the other, and /help lists the slash commands:
    /history, /summary, /costs, /fold, /pin, /unpin, /undo, /rewind, /fork and /quit. With --message,
    or with text piped into it, it says that, prints the answer and exits; everything beside the
    answer (tools, folds, usage) goes to the standard error then.

    Everything is stored before it takes effect. Ctrl-C during an answer ends the turn, and keeps
    what was said of it; if nothing was said yet, an empty line resumes it, and anything else leaves
    it. A run that a crash interrupted is found at the
    next start, and resumed in the same way. Ctrl-C at the prompt exits with the code 130, Ctrl-D
    and /quit with 0.

    With scripted:FILE tools repeat their recorded results, the offline digest writes the
    summaries, and an empty line says what the user said next in the recording.

    A chat is kept in the file chat.db of this folder unless a store is named. It folds before a
    request reaches its ceiling; after each answer a line shows how full the last request was, and
    when the next fold is due.
    """
    opened: list[Chat] = []
    try:
        code = _chat(options, flags, opened)
    except FoldlineError as error:
        # A reworded error keeps the code of its cause.
        cause = error.__cause__
        found = cause if isinstance(cause, FoldlineError) else error
        if options.json:
            is_open = any(talk.thread.has_open_run for talk in opened)
            print_failure(found.code, str(error), options.thread, resumable=is_open)
        raise
    if code:
        raise typer.Exit(code)


def _chat(options: ChatOptions, flags: ConfigOptions, opened: list[Chat]) -> int:
    message = _message(options)
    speaker = speaker_of(options, flags)
    ThreadKey(options.tenant, options.thread)
    store_options = structs.replace(options, store=options.store or DEFAULT_STORE)
    # Not once it is open: closing a file drops all locks that this process has on it.
    path = file_of(store_options, may_make=True)
    console = output_console()
    notes = console if message is None else error_console()
    how, is_recorded = speaker.reduction, isinstance(speaker, Recording)
    pays = not how.counts and prices_for(how, speaker.name) is not None
    screen = Screen(console, notes, limits=how.limits, pays=pays, is_recorded=is_recorded)
    display: Display = JsonLines() if options.json else screen
    with opened_store(store_options, may_make=True) as (runner, store):
        try:
            thread = runner.run(store.thread(options.thread, tenant=options.tenant))
            talk = Chat(runner, thread, speaker, display)
            opened.append(talk)
            if message is None:
                return _converse(talk, console, path, resumes=options.resume)
            return _say_once(talk, message, options)
        finally:
            runner.run(speaker.close())


def _message(options: ChatOptions) -> str | None:
    """Return the one message to say; None if a person is asked."""
    if options.message is None and sys.stdin.isatty():
        if options.json:
            raise UsageError("--json is for one message: give --message TEXT, or pipe it")
        return None
    given = options.message
    if given is None:
        try:
            given = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            message = f"the standard input is not UTF-8 text, at byte {error.start:,}"
            raise UsageError(message) from None
    given = given.strip()
    if not given and not options.resume:
        raise UsageError("there is nothing to say: give --message TEXT, or pipe it")
    return given


def _say_once(talk: Chat, message: str, options: ChatOptions) -> int:
    if options.resume and not talk.thread.has_open_run and not message:
        raise UsageError(f"thread {talk.thread.id!r} has no interrupted run: give --message TEXT")
    try:
        finished = True
        if options.resume and talk.thread.has_open_run:
            talk.display.note(talk.place())
            finished = talk.resume()
        if finished and message:
            finished = talk.say(message)
    except (ModelError, ThreadConflictError, ToolDecisionError) as error:
        raise advised(error, _RESUMABLE if talk.thread.has_open_run else "") from error
    if finished:
        return 0
    way_on = ", and --resume resumes it" if talk.thread.has_open_run else ""
    text = f"stopped; what was said is stored{way_on}"
    talk.display.note(text)
    if options.json:
        print_failure("interrupted", text, options.thread, resumable=talk.thread.has_open_run)
    return _INTERRUPTED


def _converse(talk: Chat, console: Console, path: Path | None, *, resumes: bool) -> int:
    """Ask for lines and answer them until there are no more; return the exit code."""
    with suppress(ImportError):
        # Lines can be edited and recalled then.
        import_module("readline")
    if resumes and not talk.thread.has_open_run:
        talk.display.note("there is no interrupted run to resume")
    _greet(talk, path)
    try:
        line = "" if resumes and talk.thread.has_open_run else _ask(talk)
        while line is not None:
            if not _answered(talk, line.strip(), console):
                return 0
            line = _ask(talk)
    except KeyboardInterrupt:
        console.print()
        return _INTERRUPTED
    console.print()
    return 0


def _greet(talk: Chat, path: Path | None) -> None:
    thread = talk.thread
    where = "" if path is None else f" in {path}"
    talk.display.note(
        f"{talk.speaker.name}, thread {thread.id}{where}, {counted(thread.count, 'message')}; "
        "/help lists the commands"
    )
    try:
        place = talk.place()
    except FoldlineError as error:
        # The chat may still be usable, for example after /rewind.
        place = f"error: {error}"
    if place:
        talk.display.note(place)
    if talk.thread.has_open_run:
        talk.display.note(f"a run was interrupted: {_WAY_ON}", style="yellow")


def _ask(talk: Chat) -> str | None:
    """Return the next line; None at the end of the input."""
    while True:
        try:
            return input(_PROMPT)
        except EOFError:
            return None
        except UnicodeDecodeError:
            talk.display.note("error: not valid in this terminal's encoding", style="red")


def _answered(talk: Chat, line: str, console: Console) -> bool:
    """Answer *line*, and show what goes wrong; False if it asks to leave."""
    try:
        if line == _QUIT:
            return False
        if line.startswith("/") and not line.startswith("//"):
            finished = _obeyed(talk, line, console)
        else:
            finished = talk.say(line.removeprefix("/")) if line else talk.resume()
    except FoldlineError as error:
        text = str(advised(error, _WAY_ON if talk.thread.has_open_run else ""))
        talk.display.note(f"error: {' '.join(text.split())}", style="red")
        return True
    if not finished:
        way_on = f": {_WAY_ON}" if talk.thread.has_open_run else ""
        talk.display.note(f"stopped{way_on}", style="yellow")
    return True


def _obeyed(talk: Chat, line: str, console: Console) -> bool:
    name, _, argument = line.partition(" ")
    command = _COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, (*_COMMANDS, _QUIT), n=1)
        hint = f"did you mean {near[0]}?" if near else "/help lists them"
        message = f"unknown command {name[:40]!r}: {hint} (start a message with // to send a /)"
        raise UsageError(message)
    return talk.do(lambda: command[-1](talk, argument.strip(), console))
