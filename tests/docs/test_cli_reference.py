"""The page of the command is made from the command."""

import subprocess
import sys
from pathlib import Path

from foldline.apps.cli.program import COMMANDS, THREAD_COMMANDS
from foldline.apps.cli.reference import reference_page


def test_the_page_is_current(root: Path) -> None:
    """`docs/cli.md` is what the commands say now; `make docs` writes it."""
    assert (root / "docs" / "cli.md").read_text(encoding="utf-8") == reference_page()


def test_every_command_is_on_the_page() -> None:
    """No command is left out, nor its option `--json`."""
    page = reference_page()

    assert all(f"## `foldline {command.__name__}`" in page for command in COMMANDS)
    assert all(f"## `foldline threads {name}`" in page for name in THREAD_COMMANDS)
    assert page.count("- `--json`: ") == len(COMMANDS) + len(THREAD_COMMANDS)


def test_the_module_prints_the_page(root: Path) -> None:
    """`python -m foldline.apps.cli.reference` is what writes it."""
    printed = subprocess.run(
        [sys.executable, "-m", "foldline.apps.cli.reference"],
        env={"PYTHONPATH": str(root / "src"), "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=True,
    )

    assert printed.stdout.decode("utf-8") == reference_page()
