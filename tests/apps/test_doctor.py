"""What the doctor advises where a file is damaged."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any


Run = Callable[..., Any]

COUNT = 400
LONG = json.dumps([{"role": "user", "content": "x" * 900}] * COUNT).encode()
SHORT = json.dumps([{"role": "user", "content": "Hello"}]).encode()


def _tear(path: Path) -> None:
    """Write over a page that holds nothing but messages, as a failing disk does."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rows'")
        (root,) = found.fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = path.read_bytes()
    # Behind 12 bytes of an inner page stand the places of its cells, each of which begins with the
    # number of a page; the fourth holds old messages.
    start = (root - 1) * size
    place = start + int.from_bytes(data[start + 18 : start + 20], "big")
    child = int.from_bytes(data[place : place + 4], "big")
    with path.open("r+b") as file:
        file.seek((child - 1) * size)
        file.write(b"\xff" * size)


def test_the_doctor_advises_what_works(run: Run, tmp_path: Path) -> None:
    """Of a file with a torn page the doctor names the command that saves the rest, and it does."""
    for name, said in (("short", SHORT), ("long", LONG)):
        run("threads", "import", "-", "--id", name, "--store", "x.db", stdin=said)
    _tear(tmp_path / "x.db")

    findings = run("doctor", "--json", "--store", "x.db").json()["findings"]
    advice = [one["advice"] for one in findings if one["weight"] == "danger"]
    command = ("threads", "export", "long", "--whole-rows", "--store", "x.db")
    saved = run(*command, "--output", "long.json")
    kept = run("threads", "import", "long.json", "--store", "y.db", "--json")

    assert advice
    assert all("foldline threads export ID --whole-rows" in one for one in advice)
    assert saved.code == 1
    assert kept.code == 0
    assert (
        0 < run("threads", "show", "long", "--json", "--store", "y.db").json()["messages"] < COUNT
    )
    assert run("threads", "show", "short", "--store", "x.db").code == 0
