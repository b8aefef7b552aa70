"""Large logs, folded while they are read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.apps.cli.streaming import LARGE, FileLines, Folded, folded
from foldline.history.history import History
from foldline.logs.sessions import read_sessions
from foldline.logs.stream import stream_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_of
from tests.apps.conftest import Run


_CONFIG = HistoryReductionConfig(
    counting_unit="messages", target_count=6, summarization_threshold=6
)
_PORTION = 4_000
_REPORT = """
import re, sys
from foldline.apps.cli.main import main
code = main(sys.argv[1:])
peak = re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]
print(peak, file=sys.stderr)
sys.exit(code)
"""


def _line(number: int, size: int = 200) -> str:
    words = f"parcel {number} is somewhere " * (size // 20)
    kinds = (
        {"role": "user", "content": f"Where is parcel PX-{number}?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": f"call-{number}",
                    "type": "function",
                    "function": {"name": "find", "arguments": "{}"},
                }
            ],
        },
        {"role": "tool", "tool_call_id": f"call-{number - 1}", "content": words},
        {"role": "assistant", "content": words},
    )
    return json.dumps(kinds[number % 4])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log of 400 messages, each in a line."""
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(_line, range(400))), encoding="utf-8")
    return path


def _folded(log: Path, given: HistoryReductionState | None = None) -> Folded | None:
    lines = FileLines(log, lambda _done, _total: None)
    stream = stream_of(lines)
    assert stream is not None
    reducer = HistoryReducer(_CONFIG)
    return folded(stream, lines, reducer, given, name="log", portion=_PORTION)


def test_what_was_folded_away_is_not_in_memory(log: Path) -> None:
    """The history is the whole one by its counts and digest, and begins after the last cut."""
    (session,) = read_sessions(log.read_bytes())
    whole = History(session.messages)

    found = _folded(log)

    assert found is not None
    assert found.state is not None
    assert found.folds > 5
    assert (len(found.history), found.history.digest()) == (len(whole), whole.digest())
    assert found.history.start == found.state.summarized_up_to_index > 370
    assert found.state.validate_integrity(whole)
    assert found.session.format == session.format
    assert view_of(found.history, found.state) == view_of(whole, found.state)


def test_a_reduction_that_was_kept_is_used(log: Path, tmp_path: Path) -> None:
    """Up to the cut of the last call nothing is folded again, and nothing else is kept."""
    first = _folded(log)
    assert first is not None
    assert first.state is not None

    again = _folded(log, first.state)

    assert again is not None
    assert (again.folds, again.state) == (0, first.state)
    assert again.history.start > 300
    log.write_text(log.read_text() + "\n" + "\n".join(map(_line, range(400, 500))))
    longer = _folded(log, first.state)
    assert longer is not None
    assert 0 < longer.folds < 8
    assert longer.state is not None
    assert longer.state.number > first.state.number


@pytest.mark.parametrize("edit", ["changed", "shorter"])
def test_a_reduction_of_another_log_is_none_of_this(log: Path, edit: str) -> None:
    """If its messages are others it is not used, so that the log has to be read once more."""
    first = _folded(log)
    assert first is not None
    text = log.read_text()
    log.write_text(text.replace("PX-4?", "PX-5?") if edit == "changed" else text[: len(text) // 2])

    assert _folded(log, first.state) is None
    assert _folded(log) is not None


def test_progress_is_told(tmp_path: Path) -> None:
    """A megabyte at a time, the reader says how far it is; of what was read twice it says so too."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"x" * 99_999 + b"\n")
    path.write_bytes(path.read_bytes() * 30)
    told: list[tuple[int, int]] = []
    lines = FileLines(path, lambda done, total: told.append((done, total)))

    for _ in range(2):
        assert sum(map(len, lines)) == 3_000_000

    assert [done for done, _ in told] == [1_100_000, 2_200_000, 4_100_000, 5_200_000]
    assert {total for _, total in told} == {6_000_000}


@pytest.mark.slow
@pytest.mark.posix
def test_a_large_log_takes_little_memory(tmp_path: Path, run: Run) -> None:
    """The peak of a fresh process is far below ten times the log, and only the result is printed."""
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        written = number = 0
        while written < 2 * LARGE:
            written += file.write(_line(number, 3_000) + "\n")
            number += 1
    state = tmp_path / "state.json"

    done = subprocess.run(
        [sys.executable, "-c", _REPORT, "reduce", path, "--json", "--state", state],
        capture_output=True,
        check=True,
    )

    peak = int(done.stderr.split()[-1])
    assert peak < 220_000
    assert json.loads(done.stdout)[-1] == json.loads(_line(number - 1, 3_000))
    assert b"while it was read" in done.stderr
    assert "hit" in run("reduce", path, "--state", state, "--json").err
