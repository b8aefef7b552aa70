"""From the command line to a file that is open already, or lies elsewhere."""

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foldline.threads.stores.sqlite.header import numbered, set_number

from foldline.apps.cli.stores import KeyOptions, with_store
from foldline.apps.cli.threads_damage import way_forward
from foldline.history.messages import Message
from foldline.threads.cipher import AesCipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.stores.statements import migrations


Run = Callable[..., Any]

# Who is the last to close folds the log back and deletes it, where no lock tells of another one.
OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM threads").fetchone()
connection.close()
"""
# A thread that another program has put there, with another key.
TAKEN = """
ATTACH 'y.db' AS y;
INSERT INTO branches SELECT pk + 9, id, tenant, thread + 9, parent, at FROM y.branches;
INSERT INTO threads SELECT pk + 9, tenant, id, revision, branch + 9, head, last_activity, expires_at,
    execution FROM y.threads;
"""


def test_the_way_forward_takes_no_lock_away(store: Path) -> None:
    """
    What to do can be asked while the store is open: another program leaves its log alone still.
    """
    options = KeyOptions(store=str(store))

    def is_left() -> bool:
        way_forward(options)
        subprocess.run([sys.executable, "-c", OTHER, str(store)], check=True, timeout=60)
        return Path(f"{store}-wal").exists()

    async def work(opened: ThreadStore) -> bool:
        await opened.thread("one")
        return is_left()

    assert with_store(options, work)


def _logged(path: Path) -> None:
    """Make a store of which all lies in the log, as one is left whose first program was killed."""
    with closing(sqlite3.connect(path.with_name("live.db"), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        known = migrations("foldline.threads.stores.sqlite")
        for piece in (piece for _, pieces in known for piece in pieces):
            connection.execute(piece)
        set_number(connection, numbered(known[-1][0]))
        for end in ("", "-wal"):
            shutil.copy(path.with_name(f"live.db{end}"), f"{path}{end}")


@pytest.mark.parametrize("command", [["verify"], ["threads", "list"], ["doctor"]], ids=" ".join)
def test_a_link_leads_to_the_log_too(run: Run, tmp_path: Path, command: list[str]) -> None:
    """A store of which all lies in its log is one through a link from another folder too."""
    _logged(tmp_path / "x.db")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "y.db").symlink_to(tmp_path / "x.db")

    outcome = run(*command, "--store", "links/y.db")

    assert (outcome.err, outcome.code) == ("", 0)


def _killed(path: Path) -> None:
    """Make a store of which some lies in the log, as one is left whose program was killed."""

    async def make() -> None:
        for name in ("early", "late"):
            async with SQLiteStore(path.with_name("live.db")) as opened:
                # Long, so that the file grows and its first page lies in the log too.
                await (await opened.thread(name)).add_message(Message.user("and so on " * 999))
                for end in ("", "-wal"):
                    shutil.copy(path.with_name(f"live.db{end}"), f"{path}{end}")

    asyncio.run(make())


@pytest.mark.parametrize("left", [b"", b"a text " * 100], ids=["empty", "text"])
@pytest.mark.parametrize(
    "command",
    [["verify"], ["doctor"], ["backup", "copy.db"], ["threads", "list"], ["repair"]],
    ids=" ".join,
)
def test_a_log_beside_a_lost_file_is_told(
    run: Run, tmp_path: Path, command: list[str], left: bytes
) -> None:
    """
    Nobody is sent to a backup where acknowledged commits lie in the log, and nothing is changed.
    """
    _killed(tmp_path / "x.db")
    (tmp_path / "x.db").write_bytes(left)
    log = (tmp_path / "x.db-wal").read_bytes()

    outcome = run(*command, "--store", "x.db")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "and the log x.db-wal of a store lies beside it: put the file" in outcome.err
    assert "restore a backup" not in outcome.err
    assert (tmp_path / "x.db").read_bytes() == left
    assert (tmp_path / "x.db-wal").read_bytes() == log


def test_a_file_that_its_log_mends_is_a_store(run: Run, tmp_path: Path) -> None:
    """
    Where the power has taken the first sector of the file, and the log has it, nothing is refused.
    """
    _killed(tmp_path / "x.db")
    with (tmp_path / "x.db").open("r+b") as file:
        file.write(b"x" * 512)

    verified = run("verify", "--store", "x.db")

    assert (verified.code, verified.out[:9]) == (0, "2 threads")


def test_a_thread_of_another_key_hides_no_other(run: Run, tmp_path: Path) -> None:
    """What was verified is told before the error about a thread that another key has written."""

    async def make(name: str, ids: str, key: bytes) -> None:
        async with SQLiteStore(tmp_path / name, cipher=AesCipher(key)) as opened:
            for id in ids:
                await opened.thread(id)

    asyncio.run(make("x.db", "ac", bytes(32)))
    asyncio.run(make("y.db", "b", bytes(31) + b"b"))
    (tmp_path / "key").write_bytes(bytes(32))
    with closing(sqlite3.connect("x.db")) as connection:
        connection.executescript(TAKEN)

    shown = run("verify", "--store", "x.db", "--key-file", "key")
    document = run("verify", "--json", "--store", "x.db", "--key-file", "key")

    assert (shown.code, shown.err.count("\n"), "key" in shown.err) == (2, 1, True)
    assert shown.out == "2 threads with 0 whole messages, 0 damaged\n"
    assert (document.code, document.json()["is_whole"]) == (2, False)
