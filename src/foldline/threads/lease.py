"""
Who runs a turn on a thread, and until when nobody else begins one.

A lease is taken, renewed and given back by the commits of the turn itself; while a model or a tool
takes long, `ThreadStorage.hold` renews it between two commits. It only tells others to wait. What
keeps two workers from writing the same turn is the revision: taking a thread over is a commit, so the
next commit of the worker before is refused.
"""

from typing import Final

from msgspec import Struct


TURN_LEASE: Final = 15.0
"""How many seconds a lease lasts unless a store says otherwise."""

TURN_WAIT: Final = 600.0
"""How many seconds a turn waits for others unless a store says otherwise."""


class Lease(Struct, frozen=True, gc=False):
    """A lease, as it is read or as it is asked for."""

    holder: str
    """The id of one run of a turn, which nobody else has; empty for nobody."""

    seconds: float
    """How long it lasts from now on, by the clock of the store."""


NOBODY: Final = Lease("", 0.0)
"""What a commit gives a lease back with."""


def lease_at(holder: str | None, until: float | None, now: float) -> Lease | None:
    """Return the lease of *holder* as it is at *now*; None if it has run out, or nobody has it."""
    if not holder or until is None or until <= now:
        return None
    return Lease(holder, until - now)
