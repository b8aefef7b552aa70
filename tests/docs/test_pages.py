"""What is made from the code is current."""

import subprocess
import sys
from pathlib import Path

import pytest

from foldline.apps.cli.program import COMMANDS, THREAD_COMMANDS


SCRIPTS = (
    "cli_reference",
    pytest.param("public_names", marks=pytest.mark.source),
    pytest.param("readme_numbers", marks=pytest.mark.slow),
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_page_is_current(root: Path, name: str) -> None:
    """`make docs` would change nothing."""
    script = root / "tools" / f"{name}.py"
    done = subprocess.run([sys.executable, script, "--check"], check=False)

    assert done.returncode == 0, "run `make docs`"


def test_every_command_is_on_the_page(root: Path) -> None:
    """No command is left out, nor its option `--json`."""
    page = (root / "docs" / "cli.md").read_text(encoding="utf-8")

    assert all(f"## `foldline {command.__name__}`" in page for command in COMMANDS)
    assert all(f"## `foldline threads {name}`" in page for name in THREAD_COMMANDS)
    assert page.count("- `--json`: ") == len(COMMANDS) + len(THREAD_COMMANDS)
