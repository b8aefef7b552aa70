"""
What a start costs, in a new process each time: an import, a first hit, the command.

The processor time of a whole process above that of `python -c pass`, in alternating rounds. Memory is
the peak of the process by its own account (VmHWM), which Linux alone has: what is reported of a child
begins with the peak of its parent.

Goals: at most 10 ms for `import foldline`, 80 ms for a reducer and one hit on a list of dictionaries,
0.25 s for `foldline --help`.
"""

import json
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from foldline import HistoryReducer, HistoryReductionConfig


ROUNDS = 11
MOST = {
    "import_s": ("import foldline, seconds above a bare interpreter", 0.01),
    "hit_s": ("a reducer and one hit, seconds above a bare interpreter", 0.08),
    "help_s": ("foldline --help, seconds above a bare interpreter", 0.25),
}
HIT = """
import json, sys
from foldline import HistoryReducer, HistoryReductionConfig, HistoryReductionState
state = HistoryReductionState.from_json(open({state!r}, "rb").read())
items = json.load(open({file!r}))
config = HistoryReductionConfig(target_count=2, summarization_threshold=1)
assert HistoryReducer(config).reduce_sync(items, state=state).verdict.kind == "hit"
"""
PEAK = """
try:
    lines = open("/proc/self/status").read().splitlines()
except OSError:
    lines = []
print(next((line.split()[1] for line in lines if line.startswith("VmHWM")), 0), file=sys.stderr)
"""
COMMAND = "from foldline.apps.cli.main import main\nmain({arguments!r})\n"


def _scripts(folder: Path) -> dict[str, str]:
    items = [
        {"role": ("user", "assistant")[number % 2], "content": f"word {number}"}
        for number in range(40)
    ]
    config = HistoryReductionConfig(target_count=2, summarization_threshold=1)
    state = HistoryReducer(config).reduce_sync(items).state
    assert state is not None
    file, kept = folder / "said.json", folder / "state.json"
    file.write_text(json.dumps(items[:12]), encoding="utf-8")
    (folder / "all.json").write_text(json.dumps(items), encoding="utf-8")
    kept.write_bytes(state.to_json())
    return {
        "bare": "pass",
        "import": "import foldline",
        "hit": HIT.format(state=str(kept), file=str(folder / "all.json")),
        "help": COMMAND.format(arguments=["--help"]),
        "version": COMMAND.format(arguments=["--version"]),
        "reduce": COMMAND.format(arguments=["reduce", str(file), "--json"]),
        "msgspec": "import msgspec",
        "msgspec_asyncio": "import msgspec, asyncio",
    }


def _process(script: str, environment: Mapping[str, str], errors: Path) -> float:
    """Run *script* in a new process and return its processor seconds."""
    opened = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", script],
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(errors), opened, 0o600),
        ],
    )
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(errors.read_text(encoding="utf-8"))
    return used.ru_utime + used.ru_stime


def run() -> dict[str, Any]:
    """Measure the starts and, for orientation, the heaviest that they load, above a bare interpreter."""
    # Without byte code every import compiles, which is not what a user sees.
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    }
    with TemporaryDirectory() as made:
        folder = Path(made)
        errors, scripts = folder / "errors", _scripts(folder)
        seconds: dict[str, list[float]] = {name: [] for name in scripts}
        peaks: dict[str, float] = {}
        for name, script in scripts.items():
            _process(f"{script}\nimport sys{PEAK}", environment, errors)
            peaks[name] = int(errors.read_text(encoding="utf-8").splitlines()[-1]) / 1024
        for _ in range(ROUNDS):
            for name, script in scripts.items():
                seconds[name].append(_process(script, environment, errors))
    bare = statistics.median(seconds.pop("bare"))
    figures: dict[str, Any] = {"bare_s": bare, "bare_mb": peaks.pop("bare")}
    for name, times in seconds.items():
        figures[f"{name}_s"] = statistics.median(times) - bare
        figures[f"{name}_mb"] = peaks[name] - figures["bare_mb"]
    return figures


def goals(figures: Mapping[str, Any]) -> Sequence[tuple[str, float, float]]:
    """Return each goal: what, the figure, and the most it may be."""
    return [(what, figures[key], most) for key, (what, most) in MOST.items()]
