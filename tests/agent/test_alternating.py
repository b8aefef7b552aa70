"""Two configurations in turn on one conversation, and what the event says of earlier reductions."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from foldline.agent.reducer import HistoryReducer
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.stride import FOLD_STRIDE
from foldline.testing.summarizer import ScriptedSummarizer


NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TEXT = "so many words were said about the weather in the north and the south " * 3
CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=4, summarization_threshold=4)
LAYERED = msgspec.structs.replace(CONFIG, use_single_summary=False)
EXCHANGES = msgspec.structs.replace(
    CONFIG, counting_unit="exchanges", target_count=2, summarization_threshold=2
)


def pair(number: int) -> list[Message]:
    return [Message.user(f"u{number} {TEXT}"), Message.assistant(f"a{number} {TEXT}")]


def talk(count: int) -> list[Message]:
    return [message for number in range(count) for message in pair(number)]


def reducer(
    config: HistoryReductionConfig, name: str, **options: Any
) -> tuple[HistoryReducer, ScriptedSummarizer]:
    scripted = ScriptedSummarizer(repeat=f"what {name} thinks was said", name=name)
    return HistoryReducer(config, summarizer=scripted, clock=lambda: NOW, **options), scripted


def read_by(*scripted: ScriptedSummarizer) -> int:
    return sum(len(request.messages) for one in scripted for request in one.requests)


@pytest.mark.parametrize(
    ("first", "second"),
    [(CONFIG, CONFIG), (CONFIG, LAYERED), (LAYERED, LAYERED), (CONFIG, EXCHANGES)],
    ids=["rolling", "mixed", "layered", "units"],
)
def test_two_reducers_in_turn_read_nothing_twice(
    first: HistoryReductionConfig, second: HistoryReductionConfig
) -> None:
    """On one state that goes through JSON each reads what it folds once, as if it were alone."""
    one, asked = reducer(first, "one")
    two, other = reducer(second, "two")
    history, state, cut = History(), None, [0, 0]
    for turn in range(60):
        history.extend(pair(turn))
        reduced = (one, two)[turn % 2].reduce_sync(history, state=state)
        state = reduced.state and HistoryReductionState.from_json(reduced.state.to_json())
        cut[turn % 2] = reduced.state.summarized_up_to_index if reduced.state else 0

    assert min(cut) > 100
    assert read_by(asked) == cut[0]
    assert read_by(other) == cut[1]
    assert state is not None
    assert len(list(state.chain())) <= 2 * FOLD_STRIDE


def test_what_no_longer_stands_is_not_carried_along() -> None:
    """After a rewind and a fold of another configuration the summaries of what went are gone."""
    one, _ = reducer(CONFIG, "one")
    two, _ = reducer(CONFIG, "two")
    state = one.reduce_sync(talk(5)).state
    state = one.reduce_sync(talk(9), state=state).state
    assert state is not None
    assert len(list(state.chain())) == 2
    other = two.reduce_sync([*talk(5), Message.user("another " + TEXT), *talk(2)], state=state)

    assert other.event.status == "performed"
    assert other.state is not None
    assert [known.summarized_up_to_index for known in other.state.chain()] == [11, 6]


@pytest.mark.usefixtures("no_digest")
def test_a_failed_fold_keeps_what_another_configuration_made() -> None:
    """The full history is sent, and the other reducer still finds its reduction."""
    one, asked = reducer(CONFIG, "one")
    failing = HistoryReducer(CONFIG, summarizer=ScriptedSummarizer(repeat="", name="failing"))
    state = one.reduce_sync(talk(5)).state
    failed = failing.reduce_sync(talk(5), state=state)

    assert (failed.event.status, failed.event.earlier) == ("failed", "other_configuration")
    assert failed.messages == talk(5)
    assert failed.state is state
    assert one.reduce_sync(talk(5), state=failed.state).verdict.kind == "hit"
    assert len(asked.requests) == 1


def earlier_of(
    config: HistoryReductionConfig, messages: list[Message], state: HistoryReductionState | None
) -> str:
    return reducer(config, "one")[0].reduce_sync(messages, state=state).event.earlier


def test_the_event_says_what_became_of_the_state() -> None:
    """Used, or what it differs in: the messages, the unit, or the configuration."""
    state = reducer(CONFIG, "one")[0].reduce_sync(talk(5)).state
    prompt = msgspec.structs.replace(CONFIG, custom_summarization_prompt="In verse.")

    assert earlier_of(CONFIG, talk(5), None) == "none"
    assert earlier_of(CONFIG, talk(5), state) == "used"
    assert earlier_of(CONFIG, talk(9), state) == "used"
    assert earlier_of(CONFIG, talk(5)[1:], state) == "other_messages"
    assert earlier_of(CONFIG, talk(1), state) == "other_messages"
    assert earlier_of(EXCHANGES, talk(5), state) == "other_unit"
    assert earlier_of(prompt, talk(5), state) == "other_configuration"


def test_the_event_says_that_an_older_reduction_was_used() -> None:
    """Where the newest does not fit and one before it does."""
    one, _ = reducer(CONFIG, "one")
    state = one.reduce_sync(talk(9), state=one.reduce_sync(talk(5)).state).state

    assert earlier_of(CONFIG, talk(6), state) == "older_used"
