"""Work of others that is given a limited time, even if it does not let itself be cancelled."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from msgspec import Struct


_Value = TypeVar("_Value")

_GRACE = 1.0
"""How many seconds work may take to clean up after it was cancelled."""

# The event loop only refers weakly to the tasks that nobody waits for any more.
_ABANDONED: set[asyncio.Task[object]] = set()


class Outcome(Struct, Generic[_Value], frozen=True, kw_only=True):
    """How a piece of work has ended: with a value, an error, or because its time was up."""

    value: _Value | None = None
    error: BaseException | None = None
    has_expired: bool = False


async def bounded(
    work: Callable[[], Awaitable[_Value]], *, seconds: float | None
) -> Outcome[_Value]:
    """Return the outcome of *work*; if it ignores being cancelled, nobody waits any longer."""
    task = asyncio.create_task(_outcome(work))
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
        if not done:
            task.cancel()
            await asyncio.wait([task], timeout=_GRACE)
    except asyncio.CancelledError:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task], timeout=_GRACE)
        raise
    finally:
        if not task.done():
            _ABANDONED.add(task)
            task.add_done_callback(_ABANDONED.discard)
    if not task.done():
        return Outcome(has_expired=True)
    outcome = task.result()
    if not done and isinstance(outcome.error, asyncio.CancelledError):
        return Outcome(has_expired=True)
    return outcome


async def _outcome(work: Callable[[], Awaitable[_Value]]) -> Outcome[_Value]:
    try:
        return Outcome(value=await work())
    except (Exception, asyncio.CancelledError, GeneratorExit, SystemExit) as error:  # noqa: BLE001 - the caller decides
        return Outcome(error=error)
