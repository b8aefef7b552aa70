"""What a comparison comes to, in a sentence and lines to paste."""

import tomllib

import pytest
from msgspec.structs import replace

from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.config_reader import config_from_mapping
from foldline.reduction.prices import Prices
from foldline.reduction.provider import ProviderConfig
from foldline.replay.advice import lines_of
from foldline.replay.bill import Terms
from foldline.replay.comparison import RECORDED, USUAL, compare
from foldline.replay.conclusion import conclude
from foldline.replay.record import ReplayReport, Totals
from tests.replay.tapes import chat_tape, tool_tape


_PRICES = Prices(input=1, output=5, cached_read=0.1)
_TERMS = Terms(prices=_PRICES, summarizer=_PRICES)


def _billed(reports: tuple[ReplayReport, ...], **costs: float) -> list[ReplayReport]:
    """Return *reports* with bills by name; `never` is that of sending everything."""
    return [
        replace(one, totals=replace(one.totals, cost=costs.get(one.name, costs["never"])))
        for one in reports
    ]


@pytest.fixture(scope="module")
def usual() -> tuple[ReplayReport, ...]:
    """Return what the usual configurations do with a session, without bills."""
    return compare(tool_tape(40), USUAL, check=False).reports


def test_the_cheapest_is_named_with_what_to_paste(usual: tuple[ReplayReport, ...]) -> None:
    """The sentence has both bills, and the lines make the same configuration."""
    reports = _billed(usual, never=2.0, tokens=0.5)

    result = conclude([reports], configs=USUAL)

    assert result.text.startswith(
        "Cheapest of the 6 compared for this session: tokens (one rolling"
    )
    assert (
        "), $0.5000 instead of $2.00 for sending all of it (75 % less). Only bills" in result.text
    )
    assert config_from_mapping(tomllib.loads("\n".join(result.lines))) == USUAL["tokens"]


def test_the_default_has_nothing_to_paste(usual: tuple[ReplayReport, ...]) -> None:
    """If the defaults are the cheapest there is no line; without the configurations there is none either."""
    reports = _billed(usual, never=2.0, default=0.5)

    assert conclude([reports], configs=USUAL).text.endswith(
        "so there is nothing to paste; `foldline advise` tries more."
    )
    assert conclude([reports]).text.endswith("(75 % less).")
    assert not conclude([reports], configs=USUAL).lines


def test_what_drops_messages_is_not_recommended(usual: tuple[ReplayReport, ...]) -> None:
    """The cheapest that keeps a summary is named, and that something cheaper drops messages is said."""
    reports = _billed(usual, never=2.0, tokens=0.5, counting=0.1)

    result = conclude([reports], configs=USUAL)

    assert "tokens (one rolling summary" in result.text
    assert "not counting what drops messages without a summary. Only bills" in result.text
    assert "Cheapest of the 6 compared for this session: counting" in conclude([reports]).text


def test_what_cannot_be_sent_is_compared_with_nothing() -> None:
    """Beside a window that it outgrows the full history is no choice, however cheap it would be."""
    configs = {"small": HistoryReductionConfig(context_window_size=4_000)}
    found = compare(tool_tape(40), configs, check=False).reports

    large = found[0].totals.too_large
    text = conclude([_billed(found, never=2.0, small=3.0)], configs=configs).text

    assert 0 < large < found[0].totals.calls
    assert "), $3.00. Sending all of it would cost $2.00 if it could be sent: " in text
    assert f"{large} of {found[0].totals.calls} calls do not fit a window of 4,000 tokens." in text


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (0.5, "$0.5000 instead of $1.00 as recorded with instructions and tools (50 % less)."),
        (
            1.5,
            "What was recorded was cheaper than all: $1.00. small (one rolling summary",
        ),
    ],
)
def test_what_was_recorded_is_the_measure_then(cost: float, said: str) -> None:
    """It was sent, so it is compared with, if every session has it; it may be the cheapest."""
    tape, configs = tool_tape(40), {"small": HistoryReductionConfig(context_window_size=4_000)}
    found = _billed(compare(tape, configs, check=False).reports, never=2.0, small=cost)
    recorded = replace(found[0], name=RECORDED, kind="recorded", totals=Totals(cost=1.0))

    one, other = [found[0], recorded, *found[1:]], found

    assert said in conclude([one]).text
    assert "recorded" not in conclude([one, other]).text


def test_a_disabled_configuration_that_outgrows_the_window_fits_nothing() -> None:
    """That nothing has to be folded is not said of it, and it is not recommended."""
    off = HistoryReductionConfig(enabled=False, context_window_size=4_000)
    small = HistoryReductionConfig(context_window_size=4_000)
    alone = compare(tool_tape(40), {"off": off}, check=False).reports
    both = compare(tool_tape(40), {"off": off, "small": small}, check=False).reports

    assert "no folding" not in conclude([alone]).text
    assert ": small (" in conclude([_billed(both, never=1.0, small=2.0)]).text


def test_what_to_paste_says_that_bills_alone_decide(usual: tuple[ReplayReport, ...]) -> None:
    """Before anything is pasted the command is named that shows what is lost."""
    reports = _billed(usual, never=2.0, tokens=0.5)

    pasted = conclude([reports], configs=USUAL).text
    default = conclude([_billed(tuple(reports), never=2.0, default=0.1)], configs=USUAL).text

    assert (
        "Only bills are compared: `foldline quality FILE --config CONFIG --prices MODEL`, with"
        in pasted
    )
    assert "Only bills are compared: `foldline quality FILE --prices MODEL` shows" in default


def test_what_saves_less_than_two_percent_is_not_worth_it(usual: tuple[ReplayReport, ...]) -> None:
    """Sending all of it is recommended if the best configuration is hardly cheaper."""
    reports = _billed(usual, never=2.0, tokens=1.97)

    assert conclude([reports]).text.startswith("This session needs no folding: sending all")
    assert conclude([reports, reports]).text.startswith("These sessions need no folding")


def _with_best(reports: list[ReplayReport], **best: float) -> list[ReplayReport]:
    """Return *reports* with the least bills of folds by name."""
    return [replace(one, totals=replace(one.totals, optimum=best.get(one.name))) for one in reports]


def test_folds_at_better_times_are_not_denied(usual: tuple[ReplayReport, ...]) -> None:
    """If the best bill beside a configuration is 2 % below sending all, that folds do not pay is not said."""
    reports = _billed(usual, never=2.0, counting=1.0)

    text = conclude([_with_best(reports, tokens=1.5, counting=0.5)], configs=USUAL).text
    near = conclude([_with_best(reports, tokens=1.97, counting=0.5)], configs=USUAL).text

    assert text == (
        "Nothing compared is 2 % cheaper for this session than sending all of it, $2.00, not counting "
        "what drops messages without a summary. Folds at the best times, chosen in hindsight, could "
        "cost $1.50 (25 % less): `foldline advise FILE` tries more."
    )
    assert near == (
        "This session needs no folding: sending all of it is the cheapest within 2 %, not counting what "
        "drops messages without a summary."
    )


def test_what_did_not_fold_may_pay_elsewhere() -> None:
    """That everything fits is no reason to fold nothing, if the best bill is below sending all."""
    reports = _billed(compare(chat_tape(1), USUAL, check=False).reports, never=2.0)

    assert "needs no folding" in conclude([_with_best(reports, tokens=1.97)]).text
    assert "could cost $1.50 (25 % less)" in conclude([_with_best(reports, tokens=1.5)]).text


def test_without_a_fold_nothing_is_needed() -> None:
    """A session that fits as it is needs no folding, also without prices."""
    reports = compare(chat_tape(1), USUAL, check=False).reports

    assert conclude([reports]).text.endswith("everything fits under every configuration.")


def test_without_prices_nothing_is_the_cheapest(usual: tuple[ReplayReport, ...]) -> None:
    """No bill, no recommendation."""
    assert "cannot be said without prices" in conclude([usual]).text


def test_lines_hold_the_prices_and_no_provider() -> None:
    """Prices that no list knows are written; what may hold a key is not."""
    config = HistoryReductionConfig(
        target_token_budget=100,
        summarizer_provider=ProviderConfig(
            provider_key="openai", model_name="gpt-5-mini", api_key="secret"
        ),
    )

    lines = lines_of(config, _PRICES)

    assert config_from_mapping(tomllib.loads("\n".join(lines))).prices == _PRICES
    assert "secret" not in "".join(lines)
