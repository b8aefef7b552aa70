"""The table of verdicts, row by row and as a whole."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain, combinations
from typing import get_args

import msgspec
import pytest

from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.prefix import Prefix
from foldline.reduction.active import active_reduction, known_of, outcome_of
from foldline.reduction.budget import Budget
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.event import Reason
from foldline.reduction.quotes import Pins
from foldline.reduction.spans import SummaryLayer
from foldline.reduction.state import HistoryReductionState, hash_of
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
