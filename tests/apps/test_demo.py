"""`foldline demo`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldline.apps.cli.replay import DEMO_CONFIGS, recorded_session
from foldline.replay.comparison import compare
from foldline.replay.tape import Tape


Run = Callable[..., Any]


def test_the_demonstration_shows_what_is_saved(run: Run, tmp_path: Path) -> None:
    """
    Without a key or a file it shows a table and a view, and with `--html` writes a page.
    """
    outcome = run("demo", "--html", "demo.html")

    assert (outcome.code, outcome.err) == (0, "")
    for name in ("no reduction", "no memory", *DEMO_CONFIGS):
        assert sum(line.startswith(name) for line in outcome.out.splitlines()) == 2
    for part in ("with and without foldline", "The last view", "foldline replay FILE"):
        assert part in outcome.out
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2 + len(DEMO_CONFIGS)


def test_the_demonstration_saves_calls_and_tokens() -> None:
    """The rolling summary reads far less than one without memory, and each message once."""
    name = "foldline rolling"
    reports = compare(Tape(recorded_session()), {name: DEMO_CONFIGS[name]}).reports
    totals = {report.name: report.totals for report in reports}

    assert totals[name].folds > 1
    assert totals[name].invalid_requests == 0
    assert totals[name].prefix_breaks == totals[name].folds
    assert totals[name].summarizer_tokens < totals["no memory"].summarizer_tokens / 3
    assert totals[name].sent_tokens < totals["no reduction"].sent_tokens
    assert totals[name].most_reads == 1
