"""Ctrl-C: at the prompt it leaves, in the middle of work it stops the work and nothing else."""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager


__all__ = ["at_prompt", "stoppable"]


async def stoppable(work: Coroutine[object, object, None]) -> bool:
    """
    Do *work* and return True; False where Ctrl-C stopped it, which waits for its orderly end.

    A second Ctrl-C does not wait any more.

    Raises:
        KeyboardInterrupt: Ctrl-C came a second time.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)

    def _stop() -> None:
        if task.cancelling():
            raise KeyboardInterrupt
        # The loop may be asleep, and only this wakes it.
        loop.call_soon_threadsafe(task.cancel)

    try:
        with _on_interrupt(_stop):
            await asyncio.wait([task])
    finally:
        task.cancel()
    if task.cancelled():
        return False
    task.result()
    return True


@contextmanager
def at_prompt() -> Generator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt`, where the event loop would take it for itself."""

    def _leave() -> None:
        raise KeyboardInterrupt

    with _on_interrupt(_leave):
        yield


@contextmanager
def _on_interrupt(act: Callable[[], None]) -> Generator[None]:
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        # Whoever started us wants it to be ignored; and signals belong to the main thread.
        yield
        return

    def _handle(_: int, _frame: object) -> None:
        try:
            act()
        except KeyboardInterrupt:
            # Whoever is under us may end before we do, and looks for its own handler then.
            signal.signal(signal.SIGINT, before)
            raise

    signal.signal(signal.SIGINT, _handle)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _handle:
            signal.signal(signal.SIGINT, before)
