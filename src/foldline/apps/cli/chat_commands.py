"""What can be asked for inside a chat, by a line that begins with `/`."""

from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from msgspec import Struct
from rich.console import Console
from rich.table import Table
from rich.text import Text

from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.chat_session import Chat
from foldline.apps.cli.terminal import clean
from foldline.apps.cli.threads_counts import counted, folded_in
from foldline.apps.cli.viewing import show_view
from foldline.errors import UsageError
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.event import HistoryReductionEvent
from foldline.threads.thread import ConversationThread


__all__ = ["COMMANDS", "Command", "obey"]


_USUAL_LAST = 20
_QUIT = "/quit"


class Command(Struct, frozen=True):
    """Something that can be asked for."""

    argument: str
    """What stands behind its name; empty where nothing does."""

    meaning: str
    """What it does."""

    run: Callable[[Chat, str, Console], Awaitable[None]]
    """Does it."""


async def obey(chat: Chat, line: str, console: Console) -> bool:
    """
    Do what *line* asks for; False where that is to leave.

    Raises:
        UsageError: There is no such command, or something is missing.
        FoldlineError: It failed.
    """
    name, _, argument = line.strip().partition(" ")
    if name == _QUIT:
        return False
    command = COMMANDS.get(name)
    if command is None:
        near = get_close_matches(name, (*COMMANDS, _QUIT), n=1)
        hint = f"did you mean {near[0]}?" if near else "/help lists what there is"
        message = f"no command {name[:40]!r}: {hint} (// says a text that begins with /)"
        raise UsageError(message)

    async def _work() -> None:
        await command.run(chat, argument.strip(), console)

    if not await chat.do(_work):
        chat.display.note("stopped")
    return True


async def _help(_: Chat, _argument: str, console: Console) -> None:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for name, command in COMMANDS.items():
        grid.add_row(Text(f"{name} {command.argument}"), Text(command.meaning))
    grid.add_row(Text(_QUIT), Text("Leave; Ctrl-D does too."))
    console.print(grid)


async def _history(chat: Chat, argument: str, console: Console) -> None:
    thread = chat.thread
    last = _number(argument, "/history 20") if argument else _USUAL_LAST
    start = max(0, thread.length - last)
    reduction = thread.last_reduction
    cut = folded_in(reduction)
    grid = Table.grid(padding=(0, 1, 0, 0), expand=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(ratio=1)
    number = start
    for message in await thread.get_range(start):
        number += message.role != "system"
        grid.add_row(Text(f"{number:,}", style="dim"), show_view([message], summary_lines=None))
        if number == cut and message.role != "system":
            grid.add_row("", Text(f"folded up to here: {counted(cut, 'message')}", style="yellow"))
    console.print(grid)
    shown = counted(thread.length, "message")
    console.print(Text(f"{shown}, {counted(thread.tokens, 'token')}", style="dim"))


async def _summary(chat: Chat, _: str, console: Console) -> None:
    reduction = chat.thread.last_reduction
    cut = folded_in(reduction)
    if reduction is None or not cut:
        console.print("there is no summary: nothing was folded yet")
        return
    console.print(
        Text(
            f"{counted(cut, 'message')} folded into {counted(reduction.summary_tokens, 'token')}",
            style="dim",
        )
    )
    console.print(Text(clean(reduction.summary_content) or "(no summary: they are left out)"))


async def _fold(chat: Chat, argument: str, console: Console) -> None:
    reducer = chat.speaker.reducer
    if argument:
        target = _number(argument, "/fold 10", noun=reducer.config.counting_unit)
        if not target:
            message = "a fold keeps something: allowed is a number from 1 up, as in /fold 10"
            raise UsageError(message)
        reducer = reducer.with_target(target)
    event = await _folded(chat.thread, reducer)
    if event is None:
        console.print("reduction is disabled by the configuration: nothing was folded")
        return
    target = reducer.config.limits.target
    kept = f"the target is {counted(target, event.counting_unit.removesuffix('s'))}"
    if event.is_attempt:
        chat.display.hear(event)
        chat.display.note(f"{kept}{' this once' if argument else ''}")
        return
    gathered = f"{event.units:,} have gathered"
    told = f"nothing was folded: {event.reason.value}; {kept}, and {gathered}"
    if not argument and event.units <= target:
        told = f"{told}; /fold N folds down to N this once"
    console.print(Text(clean(told), style="dim"), soft_wrap=True)


async def _folded(
    thread: ConversationThread, reducer: HistoryReducer
) -> HistoryReductionEvent | None:
    config = reducer.config
    window = await thread.window(
        config_fingerprint=reducer.config_fingerprint, counting_unit=config.counting_unit
    )
    reduced = await reducer.reduce(
        window.history,
        state=window.reduction,
        overrides=AgentRunConfig(trigger_history_reduction=True),
    )
    state, event = reduced.state, reduced.event
    if state is not None and event is not None and event.status == "performed":
        await thread.save_reduction(state, archive=config.retention == "reduced")
    return event


async def _undo(chat: Chat, _: str, console: Console) -> None:
    before = chat.thread.last_reduction
    after = await chat.thread.undo_reduction()
    if before is None:
        console.print("there is no reduction to undo")
        return
    cuts = [folded_in(one) for one in (before, after)]
    console.print(f"undone: {counted(cuts[0], 'message')} folded before, {cuts[1]:,} now")


async def _rewind(chat: Chat, argument: str, console: Console) -> None:
    before = chat.thread.length
    await chat.thread.rewind(_number(argument, "/rewind 4"))
    taken = counted(before - chat.thread.length, "message")
    console.print(f"taken back: {taken}; the thread has {chat.thread.length:,}")


async def _fork(chat: Chat, argument: str, console: Console) -> None:
    if not argument:
        message = "name the new thread, as in /fork other"
        raise UsageError(message)
    left = chat.thread.id
    chat.thread = await chat.thread.fork(argument)
    console.print(f"this is thread {chat.thread.id} now; {left} stays as it is")


def _number(argument: str, example: str, *, noun: str = "messages") -> int:
    if not (argument.isascii() and argument.isdigit() and len(argument) < 10):  # noqa: PLR2004 - more is no count
        message = f"a number of {noun} is missing, as in {example}"
        raise UsageError(message)
    return int(argument)


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "/help": Command("", "Show this.", _help),
        "/history": Command("[N]", "Show the last messages, 20 by default.", _history),
        "/summary": Command("", "Show the summary that stands for what is folded.", _summary),
        "/fold": Command(
            "[N]", "Fold now, down to the usual target, or this once to N units.", _fold
        ),
        "/undo": Command("", "Take back the newest fold.", _undo),
        "/rewind": Command("N", "Keep the first N messages, and take back the rest.", _rewind),
        "/fork": Command("ID", "Go on in a new thread that shares everything so far.", _fork),
    }
)
"""Every command but that to leave, by its name."""
