"""What the world outside a process remembers: effects of tools, summaries, refused requests."""

import os
from pathlib import Path

from msgspec import Struct


class Entry(Struct, frozen=True):
    kind: str  # What happened
    what: str  # To what: a label without blanks
    more: str = ""  # The rest, as the key under which a tool ran


class Book:
    """Lines that no crash takes away."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lines: list[str] = []

    def write(self, kind: str, what: str, more: str = "") -> None:
        line = f"{kind}\t{what}\t{more}"
        if self._path is None:
            self._lines.append(line)
            return
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{line}\n".encode())
        os.close(file)

    @property
    def entries(self) -> list[Entry]:
        lines = self._lines
        if self._path is not None:
            lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [Entry(*line.split("\t")) for line in lines]

    def of_kind(self, kind: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.kind == kind]
