"""The last line that a program reads where a chat fails."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.apps.chat_recordings import break_off, recording
from tests.apps.test_chat_models import vendor_says
from tests.servers.vendor import Answer


Run = Callable[..., Any]


def last_line(outcome: Any) -> dict[str, Any]:
    """Return the last object that was printed."""
    found: dict[str, Any] = json.loads(outcome.out.splitlines()[-1])
    return found


def test_what_cannot_be_used_is_an_object(run: Run) -> None:
    """Where nothing can begin, the error is the one object that is printed."""
    outcome = run("chat", "--model", "gpt", "--message", "x", "--json", "--thread", "mine")

    line = last_line(outcome)
    message = line.pop("message")
    assert (outcome.code, outcome.out.count("\n")) == (2, 1)
    assert line == {"type": "error", "code": "usage", "thread_id": "mine", "resumable": False}
    assert outcome.err == f"foldline: error: {message}\n"


def test_a_refusal_is_an_object(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refusal of the vendor can be resumed, and the error after the events says so."""
    refusal = Answer.of({"error": {"message": "no", "code": "invalid_api_key"}}, status=401)

    outcome, _ = vendor_says(run, monkeypatch, refusal, "--json")

    line = last_line(outcome)
    assert outcome.code == 1
    assert (line["type"], line["code"], line["resumable"]) == ("error", "model", True)
    assert "status 401" in line["message"]
    assert json.loads(outcome.out.splitlines()[0])["type"] == "turn_started"


def test_a_reworded_error_keeps_its_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reworded error keeps its code."""
    error = {"message": "too long", "code": "context_length_exceeded"}

    outcome, _ = vendor_says(run, monkeypatch, Answer.of({"error": error}, status=400), "--json")

    assert last_line(outcome)["code"] == "context_overflow"


def test_the_end_of_a_recording_is_an_object(run: Run, tmp_path: Path) -> None:
    """A message after the end of a recording fails, and leaves nothing to resume."""
    model = f"scripted:{recording(tmp_path / 'short.json', 'One.')}"
    run("chat", "--model", model, "--message", "one")

    outcome = run("chat", "--model", model, "--message", "more", "--json")

    line = last_line(outcome)
    assert outcome.code == 1
    assert (line["type"], line["code"], line["resumable"]) == ("error", "model", False)


def test_without_json_there_is_no_object(run: Run, chat: Path) -> None:
    """A person sees an error once, on the standard error."""
    break_off(chat.parent)

    outcome = run("chat", "--model", "scripted:none.json", "--message", "x")

    assert (outcome.out, outcome.err.count("\n")) == ("", 1)
