"""
Plant one bug after the other in a copy of the package and check that a test fails for each.

`make teeth` runs it with all bugs, `python -m tests.planted.bugs threads` with those of one room. It
ends with 1 if a bug went unnoticed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from tests.planted import (
    agent,
    agent_loop,
    apps,
    contract,
    costs,
    digest,
    history,
    reduction,
    replay,
    stores,
    threads,
    workers,
)
from tests.planted.bug import Bug


__all__ = ["ROOMS", "failing", "main", "places"]

ROOMS: Final[Mapping[str, tuple[Bug, ...]]] = MappingProxyType(
    {
        "history": history.BUGS,
        "reduction": reduction.BUGS,
        "contract": contract.BUGS,
        "costs": costs.BUGS,
        "digest": digest.BUGS,
        "agent": agent.BUGS,
        "loop": agent_loop.BUGS,
        "threads": threads.BUGS,
        "stores": stores.BUGS,
        "replay": replay.BUGS,
        "workers": workers.BUGS,
        "apps": apps.BUGS,
    }
)
"""The bugs of each room."""

# What `make test` runs has to notice most bugs; the full depth is tried only if it does not.
_DEPTHS = (("fast", "not slow and not long"), ("thorough", "not long"))
_PATIENCE = 200.0
_ROOT = Path(__file__).resolve().parents[2]
_FAILED = re.compile(r"^FAILED (\S+?::\w+(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


def places(bug: Bug) -> int:
    """Return how often its module has the text that *bug* changes; it has to be once."""
    module = _ROOT / "src" / "foldline" / bug.module
    return module.read_text(encoding="utf-8").count(bug.old) if module.exists() else 0


def failing(bug: Bug, folder: Path) -> str | None:
    """Return the first test that fails with *bug* planted, or None; slow tests come last."""
    source = folder / bug.name.replace(" ", "_")
    # Byte code comes along: it fits copies that keep their times, and only the bug is compiled.
    shutil.copytree(_ROOT / "src", source)
    module = source / "foldline" / bug.module
    text = module.read_text(encoding="utf-8")
    module.write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    for depth in _DEPTHS:
        failed = _failed(source, folder, [f"tests/{bug.tests}"], depth, patience=_PATIENCE)
        if failed:
            return failed[0]
    return None


def _failed(
    source: Path,
    folder: Path,
    tests: Iterable[str],
    depth: tuple[str, str] = _DEPTHS[-1],
    *,
    patience: float | None = None,
) -> list[str]:
    """
    Return the first of *tests* that fails with the package in *source*, or those that do not end.

    Without *patience* all that fail are returned, however long it takes.
    """
    profile, mark = depth
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "--tb=no", "-m", mark]
    if patience is not None:
        command.append("-x")
    try:
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider", "-p", "no:randomly", *tests],
            cwd=_ROOT,
            env={
                **os.environ,
                "PYTHONPATH": str(source),
                "HYPOTHESIS_PROFILE": profile,
                "PYTHONDONTWRITEBYTECODE": "1",
                # Wide, so that no line of the report is cut.
                "COLUMNS": "500",
                # What fails because of a bug is not remembered for later runs.
                "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "examples"),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        # A bug may leave a task that nothing ends.
        return [*tests]
    if done.returncode == pytest.ExitCode.USAGE_ERROR:
        message = f"pytest could not run {command[-1]}"
        raise RuntimeError(message)
    return _FAILED.findall(done.stdout)


def _blind(tests: Iterable[str | None], folder: Path) -> set[str]:
    """Return which of *tests* fail without any bug, so that they have noticed nothing."""
    # A bug may change what the parameters of a test are called.
    known = {test.partition("[")[0] for test in tests if test is not None}
    return set(_failed(_ROOT / "src", folder, sorted(known))) if known else set()


def main(rooms: Sequence[str]) -> int:
    """
    Plant every bug of *rooms*, or of all, print a table, and return 1 if one went unnoticed.
    """
    if not set(rooms) <= ROOMS.keys():
        sys.stderr.write(f"rooms must be among {', '.join(ROOMS)}\n")
        return 2
    bugs = [bug for room in rooms or ROOMS for bug in ROOMS[room]]
    lost = [bug for bug in bugs if places(bug) != 1]
    for bug in lost:
        sys.stdout.write(f"{bug.name:52} ITS PLACE IS {places(bug)} TIMES IN {bug.module}\n")
    if lost:
        return 1
    tests: set[str | None] = set()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for bug, test in zip(
            bugs, pool.map(lambda one: failing(one, Path(folder)), bugs), strict=True
        ):
            sys.stdout.write(f"{bug.name:52} {test or 'NOTHING FAILS'}\n")
            sys.stdout.flush()
            tests.add(test)
        blind = _blind(tests, Path(folder))
    for one in sorted(blind):
        sys.stdout.write(f"{one} FAILS WITHOUT A BUG TOO\n")
    return int(None in tests or bool(blind))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
