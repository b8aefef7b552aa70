"""Pages of a SQLite file, damaged as a disk damages them."""

import sqlite3
from contextlib import closing
from pathlib import Path


__all__ = ["empty_page", "fragment", "pages_of", "swap_pages"]


def pages_of(path: Path, name: str = "rows") -> tuple[list[int], int]:
    """
    Return where in the file the page above all of *name* lies, and those below it, and their size.
    """
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,))
        (root,) = found.fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = path.read_bytes()
    top = (root - 1) * size
    # Below a page of another kind lie none.
    count = int.from_bytes(data[top + 3 : top + 5]) if data[top] in {2, 5} else 0
    below: list[int] = []
    for place in range(top + 12, top + 12 + 2 * count, 2):
        cell = top + int.from_bytes(data[place : place + 2])
        below.append((int.from_bytes(data[cell : cell + 4]) - 1) * size)
    return [top, *below], size


def swap_pages(path: Path, one: int, other: int) -> None:
    """Let two pages of rows change places, as a disk does that writes to the wrong place."""
    places, size = pages_of(path)
    data = bytearray(path.read_bytes())
    a, b = (slice(places[n], places[n] + size) for n in (one, other))
    data[a], data[b] = data[b], data[a]
    path.write_bytes(data)


def fragment(path: Path) -> None:
    """Let a page of rows count bytes as free that it does not have: no row is touched by that."""
    places, _ = pages_of(path)
    data = bytearray(path.read_bytes())
    data[places[1] + 7] ^= 8
    path.write_bytes(data)


def empty_page(path: Path, number: int, name: str) -> None:
    """Empty the page *number* of *name*, as a disk does that has lost it."""
    places, size = pages_of(path, name)
    with path.open("r+b") as file:
        file.seek(places[number])
        file.write(bytes(size))
