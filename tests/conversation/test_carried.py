"""What a vendor holds, and what its refusals have taught, through answers that are no turn."""

from collections.abc import Sequence

import pytest

from foldline.agent.agent import Agent
from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestration import OrchestrationResult
from foldline.errors import ContextOverflowError, ModelError
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.model import Answer, ModelStep, ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.loop_state import AgentLoopState
from tests.conversation.orchestrators import (
    Act,
    Agents,
    Recorded,
    named,
    result_of,
    thread_of,
)
from tests.conversation.stories import SUMMARY, agent_named, said, texts


WINDOW = 160


async def alternating(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    """Let the first agent run and the second one respond, a message each."""
    asked = sum(message.role == "user" for message in history)
    if asked % 2:
        turn = await agents["a"].run()
        return OrchestrationResult.of_turn(turn, "a", strategy_name="Custom")
    turn = await agents["b"].respond(history)
    return OrchestrationResult.of_turn(turn, "b", strategy_name="Custom")


async def own_words(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    """Let the first agent run, or answer without one, a message each."""
    if sum(message.role == "user" for message in history) % 2:
        return await alternating(history, agents)
    return result_of([Message.assistant("b here")], "b")


def state_of(conversation: Conversation) -> AgentLoopState:
    state = thread_of(conversation).execution_state
    assert state is not None
    return state


def small(request: ChatRequest) -> Answer:
    tokens = sum(count_message(message, TokenEstimator()) for message in request.messages)
    if tokens <= WINDOW:
        return "fine"
    return ContextOverflowError(model="small", window=WINDOW, tokens=tokens, status=400)


def refusals(model: ScriptedModel) -> int:
    return sum(isinstance(small(request), ContextOverflowError) for request in model.requests)


@pytest.mark.parametrize("act", [alternating, own_words])
async def test_a_learned_window_outlives_a_response(act: Act) -> None:
    """Anyone who answers in between, a vendor that has refused once is not asked too much again."""
    model = ScriptedModel(repeat=small, name="small")
    config = HistoryReductionConfig(target_count=50, summarization_threshold=10)
    summarizer = ScriptedSummarizer(repeat=SUMMARY)
    agent = Agent(model, name="a", history_reduction=config, summarizer=summarizer)
    conversation = Conversation([agent, agent_named("b")], orchestrator=Recorded(act))
    windows: list[int | None] = []
    for text in said(24):
        await conversation.send(text)
        known = state_of(conversation).learned.get("small")
        windows.append(known.window if known else None)
    assert refusals(model) == 1
    learned = windows.index(windows[-1])
    assert windows[-1] is not None
    assert windows[learned:] == [windows[-1]] * (24 - learned)
    assert 2 < learned < 20


@pytest.mark.parametrize("act", [alternating, own_words])
async def test_what_the_vendor_holds_outlives_a_response(act: Act) -> None:
    """The next turn continues with the vendor's conversation, and sends what it has not seen."""
    held: list[ModelStep] = [holding("c1"), holding("c2")]
    model = ScriptedModel(held)
    other = ScriptedModel([ChatResponse(messages=(Message.assistant("b here"),))])
    conversation = Conversation([named("a", model), named("b", other)], orchestrator=Recorded(act))
    marks: list[tuple[str | None, int]] = []
    for text in ("one", "two", "three"):
        await conversation.send(text)
        state = state_of(conversation)
        marks.append((state.service_thread_id, state.service_watermark))

    assert marks == [("c1", 2), ("c1", 2), ("c2", 6)]
    last = model.requests[-1]
    assert last.service_thread_id == "c1"
    assert texts(last.messages) == ["two", "b here", "three"]


async def handed_over(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    try:
        turn = await agents["a"].run()
    except ModelError:
        turn = await agents["b"].run()
    return OrchestrationResult.of_turn(turn, "a", strategy_name="Custom")


async def excused(history: Sequence[Message], agents: Agents) -> OrchestrationResult:
    try:
        return result_of((await agents["a"].run()).messages)
    except ModelError:
        return result_of([Message.assistant("Sorry.")])


@pytest.mark.parametrize(
    ("act", "said_last"),
    [(handed_over, ["one", "fine", "two"]), (excused, ["one", "fine", "two", "Sorry.", "three"])],
)
async def test_a_run_that_failed_leaves_the_vendors_conversation(
    act: Act, said_last: list[str]
) -> None:
    """The vendor may hold an answer that nobody has stored, so anyone who goes on sends everything."""
    steps: list[ModelStep] = [holding("c1"), ModelError("cut off"), holding("c2"), holding("c3")]
    model = ScriptedModel(steps)
    agents = [named("a", model), named("b", model)]
    conversation = Conversation(agents, orchestrator=Recorded(act))
    for text in ("one", "two", "three"):
        await conversation.send(text)
    assert [one.service_thread_id for one in model.requests[:3]] == [None, "c1", None]
    assert texts(model.requests[2].messages) == said_last


def holding(name: str) -> ChatResponse:
    """Return an answer that the vendor keeps in its conversation *name*."""
    return ChatResponse(messages=(Message.assistant("fine"),), service_thread_id=name)
