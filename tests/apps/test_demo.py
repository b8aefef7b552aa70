"""`foldline demo`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldline.apps.cli.demo import DEMO_CONFIGS


Run = Callable[..., Any]


def test_the_demonstration_shows_what_is_saved(run: Run, tmp_path: Path) -> None:
    """
    Without a key or a file it shows a table, a picture and a view, and with `--html` writes a page.
    """
    outcome = run("demo", "--html", "demo.html")

    assert (outcome.code, outcome.err) == (0, "")
    for name in ("no reduction", "no memory", *DEMO_CONFIGS):
        assert sum(line.startswith(name) for line in outcome.out.splitlines()) == 2
    for part in ("with and without foldline", "history", "The last view", "foldline replay FILE"):
        assert part in outcome.out
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2 + len(DEMO_CONFIGS)


def test_the_demonstration_saves_calls_and_tokens(run: Run) -> None:
    """Every configuration reads far less than one without memory, and really folds."""
    (played,) = run("demo", "--json").json()["sessions"]

    totals = {replay["name"]: replay["totals"] for replay in played["replays"]}
    forgetful = totals["no memory"]
    for name in DEMO_CONFIGS:
        assert totals[name]["folds"] > 1
        assert totals[name]["invalid_requests"] == 0
        assert totals[name]["prefix_breaks"] == totals[name]["folds"]
        assert totals[name]["summarizer_tokens"] < forgetful["summarizer_tokens"] / 3
        assert totals[name]["sent_tokens"] < totals["no reduction"]["sent_tokens"]
    assert totals["foldline rolling"]["most_reads"] == 1
