"""What the benchmarks end with."""

from collections.abc import Callable
from typing import Any

import pytest

from bench import __main__ as program
from bench import measure, plain_lists


def _figures(ratio: float) -> dict[str, Any]:
    lists = {f"{name}_times": [1.0] for name in plain_lists.KINDS}
    return {"history_exponent": 0.01, "times_floor": [1.0, ratio], **lists}


def _runs(*ratios: float) -> Callable[[], dict[str, Any]]:
    left = iter(ratios)
    return lambda: _figures(next(left))


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


def test_a_goal_without_its_peer_is_not_met(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What could not be compared is said in a row of its own, and the exit code is 2."""
    figures = {
        "foldline_errors": 0,
        "foldline_files": 1,
        "foldline_threads": 1,
        "foldline_peak_mb": 1.0,
    }
    monkeypatch.setattr(measure, "pin", lambda: None)
    monkeypatch.setitem(program.RUNS, "conversations", lambda: figures)

    assert program.main(["conversations"]) == 2
    assert capsys.readouterr().out.count("NOT MEASURED") == 1
    assert program.main(["conversations", "--json"]) == 2
    assert '"figure": null' in capsys.readouterr().out


def test_help_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` has one line for each benchmark, and an unknown name is refused."""
    with pytest.raises(SystemExit, match="0"):
        program.main(["--help"])
    shown = capsys.readouterr().out.splitlines()
    assert all(sum(line.startswith(f"  {name} ") for line in shown) == 1 for name in program.RUNS)

    with pytest.raises(SystemExit, match="2"):
        program.main(["nothing"])
