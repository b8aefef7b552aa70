"""
How many functions of foldline a call runs through: `python -m bench.functions [turn|commit]`.

Somebody who follows the call in a debugger opens each of them once. A function counts once however
often it runs and on whichever thread; up to Python 3.11 each comprehension is one of its own.
"""

import asyncio
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NamedTuple

import foldline
from foldline import Agent, ConversationThread, HistoryReductionConfig, Message, SQLiteStore
from foldline.testing.model import ScriptedModel
from foldline.threads.change import Change


_HOME = Path(foldline.__file__).parent


class Function(NamedTuple):
    """A function of the package."""

    path: str
    """The module, from the package on."""

    line: int
    """Where it begins."""

    name: str
    """Its qualified name."""


class _Recorder:
    """Notes every function of the package that runs on any thread while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.found: set[Function] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        if self.is_on and event == "call" and path.is_relative_to(_HOME):
            where = path.relative_to(_HOME).as_posix()
            self.found.add(Function(where, code.co_firstlineno, code.co_qualname))


async def _turn(agent: Agent, thread: ConversationThread) -> None:
    await agent.run("Hello?", thread=thread)


async def _commit(_: Agent, thread: ConversationThread) -> None:
    await thread.commit(Change(messages=[Message.user("Hello?"), Message.assistant("Hello.")]))


CALLS: dict[str, Callable[[Agent, ConversationThread], Awaitable[None]]] = {
    "commit": _commit,
    "turn": _turn,
}


async def _recorded(name: str, recorder: _Recorder) -> None:
    config = HistoryReductionConfig(enabled=True, strategy="summarizing")
    agent = Agent(ScriptedModel(repeat="Hello."), history_reduction=config)
    with TemporaryDirectory() as folder:
        async with SQLiteStore(Path(folder) / "chat.db") as store:
            thread = await store.thread("t-1")
            # What only the first call of a process or a thread does is not looked at.
            for recorder.is_on in (False, True):
                await CALLS[name](agent, thread)
            recorder.is_on = False


def functions(name: str) -> set[Function]:
    """Return the functions that the call *name* of `CALLS` runs through."""
    recorder = _Recorder()
    before = sys.getprofile()
    # The store starts its threads while it is opened.
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        asyncio.run(_recorded(name, recorder))
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    return recorder.found


if __name__ == "__main__":
    parser = ArgumentParser(
        prog="python -m bench.functions",
        description="Count the functions that a call runs through.",
    )
    parser.add_argument("calls", metavar="CALL", nargs="*", help="turn or commit, listed in full")
    wanted = parser.parse_args().calls
    if unknown := set(wanted) - set(CALLS):
        parser.error(f"CALL must be {' or '.join(CALLS)}, got {', '.join(sorted(unknown))}")
    for one in wanted or CALLS:
        run_through = sorted(functions(one))
        for function in run_through if wanted else ():
            print(f"{function.path}:{function.line} {function.name}")
        print(f"{one}: {len(run_through)} functions")
