"""The blocking face of everything that is awaited."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import ParamSpec, TypeVar

from foldline.agent.portal import PORTAL


__all__ = ["call_sync"]


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def call_sync(
    function: Callable[_Arguments, Coroutine[object, object, _Result]],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    """
    Return what `await function(*args, **kwargs)` gives, for callers without an event loop.

    Everything that is called so runs in one loop of the process, the loop of every `*_sync` method: a
    store that is opened so serves them all.

    Args:
        function: An asynchronous function or method, as `store.open` or `store.thread`.
        args: Its arguments.
        kwargs: Its arguments by name.

    Raises:
        BlockingCallError: An event loop is running in this thread.
    """
    return PORTAL.run(partial(function, *args, **kwargs))
