"""Goals of what is kept of recorded conversations, and where the recordings are."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from foldline.errors import UnknownFormatError
from foldline.logs.importer import Session
from foldline.logs.sessions import read_sessions
from foldline.replay.quality.figures import Share
from foldline.replay.quality.ways import DIGEST, WAYS


class Goal(Struct, frozen=True):
    """A figure, and what it has to be at least, or at most; None if nothing is asked of it."""

    name: str
    figure: float
    most: float | None = None
    least: float | None = None
    n: int | None = None
    shares: Mapping[str, Share] = {}
    """What each way keeps, if several are compared."""

    @property
    def is_asked(self) -> bool:
        """Whether anything is asked of the figure."""
        return self.least is not None or self.most is not None

    @property
    def is_met(self) -> bool:
        """Whether the figure is what is asked for."""
        is_enough = self.least is None or self.figure >= self.least
        return is_enough and (self.most is None or self.figure <= self.most)

    @property
    def wanted(self) -> str:
        """What is asked for, in words; nothing if nothing is."""
        if self.least is not None:
            return f"at least {self.least:,.1f}"
        return "" if self.most is None else f"at most {self.most:,.1f}"

    def __str__(self) -> str:
        state = "    " if not self.is_asked else "met " if self.is_met else "MISS"
        count = "" if self.n is None else f"n {self.n:,}"
        line = f"  {state} {self.name:78} {self.figure:8,.1f}  {self.wanted:16} {count}"
        others = [
            f"{way} {100 * (share.value or 0):.1f}"
            for way, share in self.shares.items()
            if way in WAYS and way != DIGEST
        ]
        return "\n         ".join((line.rstrip(), ", ".join(others))).rstrip()


def read(path: Path) -> list[Session]:
    """Return the sessions of *path*; none if its format is not one of an agent."""
    try:
        return list(read_sessions(path.read_bytes(), name=path.stem))
    except UnknownFormatError:
        return []


def airline_sessions(data: Path) -> list[Session]:
    """Return the conversations of an airline's agent."""
    return read(data / "tau-airline/conversations.jsonl")


def coding_sessions(data: Path) -> list[Session]:
    """Return the long coding session, alone."""
    return read(data / "pi-coding-agent/before-compaction.jsonl")


def recordings(data: Path) -> Iterator[tuple[Path, Session]]:
    """Yield the sessions of all recordings, each with its file."""
    for path in sorted(one for one in data.rglob("*") if one.suffix in {".json", ".jsonl"}):
        yield from ((path, one) for one in read(path))
