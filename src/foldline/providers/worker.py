"""Blocking work of others in a thread of its own, which holds up neither a loop nor the program."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Generic, TypeVar, cast

from msgspec import Struct


__all__ = ["in_thread"]


_Result = TypeVar("_Result")


class _Ended(Struct, Generic[_Result], frozen=True):
    value: _Result | None
    error: BaseException | None


async def in_thread(function: Callable[[], _Result], *, name: str) -> _Result:
    """
    Return what *function* returns, or raise what it raises.

    It sees the context variables of the caller. It cannot be stopped: if nobody waits any more, it
    runs on, and ends with the program at the latest.
    """
    future: asyncio.Future[_Ended[_Result]] = asyncio.get_running_loop().create_future()
    call = partial(copy_context().run, function)
    Thread(target=_work, args=(call, future), name=name, daemon=True).start()
    ended = await future
    if ended.error is not None:
        raise ended.error
    return cast("_Result", ended.value)


def _work(call: Callable[[], _Result], future: asyncio.Future[_Ended[_Result]]) -> None:
    ended: _Ended[_Result]
    try:
        ended = _Ended(call(), None)
    except BaseException as error:  # noqa: BLE001 - the caller raises whatever it is
        ended = _Ended(None, error)
    # A loop that has ended waits for nothing.
    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(_settle, future, ended)


def _settle(future: asyncio.Future[_Ended[_Result]], ended: _Ended[_Result]) -> None:
    if not future.done():
        future.set_result(ended)
