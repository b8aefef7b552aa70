"""The table of verdicts, row by row and as a whole."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain, combinations
from typing import get_args

import msgspec
import pytest

from foldline.history.formats.anthropic import from_anthropic
from foldline.history.history import History, Prefix
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.reduction.active import active_reduction, known_of, outcome_of
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.quotes import Pins, Quote
from foldline.reduction.shortening import clear
from foldline.reduction.state import HistoryReductionState, SummaryLayer, hash_of
from foldline.reduction.verdict import (
    VERDICTS,
    Fact,
    Verdict,
    decide,
)


NOW = datetime(2026, 11, 21, tzinfo=UTC)
CONFIG = HistoryReductionConfig(
    strategy="message_counting",
    counting_unit="messages",
    target_count=4,
    summarization_threshold=2,
)


def talk(count: int) -> History:
    return History(
        Message.user(f"u{n}") if n % 2 == 0 else Message.assistant(f"a{n}") for n in range(count)
    )


def state_of(history: History, index: int, **changes: object) -> HistoryReductionState:
    state = HistoryReductionState.create(
        history,
        "Summary",
        index,
        target_count=4,
        reduction_threshold=2,
        message_count_at_reduction=len(history),
        created_at=NOW,
        config_fingerprint="f",
    )
    return msgspec.structs.replace(state, **changes).sealed()


def judge(
    history: History,
    state: HistoryReductionState | None = None,
    config: HistoryReductionConfig = CONFIG,
    *,
    pins: Pins | None = None,
    budget: Budget | None = None,
    **overrides: object,
) -> Verdict:
    return decide(
        history,
        config,
        state,
        config_fingerprint="f",
        pins=pins,
        budget=budget,
        overrides=AgentRunConfig(**overrides) if overrides else None,  # type: ignore[arg-type]
    )


def said(verdict: Verdict) -> tuple[str, Reason]:
    return verdict.kind, verdict.reason


def test_disabled_wins_over_everything() -> None:
    """Nothing is done while reduction is disabled, whatever the run asks."""
    config = msgspec.structs.replace(CONFIG, enabled=False)
    verdict = judge(talk(50), config=config, trigger_history_reduction=True)

    assert said(verdict) == ("skip", Reason.DISABLED)


def test_skip_wins_over_trigger() -> None:
    """A run that asks for both gets the full history."""
    verdict = judge(talk(50), skip_history_reduction=True, trigger_history_reduction=True)

    assert said(verdict) == ("skip", Reason.SKIPPED_BY_RUN)


def test_nothing_is_done_without_messages() -> None:
    """System messages alone are no history."""
    history = History([Message.system("rules")])

    assert said(judge(history, trigger_history_reduction=True)) == ("skip", Reason.NO_MESSAGES)


@pytest.mark.parametrize(("count", "kind"), [(5, "skip"), (6, "skip"), (7, "fold"), (40, "fold")])
def test_the_trigger_is_strict(count: int, kind: str) -> None:
    """At target + threshold nothing happens; one more folds."""
    assert judge(talk(count)).kind == kind


def test_system_messages_do_not_count() -> None:
    """A hundred system messages trigger nothing."""
    history = History([Message.system("s")] * 100 + talk(6).everything())

    assert judge(history).kind == "skip"


def test_a_valid_reduction_is_a_hit_up_to_the_ceiling() -> None:
    """Behind a cut at 10, six messages are a hit and seven fold again."""
    history = talk(16)
    state = state_of(history, 10)
    hit = judge(history, state)
    history.append(Message.user("more"))
    again = judge(history, state)

    assert said(hit) == ("hit", Reason.REDUCTION_VALID)
    assert (hit.cut, hit.units, hit.state) == (10, 6, state)
    assert (again.kind, again.cut, again.units) == ("fold", 12, 7)


def test_the_live_threshold_decides() -> None:
    """A reduction made with other numbers is judged by those in force now."""
    history = talk(30)
    state = state_of(history, 10, target_count=1, reduction_threshold=0)
    roomy = msgspec.structs.replace(CONFIG, target_count=20)

    assert said(judge(history, state, roomy)) == ("hit", Reason.REDUCTION_VALID)
    assert judge(history, state).kind == "fold"


@pytest.mark.parametrize(
    "changes",
    [
        {"message_hash": "sha256-2:" + "0" * 64},
        {"config_fingerprint": "other"},
        {"counting_unit": "exchanges"},
        {"summarized_up_to_index": 17},
        {"summarized_up_to_index": -1},
        {"pinned_index": 12},
        {"pinned_index": -1},
        {"summary_hash": "of another text"},
    ],
)
def test_what_does_not_fit_is_a_miss(changes: dict[str, object]) -> None:
    """A wrong digest, fingerprint, unit, index or text is a miss, never an error."""
    history = talk(16)
    state = msgspec.structs.replace(state_of(history, 10), **changes)
    verdict = judge(history, state if "summary_hash" in changes else state.sealed())

    assert said(verdict) == ("fold", Reason.THRESHOLD_EXCEEDED)
    assert verdict.state is None


def test_a_shorter_history_is_a_miss() -> None:
    """A history rewound to before the cut does not see the summary of its future."""
    verdict = judge(talk(5), state_of(talk(16), 10))

    assert said(verdict) == ("skip", Reason.BELOW_THRESHOLD)
    assert verdict.state is None


def test_the_longest_earlier_reduction_is_used() -> None:
    """Where the newest does not fit, the one before it does."""
    history = talk(16)
    older = state_of(history, 12).carrying([state_of(history, 4)])
    newest = state_of(history, 14, message_hash="wrong").carrying([*older.chain()])
    verdict = judge(history, newest)

    assert (verdict.kind, verdict.cut) == ("hit", 12)


def test_layers_that_still_fit_are_used() -> None:
    """After an edit between two layers the first one still stands."""
    history = talk(16)
    layers = tuple(
        SummaryLayer(summary=f"{end}", start=end - 6, end=end, message_hash=hash_of(history, end))
        for end in (6, 12)
    )
    state = state_of(history, 12, layers=layers)
    edited = History(
        Message.user("edited") if at == 8 else one for at, one in enumerate(history[:12])
    )

    assert judge(history, state).cut == 12
    assert (judge(edited, state).kind, judge(edited, state).cut) == ("hit", 6)


def test_a_forced_fold_keeps_the_target() -> None:
    """The trigger of a run folds below the threshold too."""
    verdict = judge(talk(6), trigger_history_reduction=True)

    assert said(verdict) == ("fold", Reason.FORCED)
    assert verdict.cut == 2


def test_nothing_to_cut_is_not_forced() -> None:
    """With no more than the last exchange there is nothing to fold, with or without a reduction."""
    history = talk(12)

    assert said(judge(talk(2), trigger_history_reduction=True)) == (
        "cannot",
        Reason.NOTHING_TO_CUT,
    )
    assert said(judge(history, state_of(history, 10), trigger_history_reduction=True)) == (
        "hit",
        Reason.NOTHING_TO_CUT,
    )


def test_one_giant_tool_group_cannot_be_cut() -> None:
    """Where no index is safe the reduction in force is served, or the full history."""
    calls = [ToolCallPart(f"c{n}", "f", "{}") for n in range(20)]
    group = [Message.assistant(tool_calls=calls), *(Message.tool(f"c{n}", "r") for n in range(20))]
    bare = History(group)
    behind = History([*talk(6).everything(), *group])

    assert said(judge(bare)) == ("cannot", Reason.NO_SAFE_CUT)
    assert said(judge(behind, state_of(behind, 6))) == ("hit", Reason.NO_SAFE_CUT)


def test_the_question_alone_is_not_folded() -> None:
    """Where a fold would only move the last user message, which stays in the view, it is not made."""
    speakers = (Message.assistant(f"{n}", name=f"{n}") for n in range(4))
    history = History([Message.user("u"), *speakers])
    config = msgspec.structs.replace(CONFIG, summarization_threshold=0)
    alone = judge(history, config=config)
    history.append(Message.assistant("more"))

    assert said(alone) == ("cannot", Reason.NO_SAFE_CUT)
    assert (judge(history, config=config).kind, judge(history, config=config).cut) == ("fold", 2)


def test_a_history_that_ends_at_the_cut_needs_a_question() -> None:
    """Rewound to the very cut, a reduction is used if there is a user message to show with it."""
    asked, silent = talk(10), History(Message.assistant(f"a{n}") for n in range(10))

    assert judge(asked, state_of(asked, 10)).kind == "hit"
    assert judge(silent, state_of(silent, 10)).state is None


def test_the_circuit_breaker_halts_on_a_fold_only() -> None:
    """A new fold halts the turn; a hit never does."""
    config = msgspec.structs.replace(CONFIG, behavior="circuit_breaker")
    history = talk(12)

    assert said(judge(history, config=config)) == ("halt", Reason.THRESHOLD_EXCEEDED)
    assert judge(talk(6), config=config, trigger_history_reduction=True).kind == "halt"
    assert judge(history, state_of(history, 8), config).kind == "hit"
    assert judge(history, config=config).folds


def test_a_run_overrides_the_behavior() -> None:
    """The behavior of one run replaces the configured one, in both directions."""
    breaker = msgspec.structs.replace(CONFIG, behavior="circuit_breaker")
    halted = judge(talk(12), history_reduction_behavior_override="circuit_breaker")
    folded = judge(talk(12), config=breaker, history_reduction_behavior_override="continue")

    assert (halted.kind, folded.kind) == ("halt", "fold")


def test_every_set_of_facts_has_a_verdict() -> None:
    """Whatever holds, some row of the table matches, and every row is the first for some facts."""
    facts: tuple[Fact, ...] = get_args(Fact)
    first = set()
    for some in chain.from_iterable(combinations(facts, size) for size in range(len(facts) + 1)):
        held = set(some)
        first.add(next(i for i, r in enumerate(VERDICTS) if r.holds <= held and not r.lacks & held))

    assert first == set(range(len(VERDICTS)))


def test_the_question_is_pinned_where_the_history_was_rewound() -> None:
    """Where no user has spoken behind the cut any more, the last one before it stays in the view."""
    whole = History(
        [Message.user("1"), Message.user("2"), Message.assistant("3"), Message.user("4")]
    )
    state = state_of(whole, 2)
    rewound = judge(History(whole[:3]), state).state
    again = History([*whole[:3], Message.user("5")])

    assert judge(whole, state).state is state
    assert rewound is not None
    assert rewound.pinned_index == 1
    assert judge(again, rewound).state is rewound


WORDS = "the cache holds a summary of every flight booked before noon " * 20
TIGHT = HistoryReductionConfig(context_window_size=4_000)
CLEARING = HistoryReductionConfig(context_window_size=4_000, strategy="clearing")


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
    assert (verdict.cut, len(verdict.shortened)) == (0, 10)


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
    history = History([Message.user("a"), Message.user(WORDS * 4)])
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


def test_a_pinned_message_is_not_clipped() -> None:
    """Somebody wants it whole, and it fits."""
    message = Message.user(WORDS * 4, pin=True)
    history = History([Message.user("a"), message])

    assert judge(history, config=TIGHT).kind == "skip"
    assert judge(history, config=TIGHT, pins=[]).kind == "fold"
    assert judge(history, config=TIGHT, pins=[(1, message)]).kind == "skip"


def test_a_view_without_a_cut_is_squeezed() -> None:
    """One answer that is too large, and cannot be cut, is clipped."""
    history = History([Message.user("a"), *(Message.assistant(WORDS) for _ in range(14))])
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

    assert said(judge(loop(7), config=config)) == ("fold", Reason.CLEARED)
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


def users(count: int) -> History:
    return History(Message.user(f"m{n}") for n in range(count))


def active(
    history: History, state: HistoryReductionState | None, by: str = "f"
) -> HistoryReductionState | None:
    return active_reduction(history, state, unit="messages", config_fingerprint=by)


def cuts(states: Iterable[HistoryReductionState]) -> list[tuple[str, int]]:
    return [(one.config_fingerprint, one.summarized_up_to_index) for one in states]


def test_each_candidate_is_judged_by_itself() -> None:
    """Unit and fingerprint are those of each earlier reduction, not of the newest alone."""
    history = users(9)
    tokens = state_of(history, 7, config_fingerprint="b", counting_unit="tokens")
    state = tokens.carrying([state_of(history, 5, config_fingerprint="c"), state_of(history, 3)])
    here, there = active(history, state), active(history, state, "c")

    assert here is not None
    assert there is not None
    assert cuts(here.chain()) == [("f", 3), ("b", 7), ("c", 5)]
    assert cuts(there.chain()) == [("c", 5), ("b", 7), ("f", 3)]
    assert active(history, state, "b") is None


def test_what_fits_is_returned_unchanged() -> None:
    """The newest reduction, if it is active, is the very object, whatever it carries."""
    history = users(9)
    state = state_of(history, 7).carrying([state_of(history, 5, message_hash="other")])

    assert active(history, state) is state
    assert active(history, None) is None


def test_only_what_fits_the_history_is_kept() -> None:
    """What was made from other messages is left out, wherever in the chain it is."""
    history = users(9)
    other = state_of(history, 6, message_hash="other")
    state = other.carrying([state_of(history, 5), other, state_of(history, 3)])

    assert cuts(known_of(history, state)) == [("f", 5), ("f", 3)]
    assert known_of(history, other) == []
    assert known_of(history, None) == []


def test_what_is_not_in_memory_is_kept_unchecked() -> None:
    """An earlier reduction whose prefix cannot be compared may still fit; it is not used."""
    whole = users(9)
    prefix = Prefix(length=4, digest=whole.digest(4), tokens=whole.tokens(0, 4), users=4)
    part = History(whole[4:], prefix=prefix)
    state = state_of(whole, 6, message_hash="other").carrying([state_of(whole, 2)])

    assert cuts(known_of(part, state)) == [("f", 2)]
    assert active(part, state) is None


def test_the_outcome_for_the_previous_reduction() -> None:
    """Used, or what it differs in."""
    history = users(9)
    given = state_of(history, 5)

    assert outcome_of(history, given, state_of(history, 5), unit="messages") == "used"
    assert outcome_of(history, given, state_of(history, 3), unit="messages") == "older_used"
    assert outcome_of(history, given, None, unit="tokens") == "other_unit"
    assert outcome_of(history, given, None, unit="messages") == "other_configuration"
    assert outcome_of(users(3), given, None, unit="messages") == "other_messages"
