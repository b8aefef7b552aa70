"""The gate that keeps the rooms apart has teeth."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


PLANTED = {
    "attic/__init__.py": "",
    "history/planted.py": "import asyncio\nimport foldline.reduction",
    "reduction/planted.py": "from time import monotonic\nimport foldline.agent",
    "threads/planted.py": "import foldline.providers",
}


@pytest.fixture(scope="module")
def report(package: Path, root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return what the linter says about a copy of the package with everything planted."""
    ignore = shutil.ignore_patterns("__pycache__", "data")
    copy = shutil.copytree(package, tmp_path_factory.mktemp("copy") / "foldline", ignore=ignore)
    for path, planted in PLANTED.items():
        (copy / path).parent.mkdir(exist_ok=True)
        (copy / path).write_text(planted + "\n", encoding="utf-8")
    code = (
        "import sys\n"
        "from importlinter.cli import lint_imports\n"
        f"sys.exit(lint_imports(config_filename={str(root / 'pyproject.toml')!r}, no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy.parent,
        env={**os.environ, "PYTHONPATH": str(copy.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    return done.stdout


@pytest.mark.parametrize(
    "found",
    [
        "foldline.history.planted -> foldline.reduction ",
        "foldline.reduction.planted -> foldline.agent ",
        "foldline.threads.planted -> foldline.providers ",
        "- foldline.attic",
        "foldline.history.planted -> asyncio ",
        "foldline.reduction.planted -> time ",
    ],
    ids=["upward", "far upward", "sideways", "unknown room", "asyncio", "clock"],
)
def test_a_planted_violation_is_found(report: str, found: str) -> None:
    """An import against the order of the rooms, or of I/O in a pure one, closes the gate."""
    assert found in report


def test_nothing_else_is_found(report: str) -> None:
    """The gate is closed by what was planted, and by nothing else."""
    lines = [line for line in report.splitlines() if line.startswith("-") and "foldline." in line]

    assert len(lines) == 6
