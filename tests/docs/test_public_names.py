"""The page of names is made of the docstrings."""

import subprocess
import sys
from pathlib import Path


def test_the_page_of_names_is_current(root: Path) -> None:
    """`make docs` would change nothing."""
    script = root / "tools" / "public_names.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)

    assert done.returncode == 0, "run `make docs`"
