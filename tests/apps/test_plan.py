"""
`foldline plan`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any


Run = Callable[..., Any]

SMALL = ("--unit", "messages", "--target", "6", "--threshold", "4")


def test_a_plan_tells_the_verdict_and_the_cut(run: Run, chat: Path) -> None:
    """
    The figures are those that `reduce` will act on.
    """
    plan = run("plan", chat, *SMALL, "--json").json()

    assert (plan["verdict"], plan["reason"]) == ("fold", "Count above target and threshold")
    assert (plan["units"], plan["cut"], plan["messages"]) == (120, 112, 120)
    assert (plan["target"], plan["threshold"]) == (6, 4)
    assert 0 < plan["tokens_to_fold"] < plan["history_tokens"]


def test_a_plan_for_people_names_every_figure(run: Run, chat: Path) -> None:
    """
    Without `--json` the same figures are listed, one a line.
    """
    outcome = run("plan", chat, *SMALL)

    assert (outcome.code, outcome.err) == (0, "")
    assert "Count above target and threshold" in outcome.out
    assert len(outcome.out.splitlines()) == len(run("plan", chat, "--json").json())


def test_a_plan_changes_nothing(run: Run, chat: Path, tmp_path: Path) -> None:
    """
    A plan with a state that does not exist yet writes none.
    """
    run("plan", chat, *SMALL, "--state", "state.json")

    assert [path.name for path in tmp_path.iterdir()] == ["chat.json"]


def test_a_plan_knows_the_state(run: Run, chat: Path) -> None:
    """
    Behind a reduction that fits there is little, so the verdict is a hit and nothing is to fold.
    """
    run("reduce", chat, *SMALL, "--state", "state.json")

    plan = run("plan", chat, *SMALL, "--state", "state.json", "--json").json()

    assert (plan["verdict"], plan["cut"], plan["units"]) == ("hit", 112, 8)
    assert plan["tokens_to_fold"] == 0
    assert plan["view_tokens_before"] < plan["history_tokens"]
