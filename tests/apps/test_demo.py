"""`foldline demo`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foldline.apps.cli.demo import DEMO_CONFIGS, recorded_session
from foldline.history.messages import Message


Run = Callable[..., Any]


def test_the_session_is_a_real_one() -> None:
    """The packaged session is long, has several exchanges and parallel calls."""
    messages = recorded_session().messages
    users = [message for message in messages if message.role == "user"]

    assert len(messages) >= 150
    assert len(users) >= 5
    assert any(len(message.tool_calls) > 1 for message in messages)
    assert all(isinstance(message, Message) for message in messages)


def test_the_demonstration_shows_what_is_saved(run: Run) -> None:
    """Without key or file it shows the table, a picture, a view and what to do next."""
    outcome = run("demo")

    assert (outcome.code, outcome.err) == (0, "")
    for name in ("no reduction", "no memory", *DEMO_CONFIGS):
        assert sum(line.startswith(name) for line in outcome.out.splitlines()) == 2
    for part in ("with and without foldline", "history", "The last view", "foldline replay FILE"):
        assert part in outcome.out


def test_the_demonstration_saves_calls_and_tokens(run: Run) -> None:
    """
    Every configuration asks far less of a summarizer than one without memory, and folds for real.
    """
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


def test_the_demonstration_makes_a_page(run: Run, tmp_path: Path) -> None:
    """With `--html` there is a page beside it."""
    outcome = run("demo", "--html", "demo.html")

    assert outcome.code == 0
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2 + len(DEMO_CONFIGS)
