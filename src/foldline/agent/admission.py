"""
Before a turn: what is known of it, who else is at work, and what is left of an earlier one.

Theory of operation
-------------------

Nothing is stored and no model is asked until nobody else runs a turn on the thread. A turn that has
an id and has ended is not run again: its stored result is returned. One that is open and that nobody
runs is resumed. Somebody else's turn is waited for: in this process its end wakes the next in line, all
others look again after 50 ms, then after twice as long each time, up to half a second. Within one
store object they are a line, in the order in which they came: only the first one may begin, and it
keeps its place until its first commit is made. No wait is longer than `turn_wait` of the store.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from math import ceil
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from msgspec import Struct

from foldline.agent.hold import Hold
from foldline.agent.result import last_turn
from foldline.agent.unanswered import (
    LEFT,
    is_passed,
    is_waiting,
    turn_that_answered,
    was_left,
)
from foldline.checks import expect, expect_choice
from foldline.errors import (
    ConfigError,
    RunStartError,
    ThreadConflictError,
    TurnIdError,
    TurnRunningError,
)
from foldline.history.messages import Message
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.start import run_start
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import TurnRecord, digest_of_input
from foldline.threads.waiters import Waiter


OnConflict: TypeAlias = Literal["wait", "error"]
"""What to do while somebody else runs a turn on the thread: wait for its end, or raise."""

OnOpen: TypeAlias = Literal["leave", "resume", "error"]
"""What to do with an earlier run that nobody runs any more: end it, finish it first, or raise."""

Entry: TypeAlias = Literal["new", "continue", "resume", "settle", "stored", "ended"]
"""
How to go on.

`new`: run the input. `continue`: run what is stored of it already. `resume`: resume the open run,
which is this turn. `settle`: resume the open run of another turn, then look again. `stored`: return
the stored result of the turn. `ended`: return the result of the last run, which was waited for.
"""

_Result = TypeVar("_Result")
_LOG = logging.getLogger("foldline")
_WAITING: Final = (
    "thread %r: another worker has a turn: waiting for its end, at most %d s if it was killed"
)
_USUAL: Final = (None, "wait", "leave")

# After so many seconds of waiting a warning is logged.
_QUIET: Final = 1.0

_LONGEST_ID: Final = 256

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5


class TurnPolicy(Struct, frozen=True, kw_only=True):
    """What the caller of a turn has said about it."""

    turn_id: str | None = None
    on_conflict: OnConflict = "wait"
    on_open: OnOpen = "leave"


_PLAIN: Final = TurnPolicy()


def checked_policy(turn_id: object, on_conflict: object, on_open: object) -> TurnPolicy:
    """Return what a caller has said about a turn; raise ConfigError if it cannot be."""
    if (turn_id, on_conflict, on_open) == _USUAL:
        return _PLAIN
    check_turn_id(turn_id)
    for name, value, choices in (
        ("on_conflict", on_conflict, get_args(OnConflict)),
        ("on_open", on_open, get_args(OnOpen)),
    ):
        expect(name, value, str)
        expect_choice(name, value, choices)
    return TurnPolicy(turn_id=turn_id, on_conflict=on_conflict, on_open=on_open)  # type: ignore[arg-type]


def check_turn_id(turn_id: object) -> None:
    """Raise ConfigError if *turn_id* cannot be the id of a turn; None is no id."""
    expect("turn_id", turn_id, str | None)
    if isinstance(turn_id, str) and not turn_id.strip():
        raise ConfigError("turn_id must not be blank")
    if isinstance(turn_id, str) and len(turn_id) > _LONGEST_ID:
        message = f"turn_id must have at most {_LONGEST_ID} characters, got {len(turn_id):,}"
        raise ConfigError(message)


def _run_of(state: AgentLoopState | None) -> tuple[str, bool] | None:
    """Return what of *state* changes with each turn that ends."""
    return None if state is None else (state.run_id, state.is_open)


class Admission:
    """What stands between a turn and its thread."""

    def __init__(
        self, thread: ConversationThread, given: Sequence[Message], policy: TurnPolicy
    ) -> None:
        """Ask for a turn of *given* on *thread*."""
        self._thread = thread
        self._has_input = bool(given)
        self._policy = policy
        self._turn_id = policy.turn_id or (given[-1].id if given else None)
        self._given = digest_of_input(given) if self._turn_id else b""
        self._has_waited = self._has_said = False
        self._known_state = thread.execution_state
        self.waited = 0.0
        """How many seconds it has waited for turns of others."""
        self._is_stale = self._is_fresh = False
        self._place: Waiter | None = None
        self._conflict: ThreadConflictError | None = None
        self._has_begun, self._is_last = False, True
        # What is stored of the turn, or will be; None if it has no id.
        self._turn: TurnRecord | None = None
        # The turn whose stored result is the answer; None if a turn has to be run.
        self._result: TurnRecord | None = None

    async def run(
        self,
        attempt: Callable[[Entry, TurnRecord | None], Awaitable[_Result]],
        stored: Callable[[TurnRecord], Awaitable[_Result]],
    ) -> _Result:
        """
        Return what an *attempt* comes to once nobody else runs a turn, or what is *stored* already.

        An attempt calls `began` when its first commit is made; one that meets a conflict before is
        made again.
        """
        try:
            while True:
                done = await self._once(attempt, stored)
                if done is not None:
                    return done
        finally:
            self._is_last = True
            self.began()

    async def _once(
        self,
        attempt: Callable[[Entry, TurnRecord | None], Awaitable[_Result]],
        stored: Callable[[TurnRecord], Awaitable[_Result]],
    ) -> _Result | None:
        """Return what an attempt comes to; None if the next one has to look again."""
        if self._place is None and Hold.around(self._thread) is None:
            self._place = self._thread.context.waiters.join(self._thread.key)
        entry: Entry = "new"
        if not self._is_plain():
            await self._refresh()
            entry = await self._looked() or await self._waited()
        if self._result is not None:
            return await stored(self._result)
        # A turn that is settled first is that of somebody else.
        self._is_last, self._has_begun = entry != "settle", False
        try:
            done = await attempt(entry, self._turn if self._is_last else None)
        except ThreadConflictError as conflict:
            if self._has_begun and not await self._is_elsewhere():
                raise
            self._overtaken(conflict)
            return None
        return done if self._is_last else None

    def began(self) -> None:
        """Note that the first commit of an attempt is made, so that the next in line may look."""
        self._has_begun = True
        if self._is_last and self._place is not None:
            self._thread.context.waiters.leave(self._place)
            self._place = None

    def _overtaken(self, conflict: ThreadConflictError) -> None:
        """Look again, since the first commit met a *conflict*; or raise it inside another turn."""
        if self._policy.on_conflict == "error":
            if Hold.around(self._thread) is not None:
                raise conflict
            self._conflict = conflict
        self._is_stale, self._is_fresh = True, False

    async def _is_elsewhere(self) -> bool:
        """Whether another worker has taken the turn over, so that its answer can be waited for."""
        if self._policy.on_conflict == "error" or not self._turn_id:
            return False
        await self._thread.refresh()
        known = await self._thread.stored_turn(self._turn_id)
        if known is None:
            # If it ended after the refresh, its messages are newer than the object of the thread.
            await self._thread.refresh()
            known = await self._thread.stored_turn(self._turn_id)
        return known is not None and (known.is_finished or self._thread.lease is not None)

    def _is_plain(self) -> bool:
        """Whether it is an input without an id, and nobody else is at work, as most turns are."""
        thread = self._thread
        if self._turn_id or not self._has_input or self._is_stale or thread.is_in_turn:
            return False
        is_free = thread.lease is None and not thread.has_open_run
        return is_free and self._place is not None and self._place.is_first

    async def _waited(self) -> Entry:
        pause, place, time = _FIRST_PAUSE, self._place, asyncio.get_running_loop().time
        assert place is not None
        left = self._thread.context.turn_wait - self.waited
        while True:
            place.clear()
            # One that is not the first has to know only whether its turn was run by another.
            if self._turn_id or place.is_first:
                self._is_stale, self._is_fresh = True, False
                await self._refresh()
                found = await self._looked()
                if found is not None:
                    return found
            lease, began = self._thread.lease, time()
            if not self._has_said and lease is not None and self.waited >= _QUIET:
                self._has_said = True
                _LOG.warning(_WAITING, self._thread.id, ceil(lease.seconds))
            if left <= 0:
                raise TurnRunningError(thread_id=self._thread.id)
            self._has_waited = True
            most = left if lease is None else min(left, lease.seconds)
            await place.wait(min(pause, most))
            self.waited += time() - began
            left = self._thread.context.turn_wait - self.waited
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _refresh(self) -> None:
        """Read the thread again if others may have moved it."""
        thread, is_free = self._thread, Hold.around(self._thread) is None
        # While a turn runs on this very object, that knows what is new.
        if is_free and not thread.is_in_turn and (thread.lease is not None or self._is_stale):
            await thread.refresh()
            self._is_stale, self._is_fresh = False, True

    async def _looked(self) -> Entry | None:
        """Return how to go on; None while somebody else runs a turn."""
        thread = self._thread
        known = await self._known()
        if known is not None and known.is_finished:
            self._result = known
            return "stored"
        if self._is_busy():
            if self._policy.on_conflict == "error":
                raise TurnRunningError(thread_id=thread.id)
            return None
        if self._conflict is not None:
            raise self._conflict
        state = thread.execution_state
        run = state if state is not None and state.is_open else None
        if known is not None and known.stop and (run is None or run.turn_id != known.id):
            # Its process ended between two agents.
            self._result = known
            return "stored"
        if run is not None:
            return await self._found_open(run)
        is_plain = not self._has_input and self._turn_id is None
        if is_plain and state is not None and await self._is_answered():
            self._result = last_turn(thread, state)
            return "ended"
        return await self._found_closed()

    async def _is_answered(self) -> bool:
        """Whether another turn, which was waited for or went unseen, has answered what waited."""
        thread = self._thread
        if self._has_waited:
            return True
        return _run_of(thread.execution_state) != _run_of(
            self._known_state
        ) and not await is_waiting(thread)

    async def _found_closed(self) -> Entry:
        """Return how to go on where no run is open; what is answered is not asked again."""
        thread, turn = self._thread, self._turn
        if turn is None or (self._has_input and not turn.origin):
            return "new"
        if not await is_passed(thread, turn):
            return "continue" if turn.origin else "new"
        self._result = None if turn.origin else await turn_that_answered(thread, turn.id)
        if self._result is not None:
            return "stored"
        left = "it was left for the next message, which has an answer: " if turn.origin else ""
        raise RunStartError(
            f"nothing waits for an answer as turn {turn.id!r} of thread {thread.id!r}: {left}"
            "send a message under another id"
        )

    def _is_busy(self) -> bool:
        thread, around = self._thread, Hold.around(self._thread)
        if around is None:
            is_first = self._place is None or self._place.is_first
            return thread.is_in_turn or thread.lease is not None or not is_first
        if not around.admits_turns or thread.is_in_turn:
            raise RunStartError(
                f"a turn on thread {thread.id!r} cannot wait for another one inside it: give that a "
                "thread of its own, or let agents answer at once with `agent.respond(history)`"
            )
        return False

    async def _found_open(self, state: AgentLoopState) -> Entry | None:
        """Return how to go on where nobody runs the open run of *state* any more."""
        thread, policy = self._thread, self._policy
        is_own = bool(self._turn_id) and state.turn_id == self._turn_id
        if is_own or (not self._has_input and self._turn_id is None):
            return "resume"
        if policy.on_open == "resume":
            return "settle"
        if policy.on_open == "error":
            run_start(thread.id, state, count=thread.count, has_input=True)
        try:
            await thread.abandon_run(LEFT)
        except ThreadConflictError as conflict:
            self._overtaken(conflict)
            return None
        return await self._found_closed()

    def _has_seen(self, known: TurnRecord) -> bool:
        """Whether the object of the thread is newer than the beginning of the turn *known*."""
        state = self._thread.execution_state
        return self._is_fresh and state is not None and state.run_id == known.run_id

    async def _known(self) -> TurnRecord | None:
        """Return what is stored of the turn, and note it."""
        if not self._turn_id:
            return None
        known = await self._thread.stored_turn(self._turn_id)
        if known is not None and not known.is_finished and not self._has_seen(known):
            # What is known of an open turn may be newer than the object of the thread.
            self._is_stale = True
            await self._refresh()
            known = await self._thread.stored_turn(self._turn_id)
        if known is not None and await was_left(self._thread, known):
            known = known.reopened()
        if known is None:
            self._turn = TurnRecord(id=self._turn_id, given=self._given)
        elif self._given and known.given not in {b"", self._given}:
            raise TurnIdError(thread_id=self._thread.id, turn_id=self._turn_id)
        else:
            self._turn = known
        return known
