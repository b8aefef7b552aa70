"""A model that chooses who answers."""

import asyncio

import pytest

from foldline.agent.agent import Agent
from foldline.conversation.conversation import Conversation
from foldline.conversation.model_router import ROUTING_FALLBACK, ModelRouter, named_in
from foldline.conversation.orchestration import OrchestrationResult
from foldline.errors import ContextOverflowError, ModelError
from foldline.testing.model import ModelStep, ScriptedModel
from tests.conversation.stories import agent_named, texts


BILLING = agent_named("billing", instructions="You know everything about invoices.")
TECH = agent_named("tech", instructions="You repair what is broken.")


def routed(*words: ModelStep) -> tuple[Conversation, ScriptedModel]:
    model = ScriptedModel(words)
    return Conversation([BILLING, TECH], orchestrator=ModelRouter(model)), model


def send(conversation: Conversation, *messages: str) -> list[OrchestrationResult]:
    async def talk() -> list[OrchestrationResult]:
        return [await conversation.send(message) for message in messages]

    return asyncio.run(talk())


def test_the_model_chooses() -> None:
    """The agent that the model names answers, and the scores say so."""
    conversation, _ = routed("tech", "Billing.")

    first, second = send(conversation, "It is broken.", "And the invoice?")

    assert (first.text, second.text) == ("tech here", "billing here")
    assert first.metadata.strategy_name == "ModelRouter"
    assert first.metadata.agent_scores == {"billing": 0.0, "tech": 1.0}
    assert first.metadata.decision_duration > 0
    assert ROUTING_FALLBACK not in first.metadata.context
    assert texts(asyncio.run(conversation.messages())) == [
        "It is broken.",
        "tech here",
        "And the invoice?",
        "billing here",
    ]


def test_the_model_is_told_what_the_agents_are_for() -> None:
    """The request holds names, descriptions and what was said, fenced."""
    model = ScriptedModel(["billing"])
    router = ModelRouter(model, descriptions={"tech": "Repairs   things."})
    conversation = Conversation([BILLING, TECH, agent_named("host")], orchestrator=router)

    send(conversation, "Where is my invoice?")
    (request,) = model.requests
    system, question = request.messages

    assert (system.role, question.role) == ("system", "user")
    assert "- billing: You know everything about invoices.\n" in question.text
    assert "- tech: Repairs things.\n" in question.text
    assert "- host: (not described)\n" in question.text
    before, after = question.text.split("=== 1 user ===\nWhere is my invoice?")
    assert "TRANSCRIPT" in before
    assert "Write the name of the agent" in after


def test_the_request_is_bounded() -> None:
    """The request does not grow with the thread, its messages or the instructions."""
    words = "a word " * 20_000
    model = ScriptedModel(repeat="tech")
    agents = [Agent(ScriptedModel(repeat=words), name=name, instructions=words) for name in "ab"]
    conversation = Conversation(agents, orchestrator=ModelRouter(model, last=3))

    send(conversation, *(f"{n} {words}" for n in range(5)))

    assert max(len(request.messages[1].text) for request in model.requests) < 8_000
    assert "=== 3 user ===" in model.requests[-1].messages[1].text
    assert "=== 4" not in model.requests[-1].messages[1].text


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("I do not know.", "no agent was named"),
        ("billing or tech", "no agent was named"),
        ("", "no agent was named"),
        (ModelError("out of order"), "ModelError"),
        (ContextOverflowError(model="m"), "ContextOverflowError"),
        (ConnectionError("refused"), "ConnectionError"),
    ],
)
def test_without_a_name_the_last_agent_goes_on(word: ModelStep, reason: str) -> None:
    """Where the model fails or names nobody, the first agent answers, and later the last one."""
    conversation, _ = routed(word, "tech", word)

    results = send(conversation, "one", "two", "three")

    assert [result.selected_agent for result in results] == ["billing", "tech", "tech"]
    assert results[0].metadata.context == {ROUTING_FALLBACK: reason}
    assert results[0].metadata.agent_scores == {}


def test_a_last_agent_that_is_gone_is_not_chosen() -> None:
    """Without a name the first agent answers if the last one does not exist any more."""
    conversation, _ = routed("tech")
    send(conversation, "one")
    other = Conversation(
        [BILLING, agent_named("host")],
        orchestrator=ModelRouter(ScriptedModel(["?"])),
        thread=conversation.thread,
    )

    (result,) = send(other, "two")

    assert result.selected_agent == "billing"


def test_the_choice_is_paid_for() -> None:
    """The usage of a result is that of the choice and of the answer together."""
    model = ScriptedModel(["a"], usage=True)
    conversation = Conversation([agent_named("a")], orchestrator=ModelRouter(model))

    (result,) = send(conversation, "one")

    assert result.usage is not None
    assert result.usage.input_tokens > 100


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("tech", "tech"),
        ("**Tech**.", "tech"),
        ("The agent tech-support should answer.", "tech-support"),
        ("tech-support", "tech-support"),
        ("I think tech, because it is broken.", "tech"),
        ("<think>Not billing, so tech.</think>\n\nTech", "tech"),
        ("biotech", None),
        ("tech, or tech-support?", None),
        ("nobody", None),
    ],
)
def test_a_name_is_found_in_what_the_model_says(text: str, name: str | None) -> None:
    """A name counts where it stands as a word of its own, and only where no other one does."""
    assert named_in(text, ["tech", "tech-support", "billing"]) == name
