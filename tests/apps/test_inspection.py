"""`foldline inspect` and `threads summary`, and the summaries on the page of a replay."""

import json
from pathlib import Path
from typing import Any

from foldline.agent.reducer import HistoryReducer
from foldline.reduction.config import HistoryReductionConfig
from tests.apps.conftest import Run


_SMALL = ("--unit", "messages", "--target", "6", "--threshold", "4")


def test_each_line_stands_beside_its_messages(run: Run, chat: Path) -> None:
    """The last summary of a session is shown, with the numbers of messages, and what it lost."""
    outcome = run("inspect", chat, *_SMALL)

    assert outcome.code == 0
    assert "The summary of messages 0 to " in outcome.out
    assert "Where is parcel 0?" in outcome.out
    first, *_ = [line for line in outcome.out.splitlines() if "Where is parcel 0?" in line]
    assert first.startswith("0 =")
    assert "User messages: " in outcome.out
    assert "Identifiers: " in outcome.out


def test_the_document_has_lines_and_losses(run: Run, chat: Path) -> None:
    """As JSON there is each line with its messages, and all that is lost."""
    document = run("inspect", chat, *_SMALL, "--json").json()

    assert list(document) == ["covered", "lines", "identifiers", "known", "requests", "rules"]
    assert any(line["messages"] == [0] and line["is_verbatim"] for line in document["lines"])
    assert all(
        number < document["covered"] for line in document["lines"] for number in line["messages"]
    )
    assert document["requests"][0]["text"].startswith("Where is parcel 0?")


def test_a_snapshot_of_a_thread_is_a_conversation(run: Run, chat: Path, tmp_path: Path) -> None:
    """What `threads export` writes by default is read as the log that the thread was made of."""
    store = ("--store", tmp_path / "s.db")
    run("threads", "import", chat, *store, "--id", "parcels")
    run("threads", "export", "parcels", *store, "--output", tmp_path / "saved.json")

    said = run("inspect", tmp_path / "saved.json", *_SMALL, "--json")

    assert said.json() == run("inspect", chat, *_SMALL, "--json").json()
    listed = run("formats", tmp_path / "saved.json", "--json").json()["sessions"]
    assert (listed[0]["id"], listed[0]["format"]) == ("parcels", "snapshot")


def test_the_summary_of_a_thread_is_shown(run: Run, chat: Path, tmp_path: Path) -> None:
    """`threads summary` prints the newest one, or an older one if it is asked for."""
    store = ("--store", tmp_path / "s.db")
    run("threads", "import", chat, *store, "--id", "t")
    refused = run("threads", "summary", "t", *store)
    run("threads", "fold", "t", *store, "--keep", "20")
    run("threads", "fold", "t", *store, "--keep", "9")

    shown = run("threads", "summary", "t", *store)
    newest, older = (
        run("threads", "summary", "t", *store, "--json", *back) for back in ((), ("--back", "1"))
    )

    assert refused.code == 2
    assert "thread 't' has no summary yet" in refused.err
    assert "The summary of messages 0 to " in shown.out
    assert any(line.startswith("0 =") for line in shown.out.splitlines())
    assert newest.json()["covered"] > older.json()["covered"] > 0


def test_a_fold_can_be_chosen(run: Run, chat: Path) -> None:
    """The first fold covers fewer messages than the last."""
    first, last = (
        run("inspect", chat, *_SMALL, *which, "--json").json()["covered"]
        for which in (("--fold", "1"), ())
    )

    assert 0 < first < last


def test_a_stored_reduction_can_be_shown(run: Run, chat: Path, tmp_path: Path) -> None:
    """What `reduce --state` wrote is shown; another conversation's is refused."""
    state, other = tmp_path / "state.json", tmp_path / "other.json"
    run("reduce", chat, *_SMALL, "--state", state)
    other.write_text(chat.read_text().replace("parcel", "letter"), encoding="utf-8")

    shown = run("inspect", chat, "--state", state)
    refused = run("inspect", other, "--state", state)
    both = run("inspect", chat, "--state", state, "--fold", "1")

    assert shown.code == 0
    assert "Where is parcel 0?" in shown.out
    assert (refused.code, both.code) == (2, 2)
    assert "is not a reduction of" in refused.err
    assert "--fold has no effect with --state" in both.err


def test_the_reduction_of_a_list_is_shown_for_its_file(run: Run, tmp_path: Path) -> None:
    """The error for a list in whose answers text and calls are apart says how it can be read."""
    items: list[Any] = []
    for at in range(20):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        items += [
            {"role": "user", "content": f"Where is parcel {at}? " + "It is late. " * 40},
            {"role": "assistant", "content": "I look."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": "in Rome"},
        ]
    state = HistoryReducer(HistoryReductionConfig(target_count=4)).reduce_sync(items).state
    assert state is not None
    chat, stored = tmp_path / "chat.json", tmp_path / "state.json"
    chat.write_text(json.dumps(items), encoding="utf-8")
    stored.write_bytes(state.to_json())

    refused = run("inspect", chat, "--state", stored)
    shown = run("inspect", chat, "--state", stored, "--format", "openai-chat")

    assert "try --format openai-chat" in refused.err
    assert "Where is parcel 0?" in shown.out


def test_what_is_never_folded_names_an_option_that_may(run: Run, chat: Path) -> None:
    """It says that everything fits, and which option lets less of it fit."""
    fits = " ".join(run("inspect", chat, "--token-target", "9000").err.split())

    assert "tokens fit: give a low --ceiling, such as 4000" in fits


def test_the_page_of_a_replay_shows_text(run: Run, chat: Path, tmp_path: Path) -> None:
    """Only with `--text` the page has text of the conversation."""
    page = tmp_path / "page.html"

    run("replay", chat, *_SMALL, "--no-check", "--html", page)
    without = page.read_text(encoding="utf-8")
    outcome = run("replay", chat, *_SMALL, "--no-check", "--html", page, "--text")
    shown = page.read_text(encoding="utf-8")

    assert outcome.code == 0
    assert "parcel" not in without
    assert "What the model was told" in shown
    assert "Where is parcel 0?" in shown
