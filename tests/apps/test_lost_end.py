"""A store whose file has lost its end, as a copy that was interrupted or a full disk leaves it."""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from foldline.threads.stores.sqlite.lost_end import way_without_end

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore


Run = Callable[..., Any]

PAGE = 4096
NAMES = ("early", "late", "long")
COMMANDS = [
    ["verify"],
    ["repair"],
    ["repair", "--write"],
    ["doctor"],
    ["doctor", "--json"],
    ["backup", "copy.db"],
    ["threads", "list"],
    ["threads", "show", "early"],
    ["threads", "search", "early", "word"],
    ["threads", "export", "early"],
    ["threads", "export", "early", "--last-good"],
    ["threads", "export", "early", "--whole-rows"],
]


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store, which the commands use; what was written last lies at its end."""

    async def make() -> None:
        async with SQLiteStore(tmp_path / "x.db") as store:
            for name, count in zip(NAMES, (3, 3, 300), strict=True):
                said = [Message.user(f"word {n} " * 60) for n in range(count)]
                await (await store.thread(name)).add_messages(said)

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "x.db"))
    return tmp_path / "x.db"


def _cut(path: Path, pages: int) -> int:
    """Take the last pages off a file, and return how long it was."""
    size = path.stat().st_size
    os.truncate(path, size - pages * PAGE)
    return size


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_tells_what_to_do(run: Run, whole: Path, command: list[str]) -> None:
    """
    Whatever SQLite refuses to open names the bytes that are there and one way, and changes nothing.
    """
    size = _cut(whole, 1)
    left = whole.read_bytes()

    outcome = run(*command)

    told = " ".join((outcome.out + outcome.err).split())
    assert outcome.code == 1
    assert f"its end is lost, {size - PAGE:,} of {size:,} bytes are there" in told
    assert f"`cp STORE NEW && truncate -s {size} NEW`" in told
    assert ".recover" not in told
    assert whole.read_bytes() == left


@pytest.mark.parametrize("pages", [1, 9])
def test_the_printed_commands_save_what_is_whole(run: Run, whole: Path, pages: int) -> None:
    """
    Carried out as they are printed, they open the copy and save every thread that has lost nothing.
    """
    saved = {name: json.loads(run("threads", "export", name).out) for name in NAMES}
    _cut(whole, pages)

    told = run("threads", "export", "early", "--whole-rows").err
    told = told.replace("cp STORE", f"cp {shlex.quote(str(whole))}").replace("NEW", "new.db")
    copy, verify, export = (one for one in re.findall("`([^`]+)`", told) if "new.db" in one)
    subprocess.run(["sh", "-c", copy], check=True, timeout=60)
    verified = run(*shlex.split(verify)[1:])
    exported = {name: run(*shlex.split(export.replace("ID", name))[1:]) for name in NAMES}

    assert "its end is lost" not in verified.out + verified.err
    assert "3 threads with " in verified.out
    for name in ("early", "late"):
        assert (exported[name].code, json.loads(exported[name].out)) == (0, saved[name])
    assert exported["long"].code == 1
    assert json.loads(exported["long"].out)["MessageStoreSnapshot"]["Messages"]


def test_a_log_that_has_the_end_is_believed(run: Run, tmp_path: Path) -> None:
    """
    Where the log holds what the file lacks, all of it is read, and no word is said of the file.
    """

    async def kill() -> None:
        async with SQLiteStore(tmp_path / "live.db") as store:
            await (await store.thread("one")).add_messages([Message.user("word " * 999)] * 9)
            for end in ("", "-wal"):
                shutil.copy(tmp_path / f"live.db{end}", tmp_path / f"x.db{end}")

    asyncio.run(kill())
    with (tmp_path / "x.db").open("r+b") as file:
        # As a power cut leaves it behind the first page of what is folded back.
        file.seek(28)
        file.write((999).to_bytes(4, "big"))

    outcome = run("verify", "--store", "x.db")

    assert (outcome.code, outcome.out[:8]) == (0, "1 thread")
    assert way_without_end(tmp_path / "x.db") is None


def test_a_number_of_pages_that_does_not_hold_is_not_told(whole: Path) -> None:
    """
    SQLite goes by the file where another program has written to it, and so do we; nothing is made.
    """
    _cut(whole, 1)
    told = way_without_end(whole)
    with whole.open("r+b") as file:
        file.seek(92)
        file.write(b"\xff\xff\xff\xff")

    assert told is not None
    assert way_without_end(whole) is None
    assert way_without_end(whole.with_name("none.db")) is None
    assert not whole.with_name("x.db-shm").exists()
