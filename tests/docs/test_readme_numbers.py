"""The numbers of the README are those that the demo measures."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_the_table_of_numbers_is_current(root: Path) -> None:
    """`make docs` would change nothing."""
    script = root / "tools" / "readme_numbers.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)

    assert done.returncode == 0, "run `make docs`"
