"""Threads that have expired, tenants that were not named, and files that are elsewhere."""

import asyncio
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.threads.key import ThreadKey
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.faults.rights import without_privileges


Run = Callable[..., Any]

HELLO = b'[{"role": "user", "content": "Hello"}]'


async def _make(path: Path, id: str, *, tenant: str, expires_at: datetime | None = None) -> None:
    async with SQLiteStore(path) as store:
        thread = await store.thread(id, tenant=tenant)
        await thread.add_message(Message.user("Hello"))
        if expires_at is not None:
            await thread.set_expiry(expires_at)


@pytest.fixture
def expired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a store with a thread that has expired, which the commands use."""
    path = tmp_path / "store.db"
    asyncio.run(_make(path, "brief", tenant="default", expires_at=datetime(2026, 1, 1, tzinfo=UTC)))
    monkeypatch.setenv("FOLDLINE_STORE", str(path))
    return path


async def _is_there(path: Path, id: str) -> bool:
    async with SQLiteStore(path) as store:
        return await store.context.storage.load(ThreadKey("default", id)) is not None


def test_an_expired_thread_is_gone(run: Run, expired: Path) -> None:
    """A command that reads does not find it, and leaves it in the store."""
    outcome = run("threads", "show", "brief")

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert asyncio.run(_is_there(expired, "brief"))


def test_an_expired_thread_can_still_be_saved(run: Run, expired: Path) -> None:
    """As long as it is stored it can be exported by its rows."""
    outcome = run("threads", "export", "brief", "--whole-rows", "--to", "chat-jsonl")

    assert (outcome.code, outcome.out.count("Hello"), outcome.err) == (0, 1, "")


LOG = b'{"conversation_id": "brief", "role": "user", "content": "Good morning"}\n'


@pytest.mark.parametrize(
    "arguments", [("--id", "brief"), ("--format", "chat-jsonl")], ids=["named", "session"]
)
def test_an_import_takes_the_id_of_an_expired_thread(
    run: Run, expired: Path, arguments: tuple[str, ...]
) -> None:
    """The new thread replaces the one that has expired."""
    outcome = run("threads", "import", "-", *arguments, "--json", stdin=LOG)
    shown = run("threads", "export", "brief", "--to", "chat-jsonl")

    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json()["threads"] == [{"id": "brief", "messages": 1}]
    assert (shown.out.count("Good morning"), shown.out.count("Hello")) == (1, 0)


def test_an_import_that_is_refused_deletes_no_expired_thread(run: Run, expired: Path) -> None:
    """Where another id of the log is taken, what has expired is still stored."""
    run("threads", "import", "-", "--id", "taken", stdin=HELLO)
    log = LOG + LOG.replace(b"brief", b"taken")

    refused = run("threads", "import", "-", "--format", "chat-jsonl", stdin=log)

    assert (refused.code, refused.out, "'taken' is there already" in refused.err) == (2, "", True)
    assert run("threads", "export", "brief", "--whole-rows").out.count("Hello") == 1


def test_expired_threads_are_told_of_in_the_list(run: Run, expired: Path) -> None:
    """The list leaves out what has expired, says how many that are, and deletes none."""
    outcome = run("threads", "list")

    assert (outcome.code, outcome.out) == (0, "0 threads of tenant default\n")
    assert "1 thread of tenant default not listed: expired" in outcome.err
    assert asyncio.run(_is_there(expired, "brief"))


def test_tenants_that_have_threads_are_named(run: Run, tmp_path: Path) -> None:
    """If the tenant has no threads, the tenants that have some are named."""
    for number in range(7):
        asyncio.run(_make(tmp_path / "x.db", "a", tenant=f"owner-{number}"))

    usual = run("threads", "list", "--store", "x.db")
    named = [
        run(*command, "--tenant", "nobody", "--store", "x.db")
        for command in (["threads", "list"], ["verify"])
    ]

    told = "7 tenants have threads (owner-0, owner-1, owner-2, owner-3, owner-4, …): name one with"
    assert (usual.code, usual.out) == (0, "0 threads of tenant default\n")
    assert f"{told} --tenant" in usual.err
    assert [(one.code, told in one.err) for one in named] == [(2, True)] * 2


def test_an_empty_store_names_no_tenants(run: Run, tmp_path: Path) -> None:
    """In an empty store no tenants are named."""
    run("threads", "import", "-", "--id", "a", "--store", "x.db", stdin=HELLO)
    run("threads", "delete", "a", "--yes", "--store", "x.db")

    assert run("threads", "list", "--store", "x.db").err == ""


COMMANDS: dict[str, tuple[str, ...]] = {
    "show": ("threads", "show", "a"),
    "import": ("threads", "import", "-", "--id", "a"),
    "backup": ("backup", "copy.db"),
    "doctor": ("doctor",),
    "chat": ("chat", "--message", "Hello", "--model", "scripted:demo"),
}


@pytest.fixture
def shut(tmp_path: Path) -> Generator[str, None, None]:
    """Return the name of a store in a folder without read permission."""
    folder = tmp_path / "shut"
    folder.mkdir()
    (folder / "x.db").write_bytes(b"")
    folder.chmod(0)
    yield "shut/x.db"
    folder.chmod(0o700)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_nobody_may_look_into_is_told(run: Run, shut: str, command: str) -> None:
    """
    A store that may not be looked at is one line with its path, and the code 2, in every command.
    """
    outcome = without_privileges(lambda: run(*COMMANDS[command], "--store", shut, stdin=HELLO))

    told = "foldline: error: cannot read shut/x.db: Permission denied\n"
    assert (outcome.code, outcome.out, outcome.err) == (2, "", told)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_leads_nowhere_is_told(run: Run, tmp_path: Path, command: str) -> None:
    """Circular links and names that are too long are named as such."""
    (tmp_path / "loop.db").symlink_to("loop.db")
    names = {
        "loop.db": "Too many levels of symbolic links",
        f"{'x' * 300}.db": "File name too long",
    }

    for name, reason in names.items():
        outcome = run(*COMMANDS[command], "--store", name, stdin=HELLO)
        told = f"foldline: error: cannot read {name}: {reason}\n"
        assert (outcome.code, outcome.out, outcome.err) == (2, "", told)


@pytest.mark.parametrize("name", ["loop.json", "x" * 300], ids=["loop", "long"])
def test_an_input_that_leads_nowhere_is_told(run: Run, tmp_path: Path, name: str) -> None:
    """An import that cannot read its file, or a key, ends with the code 2, as for a store."""
    (tmp_path / "loop.json").symlink_to("loop.json")
    keyed = ("threads", "import", "-", "--id", "a", "--store", "x.db", "--key-file", name)

    outcomes = run("threads", "import", name, "--store", "x.db"), run(*keyed, stdin=HELLO)

    for one in outcomes:
        assert (one.code, one.out, one.err.count("\n")) == (2, "", 1)
        assert one.err.startswith(f"foldline: error: cannot read {name}: ")
    assert not (tmp_path / "x.db").exists()


def test_the_home_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `~` that the shell has left is the home folder: of a store, of a key and of a copy."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "key").write_bytes(bytes(32))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    options = ("--store", "~/x.db", "--key-file", "~/key")

    imported = run("threads", "import", "-", "--id", "a", *options, stdin=HELLO)
    copied = run("backup", "~/copy.db", "--store", "~/x.db")

    assert (imported.code, copied.code, run("verify", *options).code) == (0, 0, 0)
    assert {"x.db", "copy.db"} <= {one.name for one in home.iterdir()}
    assert not (tmp_path / "~").exists()
