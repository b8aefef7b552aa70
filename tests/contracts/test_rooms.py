"""The gate that keeps the rooms apart has teeth."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def copy(package: Path, tmp_path: Path) -> Path:
    """Return a copy of the package to plant something in."""
    ignore = shutil.ignore_patterns("__pycache__", "data")
    return Path(shutil.copytree(package, tmp_path / "foldline", ignore=ignore))


def _lint(copy: Path, root: Path) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys\n"
        "from importlinter.cli import lint_imports\n"
        f"sys.exit(lint_imports(config_filename={str(root / 'pyproject.toml')!r}, no_cache=True))"
    )
    environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_keeps_the_contracts(copy: Path, root: Path) -> None:
    """Without anything planted the gate is open."""
    result = _lint(copy, root)

    assert (result.returncode, "0 broken" in result.stdout) == (0, True), result.stdout


@pytest.mark.parametrize(
    ("path", "planted", "contract"),
    [
        ("history/planted.py", "import foldline.reduction", "Rooms look down"),
        ("reduction/planted.py", "import foldline.agent", "Rooms look down"),
        ("threads/planted.py", "import foldline.providers", "Rooms look down"),
        ("attic/__init__.py", "", "Rooms look down"),
        ("history/planted.py", "import asyncio", "The pure rooms"),
        ("reduction/planted.py", "from time import monotonic", "The pure rooms"),
    ],
    ids=["upward", "far upward", "sideways", "unknown room", "asyncio", "clock"],
)
def test_a_planted_violation_is_found(
    copy: Path, root: Path, path: str, planted: str, contract: str
) -> None:
    """An import against the order of the rooms, or of I/O in a pure one, closes the gate."""
    target = copy / path
    target.parent.mkdir(exist_ok=True)
    target.write_text(planted + "\n", encoding="utf-8")

    result = _lint(copy, root)

    broken = [line for line in result.stdout.splitlines() if line.endswith("BROKEN")]
    assert result.returncode == 1, result.stdout
    assert [line.startswith(contract) for line in broken] == [True], result.stdout
