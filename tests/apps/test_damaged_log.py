"""Every command that looks at a store tells of commits that its log has lost."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foldline.history.messages import Message
from foldline.threads.stores.sqlite.store import SQLiteStore


Run = Callable[..., Any]

COMMANDS = [["verify"], ["repair"], ["repair", "--write"], ["backup", "copy.db"]]


@pytest.fixture
def killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose program was killed, with a flipped bit in its log."""
    path, killed = tmp_path / "a.db", tmp_path / "killed.db"

    async def say() -> None:
        async with SQLiteStore(path, durability="relaxed") as store:
            thread = await store.thread("one")
            for number in range(9):
                await thread.add_message(Message.user(f"turn {number}"))
            for end in ("", "-wal", ".lock"):
                shutil.copy(f"{path}{end}", f"{killed}{end}")

    asyncio.run(say())
    _flip(killed, 1)
    monkeypatch.setenv("FOLDLINE_STORE", str(killed))
    return killed


def _flip(killed: Path, frame: int) -> None:
    """Change a bit in the page of *frame*, from 1, or from -1 for those before the end."""
    log = killed.with_name("killed.db-wal")
    data = bytearray(log.read_bytes())
    frames = range(32 - 24 - 4_096, len(data), 24 + 4_096)
    data[frames[frame] + 2_000] ^= 1
    log.write_bytes(data)


def _copy(killed: Path) -> Path:
    (copy,) = killed.parent.glob("killed.db-wal.damaged-*")
    return copy


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_first_command_keeps_the_log(run: Run, killed: Path, command: list[str]) -> None:
    """Whichever opens the store first copies the log, names the copy and ends with the code 1."""
    damaged = killed.with_name("killed.db-wal").read_bytes()

    shown = run(*command)

    assert shown.code == 1
    copy = _copy(killed)
    assert copy.name in shown.out
    assert "restore a backup, or go on without, and then move the copy away" in shown.out
    assert copy.read_bytes() == damaged


@pytest.mark.parametrize("command", [["verify"], ["repair"], ["backup", "two.db"]], ids=" ".join)
def test_the_copy_is_named_while_it_lies_there(run: Run, killed: Path, command: list[str]) -> None:
    """Later ones name the copy too, in their documents as well, and are content when it is away."""
    run("verify")

    document = run(*command, "--json")

    assert document.code == 1
    found = document.json()
    copy = _copy(killed)
    names = found["logs"] if "logs" in found else [one["name"] for one in found["store"]]
    assert copy.name in names
    for path in (copy, killed.with_name("two.db")):
        path.unlink(missing_ok=True)
    assert run(*command).code == 0


def test_a_damaged_thread_is_still_repaired(run: Run, killed: Path, damage: Run) -> None:
    """The copy of a log is in the way of no repair."""
    asyncio.run(_add(killed))
    branch = "(SELECT branch FROM threads WHERE id = 'one')"
    damage(killed, f"UPDATE rows SET data = zeroblob(9) WHERE id = ({branch} << 32) + 2")

    assert "1 of 1 repaired" in run("repair", "--write").out
    assert _copy(killed).exists()


async def _add(path: Path) -> None:
    async with SQLiteStore(path) as store:
        thread = await store.thread("one")
        await thread.add_messages([Message.user(f"again {number}") for number in range(4)])


def test_the_doctor_tells_before_and_behind(run: Run, killed: Path) -> None:
    """The doctor tells of the damage and changes nothing; later it names the copy."""
    log = killed.with_name("killed.db-wal")
    damaged = log.read_bytes()

    before = run("doctor", "--json")
    kept = log.read_bytes()
    run("verify")
    behind = run("doctor", "--json")

    assert (before.code, behind.code) == (1, 1)
    assert kept == damaged
    (told,) = _logs(before)
    assert "damaged at frame 1, and " in told["value"]
    copy = _copy(killed)
    assert told["advice"].endswith(f"opening the store copies the log to {copy.name}")
    (named,) = _logs(behind)
    assert named["value"] == f"{copy.name} is the copy of a damaged one"
    copy.unlink()
    assert run("doctor").code == 0


@pytest.mark.parametrize(
    "command", [["doctor"], ["backup", "two.db"], ["repair"], ["verify"]], ids=" ".join
)
def test_what_may_be_unfinished_is_no_fault(run: Run, killed: Path, command: list[str]) -> None:
    """
    Where one commit alone stands behind, no command ends with the code 1 or asks for a backup.
    """
    # The bit that is changed a second time is as it was.
    _flip(killed, 1)
    _flip(killed, -2)

    shown = run(*command)

    assert shown.code == 0
    assert "restore" not in shown.out
    assert list(killed.parent.glob("*.damaged-*")) == []


def _logs(outcome: Any) -> list[dict[str, str]]:
    return [one for one in outcome.json()["findings"] if one["name"] == "log"]
