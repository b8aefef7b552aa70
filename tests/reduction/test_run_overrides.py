"""What one run changes: how much a fold keeps, of what, how, and what its summary is about."""

import asyncio
from typing import Any

import pytest

from foldline.errors import ConfigError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.budget import budget_of
from foldline.reduction.config import (
    AgentRunConfig,
    HistoryReductionConfig,
    Limits,
    config_of_run,
)
from foldline.reduction.draft import FoldOptions
from foldline.reduction.event import Reason
from foldline.reduction.fold import fold
from foldline.reduction.request import DEFAULT_PROMPT, SummaryRequest, run_flow
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import Verdict, decide
from tests.agent.test_reducer import NOW


COUNTING = HistoryReductionConfig(target_count=4, summarization_threshold=2)
DROPPING = HistoryReductionConfig(strategy="message_counting", target_count=4)
FORCED: dict[str, Any] = {"trigger_history_reduction": True}
WORDS = "so many words were said about the weather in the north and the south " * 3


def talk(exchanges: int) -> History:
    said = [
        (Message.user(f"u{n} {WORDS}"), Message.assistant(f"a{n} {WORDS}"))
        for n in range(exchanges)
    ]
    return History([message for pair in said for message in pair])


def verdict(history: History, config: HistoryReductionConfig = COUNTING, **run: Any) -> Verdict:
    overrides = AgentRunConfig(**run)
    return decide(history, config, config_fingerprint="f", overrides=overrides)


class Folding:
    """Folds and keeps what was asked."""

    def __init__(self) -> None:
        self.requests: list[SummaryRequest] = []

    async def _ask(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        return f"summary {len(self.requests)}"

    def fold(
        self,
        history: History,
        config: HistoryReductionConfig = COUNTING,
        state: HistoryReductionState | None = None,
        **run: Any,
    ) -> HistoryReductionState:
        overrides = AgentRunConfig(**FORCED, **run)
        decided = decide(history, config, state, config_fingerprint="f", overrides=overrides)
        budget = budget_of(config)
        options = FoldOptions(
            created_at=NOW,
            config_fingerprint="f",
            summarizers=1,
            budget=budget,
            summary_budget=budget.summary,
        )
        flow = fold(history, decided, config, options, given=state, overrides=overrides)
        made = asyncio.run(run_flow(flow, self._ask, asyncio.to_thread)).state
        assert made is not None
        return made


def test_a_run_without_overrides_changes_nothing() -> None:
    """The configuration is the very same."""
    assert config_of_run(COUNTING, None) is COUNTING
    assert config_of_run(COUNTING, AgentRunConfig(history_reduction_focus="x")) is COUNTING


@pytest.mark.parametrize(
    ("given", "run", "limits"),
    [
        ({"target_count": 4, "summarization_threshold": 2}, {"target": 9}, (9, 2)),
        ({"target_count": 4, "summarization_threshold": 2}, {"target": 9, "forced": True}, (9, 0)),
        ({"target_count": 4, "summarization_threshold": 2}, {"unit": "messages"}, (20, 5)),
        ({"target_count": 4}, {"unit": "tokens", "target": 90}, (90, 1000)),
        ({"target_count": 4}, {"unit": "tokens"}, None),
        ({}, {"target": 700, "forced": True}, (700, 0)),
        ({}, {"unit": "exchanges", "target": 3}, (3, 5)),
        (
            {"token_budget_trigger_percentage": 0.5, "context_window_size": 1000},
            {"target": 100},
            (100, 200),
        ),
        ({"max_token_budget": 900}, {"unit": "messages", "target": 3}, (3, 5)),
    ],
)
def test_a_target_counts_in_the_unit_of_the_run(
    given: dict[str, Any], run: dict[str, Any], limits: tuple[int, int] | None
) -> None:
    """The threshold stays in the same unit, unless the fold is asked for; else it is the usual one."""
    overrides = AgentRunConfig(
        history_reduction_target_override=run.get("target"),
        history_reduction_unit_override=run.get("unit"),
        trigger_history_reduction=run.get("forced", False),
    )
    made = config_of_run(HistoryReductionConfig(**given), overrides)

    assert made.limits == (None if limits is None else Limits(*limits))
    assert made.unit == run.get("unit", HistoryReductionConfig(**given).unit)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"history_reduction_target_override": 0}, "history_reduction_target_override must be"),
        ({"history_reduction_unit_override": "words"}, "history_reduction_unit_override must be"),
        ({"history_reduction_strategy_override": "x"}, "history_reduction_strategy_override must"),
        ({"custom_summarization_prompt_override": 1}, "custom_summarization_prompt_override must"),
        ({"history_reduction_focus": None}, "history_reduction_focus must be a str, got None"),
    ],
)
def test_a_wrong_override_is_named(fields: dict[str, Any], said: str) -> None:
    """The message says what is expected."""
    with pytest.raises(ConfigError, match=said):
        AgentRunConfig(**fields)


def test_a_prompt_without_a_summary_is_refused() -> None:
    """An override that would have no effect is an error, as in a configuration."""
    with pytest.raises(ConfigError, match="has no effect with strategy='message_counting'"):
        verdict(talk(9), DROPPING, custom_summarization_prompt_override="Be brief.")


@pytest.mark.parametrize(
    ("exchanges", "run", "cut"),
    [
        (9, FORCED, 10),
        (4, FORCED, 6),
        (2, FORCED, 2),
        (9, FORCED | {"history_reduction_target_override": 2}, 14),
        (9, {"history_reduction_target_override": 5}, 8),
        (9, FORCED | {"history_reduction_unit_override": "messages", "history_reduction_target_override": 3}, 15),
    ],
)  # fmt: skip
def test_a_fold_that_was_asked_for_is_made(exchanges: int, run: dict[str, Any], cut: int) -> None:
    """It keeps the target; below that the last exchange stays, unless the run names a target."""
    made = verdict(talk(exchanges), **run)

    assert (made.kind, made.cut) == ("fold", cut)


@pytest.mark.parametrize(
    ("exchanges", "run"), [(1, FORCED), (4, FORCED | {"history_reduction_target_override": 4})]
)
def test_the_last_exchange_and_a_target_of_the_run_stay(
    exchanges: int, run: dict[str, Any]
) -> None:
    """With nothing else to cut nothing happens."""
    made = verdict(talk(exchanges), **run)

    assert (made.kind, made.reason) == ("cannot", Reason.NOTHING_TO_CUT)


@pytest.mark.parametrize("is_single", [True, False])
def test_prompt_and_focus_are_asked(is_single: bool) -> None:
    """Each request has them, and those of the next fold have them no more."""
    config = HistoryReductionConfig(target_count=4, use_single_summary=is_single)
    history, folding = talk(9), Folding()
    focus, prompt = "the schema", "Be brief."
    state = folding.fold(
        history,
        config,
        history_reduction_focus=focus,
        custom_summarization_prompt_override=prompt,
    )
    history.extend(talk(3))
    folding.fold(history, config, state)

    assert [(one.focus, one.prompt) for one in folding.requests] == [
        (focus, prompt),
        ("", DEFAULT_PROMPT),
    ]


@pytest.mark.parametrize(
    "run",
    [
        {"history_reduction_unit_override": "tokens", "history_reduction_target_override": 200},
        {"history_reduction_strategy_override": "message_counting"},
        {"custom_summarization_prompt_override": "Be brief.", "history_reduction_focus": "x"},
    ],
)
def test_a_fold_with_overrides_stays_active(run: dict[str, Any]) -> None:
    """It is recorded in the unit and with the fingerprint of the configuration, and continued."""
    history = talk(9)
    state = Folding().fold(history, **run)
    hit = decide(history, COUNTING, state, config_fingerprint="f")

    assert (hit.kind, hit.state) == ("hit", state)
    assert (state.counting_unit, state.target_count) == ("exchanges", 4)


def test_a_fold_with_another_unit_continues_the_one_before() -> None:
    """It starts from the active reduction, which is one of the configured unit."""
    history, folding = talk(9), Folding()
    state = folding.fold(history)
    history.extend(talk(3))
    unit = {"history_reduction_unit_override": "messages", "history_reduction_target_override": 3}
    folding.fold(history, COUNTING, state, **unit)

    assert [request.earlier for request in folding.requests] == [(), ("summary 1",)]


@pytest.mark.parametrize("is_single", [True, False])
def test_dropping_once_keeps_the_summary_before(is_single: bool) -> None:
    """What is summarized stays so; the newly aged messages leave the view, and the next fold goes on."""
    config = HistoryReductionConfig(target_count=4, use_single_summary=is_single)
    history, folding = talk(9), Folding()
    first = folding.fold(history, config)
    history.extend(talk(3))
    dropped = folding.fold(
        history, config, first, history_reduction_strategy_override="message_counting"
    )
    history.extend(talk(3))
    last = folding.fold(history, config, dropped)

    assert dropped.summarized_up_to_index > first.summarized_up_to_index
    assert dropped.summary_content == first.summary_content == "summary 1"
    assert [one.summary_content for one in dropped.chain()] == ["summary 1"] * 2
    assert len(folding.requests) == 2
    assert last.summary_content.endswith("summary 2")


def test_a_run_may_summarize_what_would_be_dropped() -> None:
    """The summary stays in the view when later folds drop messages again."""
    history, folding = talk(9), Folding()
    first = folding.fold(history, DROPPING, history_reduction_strategy_override="summarizing")
    history.extend(talk(3))
    second = folding.fold(history, DROPPING, first)

    assert second.summarized_up_to_index > first.summarized_up_to_index
    assert (first.summary_content, second.summary_content) == ("summary 1", "summary 1")
