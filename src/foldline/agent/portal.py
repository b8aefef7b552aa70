"""
One event loop in a thread of its own, for blocking callers.

A summarizer or a model may keep things that belong to the loop they were first used in, such as a
pool of connections. So every blocking call of a process runs in the same loop for as long as the
process lives, whichever thread makes it. What the loop runs must not block, or it blocks all callers.
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from contextlib import suppress
from os import getpid
from threading import Lock, Thread
from typing import TypeVar, TypeVarTuple

from msgspec import Struct

from foldline.errors import BlockingCallError


__all__ = ["PORTAL", "Portal"]


_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

# If a wait cannot be interrupted, as on Windows, Ctrl-C takes effect within so many seconds.
_PATIENCE = 0.5


class _Ended(Struct, frozen=True):
    """The work raised something that ends the process."""

    error: BaseException


class Portal:
    """
    Runs coroutine functions for callers without an event loop, all of them in one loop.

    Any number of threads may call it at once. Its own thread starts with the first call, and again
    in a forked process; it never keeps a process from ending.
    """

    def __init__(self) -> None:
        self._threads: dict[int, _LoopThread] = {}

    def run(
        self,
        work: Callable[[*_Arguments], Coroutine[object, object, _Result]],
        *arguments: *_Arguments,
    ) -> _Result:
        """
        Return what `await work(*arguments)` returns, or raise what it raises.

        The work sees the context variables of the caller. It is cancelled if the caller is
        interrupted, for example by Ctrl-C.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        # The public function raises if there is no loop.
        if asyncio._get_running_loop() is not None:  # noqa: SLF001
            raise BlockingCallError
        # By process: a fork has no such thread, and may have a lock that nothing releases.
        thread = self._threads.get(getpid()) or self._threads.setdefault(getpid(), _LoopThread())
        loop = thread.loop()
        future = asyncio.run_coroutine_threadsafe(_outcome(work, *arguments), loop)
        try:
            while not wait((future,), timeout=_PATIENCE).done:
                pass
        finally:
            future.cancel()
        result = future.result()
        if isinstance(result, _Ended):
            raise result.error
        return result


class _LoopThread:
    """A daemon thread in which a loop runs forever."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop."""
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                Thread(target=_serve, args=(loop,), name="foldline-portal", daemon=True).start()
                self._loop = loop
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        # A task may raise these; whatever awaits it gets them too.
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()


async def _outcome(
    work: Callable[[*_Arguments], Coroutine[object, object, _Result]], *arguments: *_Arguments
) -> _Result | _Ended:
    try:
        return await work(*arguments)
    except (KeyboardInterrupt, SystemExit) as error:
        # Raised here, they would end the thread, and the caller would wait forever.
        return _Ended(error)


PORTAL = Portal()
"""The portal of this process; with two, reducers could not share a summarizer."""
