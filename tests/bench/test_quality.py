"""How the goals of what is kept are judged and written down."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import __main__ as program
from bench import quality
from bench.goals import Goal
from bench.quality_page import page
from foldline.replay.quality.accounting import Accounting
from foldline.replay.quality.figures import Share
from foldline.replay.quality.report import AGES, Cell, QualityReport
from foldline.replay.quality.ways import DIGEST, LEDGER, WAYS


def _compared(name: str, size: int) -> Goal:
    shares = {way: Share(((size // 2, size),)) for way in WAYS}
    shares |= {LEDGER: Share(((size, size),)), "none": Share(((0, size),))}
    return Goal(name=name, figure=50, least=95, n=size, shares=shares)


@pytest.mark.parametrize(
    ("least", "most", "is_met"),
    [(None, None, True), (2, None, True), (2.5, None, False), (None, 2, True), (None, 1.5, False)],
)
def test_a_goal_is_a_least_or_a_most(least: float | None, most: float | None, is_met: bool) -> None:
    """A figure of 2 is enough for 2 and no more than 2; without a goal nothing is asked."""
    goal = Goal(name="a figure", figure=2, least=least, most=most)

    assert goal.is_met is is_met
    assert goal.is_asked is (least is not None or most is not None)
    assert ("MISS" in str(goal)) is not is_met


def test_the_page_marks_what_is_lost() -> None:
    """A better way has a star, a small cell brackets, and a missed goal is said at the top."""
    goals = [_compared("many", 80), _compared("few", 8), Goal(name="lost", figure=0, most=0, n=5)]

    text = page({"airline": goals})

    assert "1 of 3 goals are met." in text
    assert "- many: 50.0, at least 95.0" in text
    assert "| many | 80 | **50.0** | 50.0-50.0 | 100.0* | 50.0 |" in text
    assert "| few | (8) | (**50.0**) | (50.0-50.0) | (100.0*) |" in text
    assert "| lost | 0.0 | 5 | at most 0.0 | met |" in text
    assert "upper bound" in text


@pytest.mark.parametrize(("figure", "code"), [(94.9, 1), (95.0, 0)])
def test_a_missed_goal_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    figure: float,
    code: int,
) -> None:
    """The command prints the figure, writes the page and ends with 1 if a goal is missed."""

    def part(data: Path) -> Iterator[Goal]:
        yield Goal(name=f"of {data.name}", figure=figure, least=95)

    monkeypatch.setitem(quality.PARTS, "pi", part)
    written = tmp_path / "page.md"

    ended = program.main(
        ["quality", "--data", "recordings", "--only", "pi", "--write", str(written)]
    )

    assert ended == code
    assert "of recordings" in capsys.readouterr().out
    assert f"{1 - code} of 1 goals are met" in written.read_text()


@pytest.mark.parametrize(
    ("ours", "theirs", "is_above"),
    [(60, 60, False), (61, 60, True), (80, 80, True), (59, 60, False)],
)
def test_above_a_ledger_is_one_value_more(ours: int, theirs: int, is_above: bool) -> None:
    """As many values as the ledger are not more, unless it has all 80; a cell of it is then lost."""
    cells = tuple(
        Cell(
            name=name,
            shares={way: Share(((0, size),)) for way in WAYS}
            | {
                DIGEST: Share(((min(ours, size), size),)),
                LEDGER: Share(((min(theirs, size), size),)),
            },
        )
        for name, size in zip(AGES, (0, 80, 80, 8, 0), strict=True)
    )
    report = QualityReport(
        sessions=1,
        calls=1,
        folds=1,
        cells=cells,
        kept={"recalled": Share(()), "provenance": Share(())},
        accounting=Accounting(),
        invented=(),
    )

    goals = {one.name: one for one in quality.judged("cell", report)}

    assert goals["cell: points above a plain ledger"].is_met is is_above
    below = goals["cell: ages of 40 values and more below a plain ledger"]
    assert below.figure == 2 * (ours < theirs)
    lax = {one.name: one for one in quality.judged("cell", report, compare=False)}
    assert not lax["cell: points above a plain ledger"].is_asked


def test_the_figures_of_shared_recordings(shared_data: Path) -> None:
    """The coding session has 19 edited files and 26 commits at 90 %, as counted by hand."""
    goals = {one.name: one for one in quality.artefacts(shared_data)}

    assert goals["pi at 90 %: edited files named"].n == 19
    assert goals["pi at 90 %: commits named"].n == 26
