"""The bugs fit the package: `make teeth` takes minutes, and code moves."""

from pathlib import Path

import pytest

from tests.planted.bug import Bug
from tests.planted.bugs import ROOMS, places


BUGS = [bug for bugs in ROOMS.values() for bug in bugs]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_has_one_place(bug: Bug) -> None:
    """The text that a bug changes stands once in its module."""
    assert places(bug) == 1


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_has_its_tests(root: Path, bug: Bug) -> None:
    """The tests that have to notice a bug are there."""
    file, _, name = bug.tests.partition("::")

    assert f"def {name}(" in (root / "tests" / file).read_text() or not name


def test_bugs_have_names_of_their_own() -> None:
    """No two bugs have the same name, of which a folder is made."""
    assert len({bug.name for bug in BUGS}) == len(BUGS)
