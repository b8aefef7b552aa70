"""A chat with a recording, a message at a time."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from foldline.apps.cli.chat.screen import gauge_line
from foldline.reduction.config import Limits
from foldline.reduction.event import HistoryReductionEvent, Reason, ReductionStatus
from tests.apps.chat_recordings import FIRST, SECOND, break_off, recording
from tests.apps.conftest import Run


FOLDING = ("--unit", "exchanges", "--target", "1", "--threshold", "0")


@pytest.fixture
def say(run: Run, chat: Path) -> Run:
    """Return what says one text to the recording of the parcels."""

    def call(text: str, *more: str) -> Any:
        return run("chat", "--model", f"scripted:{chat}", "--message", text, *more)

    return call


def test_the_answer_alone_is_printed(say: Run) -> None:
    """The answer goes to the standard output; tools and usage go beside it, a line each."""
    outcome = say("Where is it?")

    assert outcome.code == 0
    assert outcome.out.strip() == FIRST
    call, result, usage, gauge = outcome.err.splitlines()
    assert call == '→ look_up {"number": 0}'
    assert result.startswith("← look_up Parcel 0 is on its way and will be there on day 0.")
    assert re.fullmatch(r"\d+ tokens in, in 2 calls; \d+ out; \d+\.\d s", usage)
    shown = r"context: \d+ of 64\.0k tokens \(0 %\); next fold at 56\.3k tokens"
    assert re.fullmatch(shown, gauge)


def test_a_gauge_shows_what_is_used_and_when_it_folds(say: Run) -> None:
    """The share of the ceiling, and the counts that a configuration names; for programs nothing."""
    options = ("--unit", "messages", "--target", "3", "--threshold", "2")
    told = say("one", *options).err + say("two", *options).err
    shown = re.findall(r"context: (.*?) tokens \(.*; (next fold.*)", told)
    as_json = say("three", "--json", *options)

    due = "next fold at 56.3k tokens or above 5 messages"
    assert [one for _, one in shown] == [f"{due} (3 now)", due]
    assert "context" not in as_json.err


def test_with_prices_a_fold_comes_when_it_pays(say: Run) -> None:
    """`--prices` decide when the agent folds, and the gauge says so."""
    told = say("one", "--prices", "input=3,output=15").err

    assert told.strip().endswith("next fold at 56.3k tokens or when it pays")


@pytest.mark.parametrize(
    ("used", "status", "limits", "shown"),
    [
        (0, "skipped", None, "context: 0 of 8.00k tokens (0 %); next fold at 7.04k tokens"),
        (6000, "cache_hit", Limits(20, 5), "75 %); next fold at 7.04k tokens or above 25 exchanges (21 now)"),
        (6000, "performed", Limits(20, 5), "75 %); next fold at 7.04k tokens or above 25 exchanges"),
    ],
)  # fmt: skip
def test_the_line_of_the_gauge(
    used: int, status: ReductionStatus, limits: Limits | None, shown: str
) -> None:
    """What has gathered is named as long as no fold has changed it."""
    event = HistoryReductionEvent(
        status=status,
        reason=Reason.FORCED,
        strategy="summarizing",
        counting_unit="exchanges",
        units=21,
        original_count=50,
        reduced_count=50,
        removed_count=0,
        original_tokens=6000,
        reduced_tokens=6000,
        ceiling=8000,
        request_tokens=used,
    )

    assert gauge_line(event, limits).endswith(shown)
    assert gauge_line(event, limits, pays=True).endswith(
        "next fold at 7.04k tokens or when it pays"
    )


def test_the_next_one_goes_on(say: Run, run: Run, tmp_path: Path) -> None:
    """The conversation is kept in a file of this folder, and each message continues it."""
    say("one")

    assert SECOND in say("two").out
    assert (tmp_path / "chat.db").is_file()
    shown = run("threads", "show", "chat", "--store", "chat.db", "--json").json()
    assert (shown["messages"], shown["has_open_run"]) == (8, False)


def test_the_store_and_the_thread_are_chosen(
    say: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread is named by an option, the store by an option or the environment."""
    monkeypatch.setenv("FOLDLINE_STORE", "other.db")
    say("one", "--thread", "mine", "--tenant", "acme")
    say("two", "--store", "third.db")

    listed = run("threads", "list", "--tenant", "acme", "--json").json()
    assert [one["id"] for one in listed["threads"]] == ["mine"]
    assert (tmp_path / "third.db").is_file()
    assert not (tmp_path / "chat.db").exists()


def test_what_is_piped_is_said(run: Run, chat: Path) -> None:
    """Text on the standard input is one message, whatever its lines."""
    outcome = run("chat", "--model", f"scripted:{chat}", stdin="Where\nis Zoë's?\n".encode())

    assert FIRST in outcome.out
    listed = run("threads", "show", "chat", "--store", "chat.db", "--json").json()["shown"]
    assert listed[0]["parts"][0]["content"] == "Where\nis Zoë's?"


def test_events_are_lines_of_json(say: Run) -> None:
    """Each event is one JSON object with its type, and the result comes last."""
    lines = [json.loads(line) for line in say("Where is it?", "--json").out.splitlines()]

    kinds = [line["type"] for line in lines]
    assert (kinds[0], kinds[-2], kinds[-1]) == ("turn_started", "run_completed", "result")
    assert {"history_reduction", "tool_call_end", "tool_result", "text_delta"} <= set(kinds)
    said = "".join(line["text"] for line in lines if line["type"] == "text_delta")
    assert said == lines[-1]["text"]
    assert lines[-1]["thread_id"] == "chat"
    assert lines[-1]["is_complete"]
    assert lines[-1]["usage"]["input_tokens"] > 0


def test_folds_are_shown(say: Run) -> None:
    """A fold is one line, with why, counts and sizes; for programs it is an event."""
    for text in ("one", "two"):
        say(text, *FOLDING)
    outcome, document = say("three", *FOLDING), say("four", *FOLDING, "--json")

    (line,) = (line for line in outcome.err.splitlines() if line.startswith("fold "))
    assert line.startswith("fold performed: Count above target and threshold; 9 messages → ")
    assert "; digest read " in line
    assert line.endswith(" s")
    events = [json.loads(line) for line in document.out.splitlines()]
    fold = next(one for one in events if one["type"] == "history_reduction")
    assert fold["status"] == "performed"
    assert fold["original_tokens"] > fold["reduced_tokens"] > 0


def test_the_end_of_a_recording_is_said(run: Run, tmp_path: Path) -> None:
    """The last answer is marked, and a message after it fails without being stored."""
    model = f"scripted:{recording(tmp_path / 'short.json', 'One.', 'Two.')}"
    run("chat", "--model", model, "--message", "one")

    last, after = (run("chat", "--model", model, "--message", "more") for _ in range(2))
    line = json.loads(run("chat", "--model", model, "--message", "more", "--json").out)

    assert "that was the last answer of the recording" in last.err
    assert (after.code, after.out, after.err.count("\n")) == (1, "", 1)
    assert "the recording has ended: this thread holds 2 answers" in after.err
    assert (line["type"], line["code"], line["resumable"]) == ("error", "model", False)
    shown = run("threads", "show", "chat", "--store", "chat.db", "--json").json()
    assert shown["messages"] == 4


@pytest.mark.parametrize("upto", [3, 4])
def test_a_recording_may_end_in_a_turn(run: Run, chat: Path, tmp_path: Path, upto: int) -> None:
    """A recording may end in a tool call: nothing has failed or stays open."""
    messages = json.loads(chat.read_text(encoding="utf-8"))["messages"]
    (tmp_path / "open.json").write_text(json.dumps(messages[:upto]), encoding="utf-8")

    outcome = run("chat", "--model", "scripted:open.json", "--message", "Where is it?")

    assert outcome.code == 0
    assert outcome.err.endswith("that was the last answer of the recording\n")
    shown = run("threads", "show", "chat", "--store", "chat.db", "--json").json()
    assert (shown["messages"], shown["has_open_run"]) == (3, False)


def test_an_open_turn_is_resumed(run: Run, chat: Path, say: Run) -> None:
    """With `--resume` and nothing to say the open turn is taken up, and its answer printed."""
    break_off(chat.parent)
    resumed = say("", "--resume")

    assert (resumed.code, resumed.out.strip()) == (0, FIRST)
    assert resumed.err.startswith("last question: Where is it? (interrupted in model call 2, ")


def test_a_new_message_leaves_an_open_turn(run: Run, chat: Path, say: Run) -> None:
    """A message on an open turn is answered, and a note says what happened to the turn."""
    break_off(chat.parent)
    outcome = say("Where is the next one?")

    assert outcome.code == 0
    assert outcome.err.startswith("the interrupted run is left; everything it stored is kept\n")
    assert FIRST in outcome.out


def test_the_packaged_session_answers(run: Run) -> None:
    """A chat without a key, a network or a file has real answers, tools included."""
    outcome = run("chat", "--model", "scripted:demo", "--message", "hello")

    assert outcome.code == 0
    assert "`History` holds the messages" in outcome.out
    assert "← read_file" in outcome.err


def test_a_configuration_describes_the_agent(say: Run, tmp_path: Path) -> None:
    """A file gives instructions, options and reduction, and an option wins over it."""
    config = tmp_path / "agent.toml"
    config.write_text(
        'instructions = "Be brief."\n[history_reduction]\nstrategy = "message_counting"\n'
        "target_count = 1\n"
        "summarization_threshold = 0\n[options]\nmax_iterations = 1\n",
        encoding="utf-8",
    )
    told = tmp_path / "told.txt"
    told.write_text("Be long.", encoding="utf-8")

    lines = say("one", "--json", "--config", "agent.toml", "--instructions", "@told.txt").out
    events = [json.loads(line) for line in lines.splitlines()]

    assert events[-1]["termination_reason"] == "Maximum iterations (1) reached"
    sent = next(event for event in events if event["type"] == "request_sent")
    assert sent["message_count"] == 2
    folds = [event for event in events if event["type"] == "history_reduction"]
    assert folds[0]["strategy"] == "message_counting"


def test_a_configuration_may_come_out_of_a_pipe(run: Run, chat: Path) -> None:
    """A configuration that can be read but once says the same as a file."""
    end, start = os.pipe()
    os.write(start, b'{"HistoryReduction": {"Enabled": false}}')
    os.close(start)

    outcome = run(
        "chat", "--model", f"scripted:{chat}", "--config", f"/dev/fd/{end}", "--message", "one"
    )

    os.close(end)
    assert outcome.code == 0
    assert "disables reduction" in outcome.err


def test_reasoning_is_kept_apart(run: Run, tmp_path: Path) -> None:
    """What the model thinks goes beside the answer."""
    said = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]
    said.append({"type": "text", "text": "Yes."})
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": said}]
    (tmp_path / "thinks.json").write_text(json.dumps(messages), encoding="utf-8")

    outcome = run("chat", "--model", "scripted:thinks.json", "--message", "x")

    assert outcome.out == "Yes.\n"
    assert outcome.err.splitlines()[0] == "Hm."


def test_a_tool_that_nobody_can_name(run: Run, tmp_path: Path) -> None:
    """A recorded tool with a name that no vendor takes is unknown, and the turn continues."""
    call = {"id": "c", "type": "function", "function": {"name": "files.read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "what it said"},
        {"role": "assistant", "content": "Done."},
    ]
    (tmp_path / "odd.json").write_text(json.dumps(messages), encoding="utf-8")

    outcome = run("chat", "--model", "scripted:odd.json", "--message", "x")

    assert outcome.out == "Done.\n"
    assert "← files.read Error: " in outcome.err
