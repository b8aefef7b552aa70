"""Which configuration is recommended for recorded sessions."""

import pytest
from msgspec.structs import replace

from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.config_reader import config_from_mapping
from foldline.reduction.prices import Prices
from foldline.replay.advice import CANDIDATES, advice_on, changes_of
from foldline.replay.bill import Terms, priced
from foldline.replay.comparison import no_reduction
from tests.replay.tapes import chat_tape, tool_tape


DEAR = Prices(input=5, output=25)
TERMS = Terms(prices=DEAR, summarizer=Prices(input=0.1, output=0.5))
FEW = {
    "never": CANDIDATES["never"],
    "often": HistoryReductionConfig(target_count=5, summarization_threshold=5),
}


def test_the_cheapest_in_sum_is_recommended() -> None:
    """Without a cache a long session pays for folds, and a short one has no loss worth naming."""
    tapes = [chat_tape(40), chat_tape(4)]

    advice = advice_on(tapes, TERMS, candidates=FEW)

    assert advice.recommended == "often"
    assert advice.sums["often"] < advice.sums["never"]
    bills = [priced(no_reduction(tape), TERMS).totals.cost for tape in tapes]
    assert [one.bills["never"] for one in advice.sessions] == bills
    assert advice.sums["never"] == sum(filter(None, bills))
    assert advice.losing == ()


def test_sessions_on_which_it_loses_are_named() -> None:
    """What is best in sum may cost more on single sessions, and says by how much, the worst first."""
    prices = Prices(input=1, output=5)
    tapes = [chat_tape(200), chat_tape(14), chat_tape(12)]

    advice = advice_on(tapes, Terms(prices=prices, summarizer=prices), candidates=FEW)

    _, longer, short = advice.sessions
    assert advice.recommended == "often"
    assert advice.losing == (short, longer)
    assert short.best == "never"
    assert short.loss("often") == pytest.approx(short.bills["often"] / short.bills["never"] - 1)


def test_what_cannot_be_sent_is_not_recommended() -> None:
    """What outgrows the window is the best of nothing, however cheap; the others are played in it."""
    terms = Terms(prices=Prices(input=1, output=5, cached_read=0.01))

    fits = advice_on([chat_tape(30)], terms, candidates=FEW)
    small = advice_on([chat_tape(30)], terms, candidates=FEW, window=3_000)

    assert (fits.recommended, fits.too_large("never")) == ("never", 0)
    assert (small.recommended, small.sessions[0].best) == ("often", "often")
    assert small.sums["never"] == fits.sums["never"] < small.sums["often"]
    assert small.too_large("never") == sum(small.sessions[0].too_large.values()) > 0
    alone = advice_on([chat_tape(30)], terms, candidates={"never": FEW["never"]}, window=3_000)
    assert alone.recommended == "never"


def test_what_forgets_is_not_recommended() -> None:
    """Messages that no summary stands for are cheap: the bill is told, and clearing alone is no such saving."""
    drop, often = CANDIDATES["balance, dropping"], FEW["often"]
    dropping = replace(drop, counting_unit="messages", target_count=4)
    clearing = replace(CANDIDATES["balance, clearing"], target_token_budget=None)
    few = {"never": FEW["never"], "dropping": dropping, "often": often}

    advice = advice_on([chat_tape(60)], TERMS, candidates=few)
    alone = advice_on([chat_tape(60)], TERMS, candidates={"dropping": dropping})
    cleared = advice_on([tool_tape(60)], TERMS, candidates={"never": few["never"], "cl": clearing})

    assert advice.sums["dropping"] < advice.sums["often"] < advice.sums["never"]
    assert (advice.recommended, advice.sessions[0].best) == ("often", "often")
    assert (advice.dropping, advice.losing) == ("dropping", ())
    assert (alone.recommended, alone.dropping) == ("dropping", None)
    assert (cleared.recommended, cleared.sessions[0].drops) == ("cl", ())


def test_what_is_nearly_as_cheap_goes_by_place() -> None:
    """Of candidates with the same bill the first is recommended: the default before the rest."""
    same = {"first": HistoryReductionConfig(), "second": HistoryReductionConfig(loss_cost=9.0)}

    assert advice_on([chat_tape(3)], TERMS, candidates=same).recommended == "first"


def test_a_saving_of_3_percent_does_not_outweigh_the_place() -> None:
    """The first candidate is recommended although a later one is slightly cheaper."""
    counts = {"first": 7, "second": 6}
    near = {
        name: HistoryReductionConfig(target_count=1, summarization_threshold=count)
        for name, count in counts.items()
    }

    advice = advice_on([chat_tape(60)], TERMS, candidates=near)

    assert 1 < advice.sums["first"] / advice.sums["second"] < 1.03
    assert advice.recommended == "first"


def test_candidates_fold_by_the_same_prices() -> None:
    """A candidate that folds when it pays knows what is paid."""
    few = {name: CANDIDATES[name] for name in ("never", "balance, 4,000 tokens")}

    advice = advice_on([chat_tape(100)], TERMS, candidates=few)

    assert advice.sums["balance, 4,000 tokens"] < advice.sums["never"]


def test_there_are_twenty_candidates_that_can_be_pasted() -> None:
    """Each one is what its changed fields say, and no two are equal."""
    assert len(CANDIDATES) == 20
    fields = [changes_of(config) for config in CANDIDATES.values()]
    assert [config_from_mapping(one) for one in fields] == list(CANDIDATES.values())
    assert len({str(one) for one in fields}) == 20
