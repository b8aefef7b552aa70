"""`foldline reduce`, `plan` and `formats`."""

import gzip
import json
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from foldline.apps.cli.formats import TARGETS
from foldline.history.codec import decode_history, encode_history
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.logs.sessions import FORMATS
from foldline.reduction.event import Reason
from foldline.reduction.state import HistoryReductionState
from foldline.testing.grammars import check_anthropic, check_openai_chat, check_openai_responses
from tests.apps.conftest import Run


SMALL = ("--unit", "messages", "--target", "6", "--threshold", "4")


def test_the_view_is_shown_for_people(run: Run, chat: Path) -> None:
    """Without options there are lines for messages, the summary in full, and what happened."""
    outcome = run("reduce", chat, "--threshold", "5")

    assert (outcome.code, outcome.err) == (0, "")
    assert "Record of 40 messages" in outcome.out
    assert "fold (performed): Count above target and threshold" in outcome.out
    last = outcome.out.splitlines()[-1]
    assert "120 messages + 1 system, 40 folded; strategy summarizing; ceiling 64,000" in last
    assert "Where is parcel 29?" in outcome.out


def test_json_is_the_request_of_the_vendor(run: Run, chat: Path) -> None:
    """`--json` prints the view in the format of the file, valid and nothing else."""
    outcome = run("reduce", chat, *SMALL, "--json")

    items = outcome.json()
    assert outcome.code == 0
    assert check_openai_chat(items) == ()
    assert len(items) < 20
    assert items[0] == {"role": "system", "content": "Be brief."}
    assert outcome.err.startswith("fold (performed)")


def test_every_target_is_valid(run: Run, chat: Path) -> None:
    """`--to` writes the view as each vendor accepts it."""
    anthropic = run("reduce", chat, *SMALL, "--json", "--to", "anthropic").json()
    responses = run("reduce", chat, *SMALL, "--json", "--to", "openai-responses").json()
    own = run("reduce", chat, *SMALL, "--json", "--to", "foldline").out

    assert check_anthropic(anthropic["system"], anthropic["messages"]) == ()
    assert check_openai_responses(responses) == ()
    assert decode_history(own)[1].is_summary


def test_the_state_makes_the_next_call_a_hit(run: Run, chat: Path, tmp_path: Path) -> None:
    """A second call with the reduction that the first wrote folds nothing; the view is the same."""
    arguments = ("reduce", chat, *SMALL, "--json", "--state", "state.json")

    first = run(*arguments)
    second = run(*arguments)

    assert first.err.startswith("fold (performed)")
    assert second.err.startswith("hit (cache hit)")
    assert first.out == second.out
    state = HistoryReductionState.from_json((tmp_path / "state.json").read_bytes())
    assert state.summarized_up_to_index == 112


def test_a_model_without_prices_is_named(run: Run, chat: Path) -> None:
    """A slip in a name that still has a window is told, with what may have been meant; a local one has none."""
    wrong = run("reduce", chat, "--model", "openai:gpt-5-mimi")
    right = run("reduce", chat, "--model", "openai:gpt-5-mini")
    own = run("reduce", chat, "--model", "ollama:qwen3", "--window", "9000")

    assert "the prices of openai:gpt-5-mimi are unknown" in wrong.err
    assert "the nearest known model is 'gpt-5-mini'" in wrong.err
    assert "unknown" not in right.err + own.err


def test_nothing_folded_leaves_no_state(run: Run, chat: Path, tmp_path: Path) -> None:
    """Without a reduction no file is made for one."""
    outcome = run("reduce", chat, "--target", "100", "--state", "state.json")

    assert outcome.code == 0
    assert not (tmp_path / "state.json").exists()


def test_output_is_written_and_not_printed(run: Run, chat: Path, tmp_path: Path) -> None:
    """`--output` gets the request; on the screen stays what happened."""
    outcome = run("reduce", chat, *SMALL, "--output", "view.json")

    assert check_openai_chat(json.loads((tmp_path / "view.json").read_bytes())) == ()
    assert "Record of" not in outcome.out
    assert "fold (performed)" in outcome.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["chat.json", "view.json"]


def test_a_file_that_is_there_keeps_its_mode(run: Run, chat: Path, tmp_path: Path) -> None:
    """A private file stays private when it is overwritten."""
    (tmp_path / "view.json").write_text("old", encoding="utf-8")
    (tmp_path / "view.json").chmod(0o600)

    run("reduce", chat, "--output", "view.json")

    assert stat.S_IMODE((tmp_path / "view.json").stat().st_mode) == 0o600


def test_force_and_skip(run: Run, chat: Path) -> None:
    """`--force` folds below the threshold, `--skip` shows everything above it."""
    forced = run("reduce", chat, "--target", "25", "--threshold", "20", "--force", "--json")
    skipped = run("reduce", chat, *SMALL, "--skip", "--json")

    assert "AgentRunConfig.trigger_history_reduction" in forced.err
    assert len(skipped.json()) == 121


def test_the_circuit_breaker_says_that_the_turn_ends(run: Run, chat: Path) -> None:
    """With that behavior a fold ends the turn, which is not a failure."""
    outcome = run("reduce", chat, *SMALL, "--behavior", "circuit-breaker", "--json")

    assert (outcome.code, len(outcome.json()) < 20) == (0, True)
    assert "halt (performed)" in outcome.err
    assert "circuit breaker triggered" in outcome.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", '{"HistoryReduction": {"Strategy": "MessageCounting", "TargetCount": 3}}'),
        ("config.toml", '[history_reduction]\nstrategy = "message_counting"\ntarget_count = 3\n'),
        ("odd.json", 'strategy = "message-counting"\ntarget_count = 3\n'),
    ],
)
def test_a_configuration_is_read_by_content(
    run: Run, chat: Path, tmp_path: Path, name: str, text: str
) -> None:
    """JSON and TOML are recognized by their content, and options win over the file."""
    (tmp_path / name).write_text(text, encoding="utf-8")

    dropped = run("reduce", chat, "--config", name, "--json")
    fewer = run("reduce", chat, "--config", name, "--target", "2", "--json")

    assert len(dropped.json()) == 1 + 3 * 4
    assert len(fewer.json()) == 1 + 2 * 4


def test_a_conversation_comes_from_the_standard_input(run: Run, chat: Path) -> None:
    """`-` reads what is piped in, compressed or not."""
    data = chat.read_bytes()

    piped = run("reduce", "-", *SMALL, "--json", stdin=data)
    packed = run("reduce", "-", *SMALL, "--json", stdin=gzip.compress(data))

    assert piped.code == packed.code == 0
    assert piped.out == packed.out == run("reduce", chat, *SMALL, "--json").out


def _sessions(path: Path, names: Iterable[str]) -> None:
    """Write a log with a session for each of *names*."""
    said = {name: [{"role": "user", "content": f"I am {name}"}] for name in names}
    lines = (json.dumps({"id": name, "messages": one}) for name, one in said.items())
    path.write_text("\n".join(lines), encoding="utf-8")


def test_one_of_several_sessions_is_chosen(run: Run, tmp_path: Path) -> None:
    """A session is found by number and by id; without a choice the command asks for one."""
    _sessions(tmp_path / "two.jsonl", ("first", "second"))

    by_number = run("reduce", "two.jsonl", "--session", "2", "--json")
    named = run("formats", "two.jsonl", "--json").json()["sessions"][1]["id"]
    by_id = run("reduce", "two.jsonl", "--session", named, "--json")
    open_choice = run("reduce", "two.jsonl")

    assert by_number.json() == by_id.json()
    assert "I am second" in by_number.out
    assert (open_choice.code, open_choice.out) == (2, "")
    assert "holds 2 sessions: choose one with --session" in open_choice.err


def test_a_number_of_the_list_goes_before_an_id(run: Run, tmp_path: Path) -> None:
    """The list says so; where an id looks like another's number a note names both."""
    _sessions(tmp_path / "four.jsonl", "0129")

    listed = run("formats", "four.jsonl").out
    found = {
        name: run("reduce", "four.jsonl", "--session", name, "--skip", "--json")
        for name in ("0", "1", "2", "4", "9")
    }

    assert "--session takes a number of this list first, else an id" in listed
    said = {name: one.json()[0]["content"][-1] for name, one in found.items()}
    assert said == {"0": "0", "1": "0", "2": "1", "4": "9", "9": "9"}
    noted = "--session 1 is no. 1 of the list; the session with this id is no. 2"
    assert noted in " ".join(found["1"].err.split())
    assert "note" not in "".join(found[name].err for name in ("0", "4", "9"))


def test_a_text_cannot_steer_the_terminal(run: Run, tmp_path: Path) -> None:
    """Escape sequences, markup and lone surrogates of a conversation are shown, not obeyed."""
    text = "\x1b[31mred\x1b]0;title\x07 [bold]not markup[/bold] \ud800 \u202eturned"
    messages = [{"role": "user", "content": text}]
    (tmp_path / "hostile.json").write_text(json.dumps(messages), encoding="utf-8")

    outcome = run("reduce", "hostile.json")

    assert outcome.code == 0
    assert not {"\x1b", "\x07", "\ud800", "\u202e"} & set(outcome.out)
    assert "[bold]not markup[/bold]" in outcome.out


@pytest.mark.parametrize("option", [(), ("--json",), ("--output", "view.json")])
def test_what_is_no_message_is_told(run: Run, tmp_path: Path, option: tuple[str, ...]) -> None:
    """What a log holds beside its messages is one line each on the standard error."""
    (tmp_path / "cut.jsonl").write_text('{"role": "user", "content": "hi"}\n{"ro', "utf-8")

    outcome = run("reduce", "cut.jsonl", *option)

    assert outcome.code == 0
    assert outcome.err.startswith("note: cut: line 2, the last, is ")


def test_what_the_format_has_no_place_for_is_told(run: Run, tmp_path: Path) -> None:
    """Messages that a document leaves out are counted; the view for people shows all."""
    thinks = Message(role="assistant", parts=(ReasoningPart("hidden"),))
    said = [Message.user("a"), thinks, Message.assistant("b")]
    (tmp_path / "x.json").write_bytes(encode_history(said))
    told = "note: 1 message is left out: openai-chat has no place for reasoning alone\n"

    written = run("reduce", "x.json", "--to", "openai-chat", "--output", "y.json")
    printed = run("reduce", "x.json", "--to", "openai-chat", "--json")
    shown, kept = run("reduce", "x.json"), run("reduce", "x.json", "--json")

    assert written.err == told
    assert printed.err.startswith(told)
    assert len(printed.json()) == 2
    assert "left out" not in shown.err + kept.err


def test_a_plan_tells_the_verdict_and_the_cut(run: Run, chat: Path) -> None:
    """The figures are those that `reduce` will act on; nothing is written."""
    plan = run("plan", chat, *SMALL, "--state", "state.json", "--json").json()

    assert not Path("state.json").exists()
    assert (plan["verdict"], plan["reason"]) == ("fold", "Count above target and threshold")
    assert (plan["units"], plan["cut"], plan["messages"]) == (120, 112, 120)
    assert (plan["target"], plan["threshold"]) == (6, 4)
    assert 0 < plan["tokens_to_fold"] < plan["history_tokens"]


def test_a_plan_has_no_threshold_without_effect(run: Run, chat: Path) -> None:
    """With a balance the target alone counts."""
    options = ("--trigger", "balance", "--target", "6", "--model", "openai:gpt-5")
    plan = run("plan", chat, *options, "--json").json()

    assert (plan["target"], plan["threshold"]) == (6, None)


def test_a_plan_for_people_names_every_figure(run: Run, chat: Path) -> None:
    """Without `--json` the same figures are listed, one a line."""
    outcome = run("plan", chat, *SMALL)

    assert (outcome.code, outcome.err) == (0, "")
    assert "Count above target and threshold" in outcome.out
    assert len(outcome.out.splitlines()) == len(run("plan", chat, "--json").json()) - 1
    assert "120 messages + 1 system" in outcome.out


def test_a_plan_knows_the_state(run: Run, chat: Path) -> None:
    """After a reduction that fits there is little, so the verdict is a hit."""
    run("reduce", chat, *SMALL, "--state", "state.json")

    plan = run("plan", chat, *SMALL, "--state", "state.json", "--json").json()

    assert (plan["verdict"], plan["cut"], plan["units"]) == ("hit", 112, 8)
    assert plan["tokens_to_fold"] == 0
    assert plan["view_tokens_before"] < plan["history_tokens"]


OFF, ON = "note: {} disables reduction: the full history is sent\n", ""


@pytest.mark.parametrize(
    ("name", "text", "verdict", "note"),
    [
        ("off.toml", "enabled = false\ntarget_count = 2\n", "skip", OFF),
        ("off.json", '{"HistoryReduction": {"Enabled": false, "TargetCount": 2}}', "skip", OFF),
        ("on.json", '{"Logging": {"Enabled": false}, "HistoryReduction": {}}', "fold", ON),
    ],
)
def test_a_configuration_is_enabled_unless_it_says_otherwise(
    run: Run, chat: Path, name: str, text: str, verdict: str, note: str
) -> None:
    """What a file disables is skipped, whatever the options; only its own section counts."""
    Path(name).write_text(text, encoding="utf-8")

    outcome = run("plan", chat, "--config", name, *SMALL, "--json")

    assert outcome.json()["verdict"] == verdict
    assert outcome.err == note.format(name)


def test_without_options_the_defaults_are_those_of_the_library(run: Run, chat: Path) -> None:
    """It summarizes below the ceiling, and counts nothing else."""
    plan = run("plan", chat, "--json").json()
    names = ("strategy", "window", "ceiling", "counting_unit", "target", "verdict")

    assert [plan[name] for name in names] == [
        "summarizing", 128_000, 64_000, "tokens", None, "skip"
    ]  # fmt: skip
    assert "target" not in run("plan", chat).out


@pytest.mark.parametrize(
    ("options", "window", "ceiling"),
    [
        (("--model", "openai:gpt-4"), 8_192, 5_734),
        (("--model", "openai:gpt-4", "--window", "5000"), 5_000, 3_500),
        (("--window", "5000", "--ceiling", "0.5"), 5_000, 2_500),
        (("--ceiling", "3000"), 128_000, 3_000),
    ],
)
def test_a_request_fits_the_model(
    run: Run, chat: Path, options: tuple[str, ...], window: int, ceiling: int
) -> None:
    """The window comes from the model's name or an option, and the view stays below the ceiling."""
    plan = run("plan", chat, *options, "--json").json()
    line = run("reduce", chat, *options, "--json", "--skip").err
    view = run("reduce", chat, *options, "--json", "--to", "foldline").out
    tokens = sum(count_message(one, TokenEstimator()) for one in decode_history(view))

    assert (plan["window"], plan["ceiling"]) == (window, ceiling)
    assert plan["reason"] == Reason.CEILING_REACHED.value
    assert f"; ceiling {ceiling:,}" in line
    assert 0 < tokens < ceiling


def test_an_option_replaces_the_strategy_of_a_file(run: Run, chat: Path, tmp_path: Path) -> None:
    """What the file says of summaries and clearing is left out with the strategy that it is of."""
    text = "use_single_summary = false\nclear_tool_results = false\ncontext_window_size = 5000\n"
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    for strategy in ("clearing", "message-counting", "summarizing"):
        out = run("plan", chat, "--config", "file.toml", "--strategy", strategy).out

        assert f" {strategy} " in out


def test_notes_are_few_and_on_one_line_each(run: Run, tmp_path: Path) -> None:
    """Of many notes the first five are shown, and how many there are more."""
    said = {"type": "user", "sessionId": "s", "parentUuid": None}
    lines = [{**said, "uuid": "u", "message": {"role": "user", "content": "hello"}}]
    lines += [{**said, "uuid": f"u{at}", "message": {"role": "user"}} for at in range(8)]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    outcome = run("plan", "odd.jsonl", "--json")

    assert outcome.code == 0
    notes = outcome.err.splitlines()
    assert len(notes) == 6
    assert notes[0].startswith("note: s: line 2 ")
    assert notes[-1] == "note: and 3 more; `foldline formats FILE` lists them"


def test_every_format_is_listed(run: Run) -> None:
    """The list is the one that files are read by."""
    listed = run("formats", "--json").json()
    shown = run("formats").out

    assert [one["name"] for one in listed["formats"]] == [one.name for one in FORMATS]
    assert listed["targets"] == list(TARGETS)
    assert all(one.name in shown for one in FORMATS)


def test_the_sessions_of_a_file_are_listed(run: Run, chat: Path) -> None:
    """With a file the command lists its format and its sessions."""
    (session,) = run("formats", chat, "--json").json()["sessions"]
    shown = run("formats", chat).out

    assert (session["number"], session["format"], session["messages"]) == (1, "openai-chat", 121)
    assert "format: openai-chat" in shown
    assert session["id"] in shown


def test_prices_decide_below_the_ceiling(run: Run, tmp_path: Path) -> None:
    """Those of --prices, or of --model; --trigger count leaves it to counts."""
    talk = [
        {"role": role, "content": "what about the parcel " * 150}
        for _ in range(36)
        for role in ("user", "assistant")
    ]
    (tmp_path / "log.json").write_text(json.dumps([*talk, talk[0]]))
    priced = ("--prices", "input=3,output=15,cached_read=0.3")
    target = ("--unit", "messages", "--target", "10")

    assert "Holding old messages" in run("plan", "log.json", *priced).out
    assert "Holding old messages" in run("plan", "log.json", "--model", "openai:gpt-4o").out
    assert (
        "Holding old messages"
        in run("plan", "log.json", *priced, *target, "--trigger", "balance").out
    )
    assert "Holding" not in run("plan", "log.json", *priced, "--loss-cost", "9").out
    assert "Holding" not in run("plan", "log.json", *priced, "--trigger", "count").out
