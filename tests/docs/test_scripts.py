"""The programs in `examples/` run as they are."""

import subprocess
import sys
from pathlib import Path

import pytest


EXPECTED = {
    "agent_with_tools": "It is in Lisbon. (4 messages kept)\n",
    "own_loop": "200 messages kept, at most 2,444 of 2,800 tokens sent\n",
    "several_agents": (
        "What now?  First the tests.\nGo on.     Done: 12 pass.\n"
        "And then?  Then the release.\nFinish.    Done: 1.0 is out.\n"
    ),
}


def test_every_example_is_run(root: Path) -> None:
    """Each program has its expected output here."""
    assert {path.stem for path in (root / "examples").glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_prints_what_it_should(name: str, root: Path, tmp_path: Path) -> None:
    """A program ends well and prints exactly this."""
    done = subprocess.run(
        [sys.executable, root / "examples" / f"{name}.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, EXPECTED[name]), done.stderr
