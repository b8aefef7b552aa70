"""The bugs fit the package: `make teeth` takes minutes, and code moves."""

from pathlib import Path

import pytest

from tests.planted.bugs import ROOMS, places


BUGS = [bug for bugs in ROOMS.values() for bug in bugs]


@pytest.mark.source
def test_each_bug_has_one_place() -> None:
    """The text that a bug changes is in its module once."""
    assert [f"{bug.name}: {bug.module}" for bug in BUGS if places(bug) != 1] == []


def test_each_bug_has_its_tests(root: Path) -> None:
    """The tests that have to notice a bug are there."""
    lost: list[str] = []
    for bug in BUGS:
        file, _, name = bug.tests.partition("::")
        path = root / "tests" / file
        wanted = f"def {name}(" if name else "def test_"
        if not path.exists() or wanted not in path.read_text(encoding="utf-8"):
            lost.append(f"{bug.name}: {bug.tests}")

    assert lost == []


def test_bugs_have_names_of_their_own() -> None:
    """No two bugs have the same name, of which a folder is made."""
    assert len({bug.name for bug in BUGS}) == len(BUGS)
