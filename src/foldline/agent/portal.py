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
from threading import Thread, current_thread
from typing import TypeVar, TypeVarTuple

from msgspec import Struct

from foldline.errors import BlockingCallError


_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

_THREAD = "foldline-portal"

# If a wait cannot be interrupted, as on Windows, Ctrl-C takes effect within so many seconds.
_PATIENCE = 0.5


class _Ended(Struct, frozen=True):
    error: BaseException


class Portal:
    """Runs coroutine functions in one loop for any number of threads without one."""

    def __init__(self) -> None:
        # By process: a fork has no such thread.
        self._loops: dict[int, asyncio.AbstractEventLoop] = {}

    def run(
        self,
        work: Callable[[*_Arguments], Coroutine[object, object, _Result]],
        *arguments: *_Arguments,
        blocks_loop: bool = False,
    ) -> _Result:
        """Return what `await work(*arguments)` returns; in a running loop only with *blocks_loop*."""
        # The public function raises if there is no loop.
        running = asyncio._get_running_loop()  # noqa: SLF001
        if running is not None:
            # To gevent threads are greenlets of one thread, and a loop in one runs in all of them.
            if running is not self._loops.get(getpid()):
                if not blocks_loop:
                    raise BlockingCallError
            elif current_thread().name == _THREAD:
                message = "a blocking call was made in the loop that runs blocking calls: await it"
                raise BlockingCallError(message)
        future = asyncio.run_coroutine_threadsafe(_outcome(work, *arguments), self._loop())
        try:
            while not wait((future,), timeout=_PATIENCE).done:
                pass
        finally:
            future.cancel()
        result = future.result()
        if isinstance(result, _Ended):
            raise result.error
        return result

    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = self._loops.get(getpid())
        if loop is None:
            made = asyncio.new_event_loop()
            # No lock: in a fork it might be one that nothing releases.
            loop = self._loops.setdefault(getpid(), made)
            if loop is made:
                Thread(target=_serve, args=(loop,), name=_THREAD, daemon=True).start()
            else:
                made.close()
        return loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    while True:
        # A task may raise these; whatever awaits it gets them too.
        with suppress(KeyboardInterrupt, SystemExit):
            loop.run_forever()


def finished(work: Coroutine[object, object, _Result]) -> _Result:
    """Return what *work* returns, which waits for nothing, so that it needs no loop."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    work.close()
    raise BlockingCallError


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
