"""The lease of a turn: taken and renewed by its commits, and between them while something is slow."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from contextvars import Context, ContextVar, Token
from types import MappingProxyType
from typing import Final, Self

from foldline.agent.event_stream import ended
from foldline.errors import StoreError, ThreadConflictError, ThreadNotFoundError
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.lease import NOBODY, Lease
from foldline.threads.thread import ConversationThread


# So often within its time a lease is renewed: one failure more does not cost it.
_SHARE: Final = 3.0

_Place = tuple[int, ThreadKey]

# In the tasks of a turn: the leases that they work under, by storage and thread.
_HOLDS: ContextVar[Mapping[_Place, "Hold"]] = ContextVar(
    "foldline_holds", default=MappingProxyType({})
)


def _place_of(thread: ConversationThread) -> _Place:
    return id(thread.context.storage), thread.key


class Hold:
    """The right to run a turn on a thread, from the first commit to the end of the context."""

    def __init__(
        self,
        thread: ConversationThread,
        holder: str,
        *,
        turn_id: str = "",
        admits_turns: bool = False,
    ) -> None:
        """Get ready for a turn of a new *holder*; others run within it if it *admits_turns*."""
        self._outer = Hold.around(thread)
        self.outer_turn_id: Final = "" if self._outer is None else self._outer.turn_id
        """The id of the turn that this one is a part of; empty if it has none."""
        self.turn_id: Final[str] = turn_id or self.outer_turn_id
        """The id of the turn; empty if it has none."""
        self.lease: Final[Lease] = (
            Lease(holder, thread.context.turn_lease) if self._outer is None else self._outer.lease
        )
        """What each commit of the turn takes or renews."""
        self.last_lease: Final = NOBODY if self._outer is None else self.lease
        """What the last commit of the turn leaves."""
        self.is_taken = False
        """Whether the last commit took or renewed it; also if that is unknown."""
        self.admits_turns: Final = admits_turns
        """Whether turns on the thread may run within it."""
        self._thread = thread
        self._is_over = False
        self._renewed_at = 0.0
        # What the last commit has made.
        self._revision = 0
        self._timer: asyncio.TimerHandle | None = None
        self._beat: asyncio.Task[None] | None = None
        self._token: Token[Mapping[_Place, Hold]] | None = None

    @staticmethod
    def around(thread: ConversationThread) -> "Hold | None":
        """Return that of the turn of *thread* which the caller is a part of; None if it is of none."""
        holds = _HOLDS.get()
        hold = holds.get(_place_of(thread)) if holds else None
        return None if hold is None or hold._is_over else hold  # noqa: SLF001 - its own class

    def renewed(self, lease: Lease | None) -> None:
        """Note that a commit has been made with *lease*."""
        self.is_taken = lease == self.lease
        if self._outer is not None:
            self._outer.renewed(lease)
            return
        self._renewed_at = asyncio.get_running_loop().time()
        self._revision = self._thread.head.revision
        if self._timer is None:
            self._wait(self.lease.seconds / _SHARE)

    def _wait(self, seconds: float) -> None:
        # A loop keeps a cancelled timer for a while, with its context: that must not hold the thread.
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._on_time, context=Context())

    def _on_time(self) -> None:
        pause = self.lease.seconds / _SHARE
        left = self._renewed_at + pause - asyncio.get_running_loop().time()
        if left > 0:
            self._wait(left)
        else:
            self._beat = asyncio.create_task(self._renew(pause))

    async def _renew(self, pause: float) -> None:
        # A store that fails now may be back before the lease runs out.
        with suppress(StoreError):
            if not await self._thread.hold(self.lease) and self.is_taken:
                # It ran out while the process stood still, and is taken if nobody has written since.
                again = Change(lease=self.lease, expected=self._revision)
                # If others have only noted something, the next commit of the turn takes it.
                with suppress(ThreadConflictError, ThreadNotFoundError):
                    await self._thread.commit(again)
                    self._revision = self._thread.head.revision
        self._renewed_at = asyncio.get_running_loop().time()
        self._wait(pause)

    async def __aenter__(self) -> Self:
        self._token = _HOLDS.set({**_HOLDS.get(), _place_of(self._thread): self})
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True
        if self._token is not None:
            # A turn whose loop was closed is ended by the garbage collector, in another context.
            with suppress(ValueError):
                _HOLDS.reset(self._token)
        if self._beat is not None:
            await ended([self._beat])
        if self._timer is not None:
            self._timer.cancel()
        if self._outer is None and self.is_taken:
            # If the store cannot be reached, the lease runs out by itself.
            with suppress(StoreError):
                await self._thread.hold(Lease(self.lease.holder, NOBODY.seconds))
