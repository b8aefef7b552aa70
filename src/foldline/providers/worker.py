"""Blocking work of others in a thread of its own, which holds up neither a loop nor the program."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from inspect import isawaitable, iscoroutinefunction, unwrap
from threading import Thread
from typing import Any, TypeVar


_Result = TypeVar("_Result")


async def asked(call: "partial[Any]", *, name: str) -> object:
    """Return what *call* gives: awaited if it can be, and in a thread of its own if it may block."""
    if iscoroutinefunction(unwrap(call.func)):
        return await call()
    answer = await in_thread(call, name=f"summarizer {name}")
    return await answer if isawaitable(answer) else answer


async def in_thread(function: Callable[[], _Result], *, name: str) -> _Result:
    """Return what *function* returns in its thread, which ends with the program at the latest."""
    future: Future[_Result] = Future()
    # From here on nobody who waits can cancel it.
    future.set_running_or_notify_cancel()
    call = partial(copy_context().run, function)
    Thread(target=_work, args=(call, future), name=name, daemon=True).start()
    return await asyncio.wrap_future(future)


def _work(call: Callable[[], _Result], future: Future[_Result]) -> None:
    try:
        future.set_result(call())
    except StopIteration:
        # No coroutine can raise it, nor can a future.
        future.set_exception(RuntimeError("coroutine raised StopIteration"))
    except BaseException as error:  # noqa: BLE001 - the caller raises whatever it is
        future.set_exception(error)
