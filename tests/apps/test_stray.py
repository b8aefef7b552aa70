"""What belongs to nothing is told alike by every command, and nobody is sent away for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


Run = Callable[..., Any]

STRAY = {
    "row": "INSERT INTO rows VALUES ((77 << 32) + 1, 0, x'00')",
    "document": "INSERT INTO documents VALUES (999, 'tool', 'x', x'00')",
    "branch": "INSERT INTO branches VALUES (77, x'00', 'default', NULL, NULL, 0)",
}
NOTE = "what is stray belongs to nothing, harms no thread and stays as it is"
ADVICE = ("restore", "sqlite3", "shows what can be saved", "itself is damaged", "export")


@pytest.mark.parametrize("what", STRAY)
@pytest.mark.parametrize("command", [["verify"], ["repair"], ["repair", "--write"]], ids=" ".join)
def test_what_is_stray_is_told_alike(
    run: Run, store: Path, damage: Run, what: str, command: list[str]
) -> None:
    """It is named as stray with the code 1, and no way forward is told, since none is needed."""
    damage(store, STRAY[what])

    shown, document = run(*command), run(*command, "--json")

    assert (shown.code, document.code) == (1, 1)
    assert shown.out.splitlines()[:2] == ["the store itself", f"  stray: {_problem(document)}"]
    assert shown.out.splitlines()[-1].endswith(NOTE)
    assert [word for word in ADVICE if word in shown.out] == []


def _problem(document: Any) -> str:
    (fault,) = document.json()["store"]
    assert fault["kind"] == "stray"
    return str(fault["problem"])


def test_what_is_stray_hides_no_damage(run: Run, store: Path, damage: Run) -> None:
    """Beside what is stray a damaged name is told with its way forward."""
    damage(store, STRAY["row"])
    damage(store, "UPDATE threads SET id = 'two/' WHERE id = 'two'")

    verified, repaired = run("verify"), run("repair")

    for one in (verified, repaired):
        assert one.code == 1
        assert "no repair mends a name: restore a backup" in one.out
        assert one.out.splitlines()[-1].endswith(NOTE)


@pytest.mark.parametrize("what", ["row", "nothing"])
def test_nothing_is_told_as_written_where_nothing_was(
    run: Run, store: Path, damage: Run, what: str
) -> None:
    """With --write too "written" is false where no thread was repaired."""
    damage(store, STRAY.get(what, "PRAGMA user_version"))
    before = store.read_bytes()

    document = run("repair", "--write", "--json").json()

    assert (document["written"], document["threads"]) == (False, [])
    assert store.read_bytes() == before


def test_what_was_written_is_told_as_written(run: Run, store: Path, damage: Run) -> None:
    """Where a thread was repaired "written" is true, and false while that is only told."""
    branch = "(SELECT branch FROM threads WHERE tenant = 'default' AND id = 'one')"
    damage(store, f"UPDATE rows SET data = zeroblob(9) WHERE id = ({branch} << 32) + 20")

    told, written = run("repair", "--json"), run("repair", "--write", "--json")

    assert (told.json()["written"], written.json()["written"]) == (False, True)


@pytest.mark.parametrize("what", STRAY)
def test_a_backup_of_what_is_stray_is_as_good(
    run: Run, store: Path, damage: Run, what: str
) -> None:
    """
    The copy has what is stray too, this is told, and the code is 0: it is as good as the store.
    """
    damage(store, STRAY[what])

    shown, document = run("backup", "one.db"), run("backup", "two.db", "--json")

    assert (shown.code, document.code) == (0, 0)
    assert shown.out.splitlines()[0].endswith(f": {NOTE}")
    assert shown.out.splitlines()[-1].endswith(" bytes, every message whole")
    assert (document.json()["problems"], len(document.json()["stray"])) == ([], 1)
