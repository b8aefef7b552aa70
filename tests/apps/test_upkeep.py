"""Verifying, copying, bringing back and judging a store from the command line."""

import asyncio
import re
import shutil
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.conftest import Run
from tests.apps.damage import change_row, delete_row, execute, smash, zero_row
from tests.threads.sample import fill


HELLO = b'[{"role": "user", "content": "Hello"}]'


def test_a_whole_store_is_verified(run: Run, store: Path) -> None:
    """The counts are printed, and the code is 0."""
    shown, document = run("verify"), run("verify", "--json")

    assert (shown.code, document.code) == (0, 0)
    assert shown.out == "3 threads with 69 whole messages, 0 damaged\n"
    assert (document.json()["threads"], document.json()["is_whole"]) == (3, True)


def test_the_first_bad_row_is_named(run: Run, store: Path) -> None:
    """The first bad row of a thread is named with the code 1, among all threads and alone."""
    for number in (20, 21, 30):
        zero_row(store, "one", number)

    shown, document = run("verify"), run("verify", "one", "--json")

    assert (shown.code, document.code) == (1, 1)
    (line,) = (line for line in shown.out.splitlines() if "tenant" in line)
    assert line.startswith("thread one of tenant default: row 20: ")
    assert "foldline threads export ID --whole-rows" in shown.out
    assert "foldline restore BACKUP STORE" in shown.out
    (damaged,) = document.json()["damaged"]
    assert damaged["faults"][0].startswith("row 20: ")
    assert run("verify", "two").code == 0


def test_deleted_reductions_are_named(run: Run, store: Path) -> None:
    """A thread whose reductions have archived messages is damaged without them."""
    execute(store, "DELETE FROM documents")

    outcome = run("verify", "one")

    assert (
        outcome.code,
        "reduction: the newest one that archived messages is missing" in outcome.out,
    ) == (1, True)


def test_damage_below_the_threads_is_named(run: Run, store: Path) -> None:
    """Every command fails on a file that SQLite cannot read, and says what to do."""
    smash(store, "threads")

    outcomes = [run(*command) for command in (["verify"], ["threads", "list"])]
    doctor = run("doctor", "--json")

    assert [one.code for one in outcomes] == [1, 1]
    assert all("foldline restore BACKUP STORE" in one.out + one.err for one in outcomes)
    assert all("sqlite3 STORE .recover" in one.out + one.err for one in outcomes)
    (found,) = (one for one in doctor.json()["facts"] if one["name"] == "file")
    assert (doctor.code, found["is_danger"]) == (1, True)


def _newer(path: Path) -> None:
    async def opened() -> None:
        async with SQLiteStore(path):
            pass

    asyncio.run(opened())
    execute(path, "PRAGMA user_version = 999")


MADE: dict[str, Callable[[Path], object]] = {
    "is not a SQLite database: check the path": Path.touch,
    "is not a SQLite database": lambda path: path.write_text("a text " * 100),
    "a SQLite database of another program": lambda path: execute(path, "CREATE TABLE t (x)"),
    "upgrade foldline": _newer,
    "is not a file": Path.mkdir,
}


@pytest.mark.parametrize("said", MADE)
def test_what_is_not_a_store_is_left_alone(run: Run, tmp_path: Path, said: str) -> None:
    """A file of another kind, or a newer one, is one line with the code 2, and unchanged."""
    path = tmp_path / "x.db"
    MADE[said](path)
    before = None if path.is_dir() else path.read_bytes()

    outcome = run("threads", "delete", "one", "--yes", "--store", path)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err
    assert (None if path.is_dir() else path.read_bytes()) == before


def test_a_store_is_made_of_an_empty_file(run: Run, tmp_path: Path) -> None:
    """An import takes a file of no bytes."""
    (tmp_path / "x.db").touch()

    imported = run("threads", "import", "-", "--id", "a", "--store", "x.db", stdin=HELLO)

    assert (imported.code, run("verify", "--store", "x.db").code) == (0, 0)


@pytest.mark.parametrize("command", [["verify"], ["threads", "list"], ["doctor"]], ids=" ".join)
def test_a_store_whose_writer_was_killed_can_be_read(
    run: Run, tmp_path: Path, command: list[str]
) -> None:
    """A store whose data is all in its log is read, through a link from another folder too."""

    async def copied() -> None:
        async with SQLiteStore(tmp_path / "live.db") as store:
            await fill(store)
            for end in ("", "-wal"):
                shutil.copy(tmp_path / f"live.db{end}", tmp_path / f"x.db{end}")

    asyncio.run(copied())
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "y.db").symlink_to(tmp_path / "x.db")

    outcome = run(*command, "--store", "links/y.db")

    assert (outcome.err, outcome.code) == ("", 0)


@pytest.mark.parametrize(
    "command",
    [
        ["verify"],
        ["verify", "--key-file", "wrong"],
        ["verify", "--key-file", "short"],
        ["threads", "list"],
        ["threads", "export", "one", "--whole-rows", "--key-file", "wrong"],
    ],
    ids=" ".join,
)
def test_without_its_key_a_store_is_left_as_it_was(
    run: Run, secret: Path, command: list[str]
) -> None:
    """With another key, or none, there is one line with the code 2, and no byte is changed."""
    keys = {"right": bytes(32), "hex": b"00" * 32 + b"\n", "wrong": bytes(31) + b"x", "short": b"s"}
    keys["both"] = b"11" * 32 + b"\r\n" + keys["hex"]
    for name, key in keys.items():
        Path(name).write_bytes(key)
    before = secret.read_bytes()

    outcome = run(*command)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert "key" in outcome.err
    assert "short" in command or "(option --key-file)" in outcome.err
    assert secret.read_bytes() == before
    assert [run("verify", "--key-file", name).code for name in ("right", "hex", "both")] == [
        0,
        0,
        0,
    ]


def test_a_backup_is_a_store(run: Run, store: Path) -> None:
    """The copy is whole, holds the same threads, and is never overwritten."""
    made = run("backup", "copy.db", "--json")
    again = run("backup", "copy.db")

    assert (made.code, made.json()["threads"], made.json()["problems"]) == (0, 3, [])
    assert run("verify", "--store", "copy.db").code == 0
    assert (again.code, "never overwritten" in again.err) == (2, True)


def test_a_backup_reports_damage(run: Run, store: Path) -> None:
    """A store that SQLite finds damaged is copied as it is, and the code is 1."""
    smash(store, "documents")

    made = run("backup", "copy.db")

    assert (made.code, made.out.endswith("bytes, damaged\n")) == (1, True)
    assert (store.parent / "copy.db").exists()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (partial(delete_row, thread="one", number=10), "row 10: it is missing"),
        (partial(change_row, thread="one", number=10), "row 10: its chain hash does not fit"),
        (lambda path: execute(path, "UPDATE threads SET head = zeroblob(9)"), "head: it was"),
    ],
    ids=["row", "byte", "head"],
)
def test_a_copy_is_checked_as_verify_does(
    run: Run, store: Path, harm: Callable[[Path], object], said: str
) -> None:
    """A backup and a restored one name damage that SQLite knows nothing of, with the code 1."""
    harm(store)
    before = store.read_bytes()

    made = run("backup", "copy.db")
    back = run("restore", "copy.db", "back.db", "--json")

    assert (made.code, made.out.endswith("bytes, damaged\n"), said in made.out) == (1, True, True)
    assert (back.code, said in back.json()["problems"][0]) == (1, True)
    assert [Path(name).exists() for name in ("copy.db", "back.db")] == [True, True]
    assert (store.read_bytes(), list(store.parent.glob(".*"))) == (before, [])


def test_an_encrypted_copy_is_checked_with_the_key(run: Run, secret: Path) -> None:
    """Without the key a note says what was not checked, and with another one nothing is copied."""
    Path("right").write_bytes(bytes(32))
    Path("wrong").write_bytes(bytes(31) + b"x")
    change_row(secret, "one", 10)

    blind = run("backup", "blind.db")
    seen = run("restore", "blind.db", "seen.db", "--key-file", "right")
    wrong = run("backup", "wrong.db", "--key-file", "wrong")

    assert (blind.code, "the messages of the copy were not checked: " in blind.err) == (0, True)
    assert blind.out.endswith("bytes, messages not checked\n")
    assert (seen.code, "row 10: " in seen.out) == (1, True)
    assert (wrong.code, Path("wrong.db").exists()) == (2, False)


def test_a_backup_is_brought_back(run: Run, store: Path) -> None:
    """With --force the backup takes the place of the store, and the log of that is kept aside."""
    run("backup", "copy.db")
    run("threads", "delete", "two", "--yes")
    log = store.with_name("store.db-wal")
    log.write_bytes(b"what a killed program left" * 200)

    refused = run("restore", "copy.db", store)
    other = run("restore", "copy.db", "other.db")
    done = run("restore", "copy.db", store, "--force", "--json")

    assert (refused.code, "add --force" in refused.err, other.code) == (2, True, 0)
    assert (done.code, done.json()["threads"]) == (0, 3)
    assert not log.exists()
    assert log.with_name("store.db-wal.stale").read_bytes().startswith(b"what a killed")
    assert "store.db-wal.stale" in done.err
    for path in (store, "other.db"):
        whole = run("verify", "--store", path)
        assert whole.out.startswith("3 threads with 69 whole messages")
    assert list(store.parent.glob(".*")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.db", "x.db"), "no backup at none.db: check the path (`foldline backup` makes"),
        (("store.db", "no/x.db"), "its folder does not exist"),
        (("redis://host", "x.db"), "BGSAVE"),
        (("store.db", "redis://host"), "STORE must be a path, got an address"),
        (("text", "x.db"), "not a SQLite database"),
        (("store.db", "store.db", "--force"), "cannot write"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_restored_is_one_line(
    run: Run, store: Path, arguments: tuple[str, ...], said: str
) -> None:
    """A wrong source or target is one line with the code 2, and nothing is made."""
    (store.parent / "text").write_text("no database")
    before = store.read_bytes()

    outcome = run("restore", *arguments)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert said in outcome.err
    assert store.read_bytes() == before
    assert not (store.parent / "x.db").exists()


def test_the_doctor_fails_if_data_is_in_danger(run: Run, store: Path) -> None:
    """Versions, modes, sizes and counts are listed; a file that others may write is a danger."""
    document = run("doctor", "--json")
    store.chmod(0o666)
    endangered = run("doctor")

    named = {one["name"]: one["value"] for one in document.json()["facts"]}
    assert document.code == 0
    assert {"foldline", "Python", "msgspec", "SQLite", "free disk"} <= set(named)
    assert "quick check" in endangered.out
    assert (endangered.code, "chmod 600" in endangered.out) == (1, True)


def test_the_doctor_knows_every_extra(run: Run, store: Path, root: Path) -> None:
    """What `foldline[all]` installs is there or missing, the SDKs of the vendors too."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (every,) = project["optional-dependencies"]["all"]
    facts = run("doctor", "--json").json()["facts"]
    (said,) = (one["value"] for one in facts if one["name"] == "extras")

    assert {*re.findall(r"\w+", said)} - {"missing", "none"} == {*every[9:-1].split(",")}


def test_servers_are_verified_too(run: Run, redis_url: str, store: Path) -> None:
    """A Redis is imported into, verified and judged like a file, and its address is never shown."""
    exported = run("threads", "export", "two")
    imported = run("threads", "import", "-", "--store", redis_url, stdin=exported.out.encode())
    verified = run("verify", "--store", redis_url)
    judged = run("doctor", "--store", redis_url)

    assert [imported.code, verified.code, judged.code] == [0, 0, 0], verified.out
    assert verified.out.startswith("1 thread with 13 whole messages")
    assert redis_url not in verified.out + judged.out
