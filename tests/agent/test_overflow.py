"""A vendor that finds a request too long: the view is folded harder and sent again."""

from typing import Any, cast

import pytest

from foldline import (
    Agent,
    AgentOptions,
    AgentRunConfig,
    ConversationThread,
    HistoryReducer,
    HistoryReductionConfig,
    HistoryReductionEvent,
    MemoryStore,
    Message,
    TurnResult,
)
from foldline.errors import ContextOverflowError, RequestTooLargeError
from foldline.history.messages import Usage
from foldline.history.tokens import TokenEstimator, count_message
from foldline.history.units import CountingUnit
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.providers.summarizer import FIRST_LINE, LAST_LINE, ModelSummarizer
from foldline.testing.model import Answer, ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState


TALK = "and some words about the weather, the trains and the time that it takes " * 3
ESTIMATOR = TokenEstimator()


def small(window: int, *, tells: bool = True) -> ScriptedModel:
    """Return a model that takes *window* tokens, and tells so when it refuses, or does not."""

    def answer(request: ChatRequest) -> Answer:
        tokens = sum(count_message(message, ESTIMATOR) for message in request.messages)
        if tokens <= window:
            return "fine"
        return ContextOverflowError(
            model="small",
            window=window if tells else None,
            tokens=tokens if tells else None,
            status=400,
        )

    return ScriptedModel(repeat=answer, name="small")


def agent(model: ScriptedModel, *, enabled: bool = True, unit: str = "exchanges") -> Agent:
    counts: Any = {"target_count": 50, "summarization_threshold": 10}
    if unit == "tokens":
        counts = {"target_token_budget": 9000, "token_budget_threshold": 9000}
    config = HistoryReductionConfig(
        enabled=enabled, counting_unit=cast("CountingUnit", unit), **counts
    )
    return Agent(model, history_reduction=config, summarizer=ScriptedSummarizer(repeat="talk"))


async def filled(exchanges: int) -> ConversationThread:
    thread = await MemoryStore().thread("long")
    messages: list[Message] = []
    for number in range(exchanges):
        messages += [Message.user(f"{number} {TALK}"), Message.assistant(f"a{number} {TALK}")]
    await thread.add_messages(messages)
    return thread


def statuses(result: TurnResult) -> list[str]:
    return [one.status for one in result.events if isinstance(one, HistoryReductionEvent)]


@pytest.mark.parametrize("unit", ["exchanges", "messages", "tokens"])
@pytest.mark.parametrize("tells", [True, False])
async def test_a_refused_view_is_folded_and_sent_again(unit: str, *, tells: bool) -> None:
    """The turn is answered, with the newest question in the request, whatever the unit is."""
    model = small(1500, tells=tells)
    thread = await filled(25)
    result = await agent(model, unit=unit).run("and now?", thread=thread)

    assert (result.text, thread.count) == ("fine", 52)
    assert statuses(result)[0] == "skipped"
    assert set(statuses(result)[1:]) == {"performed"}
    assert model.requests[-1].messages[-1].text == "and now?"


async def test_the_window_is_learned() -> None:
    """The next turns keep below the window by themselves: no further request is refused."""
    model = small(1500)
    thread = await filled(25)
    one = agent(model)
    sent: list[int] = []
    for number in range(30):
        before = len(model.requests)
        await one.run(f"question {number} {TALK}", thread=thread)
        sent.append(len(model.requests) - before)

    assert sent[0] > 1
    assert sent[1:] == [1] * 29


async def test_attempts_are_bounded() -> None:
    """A vendor that refuses everything is asked four times, and the turn stays open."""
    refusal = ContextOverflowError(model="small", status=400)
    model = ScriptedModel(repeat=refusal)
    thread = await filled(25)
    with pytest.raises(ContextOverflowError):
        await agent(model).run("and now?", thread=thread)
    state = thread.execution_state

    assert (len(model.requests), state is not None and state.is_open) == (4, True)


async def test_what_cannot_be_folded_is_not_sent_again() -> None:
    """One exchange alone cannot be cut, so the refusal is raised at once."""
    model = ScriptedModel(repeat=ContextOverflowError(model="small", window=10, tokens=99))
    with pytest.raises(ContextOverflowError):
        await agent(model).run("one question")

    assert len(model.requests) == 1


async def test_a_refusal_in_words_of_ones_own_folds_too() -> None:
    """A model of one's own raises it with a text, as it does other failures of a model."""
    model = ScriptedModel([ContextOverflowError("over 8k", status=413), "fine"])
    result = await agent(model).run("and now?", thread=await filled(25))

    assert (result.text, len(model.requests)) == ("fine", 2)
    assert str(ContextOverflowError("over 8k")) == "over 8k"


@pytest.mark.parametrize(
    ("enabled", "overrides", "options"),
    [
        (False, None, AgentOptions()),
        (True, AgentRunConfig(skip_history_reduction=True), AgentOptions()),
        (True, None, AgentOptions(max_overflow_folds=0)),
    ],
    ids=["disabled", "skipped", "no attempts"],
)
async def test_nobody_folds_who_was_not_asked_to(
    overrides: AgentRunConfig | None, options: AgentOptions, *, enabled: bool
) -> None:
    """Without reduction the refusal reaches the caller, and names what would help."""
    model = small(1500)
    config = HistoryReductionConfig(enabled=enabled, target_count=50)
    thread = await filled(25)
    one = Agent(model, history_reduction=config, options=options)
    with pytest.raises(ContextOverflowError, match="history reduction"):
        await one.run("and now?", thread=thread, config=overrides)

    assert len(model.requests) == 1


async def test_what_one_model_refused_another_is_still_sent() -> None:
    """The window that was learned is that of the model which taught it."""
    large = ScriptedModel(repeat="fine", name="large")
    thread = await filled(25)
    await agent(small(1500)).run("and now?", thread=thread)
    await thread.undo_reduction()
    await agent(large).run("and then?", thread=thread)

    assert len(large.requests[0].messages) > 50


async def test_two_models_on_one_thread_keep_their_own_counts() -> None:
    """Each vendor counts half as much again: no request of either exceeds the ceiling for long."""
    counts: list[int] = []

    def answer(request: ChatRequest) -> ChatResponse:
        counts.append(sum(count_message(one, ESTIMATOR) for one in request.messages) * 3 // 2)
        usage = Usage(input_tokens=counts[-1], output_tokens=50)
        return ChatResponse(messages=(Message.assistant(TALK),), usage=usage)

    config = HistoryReductionConfig(context_window_size=4000)
    models = [ScriptedModel(repeat=answer, name=name) for name in ("one", "other")]
    agents = [Agent(model, history_reduction=config) for model in models]
    thread = await MemoryStore().thread("two")
    for number in range(60):
        await agents[number % 2].run(f"{number} {TALK}", thread=thread)

    assert max(counts) <= 2900


async def test_a_question_longer_than_the_learned_window_is_clipped() -> None:
    """Its head and its tail are sent, however little the window takes; the thread keeps it all."""
    model = small(70)
    long = f"one question {TALK * 30}what is it?"
    thread = await filled(0)
    state = AgentLoopState(run_id="r", conversation_id="long", started_at=thread.now())
    state = state.with_vendor("small", ratio=1.0, window=100).terminated("done")
    await thread.commit(Change(execution=state))
    result = await agent(model).run(long, thread=thread)
    sent = model.requests[0].messages[0].text

    assert (result.text, len(model.requests)) == ("fine", 1)
    assert (sent[:12], sent[-11:]) == ("one question", "what is it?")
    assert (await thread.get_messages())[0].text == long


async def test_instructions_that_do_not_fit_are_not_sent() -> None:
    """The error names each part and its size, and nothing reaches the vendor."""
    model = small(1500)
    config = HistoryReductionConfig(context_window_size=200)
    one = Agent(model, instructions=TALK * 20, history_reduction=config)
    with pytest.raises(RequestTooLargeError, match=r"\(instructions \d+\)"):
        await one.run("hi")

    assert not model.requests


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("known", [None, 200_000])
async def test_summaries_of_the_own_model_keep_to_the_configured_window(
    *, known: int | None, given: bool
) -> None:
    """A window that is configured for the agent's model bounds what it reads for a summary too."""

    class Own(ScriptedModel):
        context_window = known
        writes_summaries = True

    model = Own(repeat=f"{FIRST_LINE}\nwords\n{LAST_LINE}")
    config = HistoryReductionConfig(context_window_size=8_000)
    writer = ModelSummarizer(model)
    reducer = HistoryReducer(config, summarizer=writer) if given else None
    one = Agent(model, reducer=reducer, history_reduction=None if given else config)
    said = [make(TALK) for _ in range(200) for make in (Message.user, Message.assistant)]
    await one.run([*said, Message.user("and now?")])

    sizes = [sum(count_message(one, ESTIMATOR) for one in r.messages) for r in model.requests]
    assert len(sizes) > 3
    assert max(sizes) < 8_000


async def test_an_unknown_model_reads_at_most_128_000_tokens_for_a_summary() -> None:
    """What a summarizer of an unknown window reads at once fits the window that is assumed."""
    writer = ScriptedModel(repeat=f"{FIRST_LINE}\nwords\n{LAST_LINE}", name="writer")
    one = Agent(ScriptedModel(repeat="fine"), summarizer=ModelSummarizer(writer))
    said = [make(TALK * 20) for _ in range(250) for make in (Message.user, Message.assistant)]
    await one.run([*said, Message.user("and now?")])

    sizes = [sum(count_message(one, ESTIMATOR) for one in r.messages) for r in writer.requests]
    assert len(sizes) > 1
    assert 64_000 < max(sizes) < 128_000
