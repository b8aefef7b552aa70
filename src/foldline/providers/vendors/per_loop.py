"""
The clients of a vendor: one for each event loop.

A connection belongs to the loop that opened it. One binding serves any number of loops, one after
another or at once, so every loop has a client of its own, made when a call first needs it.
"""

import asyncio
import inspect
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from pydantic_ai.models import Model


__all__ = ["PerLoop"]


class PerLoop:
    """A model of pydantic-ai for the running loop, with the vendor's client inside."""

    def __init__(self, first: "Model[Any]", make: "Callable[[], Model[Any]] | None" = None) -> None:
        """
        Begin with *first*, which nobody has used yet.

        Args:
            make: What makes another one; None where *first* belongs to somebody else, who closes it.
        """
        self._given = first if make is None else None
        self._make = make
        self._lock = Lock()
        self._spare = [] if make is None else [first]
        self._models: dict[asyncio.AbstractEventLoop, Model[Any]] = {}

    async def here(self) -> "Model[Any]":
        """Return the model of the running loop."""
        if self._make is None:
            assert self._given is not None
            return self._given
        loop = asyncio.get_running_loop()
        with self._lock:
            model = self._models.get(loop)
            if model is not None:
                return model
            # What is left of a closed loop can neither be used nor closed any more.
            for closed in [one for one in self._models if one.is_closed()]:
                del self._models[closed]
            model = self._spare.pop() if self._spare else self._make()
            self._models[loop] = model
        await model.__aenter__()
        return model

    async def close(self) -> None:
        """Close the connections of the running loop; the next call opens new ones."""
        with self._lock:
            model = self._models.pop(asyncio.get_running_loop(), None)
        if model is None:
            return
        await model.__aexit__(None, None, None)
        close = getattr(getattr(model, "client", None), "close", None)
        if inspect.iscoroutinefunction(close):
            await close()
