"""
What a power cut may leave of files whose trace was recorded.

Assumed of the machine, as SQLite assumes it:

- What was written to a file before a flush of it began is durable once that flush is over.
- A later write goes out in sectors of 512 bytes: each is kept, lost or turned into noise, in any
  order. Bytes that a write does not touch stay as they are, even in a sector that it shares: SQLite
  counts on that too ("powersafe overwrite"). A lost sector between kept ones reads as zeros where
  the file was shorter.
- A later truncate happens or does not, whatever the writes around it do.
- A name that was created or deleted is durable once the folder was flushed. SQLite does that with
  the first flush of a new journal or WAL, and with a deletion if it asks for it. Flushing another
  file makes no name durable. Until then each name is in any of the states that it went through.
- The index of the WAL, `-shm`, does not survive.

Not modelled: a disk that lies about a flush, and sectors that rot later.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec import Struct

from tests.faults.scratch import scratch
from tests.faults.trace import Acked, Created, Deleted, Event, Synced, Trace, Truncated, Written


_SECTOR = 512
_KEPT, _LOST, _NOISE = range(3)
# How likely a piece is kept, lost or noise. One even mixture would hardly ever let a whole commit
# through, and hardly ever lose just one piece of it.
_MIXTURES = ((1, 1, 1), (1, 1, 0), (1, 0, 1), (12, 1, 0), (12, 0, 1), (1, 12, 0), (0, 1, 0))


class Cut(Struct, frozen=True):
    """The state that one power cut left."""

    seed: int
    events: int
    acks: tuple[str, ...]
    folder: Path


class _File:
    """The durable bytes of a file and what was done to it since its last flush."""

    def __init__(self, content: bytes = b"") -> None:
        self._content = bytearray(content)
        self._pending: list[tuple[int, Written | Truncated]] = []

    def change(self, index: int, event: Written | Truncated) -> None:
        self._pending.append((index, event))

    def sync(self, since: int) -> None:
        for index, event in self._pending:
            if index < since:
                _apply(self._content, event)
        self._pending = [pair for pair in self._pending if pair[0] >= since]

    def survive(self, random: Random) -> bytes:
        weights = random.choice(_MIXTURES)
        sector = random.choice((_SECTOR, None))
        for _, event in self._pending:
            if isinstance(event, Written):
                self._tear(event, random, weights, sector or len(event.data))
            elif random.random() < 0.5:
                _apply(self._content, event)
        return bytes(self._content)

    def _tear(
        self, event: Written, random: Random, weights: tuple[int, int, int], sector: int
    ) -> None:
        pieces = list(_pieces(event, sector))
        for piece, fate in zip(
            pieces, random.choices(range(3), weights, k=len(pieces)), strict=True
        ):
            if fate == _NOISE:
                noise = random.randbytes(len(piece.data))
                _apply(self._content, Written(piece.file, piece.offset, noise))
            elif fate == _KEPT:
                _apply(self._content, piece)


class _Disk:
    """A folder on a disk that remembers what is not durable yet."""

    def __init__(self, found: dict[str, bytes]) -> None:
        self._files = {number: _File(content) for number, content in enumerate(found.values())}
        # Per name: which file it may stand for, the durable one first; none where it is absent.
        self._names: dict[str, list[tuple[int, int | None]]] = {
            name: [(-1, number)] for number, name in enumerate(found)
        }

    def play(self, index: int, event: Event) -> None:
        match event:
            case Created():
                self._files[event.file] = _File()
                self._names.setdefault(event.name, [(-1, None)]).append((index, event.file))
            case Written() | Truncated():
                self._files[event.file].change(index, event)
            case Synced():
                self._files[event.file].sync(event.since)
                if event.with_folder:
                    self._sync_names(event.since)
            case Deleted():
                self._names[event.name].append((index, None))
                if event.with_folder:
                    self._sync_names(event.since)
                    self._names[event.name] = [(index, None)]
            case Acked():
                pass

    def survive(self, random: Random) -> dict[str, bytes]:
        chosen = {name: random.choice(states)[1] for name, states in self._names.items()}
        return {
            name: self._files[number].survive(random)
            for name, number in chosen.items()
            if number is not None
        }

    def _sync_names(self, since: int) -> None:
        for states in self._names.values():
            while len(states) > 1 and states[1][0] < since:
                del states[0]


def files_after(trace: Trace, seed: int, *, at: int | None = None) -> tuple[int, dict[str, bytes]]:
    """Return how many events of *trace* come before the cut of *seed*, and the files it leaves."""
    random = Random(seed)
    drawn = random.randint(0, len(trace.events))
    events = drawn if at is None else at
    disk = _Disk(trace.found)
    for index, event in enumerate(trace.events[:events]):
        disk.play(index, event)
    return events, disk.survive(random)


def cuts(trace: Trace, *, count: int, seed: int = 0) -> Iterator[Cut]:
    """
    Give *count* states that a power cut during *trace* may have left.

    They are drawn from *seed*, *seed* + 1 and so on. Each has a folder of its own, which is removed
    when the next one is asked for.
    """
    with scratch() as top:
        for one in range(seed, seed + count):
            events, files = files_after(trace, one)
            folder = top / str(one)
            folder.mkdir()
            for name, content in files.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            acks = (event.text for event in trace.events[:events] if isinstance(event, Acked))
            yield Cut(one, events, tuple(acks), folder)
            shutil.rmtree(folder)


def _apply(content: bytearray, event: Written | Truncated) -> None:
    if isinstance(event, Truncated):
        del content[event.size :]
        content.extend(bytes(max(0, event.size - len(content))))
        return
    content.extend(bytes(max(0, event.offset - len(content))))
    content[event.offset : event.offset + len(event.data)] = event.data


def _pieces(event: Written, sector: int) -> Iterator[Written]:
    # Sectors lie on the disk at their multiples, wherever the write begins.
    start, end = event.offset, event.offset + len(event.data)
    while start < end:
        stop = min(end, (start // sector + 1) * sector)
        yield Written(event.file, start, event.data[start - event.offset : stop - event.offset])
        start = stop
