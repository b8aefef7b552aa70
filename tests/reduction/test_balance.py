"""What holding and folding cost, and the verdicts that follow."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart, ToolCallResponsePart
from foldline.reduction.balance import (
    FoldCosts,
    Holding,
    PricedFold,
    calls_of,
    has_gone_cold,
    summary_size,
)
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.prices import MILLION, Prices
from foldline.reduction.shortening import Shortened
from foldline.reduction.verdict import Verdict, decide
from tests.hash_seeds import outputs_of
from tests.history.words import WordCount
from tests.reduction.records import START, record


# A cached token costs a dollar, another ten; the answer twenty.
PRICES = Prices(
    input=10 * MILLION,
    output=20 * MILLION,
    cached_read=MILLION,
    lifetime=300.0,
    minimum_prefix=0,
)
BALANCE = HistoryReductionConfig(
    strategy="message_counting",
    trigger="balance",
    counting_unit="messages",
    target_count=2,
    quote_user_messages=0,
    clear_tool_results=False,
    largest_message=None,
)


def said(sizes: Sequence[int], *, seconds: float | None = None) -> History:
    """Return a user message of each size with a short answer to all but the last."""
    messages: list[Message] = []
    for place, size in enumerate(sizes):
        messages.append(Message.user("word " * (size - 4)))
        if place < len(sizes) - 1:
            messages.append(Message.assistant("word " * 6))
    if seconds is not None:
        times = [START + timedelta(seconds=seconds) * place for place in range(len(messages))]
        messages = [
            structs.replace(one, created_at=time) for one, time in zip(messages, times, strict=True)
        ]
    return History(messages, counter=WordCount())


def held(history: History, **given: object) -> Holding:
    """Return the holding of *history* at PRICES, without a reduction."""
    return Holding(history, None, FoldCosts(prices=PRICES, **given), request=100)  # type: ignore[arg-type]


def verdict(history: History, config: HistoryReductionConfig = BALANCE, **given: object) -> Verdict:
    """Return the verdict of the balance rule at PRICES."""
    costs = FoldCosts(prices=PRICES, **given)  # type: ignore[arg-type]
    return decide(history, config, config_fingerprint="", costs=costs)


def test_holding_adds_up_what_each_call_could_have_dropped() -> None:
    """Calls are where the model answered, and the next one; each carries what is older than the target."""
    # Places: user 10, answer 10, user 20, answer 10, user 30.
    history = said([10, 20, 30])
    holding = held(history)

    # Before the answers 1 and 3 and the next: none, the first message, the first three.
    assert holding.of_span("messages", 2) == 10 + 40
    assert holding.of_span("tokens", 25) == 0 + (40 - 25) + (80 - 25)
    assert holding.of_span("exchanges", 1) == 0 + 20 + 50
    assert not holding.is_cold


def test_several_messages_of_one_answer_are_one_call() -> None:
    """Some vendors give the text and the calls of an answer apart."""
    messages = [*said([10, 20, 30])]
    messages.insert(2, Message.assistant("word " * 6))
    history = History(messages, counter=WordCount())

    # The calls were before the places 1 and 4, and the next one.
    assert held(history).of_span("messages", 2) == 20 + 50


def test_holding_begins_with_the_fold_and_not_with_a_batch() -> None:
    """A record with the cut of the one before it leaves the count where that one began it."""
    history = said([10, 20, 30, 40])
    fold = record(history, 2, length=3)
    batch = structs.replace(fold, history_length=7, previous=fold)
    costs = FoldCosts(prices=PRICES)

    found = [Holding(history, one, costs, request=100) for one in (fold, batch)]

    # Calls before the answers 3 and 5 and the next; the cut is at 2.
    assert [one.of_span("messages", 2) for one in found] == [0 + 20 + 60] * 2


def test_what_is_shown_shortened_is_not_held() -> None:
    """A message that the view shows cleared has left already, but for its note."""
    history = said([10, 20, 30])
    entry = Shortened(index=0, digest="", tokens=4, note="cleared")

    costs = FoldCosts(prices=PRICES)
    shortened = Holding(history, None, costs, request=100, entries=[entry])

    assert shortened.of_span("messages", 2) == (10 - 6) + (40 - 6)


def test_a_cold_call_holds_at_the_price_of_writing() -> None:
    """After a pause that is longer than the lifetime the cache has lost what was sent."""
    history = said([10, 20, 30], seconds=400)

    cold = held(history, now=START + timedelta(seconds=2_000))
    warm = held(history, now=START + timedelta(seconds=1_300))

    assert cold.is_cold
    assert not warm.is_cold
    # The call before the answer 3 came 400 s after the answer before; that is late too.
    assert cold.of_span("messages", 2) == 10 * (10 + 40)
    assert warm.of_span("messages", 2) == 10 * 10 + 40
    assert (cold.rewriting(7), warm.rewriting(7)) == (0, 7 * 9)


def test_a_request_below_the_least_prefix_holds_at_the_price_of_writing() -> None:
    """The vendor does not cache it."""
    costs = FoldCosts(prices=structs.replace(PRICES, minimum_prefix=101))

    assert Holding(said([10, 20, 30]), None, costs, request=100).of_span("messages", 2) == 500


def test_a_request_of_the_least_prefix_holds_at_the_price_of_reading() -> None:
    """The vendor keeps a prefix from that size on."""
    prices = structs.replace(PRICES, minimum_prefix=1_024)
    costs = FoldCosts(prices=prices)

    found = [Holding(said([10, 20]), None, costs, request=one) for one in (1_023, 1_024)]

    assert found[0].of_span("messages", 1) > found[1].of_span("messages", 1)


_NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("last", "now", "is_cold"),
    [
        (_NOON, _NOON + timedelta(seconds=300), False),
        (_NOON, _NOON + timedelta(seconds=301), True),
        (None, _NOON, False),
        (_NOON, None, False),
        (_NOON.replace(tzinfo=None), _NOON + timedelta(days=1), False),
        (_NOON.replace(tzinfo=None), _NOON.replace(tzinfo=None) + timedelta(days=1), True),
    ],
)
def test_a_cache_is_cold_after_its_lifetime(
    last: datetime | None, now: datetime | None, is_cold: bool
) -> None:
    """As far as both times are known and can be compared."""
    assert has_gone_cold(last, now, 300.0) is is_cold


def test_a_call_is_made_when_what_it_answers_was_said() -> None:
    """A model that takes long to answer has not let its cache expire meanwhile."""
    seconds = [0, 10, 20, 400, 800, 810]
    messages = [
        structs.replace(one, created_at=_NOON + timedelta(seconds=after))
        for one, after in zip(said([1, 1, 1]), seconds, strict=False)
    ]
    history = History(messages, counter=WordCount())

    # The answer at place 3 took 380 seconds; the question at place 4 came 400 seconds after it.
    assert list(calls_of(history, 0, 300.0)) == [(1, False), (3, False), (5, False)]
    assert list(calls_of(history, 0, 300.0, _NOON + timedelta(seconds=800)))[-1] == (5, True)


@pytest.mark.parametrize(("pause", "is_cold"), [(10, False), (400, True)])
def test_a_recording_has_the_times_of_its_messages(pause: int, is_cold: bool) -> None:
    """A call whose question was said a year ago was made then, not now."""
    history = said([1, 1, 1], seconds=pause)

    assert [*calls_of(history, 0, 300.0, START + timedelta(days=365))][-1] == (5, is_cold)


def test_what_a_fold_quotes_is_not_dropped() -> None:
    """User messages stay beside the summary, up to a size, so that the fold pays later."""
    firsts = []
    for quoted in (0, 600):
        config = HistoryReductionConfig(
            trigger="balance",
            counting_unit="messages",
            target_count=2,
            quote_user_messages=quoted,
        )
        kinds = [verdict(said([400] * count), config).kind for count in range(2, 40)]
        firsts.append(kinds.index("fold"))

    assert firsts[0] < firsts[1]


@pytest.mark.parametrize(
    ("changed", "is_cold"), [({}, True), ({"rides": False}, False), ({"summarizer": None}, False)]
)
def test_only_a_warm_cache_of_the_same_model_is_ridden(
    changed: dict[str, object], is_cold: bool
) -> None:
    """On a long prefix that is cheaper than a transcript, but for these."""
    costs = FoldCosts(prices=PRICES, summarizer=PRICES, rides=True)
    other = structs.replace(costs, **changed)

    assert costs.rides_cheaper(prefix=20_000, dropped=19_000, summary=100)
    assert not other.rides_cheaper(prefix=20_000, dropped=19_000, summary=100, is_cold=is_cold)


def test_results_are_held_since_they_are_old() -> None:
    """What a batch clears has been carried by each call after more than the newest tokens came."""
    history = said([10, 20, 30, 40])
    holding = held(history)

    # 20 tokens came after it before the calls 3, 5 and 7.
    assert holding.of_results({0: 6}, 20) == 6 * 3
    assert holding.of_results({0: 6}, 200) == 0
    assert holding.of_results({}, 20) == 0


@pytest.mark.parametrize(
    ("writer", "rides", "is_cold", "price"),
    [
        (None, False, False, 9 * 120),
        (None, False, True, 0),
        # The instruction and the summary before are read, the new one is written.
        (Prices(input=MILLION, output=2 * MILLION), False, False, 9 * 120 + 610 + 2 * 20),
        (Prices(input=MILLION, output=2 * MILLION), True, False, 9 * 120 + 610 + 2 * 20),
        (PRICES, True, False, 9 * 120 + 140 + 10 * 600 + 20 * 20),
        (PRICES, True, True, 10 * 610 + 20 * 20),
    ],
    ids=["free", "free, cold", "cheap", "cheap model not ridden", "ridden", "ridden cold"],
)
def test_the_price_of_a_fold(
    writer: Prices | None, rides: bool, is_cold: bool, price: float
) -> None:
    """What stays is written again, and a summarizer reads and writes; what is dropped is left out."""
    fold = PricedFold(fixed=30, before=10, summary=20, dropped=9_000, kept=100)
    costs = FoldCosts(prices=PRICES, summarizer=writer, rides=rides)

    assert fold.price(costs, is_cold=is_cold) == pytest.approx(price)
    assert fold.price(structs.replace(costs, loss_cost=5.0), is_cold=is_cold) == pytest.approx(
        price + 5
    )


def test_the_size_of_the_next_summary() -> None:
    """It is that of the last one; half of what it may have before there is one."""
    history = said([10, 20, 30])
    budget = budget_of(HistoryReductionConfig())

    assert summary_size(None, budget) == 750
    assert summary_size(record(history, 2, length=3, summary_tokens=90), budget) == 90


def test_a_fold_comes_before_the_call_with_which_holding_reaches_its_price() -> None:
    """Not a call earlier, and the reason says that it pays."""
    # Before the last call 10 + 40 are held; two messages of 10 and 30 stay, at 9 dollars a token.
    history = said([10, 20, 30])
    price = 9 * 40

    late = verdict(history, loss_cost=50 - price + 1)
    due = verdict(history, loss_cost=50 - price) if price <= 50 else verdict(said([300, 20, 10]))

    assert (late.kind, late.reason) == ("skip", Reason.BELOW_THRESHOLD)
    assert (due.kind, due.reason, due.cut) == ("fold", Reason.FOLD_PAYS, 3)


def test_the_balance_leaves_counts_alone() -> None:
    """With prices and trigger='count' only the counts decide, and without prices the ceiling does."""
    history = said([10] * 40)
    counting = structs.replace(BALANCE, trigger="count")

    assert decide(history, counting, config_fingerprint="").reason is Reason.THRESHOLD_EXCEEDED
    assert decide(history, BALANCE, config_fingerprint="").reason is Reason.BELOW_THRESHOLD


def test_a_fold_that_pays_can_end_the_turn() -> None:
    """The circuit breaker holds for it as for any other."""
    config = structs.replace(BALANCE, behavior="circuit_breaker")

    assert verdict(said([300, 20, 10]), config).kind == "halt"


def test_nothing_is_folded_for_a_summary_that_is_as_long() -> None:
    """A fold that drops no more than it writes makes no request smaller."""
    config = structs.replace(BALANCE, strategy="summarizing", loss_cost=0.0)
    history = said([300, 20, 10])

    assert verdict(history, config).reason is Reason.BELOW_THRESHOLD
    assert verdict(said([4_000, 20, 10]), config).reason is Reason.FOLD_PAYS


def test_a_cut_before_a_question_has_to_cost_next_to_nothing() -> None:
    """The view opens with half an answer if a question would cost more than a fiftieth."""
    config = structs.replace(BALANCE, target_count=4)
    sizes = [3_000, 50, 10, 10]
    dear = verdict(said(sizes), config)
    cheap = verdict(said([3_000, 50, 10, 10_000]), config)

    assert dear.cut == 3
    assert cheap.cut == 3 or said(sizes)[cheap.cut].role == "user"


def steps(count: int) -> History:
    """Return a question and *count* calls of a tool with a long result each."""
    messages = [Message.user("Find the fault.")]
    for number in range(count):
        call = ToolCallPart(f"call_{number}", "read", f'{{"path":"part_{number}.py"}}')
        messages.append(Message(role="assistant", parts=(call,)))
        result = ToolCallResponsePart(call.id, "word " * 2_200)
        messages.append(Message(role="tool", parts=(result,)))
    return History(messages, counter=WordCount())


def test_old_results_are_cleared_in_batches_once_that_pays() -> None:
    """Not one per call, and not before their holding has cost as much as writing the rest again."""
    config = HistoryReductionConfig(trigger="balance", prices=PRICES)
    reasons = []
    for count in range(1, 26):
        found = decide(steps(count), config, config_fingerprint="", costs=FoldCosts(prices=PRICES))
        reasons.append(found.reason)

    first = reasons.index(Reason.CLEARING_PAYS)
    assert first == 13
    assert set(reasons[:first]) == {Reason.BELOW_THRESHOLD}


def test_a_batch_has_to_save_more_than_a_summary_would_have() -> None:
    """Even after a pause, when nothing that is left has to be written because of it."""
    *said, last = [structs.replace(one, created_at=START) for one in steps(6)]
    last = structs.replace(last, created_at=START + timedelta(hours=1))
    history = History([*said, last], counter=WordCount())
    costs = FoldCosts(prices=PRICES, now=START + timedelta(hours=1))
    config = HistoryReductionConfig(trigger="balance", prices=PRICES)

    assert decide(history, config, config_fingerprint="", costs=costs).kind == "skip"


def test_nothing_is_cleared_where_tokens_cost_nothing() -> None:
    """A free model gains nothing from a shorter view."""
    free = Prices(input=0, output=0)
    config = HistoryReductionConfig(trigger="balance", prices=free)

    found = decide(steps(20), config, config_fingerprint="", costs=FoldCosts(prices=free))

    assert found.kind == "skip"


@pytest.mark.parametrize(("each", "before", "after"), [(2_000, 11, 9), (1_000, 15, 15)])
def test_a_fold_comes_first_if_most_of_what_it_drops_is_no_result(
    each: int, before: int, after: int
) -> None:
    """Clearing would leave the words of the conversation, and soon a fold would follow."""
    talk = [*said([each] * before)][:-1]
    history = History([*talk, *steps(6), *said([each] * after)], counter=WordCount())
    config = HistoryReductionConfig(trigger="balance", prices=PRICES, quote_user_messages=0)

    found = decide(history, config, config_fingerprint="", costs=FoldCosts(prices=PRICES))

    assert found.reason is Reason.FOLD_PAYS


def test_the_price_decides_by_default_if_it_is_known() -> None:
    """A count, a threshold or a share says that counts decide; so does trigger='count'."""
    tokens = HistoryReductionConfig(target_token_budget=900, token_budget_threshold=100)

    assert not HistoryReductionConfig().counts
    assert HistoryReductionConfig(trigger="count").counts
    assert HistoryReductionConfig(target_count=20).counts
    assert tokens.counts
    assert not BALANCE.counts


SCRIPT = """
from foldline import HistoryReducer, HistoryReductionConfig, Message, Prices
from foldline.history.parts import ToolCallPart
prices = Prices(input=3.0, output=15.0, cached_read=0.3, cache_write=3.75, minimum_prefix=0)
reducer = HistoryReducer(HistoryReductionConfig(prices=prices, context_window_size=16_000))
said, state = [], None
for turn in range(40):
    call = ToolCallPart(f"c{turn}", "look", f'{{"at":{turn % 7}}}')
    said += [Message.user(f"Find part {turn} of AB-{turn}77. " * 20)]
    said += [Message.assistant(tool_calls=[call]), Message.tool(call.id, f"at src/m{turn}.py " * 90)]
    made = reducer.reduce_sync(said, state=state)
    state = made.state
    print(made.event.reason.name, made.event.request_tokens, [one.text for one in made.messages])
    said += [Message.assistant(f"Part {turn} is there. " * 20)]
"""


@pytest.mark.slow
def test_decisions_do_not_depend_on_the_hash_seed() -> None:
    """Two interpreters decide alike at every call, and send the same views."""
    first, second = outputs_of(SCRIPT)

    assert first == second
    assert b"FOLD_PAYS" in first


@pytest.mark.parametrize(
    ("sizes", "cut"),
    [
        ([2_000, 50], 0),
        ([2_000] + [100] * 9, 0),
        ([2_000] + [100] * 10, 3),
        ([500, 2_000, 50], 0),
        ([60] * 30 + [1_100, 50], 60),
        ([900, 900, 900], 0),
        ([1_100, 300, 1_100, 50], 0),
    ],
)
def test_a_document_stays_while_it_is_talked_about(sizes: list[int], cut: int) -> None:
    """What is larger than all that a fold keeps goes once as much has come after it, not at once."""
    config = HistoryReductionConfig(
        strategy="message_counting", trigger="balance", ceiling=4_000, largest_message=None
    )

    assert verdict(said(sizes), config).cut == cut


def test_a_long_answer_goes_like_any_other() -> None:
    """Only a message of the user is what is talked about."""
    config = HistoryReductionConfig(
        strategy="message_counting", trigger="balance", ceiling=4_000, largest_message=None
    )
    answer = Message.assistant("word " * 2_000)
    talk = [Message.user("Tell me."), answer, Message.user("And then?")]

    assert verdict(History(talk, counter=WordCount()), config).cut == 2
