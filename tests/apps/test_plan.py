"""`foldline plan`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


Run = Callable[..., Any]

SMALL = ("--unit", "messages", "--target", "6", "--threshold", "4")


def test_a_plan_tells_the_verdict_and_the_cut(run: Run, chat: Path) -> None:
    """The figures are those that `reduce` will act on."""
    plan = run("plan", chat, *SMALL, "--json").json()

    assert (plan["verdict"], plan["reason"]) == ("fold", "Count above target and threshold")
    assert (plan["units"], plan["cut"], plan["messages"]) == (120, 112, 120)
    assert (plan["target"], plan["threshold"]) == (6, 4)
    assert 0 < plan["tokens_to_fold"] < plan["history_tokens"]


def test_a_plan_for_people_names_every_figure(run: Run, chat: Path) -> None:
    """Without `--json` the same figures are listed, one a line."""
    outcome = run("plan", chat, *SMALL)

    assert (outcome.code, outcome.err) == (0, "")
    assert "Count above target and threshold" in outcome.out
    assert len(outcome.out.splitlines()) == len(run("plan", chat, "--json").json()) - 1
    assert "120 messages + 1 system" in outcome.out


def test_a_plan_changes_nothing(run: Run, chat: Path, tmp_path: Path) -> None:
    """A plan with a state that does not exist yet writes none."""
    run("plan", chat, *SMALL, "--state", "state.json")

    assert [path.name for path in tmp_path.iterdir()] == ["chat.json"]


def test_a_plan_knows_the_state(run: Run, chat: Path) -> None:
    """After a reduction that fits there is little, so the verdict is a hit."""
    run("reduce", chat, *SMALL, "--state", "state.json")

    plan = run("plan", chat, *SMALL, "--state", "state.json", "--json").json()

    assert (plan["verdict"], plan["cut"], plan["units"]) == ("hit", 112, 8)
    assert plan["tokens_to_fold"] == 0
    assert plan["view_tokens_before"] < plan["history_tokens"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("off.toml", "enabled = false\ntarget_count = 2\n"),
        ("off.json", '{"HistoryReduction": {"Enabled": false, "TargetCount": 2}}'),
    ],
)
def test_a_disabled_configuration_is_obeyed(
    run: Run, chat: Path, tmp_path: Path, name: str, text: str
) -> None:
    """What is switched off in a file skips, whatever the options and the history."""
    (tmp_path / name).write_text(text, encoding="utf-8")

    outcome = run("plan", chat, "--config", name, *SMALL, "--json")

    assert (outcome.json()["verdict"], outcome.json()["cut"]) == ("skip", 0)
    assert outcome.err == f"note: {name} disables reduction: the full history is sent\n"


def test_a_configuration_is_enabled_unless_it_says_otherwise(
    run: Run, chat: Path, tmp_path: Path
) -> None:
    """Only the section of a file counts, and what it does not say is yes."""
    text = '{"Logging": {"Enabled": true}, "HistoryReduction": {"TargetCount": 2}}'
    (tmp_path / "on.json").write_text(text, encoding="utf-8")

    outcome = run("plan", chat, "--config", "on.json", "--json")

    assert (outcome.json()["verdict"], outcome.err) == ("fold", "")


def test_a_plan_tells_which_strategy_is_in_force(run: Run, chat: Path, tmp_path: Path) -> None:
    """Without a file it is summarizing; a file that names none has the library's default."""
    (tmp_path / "file.toml").write_text("target_count = 3\n", encoding="utf-8")

    assert "summarizing" in run("plan", chat).out
    assert "message-counting" in run("plan", chat, "--config", "file.toml").out


def test_notes_are_few_and_on_one_line_each(run: Run, tmp_path: Path) -> None:
    """Of many notes the first five are shown, and how many there are more."""
    said = {"sessionId": "s", "uuid": "u", "parentUuid": None}
    lines = [{"type": "user", **said, "message": {"role": "user", "content": "hello"}}]
    lines += [{"type": "user", **said, "message": {"role": "user"}} for _ in range(8)]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    outcome = run("plan", "odd.jsonl", "--json")

    assert outcome.code == 0
    notes = outcome.err.splitlines()
    assert len(notes) == 6
    assert notes[0].startswith("note: s: line 2 ")
    assert notes[-1] == "note: and 3 more; `foldline formats FILE` lists them"
