"""A thread for one call of a function that blocks."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import TypeAlias, TypeVar

from msgspec import Struct


__all__ = ["in_thread"]


_Result = TypeVar("_Result")


class _Failure(Struct, frozen=True):
    error: BaseException


_Outcome: TypeAlias = asyncio.Future[_Result | _Failure]


async def in_thread(function: Callable[[], _Result], *, name: str) -> _Result:
    """
    Return what *function* returns, which runs in a thread with the context variables of the caller.

    Where nobody waits for it any longer, it runs on to its end, and what it returns is dropped. The
    thread is its own and a daemon: one that hangs neither takes a place in a pool, nor holds
    up the end of the loop or of the process.

    Raises:
        BaseException: *function* raises it.
    """
    future: _Outcome[_Result] = asyncio.get_running_loop().create_future()
    call = partial(copy_context().run, function)
    Thread(target=_work, args=(call, future), name=name, daemon=True).start()
    outcome = await future
    if isinstance(outcome, _Failure):
        raise outcome.error
    return outcome


def _work(call: Callable[[], _Result], future: _Outcome[_Result]) -> None:
    outcome: _Result | _Failure
    try:
        outcome = call()
    except BaseException as error:  # noqa: BLE001 - whatever it raises is raised by the caller
        outcome = _Failure(error)
    # A loop that has ended waits for nothing.
    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(_settle, future, outcome)


def _settle(future: _Outcome[_Result], outcome: _Result | _Failure) -> None:
    if not future.done():
        future.set_result(outcome)
