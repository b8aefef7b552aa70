"""Spans of events alone."""

import asyncio

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from foldline.agent.agent import Agent
from foldline.agent.events import (
    AgentEvent,
    CheckpointEvent,
    IterationFinishedEvent,
    RequestSentEvent,
    RunCompletedEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ToolCallEndEvent,
    ToolResultEvent,
    ToolStartedEvent,
    TurnFinishedEvent,
)
from foldline.errors import ModelError
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.model import ScriptedModel, calls
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.stores.memory import MemoryStore
from tests.agent.telemetry.watched import (
    MODEL,
    SECRET,
    USAGE,
    Watched,
    attributes,
    id_of,
    parent_of,
    reduced,
    started,
    watch,
)


def events() -> list[AgentEvent]:
    return [
        started(),
        reduced(),
        RequestSentEvent(iteration=0, model=MODEL, message_count=5, tokens=300),
        TextStartEvent(iteration=0),
        TextDeltaEvent(iteration=0, text=SECRET),
        TextEndEvent(iteration=0),
        ToolCallEndEvent(iteration=0, index=0, call_id="c", name="lookup", arguments=SECRET),
        ToolStartedEvent(iteration=0, call_id="c", name="lookup", key="k"),
        ToolResultEvent(iteration=0, call_id="c", name="lookup", result=SECRET, is_error=True),
        ToolResultEvent(iteration=0, call_id="d", name="gone", result=SECRET, is_error=True),
        IterationFinishedEvent(
            iteration=0, finish_reason="tool_call", usage=USAGE, model="gpt-5-mini-1"
        ),
        reduced("cache_hit"),
        RequestSentEvent(iteration=1, model=MODEL, message_count=5, tokens=300),
        RequestSentEvent(iteration=1, model=MODEL, message_count=5, tokens=300),
        CheckpointEvent(operation="saved", iteration=1, message_count=6),
        IterationFinishedEvent(iteration=1, finish_reason="stop", usage=USAGE),
        TurnFinishedEvent(termination_reason="Completed", iterations=2, message_count=6),
        RunCompletedEvent(run_id="r-1", usage=USAGE, duration=1.0),
    ]


def follow(watched: Watched, told: list[AgentEvent]) -> None:
    with watched.telemetry.follow() as tell:
        for event in told:
            tell(event)


def follow_to(watched: Watched, told: list[AgentEvent], error: Exception) -> None:
    with watched.telemetry.follow() as tell:
        for event in told:
            tell(event)
        raise error


def names(watched: Watched) -> list[str]:
    return [span.name for span in watched.spans]


def seconds(span: ReadableSpan) -> float:
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) / 1e9


def test_events_alone_give_the_same_spans() -> None:
    """Turn, calls, tools and folds are made of events, all of them children of the turn."""
    watched = watch()
    follow(watched, events())
    turn = watched.span("invoke_agent helper")
    inner = [span for span in watched.spans if span is not turn]

    assert names(watched) == [
        "compact_history",
        "execute_tool lookup",
        "chat gpt-5-mini",
        "chat gpt-5-mini",
        "chat gpt-5-mini",
        "invoke_agent helper",
    ]
    assert {parent_of(span) for span in inner} == {id_of(turn)}
    assert {attributes(span)["gen_ai.conversation.id"] for span in watched.spans} == {"t-1"}
    assert attributes(turn)["foldline.run.iterations"] == 2
    assert attributes(turn)["gen_ai.request.model"] == "gpt-5-mini"


def test_events_alone_say_what_a_call_was() -> None:
    """Response, usage and that the view stands for more are on the span of the call."""
    watched = watch()
    follow(watched, events())
    chat = attributes(next(span for span in watched.spans if span.name == "chat gpt-5-mini"))

    assert chat["gen_ai.response.finish_reasons"] == ("tool_call",)
    assert chat["gen_ai.response.model"] == "gpt-5-mini-1"
    assert chat["gen_ai.usage.cache_read.input_tokens"] == 60
    assert chat["gen_ai.conversation.compacted"] is True
    assert attributes(watched.span("execute_tool lookup"))["error.type"] == "tool_error"


def test_a_fold_begins_where_it_began() -> None:
    """A fold is told of when it is over, and its span has the time that it took."""
    watched = watch()
    follow(watched, events())

    assert seconds(watched.span("compact_history")) == pytest.approx(0.25, abs=0.1)


def test_a_call_ends_before_its_tools() -> None:
    """An iteration ends behind its tools, but the span of its call where the model had spoken."""
    watched = watch()
    follow(watched, events())
    chat = next(span for span in watched.spans if span.name == "chat gpt-5-mini")
    tool = watched.span("execute_tool lookup")

    assert chat.end_time is not None
    assert tool.start_time is not None
    assert chat.end_time <= tool.start_time


def test_a_call_that_is_sent_again_has_failed() -> None:
    """
    Where a request follows a request, the first one was refused: it is an error of unknown kind.
    """
    watched = watch()
    follow(watched, events())
    second = [span for span in watched.spans if span.name == "chat gpt-5-mini"][1]

    assert second.status.status_code is StatusCode.ERROR
    assert attributes(second)["error.type"] == "_OTHER"
    assert attributes(second)["gen_ai.response.finish_reasons"] == ("error",)


def test_events_alone_are_counted() -> None:
    """The metrics are those of a turn that is watched."""
    watched = watch()
    follow(watched, events())

    assert watched.points("foldline.folds") == {("performed", "summarizing"): 1}
    assert watched.points("foldline.hits") == {("summarizing",): 2}
    assert watched.points("foldline.tokens.saved") == {("summarizing",): 2700}
    assert sum(watched.points("gen_ai.client.token.usage").values()) == 240


def test_events_alone_send_nothing_that_was_said() -> None:
    """Texts are in events, but not in spans unless that is asked for."""
    silent, open_one = watch(), watch(capture_content=True)
    follow(silent, events())
    follow(open_one, events())
    tool = attributes(open_one.span("execute_tool lookup"))

    assert "Mulberry" not in "".join(span.to_json() for span in silent.spans)
    assert tool["gen_ai.tool.call.result"] == SECRET


@pytest.mark.parametrize("length", range(1, 18))
def test_a_turn_that_is_left_ends_all_its_spans(length: int) -> None:
    """
    Wherever nobody listens any more, every span that has started has ended, and none has failed.
    """
    watched = watch()
    follow(watched, events()[:length])
    turn = watched.span("invoke_agent helper")

    assert attributes(turn)["foldline.cancelled"] is True
    assert turn.status.status_code is StatusCode.UNSET
    assert all(span.end_time is not None for span in watched.spans)


def test_an_error_while_following_fails_what_is_open() -> None:
    """An error that ends the turn is on the call that was under way, and on the turn."""
    watched = watch()

    with pytest.raises(ModelError):
        follow_to(watched, events()[:3], ModelError("the vendor is away"))
    for name in ("chat gpt-5-mini", "invoke_agent helper"):
        assert attributes(watched.span(name))["error.type"] == "model"


def test_an_error_in_a_tool_leaves_the_call_as_it_was() -> None:
    """A call whose model had spoken has not failed when its tools are interrupted."""
    watched = watch()

    with pytest.raises(ValueError, match="gone"):
        follow_to(watched, events()[:8], ValueError("gone"))
    assert watched.span("chat gpt-5-mini").status.status_code is StatusCode.UNSET
    assert attributes(watched.span("execute_tool lookup"))["error.type"] == "ValueError"


def test_one_turn_after_the_other_is_followed() -> None:
    """A new turn ends one that was left open, and events before the first turn are of none."""
    watched = watch()
    follow(watched, [*events()[1:4], *events()[:3], *events()])

    assert names(watched).count("invoke_agent helper") == 2
    assert trace.get_current_span() is trace.INVALID_SPAN


def lookup(name: str) -> str:
    """Find *name*."""
    return f"found {name}"


def agent() -> Agent:
    return Agent(
        ScriptedModel([calls(("lookup", {"name": "a"}), ("lookup", {"name": "b"})), "both"]),
        name="helper",
        tools=[lookup],
        history_reduction=HistoryReductionConfig(
            enabled=True,
            strategy="summarizing",
            counting_unit="messages",
            target_count=2,
            summarization_threshold=1,
        ),
        summarizer=ScriptedSummarizer(["what was said, in short"]),
    )


def test_a_stream_of_an_agent_is_followed() -> None:
    """The events of a real turn give its turn, its calls and its tools."""
    watched = watch()

    async def main() -> None:
        thread = await MemoryStore().thread("t-7")
        with watched.telemetry.follow() as tell:
            async for event in agent().run_stream("find a and b", thread=thread):
                tell(event)

    asyncio.run(main())

    assert sorted(names(watched)) == [
        "chat scripted",
        "chat scripted",
        "execute_tool lookup",
        "execute_tool lookup",
        "invoke_agent helper",
    ]
    assert attributes(watched.span("invoke_agent helper"))["foldline.run.iterations"] == 2
