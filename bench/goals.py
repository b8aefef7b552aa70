"""Goals of what is kept of recorded conversations, and where the recordings are."""

from pathlib import Path

from msgspec import Struct

from foldline.logs.importer import Session
from foldline.logs.sessions import read_sessions


class Goal(Struct, frozen=True, kw_only=True):
    """A figure, and what it has to be at least; None if nothing is asked of it."""

    name: str
    figure: float
    least: float | None = None
    n: int | None = None
    beside: str = ""
    """The figures of other ways, in one line."""

    @property
    def is_met(self) -> bool:
        """Whether the figure is at least what is asked."""
        return self.least is None or self.figure >= self.least

    def __str__(self) -> str:
        state = "    " if self.least is None else "met " if self.is_met else "MISS"
        wanted = "" if self.least is None else f"   at least {self.least:.1f}"
        count = "" if self.n is None else f"   n {self.n:,}"
        beside = f"\n         {self.beside}" if self.beside else ""
        return f"  {state} {self.name:74} {self.figure:6.1f}{wanted}{count}{beside}"


def read(path: Path) -> list[Session]:
    """Return the sessions of *path*."""
    return list(read_sessions(path.read_bytes(), name=path.stem))


def airline_sessions(data: Path) -> list[Session]:
    """Return the conversations of an airline's agent."""
    return read(data / "tau-airline/conversations.jsonl")


def coding_sessions(data: Path) -> list[Session]:
    """Return the long coding session, alone."""
    return read(data / "pi-coding-agent/before-compaction.jsonl")
