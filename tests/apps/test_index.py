"""A damaged index of words is told by every command that looks for damage, and mended by one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


Run = Callable[..., Any]

PROBLEM = "the words of 1 branches are not as they were written"
NOTE = (
    "no message is lost: `foldline repair --write` drops what is damaged of the index of words, and "
    "searches make it anew"
)


@pytest.fixture
def torn(run: Run, store: Path, damage: Run) -> Path:
    """Return a store in which the index of one thread has lost words."""
    assert "1 message found" in run("threads", "search", "one", "polite").out
    damage(store, "DELETE FROM words WHERE word = CAST('polite' AS BLOB)")
    assert "0 messages found" in run("threads", "search", "one", "polite").out
    return store


@pytest.mark.parametrize("command", ["verify", "repair"])
def test_damage_of_the_index_is_told_alike(run: Run, torn: Path, command: str) -> None:
    """It is named with the code 1 and what mends it, and no message is called damaged."""
    shown, document = run(command), run(command, "--json")

    assert (shown.code, document.code) == (1, 1)
    assert shown.out.splitlines()[:2] == ["the store itself", f"  index: {PROBLEM}"]
    assert shown.out.splitlines()[-1].endswith(NOTE)
    assert document.json()["store"] == [{"kind": "index", "name": "", "problem": PROBLEM}]


def test_doctor_and_backup_tell_of_the_index(run: Run, torn: Path) -> None:
    """Both have the code 1: the copy is damaged as the store is."""
    examined, copied = run("doctor", "--store", torn, "--json"), run("backup", "copy.db", "--json")

    (found,) = (one for one in examined.json()["findings"] if one["name"] == "index of words")
    assert (examined.code, found["weight"]) == (1, "danger")
    assert "`foldline repair --write`" in found["advice"]
    assert (copied.code, copied.json()["problems"]) == (1, [PROBLEM])


def test_repair_drops_what_is_damaged(run: Run, torn: Path) -> None:
    """With --write the damage is gone, nothing else was written, and searches find as before."""
    before = run("threads", "export", "one").out

    repaired = run("repair", "--write")

    assert (repaired.code, repaired.err) == (0, "")
    assert repaired.out.splitlines() == [
        "mended below the threads",
        f"  index: {PROBLEM}",
        "nothing is damaged; 1 mended below the threads",
    ]
    assert run("threads", "export", "one").out == before
    assert "1 message found" in run("threads", "search", "one", "polite").out
    assert run("verify").code == run("doctor", "--store", torn).code == 0
