"""The blocking face of a method, for frameworks that have both."""

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from foldline.agent.portal import PORTAL


__all__ = ["blocking"]


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def blocking(
    method: Callable[_Arguments, Coroutine[object, object, _Result]],
) -> Callable[_Arguments, _Result]:
    """
    Return a method that waits for what *method* returns, as `call_sync` does.

    Inside a running event loop it blocks that loop, as everything else does that such a caller
    waits for.
    """

    @wraps(method)
    def waiting(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        return PORTAL.run(partial(method, *args, **kwargs), blocks_loop=True)

    return waiting
