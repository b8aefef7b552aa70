"""Folds that somebody asks for: of a reducer, an agent and a conversation."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from foldline import (
    Agent,
    AgentRunConfig,
    ConfigError,
    Conversation,
    HistoryReducer,
    HistoryReductionConfig,
    Message,
)
from foldline.agent.arguments import by_refusal
from foldline.agent.background import BackgroundFold
from foldline.conversation.orchestrator import RoundRobin
from foldline.errors import ModelError, RunStartError, ThreadConflictError
from foldline.history.parts import ToolCallPart
from foldline.reduction.event import HistoryReductionEvent, Reason
from foldline.reduction.request import SummaryRequest
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread


WORDS = "so many words were said about the weather in the north and the south " * 2
LEAST_SHOWN = 500
COUNTING = HistoryReductionConfig(target_count=4, summarization_threshold=9)


async def _write() -> str:
    return "what was said so far"


class Writer:
    """A summarizer that keeps what it was asked."""

    name = "writer"

    def __init__(self, write: Callable[[], Awaitable[str]] = _write) -> None:
        self.requests: list[SummaryRequest] = []
        self._write = write

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        return await self._write()


def agent(writer: Writer | None = None, **options: Any) -> Agent:
    given: dict[str, Any] = {
        "history_reduction": COUNTING,
        "summarizer": writer or Writer(),
    } | options
    return Agent(ScriptedModel(repeat="fine " * 30), **given)


async def talked(one: Agent, turns: int, **where: Any) -> ConversationThread:
    thread = await MemoryStore(**where).thread("t")
    for number in range(turns):
        await one.run(f"{number} {WORDS}", thread=thread)
    return thread


async def test_a_thread_is_folded_below_its_target() -> None:
    """The last exchange stays, the model is not asked, and the next turn uses the view."""
    writer = Writer()
    one = agent(writer)
    thread = await talked(one, 3)
    reduced = await one.fold(thread, focus="keep the schema")
    result = await one.run("and now?", thread=thread)

    assert (reduced.event.status, reduced.event.reason) == ("performed", Reason.FORCED)
    assert [request.focus for request in writer.requests] == ["keep the schema"]
    assert thread.last_reduction == reduced.state
    assert thread.last_reduction is not None
    assert thread.last_reduction.summarized_up_to_index == 4
    assert (result.reduction, result.iterations) == (None, 1)
    sent = one.model.requests[-1].messages  # type: ignore[attr-defined]
    assert [message.role for message in sent] == ["assistant", "user", "assistant", "user"]


async def test_a_fold_keeps_what_is_asked() -> None:
    """`keep` is in the unit, and there is nothing to do if no more has gathered."""
    one = agent()
    thread = await talked(one, 6)
    reduced = await one.fold(thread, keep=2)
    again = await one.fold(thread, keep=2)

    assert reduced.verdict.cut == 8
    assert (again.event.status, again.event.reason) == ("cache_hit", Reason.NOTHING_TO_CUT)


async def test_other_overrides_are_for_one_fold() -> None:
    """Unit, strategy and prompt; the reduction stays active all the same."""
    writer = Writer()
    one = agent(writer)
    thread = await talked(one, 6)
    config = AgentRunConfig(
        history_reduction_unit_override="messages",
        custom_summarization_prompt_override="Be brief.",
    )
    await one.fold(thread, keep=3, config=config)
    dropping = AgentRunConfig(history_reduction_strategy_override="message_counting")
    dropped = await one.fold(thread, keep=1, config=dropping)
    result = await one.run("and now?", thread=thread)

    assert [request.prompt for request in writer.requests] == ["Be brief."]
    assert dropped.event.strategy == "message_counting"
    statuses = [event.status for event in result.events if isinstance(event, HistoryReductionEvent)]
    assert statuses == ["cache_hit"]


async def test_no_breaker_ends_anything_and_the_fold_can_be_undone() -> None:
    """A fold by hand has no termination reason, and `undo_reduction` takes it back."""
    config = HistoryReductionConfig(
        target_count=4, summarization_threshold=9, behavior="circuit_breaker"
    )
    one = agent(history_reduction=config)
    thread = await talked(one, 6)
    reduced = await one.fold(thread)
    undone = await thread.undo_reduction()

    assert (reduced.event.status, reduced.termination_reason) == ("performed", None)
    assert undone is None


async def test_an_agent_that_drops_can_summarize_once() -> None:
    """Its model writes the summary, although the configuration asks for none."""
    said = ["fine " * 30] * 6 + [
        "Summary of the conversation so far:\nThe weather was fine.\nEnd of summary."
    ]
    dropping = HistoryReductionConfig(strategy="message_counting", target_count=9)
    model = ScriptedModel(said)
    model.writes_summaries = True
    one = Agent(model, history_reduction=dropping)
    thread = await talked(one, 6)
    config = AgentRunConfig(history_reduction_strategy_override="summarizing")
    reduced = await one.fold(thread, config=config)

    assert reduced.event.summary == "The weather was fine."


async def test_folded_messages_go_to_the_archive() -> None:
    """With reduced retention a fold by hand archives what it covers, in its commit."""
    config = HistoryReductionConfig(target_count=4, retention="reduced")
    one = agent(history_reduction=config)
    thread = await talked(one, 4)
    revision = thread.head.revision
    await one.fold(thread)

    assert thread.head.archived == 6
    assert thread.head.revision == revision + 1


async def test_a_fold_waits_for_the_one_in_the_background() -> None:
    """It continues from what that one has stored."""
    go = asyncio.Event()

    async def write() -> str:
        await go.wait()
        return "what was said so far"

    writer = Writer(write)
    eager = HistoryReductionConfig(target_count=2, summarization_threshold=2)
    async with BackgroundFold() as background:
        one = agent(writer, history_reduction=eager, background_fold=background)
        thread = await talked(one, 5)
        folding = asyncio.create_task(one.fold(thread))
        await asyncio.sleep(0)
        go.set()
        reduced = await folding

    assert [bool(request.earlier) for request in writer.requests] == [False, True]
    assert reduced.state is not None
    assert reduced.state.is_same_as(thread.last_reduction)


async def test_a_thread_that_was_rewound_meanwhile_keeps_its_state() -> None:
    """The fold is refused, and stores nothing."""
    thread: ConversationThread | None = None

    async def write() -> str:
        assert thread is not None
        await thread.rewind(2)
        return "what was said so far"

    one = agent(Writer(write))
    thread = await talked(one, 4)
    with pytest.raises(ThreadConflictError):
        await one.fold(thread)

    assert thread.last_reduction is None


async def test_a_thread_with_an_open_run_can_be_folded() -> None:
    """The run continues afterwards."""
    model = ScriptedModel(["fine " * 30] * 3 + [ModelError("down"), "done"])
    one = Agent(model, history_reduction=COUNTING, summarizer=Writer())
    thread = await talked(one, 3)
    with pytest.raises(ModelError):
        await one.run("and now?", thread=thread)
    reduced = await one.fold(thread)
    result = await one.run(thread=thread)

    assert reduced.event.status == "performed"
    assert result.text == "done"


async def test_a_reducer_of_ones_own_has_nothing_to_record() -> None:
    """The error names it."""

    class Own:
        async def reduce(self, messages: Any) -> Any:
            return list(messages)

    one = Agent(ScriptedModel(), reducer=Own())
    with pytest.raises(ConfigError, match="Own cannot fold by hand"):
        await one.fold(await MemoryStore().thread("t"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"focus": 1}, "focus must be a str, got int"),
        ({"keep": 0}, "^keep must be a whole number of at least 1 or None, got 0"),
        ({"config": 1}, "config must be an AgentRunConfig or None, got int"),
    ],
)
async def test_a_wrong_argument_is_named(arguments: dict[str, Any], said: str) -> None:
    """Before anything is read."""
    with pytest.raises(ConfigError, match=said):
        await agent().fold(await MemoryStore().thread("t"), **arguments)


def test_a_reducer_folds_by_hand() -> None:
    """Awaited or not, with what `reduce` takes; the state it returns is active."""
    messages = [Message.user(f"{number} {WORDS}") for number in range(4)]
    writer = Writer()
    reducer = HistoryReducer(COUNTING, summarizer=writer)
    first = reducer.fold_sync(messages[:3], focus="the schema")
    second = asyncio.run(reducer.fold(messages, state=first.state))
    hit = reducer.reduce_sync(messages, state=second.state)

    assert [request.focus for request in writer.requests] == ["the schema", ""]
    assert [one.verdict.cut for one in (first, second)] == [2, 3]
    assert hit.event.status == "cache_hit"


def _looked(*results: str) -> list[Message]:
    said = [Message.user("Look at all of them.")]
    for number, result in enumerate(results):
        call = ToolCallPart(f"call-{number}", "look", "{}")
        said += [Message(role="assistant", parts=(call,)), Message.tool(call.id, result)]
    return said


def test_what_a_vendor_refuses_is_folded_to_a_quarter() -> None:
    """A loop of tools after one question too, which counts would cut to the bone; it stays active."""
    messages = _looked(*(f"{number} {WORDS}" * 4 for number in range(12)))
    reducer = HistoryReducer(COUNTING, summarizer=Writer())
    refused = reducer.reduce_sync(messages).event.reduced_tokens

    folded = reducer.reduce_sync(messages, overrides=by_refusal(refused))
    hit = reducer.reduce_sync(messages)

    assert refused / 5 < folded.event.reduced_tokens < refused / 2
    assert (hit.event.status, hit.messages) == ("cache_hit", folded.messages)


@pytest.mark.parametrize(
    "messages",
    [
        _looked(WORDS * 300),
        _looked(*[WORDS] * 9, WORDS * 300),
        [Message.user(WORDS * 300)],
        [*_looked(WORDS)[1:], Message.user(WORDS * 300)],
    ],
    ids=["a result", "the last of many", "a question", "the last question"],
)
@pytest.mark.parametrize("tools", [(), [{"name": "look", "description": WORDS * 300}]])
def test_a_message_that_is_refused_for_its_own_size_is_shortened(
    messages: list[Message], tools: list[object]
) -> None:
    """It has less than half of what was sent, however large the tools are, and stays so."""
    reducer = HistoryReducer()
    refused = reducer.reduce_sync(messages, tools=tools).event

    after = by_refusal(refused.reduced_tokens)
    folded = reducer.reduce_sync(messages, tools=tools, overrides=after)
    hit = reducer.reduce_sync(messages, tools=tools)

    assert LEAST_SHOWN < folded.event.reduced_tokens < refused.reduced_tokens / 2
    assert folded.event.request_tokens - folded.event.reduced_tokens == (
        refused.request_tokens - refused.reduced_tokens
    )
    assert (hit.event.status, hit.messages) == ("cache_hit", folded.messages)


def test_a_question_shortened_after_a_refusal_is_not_said_to_exceed_the_ceiling(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A higher ceiling would send again what the vendor does not take: the log asks for its window."""
    messages, reducer = [Message.user(WORDS * 300)], HistoryReducer()
    refused = reducer.reduce_sync(messages).event

    reducer.reduce_sync(messages, overrides=by_refusal(refused.reduced_tokens))

    told = [one for one in caplog.messages if one.startswith("message 0, the last of the user, ")]
    assert len(told) == 1
    assert "set `window` to what the model takes" in told[0]
    assert "ceiling" not in told[0]


def test_what_cannot_be_made_shorter_is_sent_as_it_is() -> None:
    """Whether the vendor takes it is the vendor's to say: no ceiling is known."""
    messages = [Message.system(WORDS * 300), Message.user("Hello!")]
    reducer = HistoryReducer()
    refused = reducer.reduce_sync(messages).event.reduced_tokens

    assert reducer.reduce_sync(messages, overrides=by_refusal(refused)).messages == messages


async def test_a_conversation_is_folded_by_the_agent_that_answered_last() -> None:
    """Another one can be named, but must exist; before the first message there is nothing."""
    agents = [agent(name=name) for name in ("first", "second")]

    thread = await talked(agents[0], 3)
    await agents[1].run(WORDS, thread=thread)
    talk = Conversation(agents, orchestrator=RoundRobin(), thread=thread)
    reduced = await talk.fold(focus="x")
    named = await talk.fold(agent="first")

    assert reduced.state is not None
    assert (reduced.verdict.cut, named.event.reason) == (6, Reason.NOTHING_TO_CUT)
    with pytest.raises(ConfigError, match="agent must be 'first' or 'second', got 'third'"):
        await talk.fold(agent="third")
    with pytest.raises(RunStartError, match="nothing to fold yet"):
        await Conversation(agents[0]).fold()


def test_tools_in_an_exchange_stay_whole() -> None:
    """The last exchange stays with all of its calls."""

    def look(n: int) -> str:
        """Look."""
        return f"{n} {WORDS}"

    model = ScriptedModel(
        ["fine " * 30, calls(("look", {"n": 1})), calls(("look", {"n": 2})), "ok"]
    )
    one = Agent(model, tools=[look], history_reduction=COUNTING, summarizer=Writer())

    async def run() -> tuple[int, int]:
        thread = await talked(one, 2)
        return (await one.fold(thread)).verdict.cut, thread.count

    assert asyncio.run(run()) == (2, 8)


@pytest.mark.parametrize(
    ("fields", "unit", "kept"),
    [
        ({}, None, "exchanges"),
        ({}, "messages", "messages"),
        ({"counting_unit": "messages"}, None, "messages"),
        ({"target_token_budget": 4_000}, None, "tokens"),
        ({"max_token_budget": 9_000}, None, "tokens"),
        ({"counting_unit": "tokens"}, None, "tokens"),
    ],
)
def test_what_is_kept_is_counted_in_exchanges_by_default(
    fields: dict[str, Any], unit: Any, kept: str
) -> None:
    """Two exchanges stay of a talk, unless a unit is named or something else is configured."""
    one = HistoryReducer(HistoryReductionConfig(**fields))
    said = [make(WORDS) for _ in range(9) for make in (Message.user, Message.assistant)]
    overrides = AgentRunConfig(history_reduction_unit_override=unit)
    folded = one.fold_sync(said, keep=2, overrides=overrides)

    assert folded.event.counting_unit == kept
    if kept != "tokens":
        assert folded.state is not None
        cut = folded.state.summarized_up_to_index
        assert cut == {"exchanges": 14, "messages": 16}[kept]


async def test_a_given_summary_budget_leaves_room_for_the_rest() -> None:
    """A summary is asked to keep to an eighth of a request, also if more was allowed for it."""
    writer = Writer()
    config = HistoryReductionConfig(ceiling=4_000)
    one = HistoryReducer(config, summarizer=writer, summary_budget=50_000)
    said = [make(WORDS) for _ in range(200) for make in (Message.user, Message.assistant)]
    await one.reduce(said)

    assert [request.budget for request in writer.requests] == [500]
