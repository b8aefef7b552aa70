"""Verifying, repairing, copying and judging a store from the command line."""

import asyncio
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldline.apps.cli.stores import KeyOptions, with_store
from foldline.apps.cli.threads_damage import way_forward
from foldline.errors import StoreError, StoreKeyError, StoreVersionError, UsageError
from foldline.history.messages import Message
from foldline.threads.cipher import AesCipher
from foldline.threads.store import ThreadStore
from foldline.threads.stores.sqlite.file import APPLICATION_ID
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.threads.sample import COUNT, fill


Run = Callable[..., Any]

ROW = "(SELECT branch << 32 FROM threads WHERE tenant = 'default' AND id = 'one') + 20"
BODY = f"UPDATE rows SET data = CAST(substr(data, 2) || x'00' AS BLOB) WHERE id = {ROW}"


def test_a_whole_store_is_verified(run: Run, store: Path) -> None:
    """The counts are told, and the code is 0."""
    shown, document = run("verify"), run("verify", "--json")

    assert (shown.code, document.code) == (0, 0)
    assert shown.out == "3 threads with 69 whole messages, 0 damaged\n"
    assert (document.json()["threads"], document.json()["is_whole"]) == (3, True)


def test_damage_is_named_and_fails(run: Run, store: Path, damage: Run) -> None:
    """The first damaged row is named and the code is 1, for all threads and for the one alone."""
    damage(store, BODY)

    shown, document = run("verify"), run("verify", "one", "--json")

    assert (shown.code, document.code) == (1, 1)
    assert "row 20: its seal does not fit" in shown.out
    (damaged,) = document.json()["damaged"]
    assert damaged["faults"][0]["name"] == "20"
    assert run("verify", "two").code == 0


def test_a_repair_only_tells_at_first(run: Run, store: Path, damage: Run) -> None:
    """Without --write nothing changes, the losses are told, and the code stays 1."""
    damage(store, BODY)
    before = store.read_bytes()

    told = run("repair")

    assert (told.code, store.read_bytes() == before) == (1, True)
    assert "goes on behind message 19 (20 kept)" in told.out
    assert f"loses {COUNT - 20} messages" in told.out
    assert "nothing was written" in told.out


def test_a_repair_goes_on_from_the_last_whole_message(run: Run, store: Path, damage: Run) -> None:
    """With --write the thread is whole again, and every loss is told."""
    damage(store, BODY)

    repaired = run("repair", "one", "--write", "--json")

    assert (repaired.code, run("verify").code) == (0, 0)
    (one,) = repaired.json()["threads"]
    assert (one["kept"], one["lost"], one["left"]) == (20, COUNT - 20, [])
    assert run("repair").out == "nothing is damaged, nothing was written\n"


def test_the_last_whole_message_can_be_read_without_a_repair(
    run: Run, store: Path, damage: Run
) -> None:
    """`--last-good` shows and exports what is left; without it the damage is an error."""
    damage(store, BODY)

    refused = run("threads", "export", "one")
    shown = run("threads", "show", "one", "--last-good", "--json")
    exported = run("threads", "export", "one", "--last-good", "--to", "foldline")

    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert shown.json()["messages"] == 20
    assert len(exported.json()["messages"]) == 20


def test_damage_below_the_threads_is_told(run: Run, store: Path, damage: Run) -> None:
    """What belongs to nothing is told as a fault of the store, and the code is 1."""
    damage(store, "INSERT INTO documents VALUES (999, 'tool', 'x', x'00')")

    shown, document = run("verify"), run("verify", "--json").json()

    assert (shown.code, "the store itself" in shown.out) == (1, True)
    assert "1 documents belong to a thread" in document["store"][0]["problem"]


def test_a_file_that_is_no_database_is_one_line(run: Run, tmp_path: Path) -> None:
    """What is no store at all is one line with the code 2."""
    (tmp_path / "store.db").write_bytes(b"not a database" * 1000)

    outcome = run("verify", "--store", "store.db")

    assert (outcome.code, outcome.err.count("\n")) == (2, 1)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (text)")
        connection.commit()


def _newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 999")


def _logged(path: Path) -> None:
    """Make a database of another program whose tables lie in its log, as a crash leaves it."""
    with closing(sqlite3.connect(path.with_name("live.db"))) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE notes (text)")
        for end in ("", "-wal"):
            live = path.with_name(f"live.db{end}")
            path.with_name(path.name + end).write_bytes(live.read_bytes())
    path.with_name("live.db").unlink()


MADE: dict[str, Callable[[Path], object]] = {
    "the file is empty: no store": Path.touch,
    "is not a SQLite database": lambda path: path.write_text("a text " * 100),
    "but no store of foldline": _foreign,
    "database, but no store": _logged,
    "upgrade foldline": _newer,
    "is a folder": Path.mkdir,
}


@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["repair", "--write"],
        ["backup", "copy.db"],
        ["threads", "list"],
        ["threads", "show", "one"],
        ["threads", "delete", "one", "--yes"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("said", MADE)
def test_what_is_no_store_is_left_alone(
    run: Run, tmp_path: Path, command: list[str], said: str
) -> None:
    """What is none of ours, or newer, is told in one line with the code 2, and nothing is made."""
    path = tmp_path / "x.db"
    MADE[said](path)
    before = None if path.is_dir() else path.read_bytes()

    outcome = run(*command, "--store", path)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err
    assert (None if path.is_dir() else path.read_bytes()) == before
    made = {one.name for one in tmp_path.iterdir()}
    assert made <= {"x.db", "x.db-wal", "x.db-shm"}


def test_a_store_is_made_of_an_empty_file(run: Run, tmp_path: Path) -> None:
    """An import alone takes a file of no bytes."""
    (tmp_path / "x.db").touch()

    said = b'[{"role": "user", "content": "Hello"}]'
    imported = run("threads", "import", "-", "--id", "a", "--store", "x.db", stdin=said)

    assert (imported.code, run("verify", "--store", "x.db").code) == (0, 0)


def test_a_store_that_its_writer_has_left_open_can_be_read(run: Run, tmp_path: Path) -> None:
    """A store of which all lies in the log, as a killed writer leaves it, is read as any other."""

    async def copied() -> None:
        async with SQLiteStore(tmp_path / "live.db") as store:
            await fill(store)
            for end in ("", "-wal"):
                data = (tmp_path / f"live.db{end}").read_bytes()
                (tmp_path / f"x.db{end}").write_bytes(data)

    asyncio.run(copied())

    assert run("verify", "--store", "x.db").code == 0


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an encrypted store, which the commands use, with keys beside it."""
    (tmp_path / "right").write_bytes(bytes(32))
    (tmp_path / "wrong").write_bytes(bytes(31) + b"x")

    async def make() -> None:
        async with SQLiteStore(tmp_path / "store.db", cipher=AesCipher(bytes(32))) as store:
            await fill(store)

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "store.db"))
    return tmp_path / "store.db"


@pytest.mark.parametrize("key", [["--key-file", "wrong"], []], ids=["wrong", "none"])
@pytest.mark.parametrize(
    "command",
    [
        ["repair", "--write"],
        ["repair", "one", "--write"],
        ["verify"],
        ["threads", "list"],
        ["threads", "export", "one", "--last-good"],
    ],
    ids=" ".join,
)
def test_without_its_key_a_store_is_left_as_it_was(
    run: Run, locked: Path, command: list[str], key: list[str]
) -> None:
    """Another key, or none, is told in one line with the code 2, and no byte is changed."""
    before = locked.read_bytes()

    outcome = run(*command, *key)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "key" in outcome.err
    assert locked.read_bytes() == before
    assert run("verify", "--key-file", "right").code == 0


@pytest.mark.parametrize("error", [StoreKeyError(), StoreVersionError(what="x", found=2, known=1)])
def test_what_needs_another_key_or_foldline_is_misuse(store: Path, error: StoreError) -> None:
    """It is the same error to every command, with the code 2, whatever was about to be done."""

    async def work(_: ThreadStore) -> None:
        raise error

    with pytest.raises(UsageError, match=re.escape(str(error))):
        with_store(KeyOptions(store=str(store)), work)


def test_a_thread_of_which_nothing_can_be_opened_is_not_emptied(
    run: Run, store: Path, damage: Run
) -> None:
    """
    Where neither the head nor the first row can be read a repair is refused, as other keys would.
    """
    thread = "tenant = 'default' AND id = 'one'"
    damage(store, f"UPDATE threads SET head = zeroblob(90) WHERE {thread}")
    first = f"(SELECT branch << 32 FROM threads WHERE {thread})"
    damage(store, f"UPDATE rows SET data = zeroblob(90) WHERE id = {first}")
    before = store.read_bytes()

    refused = run("repair", "one", "--write")

    assert (refused.code, "cannot be repaired: neither the head" in refused.out) == (1, True)
    assert store.read_bytes() == before


@pytest.fixture
def writer(store: Path) -> Iterator[None]:
    """Let somebody write to the thread `one` of the store all the time."""
    ended = threading.Event()

    async def write() -> None:
        async with SQLiteStore(store) as opened:
            thread = await opened.thread("one")
            while not ended.is_set():
                await thread.add_messages([Message.user("And now?")])

    worker = threading.Thread(target=lambda: asyncio.run(write()))
    worker.start()
    yield
    ended.set()
    worker.join()


@pytest.mark.usefixtures("writer")
def test_a_live_store_that_is_whole_needs_no_repair(run: Run) -> None:
    """While others write nothing is found, and nothing fails."""
    outcomes = [run("repair", "--write") for _ in range(3)]

    assert [one.code for one in outcomes] == [0, 0, 0]
    assert {one.out for one in outcomes} == {"nothing is damaged, nothing was written\n"}


def _smash(path: Path, table: str) -> None:
    """Write over every page that holds *table*, as a failing disk does."""
    with closing(sqlite3.connect(path)) as connection:
        found = "SELECT rootpage FROM sqlite_master WHERE tbl_name = ?"
        pages = [page for (page,) in connection.execute(found, (table,))]
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        for page in pages:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)


def test_where_the_database_is_damaged_the_way_forward_is_named(run: Run, store: Path) -> None:
    """Verifying, listing, repairing and judging a torn file fail, and say what can be done."""
    _smash(store, "threads")

    outcomes = [run(*command) for command in (["verify"], ["threads", "list"], ["repair"])]
    doctor = run("doctor", "--json")

    assert [one.code for one in outcomes] == [1, 1, 1]
    assert [
        one.out + one.err for one in outcomes if "restore a backup" not in one.out + one.err
    ] == []
    assert all("foldline threads export" in one.out + one.err for one in outcomes)
    (found,) = (one for one in doctor.json()["findings"] if one["name"] == "quick check")
    assert (doctor.code, found["weight"]) == (1, "danger")
    assert "restore a backup" in found["advice"]


def test_nobody_is_sent_from_a_server_to_sqlite(store: Path) -> None:
    """What only a SQLite file has is a way forward for none of the servers."""
    file, server = (way_forward(KeyOptions(store=one)) for one in (str(store), "redis://host"))

    assert (".recover" in file, ".recover" in server) == (True, False)
    assert all("export ID --whole-rows`" in one for one in (file, server))


def test_a_backup_counts_one_thread_as_one(run: Run, tmp_path: Path) -> None:
    """One is not several."""
    said = b'[{"role": "user", "content": "Hello"}]'
    run("threads", "import", "-", "--id", "a", "--store", "x.db", stdin=said)

    assert ": 1 thread, " in run("backup", "copy.db", "--store", "x.db").out


def test_a_backup_is_a_store(run: Run, store: Path) -> None:
    """The copy is whole, holds the same threads, and is never written over."""
    made = run("backup", "copy.db", "--json")
    again = run("backup", "copy.db")

    assert made.json()["threads"] == 3
    assert run("verify", "--store", "copy.db").code == 0
    assert (again.code, "never overwritten" in again.err) == (2, True)


def test_a_backup_tells_of_damage(run: Run, store: Path, damage: Run) -> None:
    """A damaged store is copied as it is, and the code is 1."""
    damage(store, BODY)

    made = run("backup", "copy.db")

    assert (made.code, "damaged as the store is" in made.out) == (1, True)
    assert (store.parent / "copy.db").exists()


def test_the_doctor_finds_nothing_in_a_usual_store(run: Run, store: Path) -> None:
    """Versions, modes, sizes and counts are told, and the code is 0."""
    document = run("doctor", "--json")

    named = {one["name"]: one["value"] for one in document.json()["findings"]}
    assert document.code == 0
    assert {"foldline", "Python", "msgspec", "SQLite", "free disk"} <= set(named)
    assert named["threads"] == "3"
    assert "journal mode" in run("doctor").out


def test_the_doctor_fails_where_data_is_in_danger(run: Run, store: Path) -> None:
    """A file that others may write to is a danger, and the code is 1."""
    store.chmod(0o666)

    outcome = run("doctor")

    assert (outcome.code, "chmod 600" in outcome.out) == (1, True)


def test_servers_are_verified_too(run: Run, redis_url: str, store: Path) -> None:
    """A Redis is imported into, verified and judged like a file, and its address is never shown."""
    exported = run("threads", "export", "two")
    imported = run("threads", "import", "-", "--store", redis_url, stdin=exported.out.encode())
    verified = run("verify", "--store", redis_url)
    judged = run("doctor", "--store", redis_url)

    assert [imported.code, verified.code, judged.code] == [0, 0, 0], verified.out
    assert verified.out.startswith("1 thread with 13 whole messages")
    assert redis_url not in verified.out + judged.out


def test_a_repair_is_told_to_people(run: Run, store: Path, damage: Run) -> None:
    """With --write every fault, every loss and how many were repaired is printed."""
    damage(store, BODY)

    repaired = run("repair", "--write")

    assert repaired.code == 0
    assert "row 20" in repaired.out
    assert repaired.out.splitlines()[-1] == "1 of 1 repaired"


def test_what_cannot_be_repaired_is_told(run: Run, store: Path, damage: Run) -> None:
    """Where the store itself is damaged the thread is left as it is, and the code is 1."""
    damage(store, "UPDATE threads SET revision = 'none' WHERE id = 'two'")

    refused, document = run("repair", "--write"), run("repair", "--write", "--json").json()

    assert (refused.code, "cannot be repaired" in refused.out) == (1, True)
    assert "go back to a backup" in document["threads"][0]["refused"]


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_an_unknown_thread_is_one_line(run: Run, store: Path, command: str) -> None:
    """An id of no thread is told in one line with the code 2."""
    outcome = run(command, "none")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)


def test_much_damage_is_shortened_for_people_alone(run: Run, store: Path, damage: Run) -> None:
    """Of many faults the first are printed, and --json lists them all."""
    branch = "(SELECT branch FROM threads WHERE tenant = 'default' AND id = 'one')"
    damage(store, f"UPDATE rows SET data = 7 WHERE id >> 32 = {branch} AND id % 2 = 0")

    shown, document = run("verify", "one"), run("verify", "one", "--json").json()

    assert "and 1 more; --json lists them all" in shown.out
    assert len(document["damaged"][0]["faults"]) == 21
