"""`foldline replay` and `demo`."""

import json
from pathlib import Path
from typing import Any

import pytest

from foldline.apps.cli import replay
from foldline.apps.cli.replay import DEMO_CONFIGS, recorded_session
from foldline.replay.comparison import Comparison, compare
from foldline.replay.tape import Tape
from tests.apps.conftest import Run


SMALL = ("--unit", "messages", "--target", "6", "--threshold", "4")


@pytest.fixture
def short(chat: Path) -> Path:
    """Return the recording of the parcels, cut after ten exchanges."""
    request = json.loads(chat.read_bytes())
    chat.write_text(json.dumps({**request, "messages": request["messages"][:41]}))
    return chat


def _names(outcome: Any) -> list[str]:
    return [replay["name"] for replay in outcome.json()["sessions"][0]["replays"]]


def test_without_options_the_usual_ones_are_compared(run: Run, short: Path) -> None:
    """The baseline and at least four configurations, of both strategies and all units."""
    outcome = run("replay", short, "--json")

    replays = outcome.json()["sessions"][0]["replays"]
    assert (outcome.code, outcome.err) == (0, "")
    assert [replay["kind"] for replay in replays[:1]] == ["no_reduction"]
    configs = [replay["config"] for replay in replays[1:]]
    assert len(configs) >= 4
    assert {config["counting_unit"] for config in configs} == {"messages", "exchanges", "tokens"}
    assert {config["strategy"] for config in configs} == {"summarizing", "message_counting"}
    assert {config["layers"] for config in configs} == {True, False}


@pytest.mark.parametrize("text", [(), ("--html", "page.html", "--text")])
def test_views_are_kept_for_a_page_with_text_alone(
    run: Run, short: Path, monkeypatch: pytest.MonkeyPatch, text: tuple[str, ...]
) -> None:
    """Those of a log of 10 MB would take 600 MB."""
    found: list[Comparison] = []

    def compared(*args: Any, **options: Any) -> Comparison:
        found.append(compare(*args, **options))
        return found[-1]

    monkeypatch.setattr(replay, "compare", compared)
    assert run("replay", short, *SMALL, *text).code == 0

    kept = [bool(one.stretches) for one in found[0].replays.values()]
    assert kept == [bool(text)] * len(kept)


def test_every_configuration_fits_the_window(run: Run, short: Path) -> None:
    """`--window` and `--model` are of the usual configurations too, and no request is larger."""
    for option in (("--window", "1000"), ("--window", "1000", "--model", "openai:gpt-4")):
        _, *replays = run("replay", short, *option, "--json").json()["sessions"][0]["replays"]

        assert len(replays) > 4
        assert {replay["config"]["ceiling"] for replay in replays} == {700}
        assert all(0 < replay["totals"]["peak_tokens"] <= 700 for replay in replays)


@pytest.mark.parametrize(
    ("options", "ceiling"),
    [
        (("openai:gpt-4",), int(8_192 * 0.7)),
        (("openai:gpt-4", "--window", "1000"), 700),
        (("openai:gpt-4", "--model", "openai:gpt-3.5-turbo"), int(16_385 * 0.7)),
        (("input=3,output=15",), 64_000),
    ],
)
def test_prices_of_a_model_give_its_window(
    run: Run, short: Path, options: tuple[str, ...], ceiling: int
) -> None:
    """`--prices` with a name does, as in `advise`, unless `--window` or `--model` gives one."""
    _, *replays = run("replay", short, "--prices", *options, "--json").json()["sessions"][0][
        "replays"
    ]

    assert {replay["config"]["ceiling"] for replay in replays} == {ceiling}


def test_the_document_has_totals_and_calls(run: Run, short: Path) -> None:
    """One record per model call, whose sums are the totals."""
    replay = run("replay", short, *SMALL, "--json").json()["sessions"][0]["replays"][1]

    totals, calls = replay["totals"], replay["calls"]
    assert totals["calls"] == len(calls) == 20
    assert totals["sent_tokens"] == sum(call["view_tokens"] for call in calls)
    assert totals["fresh_tokens"] == totals["sent_tokens"] - totals["kept_tokens"]
    assert totals["folds"] == totals["prefix_breaks"] > 2
    assert (totals["invalid_requests"], totals["most_reads"]) == (0, 1)


def test_the_table_has_a_line_for_each(run: Run, short: Path) -> None:
    """For people there is one line per configuration, and its description."""
    outcome = run("replay", short, *SMALL)

    assert outcome.code == 0
    assert "1 session, 41 messages" in outcome.out
    for name in ("no reduction", "given"):
        assert sum(line.startswith(name) for line in outcome.out.splitlines()) == 2
    assert "given: one rolling summary, up to 6 + 4 messages or 64,000 tokens" in outcome.out
    assert "invalid" in outcome.out


def test_files_are_named_and_compared(run: Run, short: Path, tmp_path: Path) -> None:
    """Each `--config` is one configuration, called as its file; `--compare` adds the usual ones."""
    (tmp_path / "ours.toml").write_text('strategy = "summarizing"\n', encoding="utf-8")
    (tmp_path / "rolling.json").write_text('{"target_count": 3}', encoding="utf-8")
    files = ("--config", "ours.toml", "--config", "rolling.json")

    alone = run("replay", short, *files, "--json")
    beside = run("replay", short, *files, "--compare", "--json")

    assert _names(alone)[1:] == ["ours", "rolling"]
    assert {"ours", "rolling", "rolling 2", "layers"} <= set(_names(beside))


def test_without_a_check_nothing_is_claimed(run: Run, short: Path) -> None:
    """`--no-check` leaves the number of invalid requests open."""
    replays = run("replay", short, *SMALL, "--no-check", "--json").json()["sessions"][0]["replays"]

    assert replays[1]["totals"]["invalid_requests"] is None


def test_all_sessions_of_a_file_are_played(run: Run, tmp_path: Path) -> None:
    """The figures of several sessions are added up."""
    line = '{"messages": [{"role": "user", "content": "hello"}]}\n'
    (tmp_path / "three.jsonl").write_text(line * 3, encoding="utf-8")

    everything = run("replay", "three.jsonl")
    one = run("replay", "three.jsonl", "--session", "2", "--json")

    assert "3 sessions, 3 messages" in everything.out
    assert len(one.json()["sessions"]) == 1


def test_a_disabled_configuration_is_obeyed(run: Run, short: Path, tmp_path: Path) -> None:
    """Under it the full history is sent at every call, and a line says why."""
    (tmp_path / "off.toml").write_text("enabled = false\n", encoding="utf-8")

    shown = run("replay", short, "--config", "off.toml")
    full, off = run("replay", short, "--config", "off.toml", "--json").json()["sessions"][0][
        "replays"
    ]

    assert shown.err.startswith("note: off disables reduction")
    assert "off: disabled: the full history at every call" in shown.out
    assert off["totals"]["sent_tokens"] == full["totals"]["sent_tokens"]
    assert off["totals"]["folds"] == 0


def test_no_figure_is_cut(run: Run, short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a narrow terminal columns move below, whole."""
    (figures,) = _figures(run("replay", short, *SMALL).out)
    for columns in (24, 40, 80):
        monkeypatch.setenv("COLUMNS", str(columns))

        narrow = run("replay", short, *SMALL).out.partition("reads of")[0]

        assert " ".join(_figures(narrow)).split() == figures.split()
        assert max(map(len, narrow.splitlines())) <= columns


def _figures(out: str) -> list[str]:
    return [
        line.removeprefix("no reduction")
        for line in out.splitlines()
        if line.startswith("no reduction ")
    ]


def test_the_demonstration_shows_what_is_saved(run: Run, tmp_path: Path) -> None:
    """Without a key or a file it shows a table and a view, and with `--html` writes a page."""
    outcome = run("demo", "--html", "demo.html")

    assert (outcome.code, outcome.err) == (0, "")
    for name in ("no reduction", *DEMO_CONFIGS):
        assert sum(line.startswith(name) for line in outcome.out.splitlines()) == 2
    for part in ("with and without foldline", "The last view", "foldline replay FILE"):
        assert part in outcome.out
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1 + len(DEMO_CONFIGS)


@pytest.mark.slow
def test_the_demonstration_saves_calls_and_tokens() -> None:
    """The rolling summary sends far less than the whole history, and reads each message once."""
    name = "foldline rolling"
    reports = compare(Tape(recorded_session()), {name: DEMO_CONFIGS[name]}).reports
    totals = {report.name: report.totals for report in reports}

    assert totals[name].folds > 1
    assert totals[name].invalid_requests == 0
    assert totals[name].prefix_breaks == totals[name].folds
    assert totals[name].sent_tokens < totals["no reduction"].sent_tokens
    assert totals[name].most_reads == 1


@pytest.mark.parametrize(
    "option",
    [("--prices", "input=3,output=15,cached_read=0.3"), ("--model", "anthropic:claude-sonnet-4-6")],
)
def test_prices_show_the_bill(run: Run, short: Path, option: tuple[str, str]) -> None:
    """With prices every row has a bill, estimates are named, and so is what needs no folding."""
    shown = run("replay", short, *SMALL, *option)
    document = run("replay", short, *SMALL, *option, "--json").json()

    assert "best" in shown.out
    assert "This session needs no folding" in shown.out
    assert document["prices"]["input"] == 3
    full, given = (replay["totals"] for replay in document["sessions"][0]["replays"])
    assert 0 < full["cost"] < given["cost"]
    assert 0 < given["optimum"] <= given["cost"]


def test_what_a_bill_rests_on_is_said(run: Run, short: Path, tmp_path: Path) -> None:
    """Whose prices, which answers are estimated and that times are unknown: in the text and on the page."""
    said = (
        "The bill is at the given prices; 20 answers without recorded usage estimated, as all "
        "requests are; 19 calls without recorded times, as if no cache had expired."
    )

    shown = run("replay", short, *SMALL, "--prices", "input=3,output=15", "--html", "page.html")

    assert said in " ".join(shown.out.split())
    assert said in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_without_prices_a_line_asks_for_them(run: Run, short: Path) -> None:
    """The table has no bill, and one line says what it needs."""
    outcome = run("replay", short, *SMALL)

    assert run("replay", short, *SMALL, "--json").json()["prices"] is None

    assert "without prices: add --prices with a model such as openai:gpt-5, or input=3" in " ".join(
        outcome.out.split()
    )
    assert "$" not in outcome.out
    assert "the window is taken" not in outcome.out


def test_nobody_is_asked_for_the_prices_of_a_model_of_ones_own(run: Run, short: Path) -> None:
    """A server such as Ollama charges nothing for a token, which the last line says."""
    outcome = run("replay", short, *SMALL, "--model", "ollama:qwen3", "--window", "9000")

    assert "cannot be said of a model of your own, whose tokens have no price" in " ".join(
        outcome.out.split()
    )
    assert "--prices" not in outcome.out + outcome.err


def test_what_outgrows_the_window_says_so(run: Run, short: Path, tmp_path: Path) -> None:
    """In the table, the document and on the page, with the window where it is not given."""
    prices = ("--prices", "input=3,output=15", "--no-check")
    said = "calls do not fit a window of 700 tokens"
    run("replay", short, "--window", "700", *prices, "--html", tmp_path / "page.html")
    document = run("replay", short, "--window", "700", *prices, "--json").json()
    said_before = [
        {"role": role, "content": "word " * 50_000} for role in ("user", "assistant")
    ] * 2
    request = json.loads(short.read_bytes())
    longer = {**request, "messages": [*said_before, *request["messages"]]}
    (tmp_path / "long.json").write_text(json.dumps(longer), encoding="utf-8")

    full, *others = document["sessions"][0]["replays"]
    assert full["totals"]["too_large"] > 0 == sum(one["totals"]["too_large"] for one in others)
    assert said in full["description"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count(said) == 3
    shown = run("replay", "long.json", *SMALL, *prices).out
    assert "the window is taken to be 128,000 tokens: --model or --window gives another" in shown


def test_the_given_prices_decide_too(run: Run, short: Path, tmp_path: Path) -> None:
    """`--prices` goes before those of a file, in the rule as in the bill."""
    lines = 'trigger = "balance"\ncounting_unit = "messages"\ntarget_count = 4\n'
    kept = "prices = { input = 3, output = 15, cached_read = 0.001 }\n"
    (tmp_path / "plain.toml").write_text(lines, encoding="utf-8")
    (tmp_path / "priced.toml").write_text(lines + kept, encoding="utf-8")
    files = ("--config", "plain.toml", "--config", "priced.toml")

    def folds(*options: str) -> list[int]:
        replays = run("replay", short, *files, *options, "--json").json()["sessions"][0]["replays"]
        return [replay["totals"]["folds"] for replay in replays[1:]]

    unpriced, cheap = folds()
    plain, priced = folds("--prices", "input=3,output=15")

    assert plain == priced > max(unpriced, cheap)


def test_a_bill_below_the_best_is_explained(run: Run, tmp_path: Path) -> None:
    """Clearing large tool results may cost less than any folds: a line says so."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at all of it."}]
    for number in range(40):
        function = {"name": "look_up", "arguments": "{}"}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"{number} " * 900},
        ]
    (tmp_path / "tools.json").write_text(json.dumps({"messages": messages}), encoding="utf-8")
    out = run("replay", "tools.json", "--strategy", "clearing", "--prices", "input=3,output=15").out

    assert "given: a bill below its best: tool results were cleared or clipped" in out
