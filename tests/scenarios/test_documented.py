"""
The scenarios of the documented original, with its own defaults.

The stories of an agent beside this file run with `documented()` too. Where the original was wrong
the documents win: tool messages are kept with their calls, every system message stays, and the last
question is in every view.
"""

from datetime import UTC, datetime

import pytest

from foldline import (
    Agent,
    AgentRunConfig,
    History,
    HistoryReducer,
    HistoryReductionConfig,
    MemoryStore,
    Message,
    config_from_json,
)
from foldline.history.parts import ToolCallPart
from foldline.reduction.state import HistoryReductionState
from foldline.testing.model import ScriptedModel, calls
from foldline.testing.summarizer import ScriptedSummarizer
from tests.scenarios.stories import TALK, events, said


NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def original(**changes: object) -> HistoryReductionConfig:
    return HistoryReductionConfig.documented(enabled=True, **changes)


def counting(target: int, threshold: int = 0, **changes: object) -> HistoryReductionConfig:
    return original(
        counting_unit="messages",
        target_count=target,
        summarization_threshold=threshold,
        **changes,
    )


def users(count: int) -> list[Message]:
    return [Message.user(f"Message {number}") for number in range(count)]


def weather(number: int) -> list[Message]:
    call = ToolCallPart(f"c{number}", "weather", '{"city": "Oslo"}')
    return [
        Message.user(f"What is the weather on day {number}, {TALK}?"),
        Message.assistant(tool_calls=[call]),
        Message.tool(f"c{number}", f"result {number} {TALK}"),
        Message.assistant(f"Day {number} is fine, {TALK}."),
    ]


def texts(messages: list[Message]) -> list[str]:
    return [one.text for one in messages]


@pytest.mark.parametrize("strategy", ["message_counting", "summarizing"])
@pytest.mark.parametrize(
    ("unit", "folds"), [("messages", [14, 17, 20, 23]), ("exchanges", [26, 32, 38])]
)
def test_folds_come_in_the_documented_turns(unit: str, folds: list[int], strategy: str) -> None:
    """At 20 and 5 the 26th unit folds; then every third turn by messages, every sixth by exchanges."""
    summarizer = ScriptedSummarizer(repeat="they spoke of trains")
    reducer = HistoryReducer(
        original(counting_unit=unit, strategy=strategy), summarizer=summarizer, clock=lambda: NOW
    )
    messages: list[Message] = []
    found: list[int] = []
    state: HistoryReductionState | None = None
    for turn in range(1, folds[-1] + 1):
        question, answer = said(turn, turn)
        messages.append(question)
        reduced = reducer.reduce_sync(messages, state=state)
        state = reduced.state
        if reduced.event.status == "performed":
            found.append(turn)
        messages.append(answer)

    assert found == folds
    assert len(summarizer.requests) == (len(folds) if strategy == "summarizing" else 0)


@pytest.mark.parametrize(("target", "count", "kept"), [(5, 3, 3), (5, 5, 5), (5, 8, 5), (1, 10, 1)])
def test_counting_keeps_the_newest_in_order(target: int, count: int, kept: int) -> None:
    """No more than the target is left, the newest, and what is no more stays as it is."""
    reduced = HistoryReducer(counting(target)).reduce_sync(users(count))

    assert texts(reduced.messages) == texts(users(count)[count - kept :])


def test_counting_keeps_system_messages_in_front() -> None:
    """They are not counted; alone they are left as they are."""
    rules = [Message.system("Be brief."), Message.system("Be kind.")]
    reducer = HistoryReducer(counting(2))

    assert reducer.reduce_sync([rules[0], *users(4)]).messages == [rules[0], *users(4)[2:]]
    assert reducer.reduce_sync([*rules, *users(4)]).messages == [*rules, *users(4)[2:]]
    assert reducer.reduce_sync(rules).messages == rules


def test_tools_leave_with_their_calls() -> None:
    """Of two exchanges with a tool the second stays whole, and the first is read by the summarizer."""
    with ScriptedSummarizer(["they spoke of the weather"]) as summarizer:
        reducer = HistoryReducer(counting(3, strategy="summarizing"), summarizer=summarizer)
        reduced = reducer.reduce_sync([*weather(1), *weather(2)])

    assert reduced.messages[0].text == "they spoke of the weather"
    assert reduced.messages[1:] == weather(2)
    assert summarizer.requests[0].messages[:4] == tuple(weather(1))


def test_a_call_and_its_result_are_never_separated() -> None:
    """With too few texts to fold, both are in the view or neither is."""
    messages = [*weather(1)[1:3], *users(3)]
    for target in range(1, 6):
        reduced = HistoryReducer(counting(target)).reduce_sync(messages)
        roles = [one.role for one in reduced.messages if one.role != "user"]
        assert roles in ([], ["assistant", "tool"])


def test_a_hit_has_nothing_of_what_was_folded() -> None:
    """Of 40 long messages and the folds before, the newest record is used, and asks nobody."""
    config = counting(4, 2, strategy="summarizing")
    summarizer = ScriptedSummarizer(repeat="they spoke of trains")
    reducer = HistoryReducer(config, summarizer=summarizer)
    long = [Message.user(f"bulky {number} {TALK * 20}") for number in range(40)]
    state: HistoryReductionState | None = None
    for count in range(7, 41):
        state = reducer.reduce_sync(long[:count], state=state).state
    asked = len(summarizer.requests)
    hit = reducer.reduce_sync([*long, Message.user("and now?")], state=state)

    assert len(summarizer.requests) == asked > 5
    assert hit.event.status == "cache_hit"
    assert hit.messages[0].text == "they spoke of trains"
    assert len(hit.messages) <= 7
    assert not any(f"bulky {number} " in one.text for one in hit.messages for number in range(34))


async def test_a_tool_call_may_trigger_inside_a_turn() -> None:
    """The first request is whole; the second is reduced, and has the question and the result."""

    def look() -> str:
        return f"seen {TALK}"

    model = ScriptedModel([calls(("look", {})), "done"])
    agent = Agent(model, tools=[look], history_reduction=counting(2, 1))
    thread = await MemoryStore().thread("t")
    await thread.add_messages(said(1, 1))
    result = await agent.run("look", thread=thread)
    first, second = model.requests

    assert [event.status for event in events(result)] == ["skipped", "performed"]
    assert len(first.messages) == 3
    assert [one.role for one in second.messages] == ["user", "assistant", "tool"]
    assert second.messages[0].text == "look"


def test_a_fold_may_be_forced_below_the_target() -> None:
    """Of three messages only the last exchange stays, whatever the counts; the next call is a hit."""
    reducer = HistoryReducer(counting(20, 5))
    messages = [*said(1, 1), Message.user("and now?")]
    forced = reducer.reduce_sync(messages, overrides=AgentRunConfig(trigger_history_reduction=True))
    after = reducer.reduce_sync([*messages, Message.assistant("fine")], state=forced.state)

    assert (forced.event.status, texts(forced.messages)) == ("performed", ["and now?"])
    assert (after.event.status, texts(after.messages)) == ("cache_hit", ["and now?", "fine"])


def test_the_token_strategy_folds_by_tokens() -> None:
    """More than target and threshold fold; the target is kept, from a user message on."""
    config = config_from_json(
        '{"Strategy": "TokenBased", "TargetTokenCount": 400, "ThresholdTokenCount": 100}'
    )
    reducer = HistoryReducer(config, summarizer=ScriptedSummarizer(repeat="they spoke of trains"))
    folds: list[int] = []
    state: HistoryReductionState | None = None
    for turn in range(1, 31):
        history = History(said(1, turn))
        reduced = reducer.reduce_sync(history, state=state)
        state = reduced.state
        assert (reduced.event.status == "performed") is (reduced.event.units > 500)
        if reduced.event.status == "performed":
            folds.append(turn)
            assert 300 < history.tokens(reduced.verdict.cut) <= 500

    assert len(folds) > 5
