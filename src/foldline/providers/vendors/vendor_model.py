"""
What all bindings of vendors share: a model that has one client for each event loop.

A connection belongs to the loop that opened it. One binding serves any number of loops, one after
another or at once, so every loop has its own client, made when a call first needs it.
"""

import asyncio
import inspect
from collections.abc import Callable
from threading import Lock
from types import TracebackType
from typing import Any, Self


__all__ = ["PerLoop", "VendorModel"]


class PerLoop:
    """The client of the running loop: that of an SDK, or a model of pydantic-ai with one inside."""

    def __init__(self, first: Any, make: Callable[[], Any] | None = None) -> None:
        """
        Begin with *first*, which is unused yet.

        Args:
            make: Makes another one; None if *first* belongs to the caller, who closes it.
        """
        self._given = first if make is None else None
        self._make = make
        self._lock = Lock()
        self._spare = [] if make is None else [first]
        self._held: dict[asyncio.AbstractEventLoop, Any] = {}

    async def here(self) -> Any:
        """Return the client or the model of the running loop."""
        if self._make is None:
            return self._given
        loop = asyncio.get_running_loop()
        with self._lock:
            held = self._held.get(loop)
            if held is not None:
                return held
            # What is left of a closed loop can neither be used nor closed any more.
            for closed in [one for one in self._held if one.is_closed()]:
                del self._held[closed]
            held = self._held[loop] = self._spare.pop() if self._spare else self._make()
        await held.__aenter__()
        return held

    async def close(self) -> None:
        """Close the connections of the running loop; the next call opens new ones."""
        with self._lock:
            held = self._held.pop(asyncio.get_running_loop(), None)
        if held is None:
            return
        await held.__aexit__(None, None, None)
        close = getattr(getattr(held, "client", None), "close", None)
        if inspect.iscoroutinefunction(close):
            await close()


class VendorModel:
    """
    A model at a vendor; each binding is a subclass.

    One instance serves any number of conversations, tasks and event loops at once.
    """

    def __init__(self, name: str, *, clients: PerLoop, context_window: int | None = None) -> None:
        self._name = name
        self._clients = clients
        self._context_window = context_window

    @property
    def name(self) -> str:
        """The identity of the model, such as `openai:gpt-5-mini`."""
        return self._name

    @property
    def context_window(self) -> int | None:
        """The context window in tokens; None if it is unknown."""
        return self._context_window

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
