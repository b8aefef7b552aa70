"""`foldline advise`."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from foldline.reduction.config_reader import config_from_mapping
from foldline.replay.advice import CANDIDATES
from tests.apps.conftest import Run


PRICES = ("--prices", "input=3,output=15,cached_read=0.3")


@pytest.fixture
def short(chat: Path) -> Path:
    """Return the recording of the parcels, cut after five exchanges."""
    request = json.loads(chat.read_bytes())
    chat.write_text(json.dumps({**request, "messages": request["messages"][:21]}))
    return chat


def test_one_configuration_is_recommended(run: Run, short: Path) -> None:
    """It is shown with every sum, the reason, the lines to paste and the prices."""
    outcome = run("advise", short, *PRICES)

    assert outcome.code == 0
    assert "1 session, 10 model calls, at the given prices" in outcome.out
    assert re.search(r"configuration +bill +to the recommended", outcome.out)
    assert "10 answers without recorded usage estimated" in " ".join(outcome.out.split())
    for part in (
        "Recommended: default",
        "TOML",
        "HistoryReductionConfig(trigger='balance', prices=Prices(input=3,",
    ):
        assert part in outcome.out
    assert all(name in outcome.out for name in CANDIDATES)


def test_the_lines_are_a_configuration(run: Run, short: Path) -> None:
    """As JSON there is all of it; the lines read back as the recommended configuration."""
    document = run("advise", short, *PRICES, "--json").json()

    read = config_from_mapping(tomllib.loads("\n".join(document["lines"])))
    assert read.trigger == CANDIDATES[document["recommended"]].trigger
    assert read.prices is not None
    assert read.prices.cached_read == 0.3
    assert set(document["sums"]) == set(CANDIDATES) == set(document["sessions"][0]["bills"])
    assert document["prices_of"] >= "2026-11-22"


def test_what_outgrows_the_window_says_so(run: Run, short: Path) -> None:
    """The bill of never folding is then what it would cost; the window belongs to what is pasted."""
    window = ("--window", "700")
    document = run("advise", short, *PRICES, *window, "--json").json()
    out = " ".join(run("advise", short, *PRICES, *window).out.split())

    assert document["sessions"][0]["too_large"].keys() == {"never"}
    assert (document["window"], document["sessions"][0]["best"] == "never") == (700, False)
    assert "context_window_size = 700" in document["lines"]
    assert "than never folding would cost if it could be sent (" in out
    assert "Only bills are compared: `foldline quality FILE --config CONFIG`" in out


def test_what_is_cheaper_than_the_recommended_one_is_named(run: Run, chat: Path) -> None:
    """The table may begin with another one: the reason is told, and what is dearer is called dearer."""
    prices = f"{PRICES[1]},cache_write=3.75"
    out = " ".join(run("advise", chat, "--prices", prices, "--window", "4000").out.split())

    assert "Recommended: default, $" in out
    assert " % more than never folding would cost if it could be sent (12 of 60 calls" in out
    assert "balance, 10 messages is cheaper, by at most 3 %: that counts as equal" in out
    assert ". balance, clearing would be $0.0909, but leaves out messages without a summary." in out


def test_the_prices_of_a_model_are_dated(run: Run, short: Path) -> None:
    """The model's prices are used, and the day of the list is shown."""
    out = run("advise", short, "--model", "anthropic:claude-sonnet-4-6").out

    assert "or the list" in out
    assert "prices = {" not in out
