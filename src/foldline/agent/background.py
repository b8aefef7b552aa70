"""Folds in the background, so that no turn waits for a summary."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Self, TypeAlias, TypeVar

from foldline.agent.event_stream import ended
from foldline.agent.result import ReductionMetadata
from foldline.checks import expect, expect_seconds
from foldline.errors import ConfigError
from foldline.reduction.state import HistoryReductionState


FoldKey: TypeAlias = tuple[object, str, str, str]
"""What a fold belongs to: the storage, the tenant, the thread, the fingerprint of the configuration."""

_Value = TypeVar("_Value")

_LOG = logging.getLogger("foldline")

_MOST_LANDED = 1024


class BackgroundFold:
    """
    Makes folds while turns continue; one at a time for each thread.

    A turn in which a fold is due continues with the view it has, and a later model call finds the
    reduction stored. Use it as an asynchronous context manager around the agents that share it:
    leaving waits for running folds. It belongs to the event loop it was entered in.
    """

    def __init__(self, *, patience: float | None = 60.0, prewarm: bool = False) -> None:
        """
        Cancel folds that still run *patience* seconds after this was left; None for no limit.

        A fold that is cancelled stores nothing.

        Args:
            patience: How many seconds.
            prewarm: Whether the new view is sent to the model once its fold is stored, without an
                answer, so that the next turn finds it in the prompt cache and waits less. The view
                is read once more for that, at the price of a cached read; the ledger does not count
                it. Anthropic and OpenAI's Responses API since gpt-5.6 can, other models are not asked.

        Raises:
            ConfigError: *patience* is not a number above 0.
        """
        expect("prewarm", prewarm, bool)
        if patience is not None:
            expect_seconds("patience", patience)
        self._patience = patience
        self._loop: asyncio.AbstractEventLoop | None = None
        self._prewarms = prewarm
        self._warming: set[asyncio.Task[object]] = set()
        self._flights: dict[FoldKey, asyncio.Task[object]] = {}
        self._landed: dict[FoldKey, ReductionMetadata] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def is_running(self, key: FoldKey) -> bool:
        """Whether a fold of *key* is being made."""
        return key in self._flights

    def check(self) -> None:
        """Raise ConfigError if no turn of the running loop can use it."""
        if self._loop is not asyncio.get_running_loop():
            message = "enter BackgroundFold with `async with`, in the event loop of the turns, before them"
            raise ConfigError(message)

    def start(self, key: FoldKey, fold: Callable[[], Awaitable[ReductionMetadata | None]]) -> None:
        """Make a fold with *fold*, which also stores it, unless one of *key* is running."""
        self.check()
        if key not in self._flights:
            flight = asyncio.create_task(self._fly(key, fold))
            self._flights[key] = flight
            flight.add_done_callback(lambda _: self._flights.pop(key, None))

    def warm(self, prewarm: Callable[[], Awaitable[bool]]) -> None:
        """Call *prewarm*, if this was asked for and not left; nothing waits for it."""
        if self._prewarms and self._loop is not None:
            task = asyncio.create_task(_quietly("prewarm", prewarm))
            self._warming.add(task)
            task.add_done_callback(self._warming.discard)

    def landed(
        self, key: FoldKey, reduction: HistoryReductionState | None
    ) -> ReductionMetadata | None:
        """Return the last finished fold of *key*, once, if *reduction* came from it."""
        made = self._landed.get(key)
        if made is None or not made.state.is_same_as(reduction):
            return None
        return self._landed.pop(key)

    async def wait(self, key: FoldKey) -> None:
        """Wait for the fold of *key*, if one is running."""
        flight = self._flights.get(key)
        if flight is not None:
            # One caller that stops waiting must not end what others wait for.
            await asyncio.wait([flight])

    async def _fly(
        self, key: FoldKey, fold: Callable[[], Awaitable[ReductionMetadata | None]]
    ) -> None:
        made = await _quietly("background fold", fold)
        if made is not None:
            self._landed.pop(key, None)
            self._landed[key] = made
            if len(self._landed) > _MOST_LANDED:
                # Its thread has not been used since.
                del self._landed[next(iter(self._landed))]

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        # No fold starts from here on, so that there is an end to wait for.
        self._loop = None
        flights = list(self._flights.values())
        try:
            if flights:
                await asyncio.wait(flights, timeout=self._patience)
        finally:
            self._landed.clear()
            await ended([*flights, *self._warming])


async def _quietly(what: str, work: Callable[[], Awaitable[_Value]]) -> _Value | None:
    try:
        return await work()
    except Exception as error:  # noqa: BLE001 - nobody waits, and a later turn does without
        _LOG.warning("a %s failed: %s", what, type(error).__name__)
        _LOG.debug("a %s failed", what, exc_info=error)
        return None
