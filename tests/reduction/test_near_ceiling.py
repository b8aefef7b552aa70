"""Verdicts near the ceiling, and on what is clipped, cleared, pinned or signed."""

import msgspec
import pytest

from foldline.history.formats.anthropic import from_anthropic
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.history.units import CountingUnit
from foldline.reduction.balance import FoldCosts
from foldline.reduction.budget import budget_of
from foldline.reduction.case import leaving_tokens
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.prices import Prices
from foldline.reduction.quotes import Quote
from foldline.reduction.shortening import Shortened, clear
from foldline.reduction.state import hash_of
from foldline.reduction.verdict import decide
from tests.reduction.test_verdict import CONFIG, judge, said, state_of, talk


WORDS = "the cache holds a summary of every flight booked before noon " * 20
TIGHT = HistoryReductionConfig(context_window_size=4_000)
CLEARING = HistoryReductionConfig(context_window_size=4_000, strategy="clearing")
# Lines of a log that takes a little more than a fold keeps.
LOG = 110
# A fold pays as soon as it drops something.
CHEAP = FoldCosts(
    prices=Prices(input=2.0, output=8.0, cached_read=1.9, lifetime=300.0, minimum_prefix=0)
)


def loop(results: int, words: str = WORDS, *, thinks: bool = False) -> History:
    """Return a question, an answer, and a question that calls a tool so many times."""
    history = History([Message.user("a"), Message.assistant("b"), Message.user("c")])
    for number in range(results):
        calls = [ToolCallPart(f"c{number}", "look_up", f'{{"page": {number}}}')]
        said = Message.assistant(tool_calls=calls)
        history.append(thinking(f"c{number}") if thinks else said)
        history.append(Message.tool(f"c{number}", words))
    return history


def thinking(call: str) -> Message:
    """Return a call after thinking that its vendor has signed."""
    blocks = [
        {"type": "thinking", "thinking": "so", "signature": "s"},
        {"type": "tool_use", "id": call, "name": "look_up", "input": {"page": call}},
    ]
    return next(iter(from_anthropic([{"role": "assistant", "content": blocks}])))


def test_clearing_alone_is_enough() -> None:
    """Old results are cleared together before anything is folded; the cut stays."""
    verdict = judge(loop(12), config=TIGHT)

    assert said(verdict) == ("fold", Reason.CLEARED)
    assert verdict.is_batch
    assert (verdict.cut, len(verdict.shortened)) == (0, 11)


def test_a_request_near_its_ceiling_is_folded() -> None:
    """If clearing is not enough or not wanted, a quarter stays."""
    config = HistoryReductionConfig(context_window_size=4_000, clear_tool_results=False)
    history = talk(6)
    history.extend(Message.user(f"{n} {WORDS}") for n in range(14))
    folded, halted = (
        judge(history, config=config, history_reduction_behavior_override=behavior)
        for behavior in ("continue", "circuit_breaker")
    )

    assert said(folded) == ("fold", Reason.CEILING_REACHED)
    assert said(halted) == ("halt", Reason.CEILING_REACHED)
    assert not folded.is_batch
    assert 2_800 // 8 < history.tokens(folded.cut) <= 2_800 // 4


def test_the_ceiling_wins_over_the_target() -> None:
    """A target that keeps more than fits is not what a full request is folded to."""
    config = HistoryReductionConfig(
        context_window_size=4_000, counting_unit="messages", target_count=15
    )
    history = History(Message.user(f"{n} {WORDS}") for n in range(19))
    verdict = judge(history, config=config)

    assert said(verdict) == ("fold", Reason.CEILING_REACHED)
    assert history.tokens(verdict.cut) <= 2_800 // 4


def test_nothing_folds_far_below_the_ceiling() -> None:
    """Up to 0.8 of the ceiling nothing happens, with instructions and tools counted."""
    history = History([Message.user("a"), Message.tool("x", WORDS)])
    more = (2_800 * 8 // 10) - history.tokens()
    budgets = [
        budget_of(TIGHT, instructions=instructions, tools=tools)
        for instructions, tools in ((more, 0), (0, more), (more, 500))
    ]

    verdicts = [judge(history, config=TIGHT, budget=budget) for budget in budgets]
    assert [said(verdict)[0] for verdict in verdicts] == ["skip", "skip", "fold"]


@pytest.mark.parametrize("is_cached", [False, True])
def test_a_fold_waits_for_the_end_of_a_signed_tool_loop(*, is_cached: bool) -> None:
    """Thinking that a fold would make invalid is not folded for a count; plain loops are."""
    signed, plain = loop(4, "r", thinks=True), loop(4, "r")
    state = state_of(signed, 2) if is_cached else None

    assert said(judge(signed, state)) == ("hit" if is_cached else "skip", Reason.OPEN_TOOL_LOOP)
    assert said(judge(plain, state)) == ("fold", Reason.THRESHOLD_EXCEEDED)
    signed.append(Message.assistant("done"))
    assert said(judge(signed, state)) == ("fold", Reason.THRESHOLD_EXCEEDED)


def test_the_ceiling_wins_over_a_signed_tool_loop() -> None:
    """A request that would not fit is folded all the same."""
    config = msgspec.structs.replace(CONFIG, context_window_size=4_000, clear_tool_results=False)
    history = loop(14, thinks=True)

    assert said(judge(history, config=config)) == ("fold", Reason.CEILING_REACHED)


def test_a_large_message_is_clipped_at_once() -> None:
    """Above a quarter of the ceiling; what was looked at before is not looked at again."""
    history = History([Message.user("a"), Message.assistant(WORDS * 4)])
    verdict = judge(history, config=TIGHT)
    off = msgspec.structs.replace(TIGHT, largest_message=None)
    state = msgspec.structs.replace(
        state_of(history, 1, counting_unit="tokens"), history_length=2
    ).sealed()

    assert said(verdict) == ("fold", Reason.CLIPPED)
    assert verdict.is_batch
    assert [one.index for one in verdict.shortened] == [1]
    assert verdict.shortened[0].tokens <= 700
    assert judge(history, config=off).kind == "skip"
    assert judge(history, state, TIGHT).kind == "hit"


def test_clipping_can_be_enough() -> None:
    """One message that is larger than the ceiling is clipped, and nothing is folded or cleared."""
    history = History([Message.user("a"), Message.assistant(WORDS * 20)])
    config = msgspec.structs.replace(TIGHT, clear_tool_results=True)
    verdict = judge(history, config=config)

    assert (said(verdict), verdict.cut) == (("fold", Reason.CLIPPED), 0)
    assert [one.index for one in verdict.shortened] == [1]


def test_a_record_covers_what_it_shortens() -> None:
    """A cache knows a batch by all of these messages, also if its cut is that of others."""
    history = talk(6)
    plain = state_of(history, 2)
    entry = Shortened(index=4, digest=history.digest(5).hex(), tokens=9, note="n")
    batch = msgspec.structs.replace(plain, shortened=(entry,))

    assert plain.covered == (2, plain.message_hash)
    assert batch.covered == (5, hash_of(history, 5))


def test_a_pinned_message_is_not_clipped() -> None:
    """Somebody wants it whole, and it fits."""
    message = Message.assistant(WORDS * 4, pin=True)
    history = History([Message.user("a"), message])

    assert judge(history, config=TIGHT).kind == "skip"
    assert judge(history, config=TIGHT, pins=[]).kind == "fold"
    assert judge(history, config=TIGHT, pins=[(1, message)]).kind == "skip"


def test_what_a_user_says_is_clipped_last() -> None:
    """A large user message stays whole as long as the request fits, and is named if it does not."""
    history = History([Message.user(WORDS * 4), Message.assistant("a")])
    assert judge(history, config=TIGHT).kind == "skip"

    history = History([Message.user(WORDS * 10), Message.assistant(WORDS * 4)])
    assert [one.index for one in judge(history, config=TIGHT).shortened] == [1]

    history = History([Message.user(WORDS * 12), Message.assistant(WORDS * 4)])
    assert [one.index for one in judge(history, config=TIGHT).shortened] == [0, 1]


def test_a_long_paste_has_all_the_room_there_is() -> None:
    """A user's message that fits is sent whole, and one that does not is cut by what is too much."""
    paste, limit = "2026-11-26 12:00:01 GET /cart 200 and what followed\n" * 400, 64_000
    messages = [Message.user(paste)]
    size = History(messages).tokens()
    config = HistoryReductionConfig(context_window_size=limit, ceiling=size * 100 // 93, reserve=0)
    assert not judge(History(messages), config=config).shortened

    config = HistoryReductionConfig(context_window_size=limit, ceiling=size * 100 // 120, reserve=0)
    (entry,) = judge(History(messages), config=config).shortened
    assert size * 60 // 100 < entry.tokens < size * 80 // 100


def thoughtful(text: str) -> Message:
    """Make a piece of an answer: with reasoning before it, it belongs to the piece before."""
    return Message(role="assistant", parts=(ReasoningPart("Hm."), TextPart(text)))


def test_answers_of_text_are_kept_whole_by_a_cut() -> None:
    """Where one text follows another a cut may lie, so that none of them is clipped."""
    history = History([Message.user("a"), *(Message.assistant(WORDS) for _ in range(14))])
    verdict = judge(history, config=TIGHT)

    assert said(verdict) == ("fold", Reason.CEILING_REACHED)
    assert not verdict.shortened


def test_a_view_without_a_cut_is_squeezed() -> None:
    """One answer that is too large, and cannot be cut, is clipped."""
    history = History([Message.user("a"), *(thoughtful(WORDS) for _ in range(14))])
    verdict = judge(history, config=TIGHT)

    assert said(verdict) == ("fold", Reason.CLIPPED)
    assert [one.index for one in verdict.shortened] == list(range(1, 15))


def test_what_cannot_be_squeezed_is_said() -> None:
    """Without a word to clip there is no smaller view, with or without a reduction."""
    history = History([Message.user("a"), Message.assistant("b")])
    budget = budget_of(TIGHT, instructions=2_790)

    assert said(judge(history, config=TIGHT, budget=budget)) == ("cannot", Reason.NO_SAFE_CUT)


def test_a_ceiling_that_came_down_is_above_the_quotes_too() -> None:
    """What a record has in front is made smaller if nothing after its cut can be."""
    history = History([Message.user("a"), Message.assistant("b"), Message.user("c")])
    quote = Quote(index=0, kind="pin", role="user", text=WORDS, tokens=260)
    state = state_of(history, 2, counting_unit="tokens", quotes=(quote,))
    roomy, tight = (budget_of(TIGHT, instructions=taken) for taken in (0, 2_600))

    assert judge(history, state, TIGHT, budget=roomy).kind == "hit"
    assert said(judge(history, state, TIGHT, budget=tight)) == ("fold", Reason.CLIPPED)


def test_changed_pins_are_a_batch() -> None:
    """A message before the cut that was pinned or unpinned changes the quotes, and nothing else."""
    history = talk(8)
    quote = Quote(index=1, kind="pin", role="assistant", text="a1", tokens=18)
    state = state_of(history, 4, quotes=(quote,))
    pinned = [(1, history[1]), (6, history[6])]

    assert judge(history, state, pins=pinned).kind == "hit"
    assert judge(history, state).kind == "hit"
    for pins in ([], [*pinned, (3, history[3])]):
        verdict = judge(history, state, pins=pins)
        assert said(verdict) == ("fold", Reason.PINS_CHANGED)
        assert (verdict.is_batch, verdict.cut) == (True, 4)


def test_clearing_is_a_strategy_of_its_own() -> None:
    """Near the ceiling a batch is worth an eighth at least; if clearing is not enough, it drops."""
    history = loop(12)
    cleared = judge(history, config=CLEARING)
    words = History(Message.user(f"{n} {WORDS}") for n in range(14))

    assert said(cleared) == ("fold", Reason.CLEARED)
    assert said(judge(words, config=CLEARING)) == ("fold", Reason.CEILING_REACHED)


def test_the_clearing_strategy_clears_what_is_due() -> None:
    """Target and threshold call for clearing first, below the ceiling, if that is worth it."""
    config = msgspec.structs.replace(CLEARING, target_token_budget=500)

    assert said(judge(loop(7), config=config)) == ("fold", Reason.CLEARING_DUE)
    assert said(judge(loop(7), config=TIGHT)) == ("skip", Reason.BELOW_THRESHOLD)


def test_what_was_cleared_stays_cleared() -> None:
    """The next verdicts are hits until there is enough for one more batch."""
    history = loop(12)
    verdict = judge(history, config=TIGHT)
    state = state_of(
        history, 0, counting_unit="tokens", shortened=verdict.shortened, summary_content=""
    )
    kinds = list[str]()
    for number in range(12, 24):
        history.extend(loop(1)[3:])
        kinds.append(judge(history, state, TIGHT).kind)
        assert number

    assert kinds[:3] == ["hit"] * 3
    assert "fold" in kinds


def test_a_record_without_a_cut_needs_what_it_shortens() -> None:
    """A batch before any fold is active for its own history alone."""
    history, other = loop(3), loop(3, WORDS + "!")
    entry = clear(history, 4, name="Result", recall=False)
    assert entry is not None
    state = state_of(history, 0, counting_unit="tokens", shortened=(entry,), summary_content="")

    assert judge(history, state, TIGHT).state is state
    assert judge(history, state_of(history, 0, counting_unit="tokens"), TIGHT).state is None
    assert judge(other, state, TIGHT).shortened == ()


def test_what_was_cleared_has_left_the_view_before() -> None:
    """When the cut moves over a cleared message, only its note leaves the view."""
    history = loop(3)
    entry = clear(history, 4, name="Result", recall=False)
    assert entry is not None
    whole, short = (leaving_tokens(history, 2, 5, shortened) for shortened in ((), (entry,)))

    assert whole == history.tokens(3, 5)
    assert short == history.tokens(3, 4) + entry.tokens


def test_clipping_one_large_message_may_be_enough() -> None:
    """Then nothing else is squeezed, though there is no cut."""
    answer = [thoughtful(WORDS * times) for times in (2, 8, 2)]
    history = History([Message.user(WORDS), *answer])
    verdict = judge(history, config=TIGHT)

    assert said(verdict) == ("fold", Reason.CLIPPED)
    assert [one.index for one in verdict.shortened] == [2]


def test_clipping_that_is_enough_is_not_called_clearing() -> None:
    """With a cut in reach and no tool result, the large message is clipped, and nothing is folded."""
    history = talk(6)
    history.extend([Message.user(WORDS), Message.assistant(WORDS * 8), Message.user("go on")])
    verdict = judge(history, config=TIGHT)

    assert said(verdict) == ("fold", Reason.CLIPPED)
    assert (verdict.cut, [one.index for one in verdict.shortened]) == (0, [len(history) - 2])


@pytest.mark.parametrize("instructions", [2_801, 0])
def test_what_no_fold_makes_smaller_is_said_at_once(instructions: int) -> None:
    """Instructions or system messages above the ceiling are not worth the call of a summarizer."""
    history = loop(12)
    if not instructions:
        history.append(Message.system(WORDS * 20))
    budget = budget_of(TIGHT, instructions=instructions, system=history.system_tokens)

    assert said(judge(history, config=TIGHT, budget=budget)) == ("cannot", Reason.CANNOT_FIT)


def pasted(lines: int, *answers: Message, asked: str = "Which worker failed?") -> History:
    """Return a long talk, a question of the assistant, the log pasted for it, and *answers*."""
    history = History()
    for n in range(14):
        history.extend([Message.user(f"{n} {WORDS[:400]}"), Message.assistant(WORDS[:400])])
    history.extend([Message.user("It fails."), Message.assistant(asked)])
    history.append(Message.user("the queue of worker seven ran out of memory\n" * lines))
    history.extend(answers)
    return history


def test_the_question_for_a_pasted_log_stays() -> None:
    """The exchange that a last user message answers is kept, though that takes what a fold keeps."""
    history = pasted(LOG)

    assert history.tokens(30) > 700
    assert judge(history, config=TIGHT).cut == 28


def test_some_of_what_was_said_before_a_pasted_log_stays() -> None:
    """A short exchange does not stand alone: an eighth of what a fold keeps is for those before it."""
    history = pasted(LOG)
    history = History([*history[:24], *history[28:30] * 4, history[30]])

    assert judge(history, config=TIGHT).cut == 24


def test_a_long_exchange_before_a_pasted_log_stays_up_to_a_quarter() -> None:
    """What it answers is kept with it up to a quarter of what a fold keeps."""
    short, long = (judge(pasted(LOG, asked=WORDS[:size]), config=TIGHT) for size in (600, 900))

    assert (short.cut, long.cut) == (28, 30)


def test_a_log_that_fills_the_request_stands_alone() -> None:
    """Nothing before it stays if that would call for the next fold."""
    assert judge(pasted(2 * LOG), config=TIGHT).cut == 30


def test_what_follows_a_pasted_log_takes_the_place_of_what_came_before() -> None:
    """After some answers a fold keeps the newest messages, as ever."""
    answers = [Message.assistant(WORDS[:300]) for _ in range(4)]

    assert judge(pasted(LOG, *answers), config=TIGHT).cut == 31


def test_a_hit_after_a_pasted_log_moves_no_cut() -> None:
    """What was kept for the log stays until there is enough to fold behind it."""
    history = pasted(LOG)
    state = state_of(history, 28, counting_unit="tokens")
    history.append(Message.assistant("Worker seven."))

    assert said(judge(history, state, config=TIGHT)) == ("hit", Reason.REDUCTION_VALID)


@pytest.mark.parametrize(("unit", "cut"), [("messages", 28), ("exchanges", 26)])
def test_a_count_keeps_no_more_for_a_pasted_log(unit: CountingUnit, cut: int) -> None:
    """Where a unit is named its target is kept, and near the ceiling a quarter: the log alone."""
    large, small = (
        HistoryReductionConfig(
            context_window_size=window, counting_unit=unit, target_count=3, trigger="balance"
        )
        for window in (8_000, 4_000)
    )
    pays = decide(pasted(LOG), large, config_fingerprint="f", costs=CHEAP)
    small = msgspec.structs.replace(small, target_count=40)
    full, short = (judge(pasted(lines), config=small) for lines in (LOG, LOG // 2))

    assert (*said(pays), pays.cut) == ("fold", Reason.FOLD_PAYS, cut)
    assert (*said(full), full.cut) == ("fold", Reason.CEILING_REACHED, 30)
    assert (*said(short), short.cut) == ("fold", Reason.CEILING_REACHED, 26)


def test_a_fold_that_pays_keeps_the_question_for_a_pasted_log() -> None:
    """What was kept for a log is no reason for the next fold, however much that would pay."""
    history = pasted(2 * LOG, asked=WORDS[:900])
    config = HistoryReductionConfig(context_window_size=8_000, quote_user_messages=0)
    verdict = decide(history, config, config_fingerprint="f", costs=CHEAP)
    state = state_of(history, verdict.cut, counting_unit="tokens", summary_tokens=5)
    history.append(Message.assistant("Worker seven."))
    again = decide(history, config, state, config_fingerprint="f", costs=CHEAP)

    assert (*said(verdict), verdict.cut) == ("fold", Reason.FOLD_PAYS, 28)
    assert said(again) == ("hit", Reason.REDUCTION_VALID)
