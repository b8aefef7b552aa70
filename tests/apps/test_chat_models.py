"""Who answers in a chat, and how a program learns that a chat failed."""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.apps.conftest import Run
from tests.servers.vendor import Answer, VendorServer


def test_a_missing_package_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of a vendor the line says how to install them."""
    monkeypatch.setitem(sys.modules, "openai", None)

    outcome = run("chat", "--model", "openai:gpt-5-mini", "--message", "x")

    assert outcome.code == 2
    assert outcome.err.endswith("is not installed: pip install 'foldline[openai]'\n")


USAGE = {
    "prompt_tokens": 200,
    "completion_tokens": 3,
    "total_tokens": 203,
    "prompt_tokens_details": {"cached_tokens": 150},
}
STREAM = [
    {"id": "c", "model": "m", "choices": [{"delta": {"role": "assistant", "content": "Good "}}]},
    {"id": "c", "model": "m", "choices": [{"delta": {"content": "day."}}]},
    {"id": "c", "model": "m", "choices": [{"delta": {}, "finish_reason": "stop"}]},
    {"id": "c", "model": "m", "choices": [], "usage": USAGE},
    "[DONE]",
]


pytestmark = pytest.mark.usefixtures("no_proxy")


def vendor_says(
    run: Run, monkeypatch: pytest.MonkeyPatch, answer: Answer, *more: str
) -> tuple[Any, Any]:
    """Ask a vendor of the tests that gives *answer*; return the outcome and what it was asked."""
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    with VendorServer([answer]) as vendor:
        outcome = run(
            *("chat", "--model", "openai-chat:gpt-4o", "--base-url", f"{vendor.url}/v1"),
            *("--message", "hello", "--instructions", "Be brief.", *more),
        )
        return outcome, vendor.asked


def test_a_vendor_answers(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer of a vendor is printed, and the share of what it had cached."""
    outcome, asked = vendor_says(run, monkeypatch, Answer.stream(STREAM))

    assert (outcome.code, outcome.out) == (0, "Good day.\n")
    assert "200 tokens in, 75 % of them cached; 3 out" in outcome.err
    assert [one["role"] for one in asked[0].body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("threads costs", "--window and --prices; or --window, or `ceiling`"),
        ("threads list", "`context_window_size` and `prices`; or `window`, or `ceiling`"),
        ("plan nothing.json", "--window and --prices; or --window, or --ceiling"),
    ],
)
def test_a_warning_names_the_options_of_the_command(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, named: str
) -> None:
    """What the library says to set has another name on the command line, if it is an option there."""
    said = "unknown: set `context_window_size` and `prices`; or `window`, or `ceiling`"
    monkeypatch.setattr(logging, "lastResort", logging.StreamHandler())

    run(*command.split())

    assert logging.lastResort is not None
    shown = logging.lastResort.format(logging.makeLogRecord({"msg": said}))
    assert shown == f"unknown: set {named}"


def test_a_refusal_says_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a vendor refuses is one line with what to do, and the turn can be taken up again."""
    refusal = Answer.of({"error": {"message": "no", "code": "invalid_api_key"}}, status=401)

    outcome, _ = vendor_says(run, monkeypatch, refusal)

    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "status 401" in outcome.err
    assert "check the key in the environment; --resume resumes it" in outcome.err
    shown = run("threads", "show", "chat", "--store", "chat.db", "--json").json()
    assert (shown["messages"], shown["has_open_run"]) == (1, True)


def test_a_configuration_holds_the_key(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A key of the vendor in the configuration is used, whatever model is named beside it."""
    provider = {"ProviderKey": "openai-chat", "ModelName": "other", "ApiKey": "its own"}
    (tmp_path / "agent.json").write_text(json.dumps({"Provider": provider}), encoding="utf-8")

    outcome, asked = vendor_says(run, monkeypatch, Answer.stream(STREAM), "--config", "agent.json")

    assert outcome.code == 0
    assert asked[0].headers["authorization"] == "Bearer its own"
    assert asked[0].body["model"] == "gpt-4o"


def test_a_key_goes_nowhere_without_its_address(run: Run, tmp_path: Path) -> None:
    """Another model of the configured vendor is asked at the address beside its key."""
    with VendorServer([Answer.stream(STREAM)]) as vendor:
        address = {"BaseUrl": f"{vendor.url}/v1", "ApiKey": "of my proxy"}
        provider = {"ProviderKey": "openai-chat", "ModelName": "local", **address}
        (tmp_path / "agent.json").write_text(json.dumps({"Provider": provider}), encoding="utf-8")
        model = "openai-chat:gpt-4o"
        outcome = run("chat", "--config", "agent.json", "--model", model, "--message", "hi")

    assert outcome.code == 0
    assert vendor.asked[0].headers["authorization"] == "Bearer of my proxy"


def test_what_is_piped_is_text(run: Run) -> None:
    """Invalid UTF-8 is refused, and the line names the place."""
    outcome = run("chat", "--model", "scripted:demo", stdin=b"abc\xff")

    assert outcome.code == 2
    assert "the standard input is not UTF-8 text, at byte 3" in outcome.err


def last_line(outcome: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outcome.out.splitlines()[-1])
    return found


def test_a_wrong_call_is_an_object(run: Run) -> None:
    """If nothing can begin, the error is the one object that is printed."""
    outcome = run("chat", "--model", "gpt", "--message", "x", "--json", "--thread", "mine")

    line = last_line(outcome)
    message = line.pop("message")
    assert (outcome.code, outcome.out.count("\n")) == (2, 1)
    assert line == {"type": "error", "code": "usage", "thread_id": "mine", "resumable": False}
    assert outcome.err == f"foldline: error: {message}\n"


@pytest.mark.parametrize(
    ("status", "named", "code"),
    [(401, "invalid_api_key", "model"), (400, "context_length_exceeded", "context_overflow")],
)
def test_a_refusal_is_an_object(
    run: Run, monkeypatch: pytest.MonkeyPatch, status: int, named: str, code: str
) -> None:
    """A refusal can be resumed; the error after the events says so, and keeps its code."""
    refusal = Answer.of({"error": {"message": "no", "code": named}}, status=status)

    outcome, _ = vendor_says(run, monkeypatch, refusal, "--json")

    line = last_line(outcome)
    assert outcome.code == 1
    assert (line["type"], line["code"], line["resumable"]) == ("error", code, True)
    assert json.loads(outcome.out.splitlines()[0])["type"] == "turn_started"
