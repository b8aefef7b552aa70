"""`foldline quality`."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from foldline.replay.quality.report import AGES, KEPT
from foldline.replay.quality.ways import WAYS
from tests.apps.conftest import Run


_SMALL = ("--unit", "messages", "--target", "4", "--threshold", "4")


@pytest.fixture
def booking(tmp_path: Path) -> Path:
    """Return a recording whose last call needs what was said first."""
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Change my booking, please."},
        {"role": "assistant", "content": "It is HAT170, I see."},
        {"role": "user", "content": "Yes, and I have some questions."},
    ]
    for number in range(12):
        said += [
            {"role": "assistant", "content": f"The river {number} runs past the garden. " * 20},
            {"role": "user", "content": f"And river {number + 1}, where does it run? " * 3},
        ]
    function = {"name": "change", "arguments": '{"booking": "HAT170"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    said.append({"role": "assistant", "content": None, "tool_calls": [call]})
    path = tmp_path / "booking.json"
    path.write_text(json.dumps({"model": "any", "messages": said}), encoding="utf-8")
    return path


def test_the_table_has_every_way(run: Run, booking: Path) -> None:
    """One old value is needed, foldline's view has it, and the figure is called an upper bound."""
    outcome = run("quality", booking, *_SMALL)

    assert outcome.code == 0
    assert "1 session, 14 model calls" in outcome.out
    assert all(way in outcome.out for way in WAYS)
    (old,) = [line.split() for line in outcome.out.splitlines() if line.startswith("old values")]
    assert old[2:5] == ["1", "100.0", "100.0-100.0"]
    assert "upper bound" in outcome.out
    assert "not covered: 0; covered twice: 0" in outcome.out


def test_the_document_has_all_figures(run: Run, booking: Path) -> None:
    """As JSON every share has its number and interval; nothing needed has no share."""
    document = run("quality", booking, *_SMALL, "--json").json()

    assert set(document["needed"]) == set(AGES)
    assert set(document["needed"]["old values"]) == set(WAYS)
    assert set(document["kept"]) == set(KEPT)
    old = {"kept": 1, "n": 1, "share": 1.0, "interval": [1.0, 1.0]}
    assert document["needed"]["old values"]["foldline"] == old
    assert document["needed"]["older"]["foldline"]["share"] is None
    sums = document["accounting"]
    assert sums["dropped"] == sums["accounted"] > 0
    assert document["invented"] == []


def test_a_losing_cell_is_marked(run: Run, booking: Path) -> None:
    """Where another way keeps more its figure has a star, and the star is explained."""
    out = run("quality", booking, *_SMALL, "--summary-budget", "1").out

    assert "0.0" in out
    assert "100.0*" in out
    assert "* keeps more than foldline's view does" in out


def test_without_a_fold_it_says_so(run: Run, booking: Path) -> None:
    """With the defaults the short session is never folded."""
    assert "Nothing was folded" in run("quality", booking).out


def test_a_configuration_can_be_given(run: Run, booking: Path, tmp_path: Path) -> None:
    """A file says how to reduce, and options win over it; a model that it names is not asked."""
    path = tmp_path / "how.toml"
    how = 'counting_unit = "messages"\ntarget_count = 4\nsummarization_threshold = 4\n'
    path.write_text(how)
    named = tmp_path / "named.toml"
    named.write_text(
        f'{how}[summarizer_provider]\nprovider_key = "openai"\nmodel_name = "gpt-5-nano"\n'
    )

    by_file = run("quality", booking, "--config", path, "--json").json()

    assert by_file["folds"] == run("quality", booking, *_SMALL, "--json").json()["folds"] > 0
    assert by_file == run("quality", booking, "--config", named, "--json").json()
    assert run("inspect", booking, "--config", named).code == 0
    never = run("quality", booking, "--config", path, "--threshold", "90", "--json").json()
    assert never["folds"] == 0


@pytest.mark.parametrize("model", ["--prices", "--model"])
def test_what_replay_folds_by_prices_is_judged(
    run: Run, booking: Path, tmp_path: Path, model: str
) -> None:
    """With a recommended configuration and prices the folds are those of a replay; inspect has them too."""
    path = tmp_path / "given.toml"
    path.write_text('trigger = "balance"\ntarget_token_budget = 300\n', encoding="utf-8")
    body = json.loads(booking.read_bytes())
    booking.write_text(json.dumps({**body, "messages": body["messages"] * 12}))
    how = (booking, "--config", path, model, "openai:gpt-5")
    played = run("replay", *how, "--json").json()["sessions"][0]["replays"]
    folds = next(one["totals"]["folds"] for one in played if one["name"] == "given")

    judged = run("quality", *how, "--json")
    assert (judged.json()["folds"], judged.err) == (folds, "")
    assert f" has {folds} folds with a summary" in run("inspect", *how, "--fold", "99").err
    assert folds > 1


@pytest.mark.parametrize("command", ["quality", "advise --prices input=3,output=15"])
def test_unknown_files_are_noted(run: Run, booking: Path, tmp_path: Path, command: str) -> None:
    """A folder, or a file in no known format, is left out; if nothing is left, that is an error."""
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")
    (tmp_path / "folder").mkdir()

    some, none = (
        run(*command.split(), *files, "other.json", "folder")
        for files in ((booking,), ("other.json",))
    )

    assert some.code == 0
    assert "1 session, 14 model calls" in some.out
    assert "note: other.json" in some.err
    assert "note: cannot read folder: Is a directory" in some.err
    assert none.code == 2
    assert "the files hold no model call" in none.err


def test_notes_stand_in_lines_of_their_own(
    run: Run, booking: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal what cannot be read is noted once the bar is gone."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")

    before, note, _ = run("quality", booking, "other.json").err.partition("note: other.json")

    assert "reading" in before
    assert note
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", before).endswith("\r")


def test_without_needed_values_there_is_no_table(run: Run, tmp_path: Path) -> None:
    """A talk without tools has no row, and a line says so."""
    said = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Yes?"}]
    (tmp_path / "talk.json").write_text(json.dumps(said), encoding="utf-8")

    out = run("quality", "talk.json").out

    assert "No call needs a value that was said before." in out
    assert "recency" not in out
