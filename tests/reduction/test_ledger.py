"""What calls and folds cost, worked out by hand."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from foldline.history.history import History
from foldline.history.messages import AGENT_KEY, Message, Usage
from foldline.history.parts import ToolCallPart
from foldline.reduction.ledger import billed, stats_of
from foldline.reduction.prices import MILLION, Prices, PriceTier
from foldline.reduction.reading import Reading
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.state import LABEL_TOKENS, HistoryReductionState
from tests.history.words import WordCount
from tests.reduction.records import START, record


# A token of a cached prefix costs a dollar, another ten, one of the answer twenty.
PRICES = Prices(input=10 * MILLION, output=20 * MILLION, cached_read=MILLION, minimum_prefix=0)


def said(turns: int, *, usage: Usage | None = None, gap: float | None = None) -> History:
    """Return a history of so many turns: 100 tokens of the user, 10 of the answer, 6 of them written."""
    messages = []
    for turn in range(turns):
        asked = Message.user("word " * 96)
        answer = structs.replace(Message.assistant("word " * 6), usage=usage)
        if gap is not None:
            time = START + timedelta(seconds=gap * turn)
            asked, answer = (structs.replace(one, created_at=time) for one in (asked, answer))
        messages += [asked, answer]
    return History(messages, counter=WordCount())


def fold(history: History, cut: int, *, length: int, **fields: Any) -> HistoryReductionState:
    """Return a reduction up to *cut* with a summary of 18 tokens, made at *length* messages."""
    named: dict[str, Any] = {"summary_tokens": 18, "number": 1, **fields}
    return record(history, cut, length=length, **named)


def test_a_history_that_was_never_folded() -> None:
    """Each call sent everything; without prices there are no amounts."""
    stats = stats_of(said(3), [])

    assert (stats.original_count, stats.reduced_count) == (6, 6)
    assert (stats.original_tokens, stats.reduced_tokens) == (330, 330)
    assert (stats.calls, stats.sent_tokens) == (3, 100 + 210 + 320)
    assert stats.full_tokens == stats.sent_tokens
    assert (stats.folds, stats.entries, stats.compression_ratio) == (0, (), 1.0)
    assert (stats.cost, stats.savings) == (None, None)
    assert stats_of(History(), []).compression_ratio == 1.0


def test_calls_cost_what_is_new_and_what_the_cache_serves() -> None:
    """The first request is written, and later ones what came since; answers are estimated."""
    stats = stats_of(said(3), [], PRICES)

    # The answers before are new too: a vendor has not read them as input.
    assert stats.cost == pytest.approx(1_000 + (100 + 110 * 10) + (210 + 110 * 10) + 3 * 6 * 20)
    assert stats.savings == 0


def test_a_pause_makes_the_next_call_cold() -> None:
    """After the lifetime of the cache everything is written again."""
    stats = stats_of(said(2, gap=301), [], PRICES)

    assert stats.cost == pytest.approx(1_000 + 2_100 + 2 * 6 * 20)


def test_calls_that_would_not_fit_without_folds_are_counted() -> None:
    """Beside the window the sizes without folds count, and a vendor's count has its own estimate."""
    history = said(6, usage=Usage(input_tokens=50))
    folded = [fold(history, 4, length=5)]

    stats = stats_of(history, folded, window=320)
    full = stats_of(history, folded)

    # 100, 210 and 320 tokens fit; a folded request never has more.
    assert (stats.window, stats.too_large) == (320, 3)
    assert full.too_large == 0
    assert (stats.reported_tokens, stats.estimated_tokens) == (300, stats.sent_tokens)
    assert stats.sent_tokens < stats.full_tokens


def test_a_fold_is_compared_with_going_on_without_it() -> None:
    """It costs its summary and the new prefix, and saves what later calls do not send."""
    history = said(6)
    # Before the fourth call, with six messages cut away.
    made = fold(history, 6, length=7, summarizer="writer")
    stats = stats_of(history, [made], PRICES)
    (entry,) = stats.entries

    front = LABEL_TOKENS + 18
    assert (entry.number, entry.messages, entry.calls) == (1, 6, 3)
    assert entry.tokens == (front + 100) + (front + 210) + (front + 320)
    assert entry.tokens_before == 430 + 540 + 650
    # The summarizer reads 330 tokens and its instruction of 600, and writes 18.
    assert entry.price == pytest.approx(10 * 930 + 20 * 18)
    sent = 10 * (front + 100) + (front + 100 + 1_100) + (front + 210 + 1_100)
    unfolded = (320 + 1_100) + (430 + 1_100) + (540 + 1_100)
    assert entry.saved == pytest.approx(unfolded - sent)
    assert entry.broke_even is None
    assert stats.savings == pytest.approx(unfolded - sent - 9_660)
    assert (stats.savings or 0) < 0
    assert (stats.folds, stats.reduced_count) == (1, 7)


def test_a_fold_breaks_even_at_the_call_that_pays_it_off() -> None:
    """What the digest writes costs nothing, so that the new prefix alone has to be saved."""
    history = said(40)
    made = fold(history, 60, length=61, summarizer="digest")
    (entry,) = stats_of(history, [made], PRICES).entries

    # At first 150 tokens are written for 10 dollars each instead of 3,400 that cost 1 but for 110.
    assert entry.price == 0
    assert entry.broke_even == 1
    assert entry.saved is not None
    assert entry.saved > 0

    dear = stats_of(history, [structs.replace(made, summarizer="writer")], PRICES).entries[0]
    assert dear.broke_even is None


def test_what_vendors_counted_goes_before_estimates() -> None:
    """Of calls and of summarizers; the sum is that of the usages, to the cent."""
    usage = Usage(input_tokens=100, output_tokens=5, cache_read_tokens=60, cache_write_tokens=30)
    history = said(6, usage=usage)
    made = fold(history, 6, length=7, summarizer="writer", summarizer_usage=usage)

    stats = stats_of(history, [made], PRICES)

    each = 60 * 1 + 30 * 10 + 10 * 10 + 5 * 20
    assert billed(usage, PRICES) == pytest.approx(each)
    assert stats.reported_calls == 6
    assert stats.entries[0].price == pytest.approx(each)
    assert stats.cost == pytest.approx(7 * each)


def test_each_summarizer_of_a_chain_has_the_price_of_its_own_model() -> None:
    """What vendors counted is charged by the model, a name stands for one; nobody else is charged."""
    history = said(6)
    own = {"dear": Prices(input=MILLION, output=0), "cheap": Prices(input=1, output=0)}
    usage = Usage(input_tokens=100, output_tokens=5)
    readings = (
        Reading(summarizer="mine", model="dear", calls=2, tokens=300, usage=usage),
        Reading(summarizer="cheap", calls=1, tokens=300, usage=usage),
        Reading(summarizer="silent", calls=2, tokens=300),
        Reading(summarizer="digest", calls=1, tokens=300),
    )
    made = fold(history, 6, length=7, summarizer="digest", readings=readings)

    (entry,) = stats_of(history, [made], PRICES, summarizer=own.get).entries

    assert entry.price == pytest.approx(100 + 0.0001)
    assert entry.readings == readings


def test_a_writer_whose_vendor_says_nothing_is_estimated() -> None:
    """Each call reads its share and the instruction; the text is charged once."""
    history = said(6)
    readings = (Reading(summarizer="writer", calls=2, tokens=600),)
    made = fold(history, 6, length=7, summarizer="writer", readings=readings)
    (entry,) = stats_of(history, [made], PRICES).entries

    assert entry.price == pytest.approx(2 * 10 * (300 + 600) + 20 * 18)


def test_a_batch_costs_no_summarizer_and_a_fold_reads_the_summary_before_it() -> None:
    """A record with the cut of the one before it was made without one."""
    history = said(9)
    first = fold(history, 4, length=5, summarizer="writer")
    batch = structs.replace(first, history_length=9, number=2, summarizer="")
    second = fold(history, 8, length=13, number=3, summarizer="writer")

    stats = stats_of(
        history, [first, batch, second], PRICES, summarizer=Prices(input=MILLION, output=0)
    )

    assert [one.price for one in stats.entries] == [220 + 600, 0, 220 + 18 + 600]
    assert [one.calls for one in stats.entries] == [2, 2, 3]
    assert (stats.folds, stats.unpriced_folds) == (3, 0)
    assert stats_of(history, [second], PRICES).unpriced_folds == 2


def test_a_fold_that_reads_what_had_a_stopgap_is_not_free() -> None:
    """It leaves the cut where it was; each of the two folds pays for what it has read."""
    history = said(9)
    kept = SummaryLayer(summary="a", start=0, end=4, message_hash="", tokens=10)
    stopgap = SummaryLayer(summary="b", start=4, end=8, message_hash="", tokens=8, is_stopgap=True)
    first = fold(history, 8, length=9, summarizer="writer", layers=(kept, stopgap))
    second = fold(history, 8, length=11, number=2, summarizer="writer")
    alone = structs.replace(first, layers=(stopgap,))
    free = Prices(input=MILLION, output=0)

    prices = [
        [one.price for one in stats_of(history, pair, PRICES, summarizer=free).entries]
        for pair in ([first, second], [alone, second])
    ]
    assert prices == [[220 + 600, 220 + 10 + 600], [220 + 600, 220 + 600]]


def test_a_fold_after_the_last_call_has_saved_nothing_yet() -> None:
    """Its entry has no calls."""
    history = said(3)
    (entry,) = stats_of(history, [fold(history, 4, length=6)], PRICES).entries

    assert (entry.calls, entry.saved, entry.broke_even) == (0, 0, None)


def test_a_record_without_its_length_counts_from_the_message_after_its_cut() -> None:
    """Earlier versions did not note how long the history was."""
    history = said(4)
    (entry,) = stats_of(history, [fold(history, 2, length=0)]).entries

    assert entry.calls == 3


def test_each_turn_has_its_calls_and_their_cost() -> None:
    """With the price of the folds the turns add up to the whole; a turn without a call is none."""
    usage = Usage(input_tokens=100, output_tokens=5)
    call, result = ToolCallPart("c", "look", "{}"), Message.tool("c", "word " * 6)
    looked = [Message.assistant(tool_calls=[call]), result]
    told = structs.replace(Message.assistant("word " * 6), usage=usage)
    asked, opening = Message.user("word " * 96), Message.assistant("word " * 6)
    talk = [opening, asked, asked, *looked, told, asked, told, asked]
    history = History(talk, counter=WordCount())
    made = fold(history, 6, length=7, summarizer="writer")

    stats = stats_of(history, [made], PRICES)

    found = [(one.number, one.message, one.calls, one.reported_calls) for one in stats.turns]
    assert found == [(0, 0, 1, 0), (1, 1, 2, 1), (2, 6, 1, 1)]
    assert stats.turns[0].cost == pytest.approx(6 * 20)
    assert stats.turns[2].cost == pytest.approx(billed(usage, PRICES))
    assert stats.turns[2].tokens < stats.turns[2].full_tokens
    assert sum(one.tokens for one in stats.turns) == stats.sent_tokens
    paid = sum(one.cost or 0 for one in stats.turns) + (stats.entries[0].price or 0)
    assert stats.cost == pytest.approx(paid)
    assert [one.cost for one in stats_of(history, [made]).turns] == [None] * 3


def test_without_a_cache_that_serves_savings_are_at_the_price_of_input() -> None:
    """Vendors that counted no cached token in several calls have none for this conversation."""
    usage = Usage(input_tokens=100, output_tokens=5)
    history = said(6, usage=usage)
    made = fold(history, 6, length=7, summarizer="digest")
    front = LABEL_TOKENS + 18

    stats = stats_of(history, [made], PRICES)

    sent = (front + 100) + (front + 210) + (front + 320)
    assert stats.savings == pytest.approx(10 * (430 + 540 + 650 - sent))
    two = stats_of(said(2, usage=usage), [], PRICES)
    assert two.savings == 0


def test_a_tier_has_no_cache_either_where_none_serves() -> None:
    """What is not cached below a size is not cached above it."""
    tiers = (PriceTier(above=50, input=20 * MILLION, output=20 * MILLION, cached_read=MILLION),)
    history = said(6, usage=Usage(input_tokens=100, output_tokens=5))
    made = fold(history, 6, length=7, summarizer="digest")
    front = LABEL_TOKENS + 18

    stats = stats_of(history, [made], structs.replace(PRICES, tiers=tiers))

    sent = (front + 100) + (front + 210) + (front + 320)
    assert stats.savings == pytest.approx(20 * (430 + 540 + 650 - sent))


def test_a_summary_costs_what_its_own_model_does() -> None:
    """A function gives the prices by the name of the summarizer; None leaves those of the model."""
    history = said(6)
    made = [fold(history, 6, length=7, summarizer=name) for name in ("small", "unknown")]
    small = Prices(input=MILLION, output=MILLION)
    given = {"small": small}.get

    prices = [stats_of(history, [one], PRICES, summarizer=given).entries[0].price for one in made]

    assert prices == [pytest.approx(930 + 18), pytest.approx(10 * 930 + 20 * 18)]


def test_the_first_call_of_a_conversation_writes_its_system_message() -> None:
    """Nothing was sent before, so that no cache has it."""
    history = said(1)
    history.append(Message.system("word " * 46))

    assert stats_of(history, [], PRICES).cost == pytest.approx(10 * 150 + 20 * 6)


def test_the_tier_of_a_summary_is_that_of_one_of_its_calls() -> None:
    """What vendors counted for a fold is the sum of its calls."""
    tiers = (PriceTier(above=1_000, input=20 * MILLION, output=0),)
    usage = Usage(input_tokens=1_500)
    prices = structs.replace(PRICES, tiers=tiers)

    assert billed(usage, prices) == 1_500 * 20
    assert billed(usage, prices, calls=2) == 1_500 * 10


def test_each_answer_of_several_agents_is_a_call() -> None:
    """Agents that answer one another called a model each; what one of them said at once is one."""
    asked, said = Message.user("word " * 96), Message.assistant("word " * 6)
    first, second = (structs.replace(said, metadata={AGENT_KEY: name}) for name in ("a", "b"))
    counted = structs.replace(second, usage=Usage(input_tokens=100, output_tokens=1))
    history = History([asked, first, first, counted, first], counter=WordCount())

    stats = stats_of(history, [], PRICES)

    assert (stats.calls, stats.sent_tokens, stats.reported_calls) == (3, 100 + 120 + 130, 1)
    assert stats.cost == pytest.approx((1000 + 240) + (1000 + 20) + (120 + 100 + 120))
