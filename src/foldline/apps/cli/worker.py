"""`foldline worker`: answering what waits in a queue, and how the queue stands."""

import asyncio
import logging
import sys
from importlib import import_module
from typing import Annotated, Any

from msgspec.structs import asdict
from rich.text import Text

from foldline.agent.agent import Agent
from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import argument, flag, option, takes
from foldline.apps.cli.stores import KeyOptions, opened_store, with_store
from foldline.apps.cli.terminal import clean, note, output_console, plain_table, say
from foldline.errors import FoldlineError, UsageError
from foldline.replay.numbers import counted
from foldline.workers import FailedJob, QueueStatus, Workers, status_of


_QUEUE = "foldline"


class _WorkerOptions(KeyOptions, frozen=True, kw_only=True):
    action: Annotated[
        str, argument("[run|status]", "run (the default) or status, of --app or --store.")
    ] = "run"
    app: Annotated[
        str | None,
        option(
            "MODULE:NAME",
            "Where your program has its `Workers`, or an `Agent` for the store of --store; the "
            "module is looked for in the current folder too.",
        ),
    ] = None
    queue: Annotated[
        str | None, option("NAME", "The queue of an `Agent`, or to show; foldline by default.")
    ] = None
    concurrency: Annotated[int, option("N", "How many turns run at once.", min=1)] = 10
    patience: Annotated[
        float,
        option(
            "SECONDS",
            "How long turns may take to end after SIGTERM; then another worker continues them.",
        ),
    ] = 30.0
    drain: Annotated[bool, flag("--drain", "End when the queue is empty.")] = False


@takes(_WorkerOptions)
def worker(options: _WorkerOptions) -> None:
    """
    Answer the turns that wait in a queue, or show how the queue stands.

    Start as many as you like, on as many machines; each turn is answered once, and those of a thread
    in order. SIGTERM or Ctrl-C ends one: it takes no new turn and ends those that run. A worker that
    is killed is noticed within seconds, and others continue its turns.
    """
    if options.action == "status":
        _show_status(options)
        return
    if options.action != "run":
        raise UsageError(f"{options.action!r} is neither run nor status")
    # A pool says four times a second that a server is away, the worker once.
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    found = _found(options.app)
    if isinstance(found, Workers):
        _check_queue(found, options)
        asyncio.run(_run(found, options))
        return
    with opened_store(options) as (runner, store):
        runner.run(_run(Workers(found, store, queue=options.queue or _QUEUE), options))


def _check_queue(workers: Workers, options: _WorkerOptions) -> None:
    if options.queue not in {None, workers.queue}:
        raise UsageError(
            f"--queue has no effect on {options.app}, whose queue is {workers.queue}: leave it out"
        )


async def _run(workers: Workers, options: _WorkerOptions) -> None:
    async with workers:
        note(
            f"a worker of queue {workers.queue} runs {counted(options.concurrency, 'turn')} at once"
        )
        await workers.run(
            concurrency=options.concurrency, patience=options.patience, wait=not options.drain
        )
        if options.json:
            print_json(await workers.status())


async def _stands(workers: Workers) -> tuple[QueueStatus, list[FailedJob]]:
    async with workers:
        return await workers.status(), await workers.failed()


def _found(place: str | None) -> Workers | Agent:
    module, colon, name = (place or "").partition(":")
    if not colon:
        raise UsageError("name what works with --app MODULE:NAME, such as --app app:workers")
    sys.path.insert(0, "")
    found = _imported(module, place)
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError as error:
        raise UsageError(_nothing(place)) from error
    if not isinstance(found, Workers | Agent):
        raise UsageError(f"{place} must be Workers or an Agent, got {type(found).__name__}")
    return found


def _imported(module: str, place: str | None) -> Any:
    try:
        return import_module(module)
    except FoldlineError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}."):
            raise UsageError(_nothing(place)) from error
        # Its text may quote an address with a password.
        message = f"{module} ends with {type(error).__name__}: run `python -m {module}`"
        raise UsageError(message) from error


def _nothing(place: str | None) -> str:
    return f"there is no {place}: check the name, and the folder you are in"


def _show_status(options: _WorkerOptions) -> None:
    found, queue = _found(options.app) if options.app else None, options.queue or _QUEUE
    if isinstance(found, Workers):
        _check_queue(found, options)
        queue = found.queue
        status, failed = asyncio.run(_stands(found))
    else:
        status, failed = with_store(options, lambda store: status_of(store, queue=queue))
    if options.json:
        print_json({"queue": queue, **asdict(status), "failed_jobs": failed})
        return
    say(
        f"{queue}: {status.waiting} waiting, {status.paused} paused, {status.running} running, "
        f"{status.stalled} stalled, {status.failed} failed; {counted(status.workers, 'worker')}; "
        f"the oldest has waited {status.oldest:.0f} s"
    )
    if failed:
        table = plain_table(
            "job", "task", "tenant", "thread", "turn", "tries", "error", numbers={"tries"}
        )
        for one in failed:
            cells = (one.id, one.task, one.tenant, one.thread, one.turn, one.attempts, one.error)
            table.add_row(*(Text(clean(f"{value}")) for value in cells))
        output_console().print(table)
