"""`foldline threads costs`: what a stored thread has sent and cost."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from foldline import Agent, HistoryReductionConfig
from foldline.history.messages import Message, Usage
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.apps.conftest import Run
from tests.apps.damage import zero_row


async def talk(folder: Path, name: str, *, turns: int) -> None:
    """Talk on the thread *name* of the store in *folder*."""
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=4, summarization_threshold=4
    )
    agent = Agent(ScriptedModel(repeat="fine " * 99), history_reduction=config, summarizer=())
    async with SQLiteStore(folder / "a.db") as store:
        thread = await store.thread(name)
        for turn in range(turns):
            await agent.run(f"And then {turn}? " * 30, thread=thread)


@pytest.fixture(autouse=True)
def _talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLDLINE_STORE", "a.db")
    asyncio.run(talk(tmp_path, "t", turns=9))
    asyncio.run(talk(tmp_path, "u", turns=1))


def test_the_costs_of_a_thread(run: Run) -> None:
    """Sizes and folds, and with --prices what they cost and saved."""
    plain = run("threads", "costs", "t").out
    priced = run("threads", "costs", "t", "--prices", "openai:gpt-4o").out

    assert plain.startswith("t: 18 messages, ")
    assert "9 model calls sent " in plain
    assert "digest" in plain
    assert "$" not in plain
    assert "by the prices of openai:gpt-4o (genai-prices, or the list of" in " ".join(
        priced.split()
    )
    assert "0 calls as the vendor reported, 9 by estimate; $" in " ".join(priced.split())
    assert "than without folds, by estimate" in " ".join(priced.split())
    assert "vendor counted" not in plain
    assert "window" not in priced
    assert "$0.0000" in priced


def test_what_would_not_fit_without_folds_is_said(run: Run) -> None:
    """The saving reckons with requests that nobody takes; each place that shows it says how many."""
    prices = ("--prices", "input=3,output=15", "--window", "1000")
    said = "calls without folds would not fit a window of 1,000 tokens, priced as if sent"

    found = run("threads", "costs", "t", "--json", *prices).json()

    assert found["window"] == 1_000
    assert 0 < found["too_large"] < found["calls"]
    for words in (("t",), ()):
        shown = " ".join(run("threads", "costs", *words, *prices).out.split())
        assert f"{found['too_large']} {said}" in shown


def test_an_import_shows_what_its_vendor_counted(run: Run, tmp_path: Path) -> None:
    """Beside it stands the estimate for the same calls, which is more if its agent had compacted."""
    said = [Message.user("Where is parcel 7? " * 50), Message.assistant("In Porto. " * 50)]
    counted = Usage(input_tokens=200, output_tokens=9)

    async def fill() -> None:
        async with SQLiteStore(tmp_path / "a.db") as store:
            thread = await store.thread("import")
            await thread.append([*said, said[0], replace(said[1], usage=counted)])

    asyncio.run(fill())
    out = " ".join(run("threads", "costs", "import", "--prices", "input=3,output=15").out.split())
    found = run("threads", "costs", "import", "--json").json()

    assert "tokens; nothing is folded 2 model calls sent" in out
    assert "the vendor counted 200 for 1 of them, instructions and tools included; " in out
    assert f"the estimate is {found['estimated_tokens']:,}: something else shortened them" in out
    assert "1 call as the vendor reported, 1 by estimate" in out
    assert "without folds" not in out
    assert found["reported_tokens"] == 200 < found["estimated_tokens"] < found["sent_tokens"]


def test_the_costs_as_json(run: Run) -> None:
    """All figures, by their names in the library."""
    found = run("threads", "costs", "t", "--json", "--prices", "input=3,output=15").json()

    assert found["id"] == "t"
    assert found["calls"] == 9
    assert found["sent_tokens"] < found["full_tokens"]
    assert found["savings"] == pytest.approx(
        (found["full_tokens"] - found["sent_tokens"]) * 3 / 1_000_000
    )
    assert 0 < found["compression_ratio"] < 1
    assert [one["summarizer"] for one in found["entries"]] == ["digest"] * found["folds"]
    assert [one["number"] for one in found["turns"]] == list(range(1, 10))
    assert sum(one["cost"] for one in found["turns"]) == pytest.approx(found["cost"])


def test_the_costs_of_each_turn(run: Run) -> None:
    """With --turns a line for each, with the index of its first message."""
    lines = run("threads", "costs", "t", "--turns", "--prices", "input=3,output=15").out.split("\n")
    turns = lines[next(n for n, line in enumerate(lines) if line.split()[:1] == ["turn"]) + 1 :]

    assert [line.split()[:3] for line in turns if line] == [
        [str(n), str(2 * n - 2), "1"] for n in range(1, 10)
    ]
    assert all("$" in line for line in turns if line)


def test_the_costs_of_all_threads(run: Run) -> None:
    """Without an id there is one line a thread, and no fold or turn in JSON."""
    lines = run("threads", "costs").out.splitlines()
    found = run("threads", "costs", "--json", "--prices", "input=3,output=15").json()["threads"]

    assert [line.split()[:2] for line in lines[1:]] == [["t", "9"], ["u", "1"]]
    assert "saved" not in lines[0]
    assert "saved" in run("threads", "costs", "--prices", "input=3,output=15").out
    assert [(one["id"], one["calls"]) for one in found] == [("t", 9), ("u", 1)]
    assert found[0]["savings"] > 0 == found[1]["savings"]
    assert "turns" not in found[0]


def test_folds_that_are_kept_no_more_are_counted(run: Run, tmp_path: Path) -> None:
    """A line says how many the table and the cost leave out."""
    asyncio.run(talk(tmp_path, "long", turns=60))
    kept, folds = (
        run("threads", "costs", "long", "--json").json()[n] for n in ("entries", "folds")
    )

    assert len(kept) < folds
    lost = run("threads", "costs", "long", "--json").json()["unpriced_folds"]
    everything = run("threads", "costs", "--prices", "input=3,output=15").out
    assert lost == folds - len(kept)
    assert f"{lost} folds kept no more: cost and saved leave their prices out" in everything
    assert "kept no more" not in run("threads", "costs").out
    shown = " ".join(run("threads", "costs", "long").out.split())
    assert f"{len(kept)} of {folds} reductions are kept: calls through another" in shown
    assert "are kept" not in run("threads", "costs", "t").out


def test_a_damaged_thread_does_not_hide_the_others(run: Run, tmp_path: Path) -> None:
    """It is named, and the exit code is 1."""
    zero_row(tmp_path / "a.db", "u", 1)
    found = run("threads", "costs")

    assert found.code == 1
    assert "1 thread cannot be read, the first is 'u'" in found.err
    assert [line.split()[0] for line in found.out.splitlines()[1:]] == ["t"]


@pytest.mark.parametrize(
    ("prices", "error"),
    [
        ("acme:new", "--prices: the prices of 'acme:new' are unknown: name another model"),
        ("openai:gpt-5-minni", "cached_read=0.3; the nearest known model is 'gpt-5-mini'"),
        ("input=3", "--prices: output is missing, in dollars for a million tokens"),
        ("input=3,output=15,input=4", "--prices: give each field once, as input=3,output=15"),
        ("input=3,output=15,", "--prices: give each field once, as input=3,output=15"),
        ("inptu=3,output=4", "unknown key 'inptu'; the nearest known one is 'input'"),
        ("input=cheap,output=4", "--prices: input='cheap': expected `float`, got `str`"),
        ("input=-1,output=4", "input must be a number of US dollars of at least 0, got -1.0"),
    ],
)
def test_wrong_prices_are_named(run: Run, prices: str, error: str) -> None:
    """In one line, with the exit code of wrong usage."""
    found = run("threads", "costs", "t", "--prices", prices)

    assert found.code == 2
    assert error in " ".join(found.err.split())
