"""What a repair says of what it came to, and of what it leaves alone."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.pages import empty_page, fragment, swap_pages


Run = Callable[..., Any]

THREADS = 10
EACH = 40
STRAY = "INSERT INTO documents VALUES (999, 'tool', 'x', x'00')"


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store whose rows fill many pages, which the commands use."""

    async def make() -> None:
        async with SQLiteStore(tmp_path / "wide.db") as store:
            for number in range(THREADS):
                thread = await store.thread(f"t{number}")
                words = "and so on " * 30
                await thread.add_messages([Message.user(f"{n} {words}") for n in range(EACH)])

    asyncio.run(make())
    monkeypatch.setenv("FOLDLINE_STORE", str(tmp_path / "wide.db"))
    return tmp_path / "wide.db"


def _row(path: Path, number: int, *, tenant: str = "default") -> int:
    """Return the id of a row of the thread `one`."""
    sql = "SELECT branch FROM threads WHERE tenant = ? AND id = 'one'"
    with closing(sqlite3.connect(path)) as connection:
        return (int(connection.execute(sql, (tenant,)).fetchone()[0]) << 32) + number


def _ruin(row: int) -> str:
    return f"UPDATE rows SET data = CAST(x'00' || data AS BLOB) WHERE id = {row}"


def _disk(what: str) -> str:
    return f"CREATE TRIGGER disk AFTER UPDATE ON threads BEGIN {what}; END"


def test_only_what_is_whole_behind_it_is_repaired(run: Run, store: Path, damage: Run) -> None:
    """
    A thread that was written and is damaged still does not count as repaired, and that is said.
    """
    damage(store, _ruin(_row(store, 20)))
    # A disk that damages an older message with whatever is written.
    damage(store, _disk(_ruin(_row(store, 5))))

    outcome = run("repair", "one", "--write")

    last = outcome.out.splitlines()[-1]
    assert outcome.code == 1
    assert last.startswith("0 of 1 repaired; 1 written and damaged still: `sqlite3 ")
    assert "row 5: its seal does not fit" in outcome.out


def test_what_cannot_be_repaired_is_counted(run: Run, store: Path, damage: Run) -> None:
    """One thread that cannot be repaired is told at the end, and the others are repaired."""
    damage(store, _ruin(_row(store, 0)))
    damage(store, "UPDATE threads SET head = x'00' WHERE tenant = 'default' AND id = 'one'")
    damage(store, "DELETE FROM documents")
    damage(store, _ruin(_row(store, 9, tenant="acme")))

    outcome = run("repair", "--write")

    assert outcome.code == 1
    assert "cannot be repaired: neither the head nor the first message" in outcome.out
    assert "--whole-rows` writes what can be opened" in outcome.out
    assert outcome.out.splitlines()[-1] == "2 of 3 repaired; 1 cannot be repaired"


@pytest.mark.parametrize("places", [(0, 5), (2, 20), (7, 8)], ids=["top", "far", "near"])
@pytest.mark.parametrize("id", [[], ["t0"]], ids=["all", "one"])
def test_nothing_is_written_into_a_broken_file(
    run: Run, wide: Path, places: tuple[int, int], id: list[str]
) -> None:
    """
    Where pages have changed places no thread is emptied for that, and the way forward is named.
    """
    swap_pages(wide, *places)
    before = wide.read_bytes()

    outcome, document = run("repair", *id, "--write"), run("repair", *id, "--write", "--json")

    last = outcome.out.splitlines()[-1]
    assert (outcome.code, document.code, wide.read_bytes() == before) == (1, 1, True)
    assert "the store itself\n  store: integrity check of SQLite" in outcome.out
    assert "→" not in outcome.out
    assert "nothing was written, since the store itself is damaged: `sqlite3 " in last
    assert "else restore a backup" in last
    assert "`foldline threads export ID --whole-rows`" in last
    assert (document.json()["written"], document.json()["store"][0]["kind"]) == (False, "store")


def test_what_a_repair_would_lose_can_be_saved(run: Run, wide: Path) -> None:
    """
    Of a file that a repair refuses the command that it names saves more than a repair would keep.
    """
    swap_pages(wide, 7, 8)
    (one, *_) = run("repair", "--json").json()["threads"]

    saved = run("threads", "export", one["id"], "--whole-rows", "--to", "chat-jsonl")

    assert (saved.code, one["lost"]) == (1, None)
    assert saved.out.count("and so on") > one["kept"]


def test_what_sqlite_alone_finds_is_told(run: Run, wide: Path) -> None:
    """Where every thread is whole and the file is not, a repair fails as `verify` does."""
    fragment(wide)

    verified, told, written = run("verify"), run("repair"), run("repair", "--write")

    assert [one.code for one in (verified, told, written)] == [1, 1, 1]
    assert "Fragmentation" in verified.out
    assert told.out == written.out
    assert "Fragmentation" in told.out
    assert (
        "nothing was written, since the store itself is damaged: every thread is whole" in told.out
    )


def test_what_is_named_works_where_no_thread_can_be_listed(run: Run, tmp_path: Path) -> None:
    """
    With half of the index of names lost it is said so, and a thread of the other half is written.
    """
    path = tmp_path / "many.db"
    long = "x" * 60

    async def make() -> None:
        async with SQLiteStore(path) as store:
            for number in range(100):
                thread = await store.thread(f"{number:03}{long}")
                await thread.add_message(Message.user("and so on"))

    asyncio.run(make())
    empty_page(path, 1, "sqlite_autoindex_threads_1")
    export = ("threads", "export", "--whole-rows", "--to", "chat-jsonl", "--store", path)

    verified, repaired = (run(one, "--store", path) for one in ("verify", "repair"))
    found, lost = run(*export, f"099{long}"), run(*export, f"000{long}")

    for one in (verified, repaired):
        assert one.code == 1
        assert "the threads cannot be listed" in one.out
        assert "`foldline threads export ID --whole-rows`, which needs no list" in one.out
    assert (found.code, found.out.count("and so on")) == (0, 1)
    assert (lost.code, lost.out, lost.err.count("\n")) == (1, "", 1)
    assert "threads export" not in lost.err
    assert "`sqlite3 STORE .recover | sqlite3 NEW` (a sqlite3 built with it), then" in lost.err


def test_what_has_failed_is_no_way_forward(run: Run, wide: Path) -> None:
    """Of a file that cannot be opened no command names itself, and a way is named once."""
    with wide.open("r+b") as file:
        # The page that lists the tables begins there.
        file.seek(100)
        file.write(b"\xff" * 8)

    for command in (["verify"], ["repair"], ["backup", "x.db"], ["threads", "export", "t0"]):
        outcome = run(*command)

        assert (outcome.code, outcome.err.count("\n")) == (1, 1)
        assert outcome.err.count("restore a backup") == 1
        assert ".recover | sqlite3 NEW`" in outcome.err
        # What cannot be opened cannot be exported either; a backup opens it in its own way.
        assert ("threads export" in outcome.err) is (command[0] == "backup")
    last = run("threads", "export", "t0", "--whole-rows")
    assert (last.code, last.err.count("restore a backup"), last.err.count(".recover")) == (1, 1, 1)
    assert "threads export" not in last.err


def test_where_nothing_is_left_the_last_resort_is_named(run: Run, wide: Path) -> None:
    """Where no row of a thread can be reached `--whole-rows` says what may still find them."""
    swap_pages(wide, 0, 5)

    outcome = run("threads", "export", "t0", "--whole-rows")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "0 of 40 messages of thread 't0' are whole" in outcome.err
    assert (outcome.err.count("restore a backup"), "threads export" in outcome.err) == (1, False)


def test_what_belongs_to_nothing_keeps_no_thread_damaged(
    run: Run, store: Path, damage: Run
) -> None:
    """Beside what is stray a thread is repaired; that it stays is told, with the code 1."""
    damage(store, _ruin(_row(store, 20)))
    damage(store, STRAY)

    outcome, again = run("repair", "--write"), run("repair", "--write")

    assert (outcome.code, again.code, run("verify", "one").code) == (1, 1, 0)
    stays = "what is stray belongs to nothing, harms no thread and stays as it is"
    assert outcome.out.splitlines()[-1] == f"1 of 1 repaired; {stays}"
    assert again.out.splitlines()[-1] == f"no thread is damaged, nothing was written; {stays}"
    assert "1 documents belong to a thread that is not there" in again.out


def test_a_thread_that_nobody_can_name_is_told(run: Run, store: Path, damage: Run) -> None:
    """
    A thread whose name is damaged is told by a repair as by `verify`, and a backup alone helps.
    """
    damage(store, "UPDATE threads SET id = 'two/' WHERE id = 'two'")

    verified, repaired = run("verify"), run("repair")

    assert (verified.code, repaired.code) == (1, 1)
    for one in (verified, repaired):
        assert "name: a thread has a damaged name: thread id of 4 characters" in one.out
    way = "no repair mends a name: restore a backup"
    assert verified.out.splitlines()[-1] == way
    assert repaired.out.splitlines()[-1] == f"no thread is damaged, nothing was written; {way}"
    for word in ("stray", "shows what can be saved", "sqlite3 "):
        assert word not in verified.out + repaired.out


def test_a_repair_that_loses_much_names_what_saves_it(run: Run, store: Path, damage: Run) -> None:
    """Where messages behind the damage would be lost, the command that writes them is named."""
    damage(store, _ruin(_row(store, 0, tenant="acme")))

    told, written = run("repair"), run("repair", "--write")

    command = "`foldline threads export one --tenant acme --whole-rows`"
    assert f"first, {command} writes every whole message" in told.out
    assert f"{command}, on a backup made before, writes what is whole" in written.out
    assert (told.code, written.code, run("verify", "--tenant", "acme").code) == (1, 0, 0)


def test_a_repair_that_loses_one_message_names_nothing(run: Run, store: Path, damage: Run) -> None:
    """Where the last message alone is damaged, nothing else could be saved."""
    damage(store, _ruin(_row(store, 13, tenant="acme")))

    assert "--whole-rows" not in run("repair").out
