"""What the benchmarks end with."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as program
from bench import measure, plain_lists
from bench.peers import child


def _figures(ratio: float, peer: float | None) -> dict[str, Any]:
    lists: dict[str, Any] = {f"{name}_times": [1.0] for name in plain_lists.KINDS}
    peers = {f"{name}_times_peer": [0.1, peer] for name in plain_lists.KINDS}
    return {"history_exponent": 0.01, "times_floor": [1.0, ratio], **lists, **peers}


def _runs(*ratios: float, peer: float | None = 0.1) -> Callable[[], dict[str, Any]]:
    left = iter(ratios)
    return lambda: _figures(next(left), peer)


@pytest.mark.parametrize(("ratios", "code"), [((9.0, 2.0, 3.0), 0), ((9.0, 8.0, 3.0), 1)])
def test_the_median_of_three_runs_decides(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ratios: tuple[float, ...],
    code: int,
) -> None:
    """One bad run of a ratio misses no goal, two do, and a missed goal is the exit code."""
    monkeypatch.setattr(measure, "pin", lambda: None)
    monkeypatch.setitem(program.RUNS, "prepare", _runs(*ratios))

    ended = program.main(["prepare"])

    assert ended == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)


def test_a_missing_peer_is_a_row_that_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What could not be compared is named, and the exit code is 2."""
    monkeypatch.setattr(measure, "pin", lambda: None)
    monkeypatch.setitem(program.RUNS, "prepare", _runs(*[1.0] * 6, peer=None))

    ended, shown = program.main(["prepare"]), capsys.readouterr().out
    again, document = program.main(["prepare", "--json"]), capsys.readouterr().out

    assert (ended, again) == (2, 2)
    assert '"figure": null' in document
    assert shown.count("NOT MEASURED a cached turn, plain list") == len(plain_lists.PEER_KINDS)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_peer_that_does_not_run_is_left_out(
    monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """An environment without the package, or none at all, has no contestant and no traceback."""
    python = Path(sys.executable) if is_there else child.ROOT / "nowhere"
    monkeypatch.setattr(child, "PYTHON", python)

    assert child.peers({"none": "bench.peers.no_such_peer"}) == {}


def test_help_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` has one line for each benchmark, and an unknown name is refused."""
    with pytest.raises(SystemExit, match="0"):
        program.main(["--help"])
    shown = capsys.readouterr().out.splitlines()
    assert all(sum(line.startswith(f"  {name} ") for line in shown) == 1 for name in program.RUNS)

    with pytest.raises(SystemExit, match="2"):
        program.main(["nothing"])


def test_the_page_has_every_goal_and_marks_what_is_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A missed goal is bold, a figure that could not be measured says so, and sizes are columns."""
    figures = {"sizes": [10, 1_000], **_figures(9.0, None)}
    monkeypatch.setattr(measure, "pin", lambda: None)
    monkeypatch.setitem(program.RUNS, "prepare", lambda: figures)
    written = tmp_path / "speed.md"

    ended = program.main(["prepare", "--data", str(tmp_path), "--write", str(written)])
    page = written.read_text()

    assert ended == 1
    assert "| a cached turn, times the floor (worst size) | **9** | 4 |" in page
    assert "| all figures | 10 | 1,000 |" in page
    assert "| times floor | 1 | 9 |" in page
    assert page.count("not measured") == len(plain_lists.PEER_KINDS)


def test_a_recording_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """`replay` and the page say in one line that they need the recordings."""
    for arguments in (["replay"], ["--write", "speed.md"]):
        with pytest.raises(SystemExit):
            program.main(arguments)

        assert "replay needs --data DIR" in capsys.readouterr().err
