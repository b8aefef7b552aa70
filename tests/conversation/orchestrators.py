"""Orchestrators that tests let choose."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import pytest

from foldline.agent.agent import Agent
from foldline.conversation.conversation import Conversation
from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import (
    OrchestrationMetadata,
    OrchestrationOptions,
    OrchestrationResult,
    reduction_context,
)
from foldline.conversation.orchestrator import RoundRobin
from foldline.history.messages import Message
from foldline.testing.model import ScriptedModel
from foldline.threads.thread import ConversationThread
from tests.conversation.stories import said, texts


Agents = Mapping[str, OrchestratedAgent]
Act = Callable[[Sequence[Message], Agents], Awaitable[OrchestrationResult]]


def result_of(response: Sequence[Message], agent: str = "a") -> OrchestrationResult:
    metadata = OrchestrationMetadata(strategy_name="Custom")
    return OrchestrationResult(response=tuple(response), selected_agent=agent, metadata=metadata)


class Custom:
    """The orchestrator of the C# documents: an agent answers the history."""

    async def orchestrate(
        self,
        history: Sequence[Message],
        agents: Agents,
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        agent = next(iter(agents.values()))
        turn = await agent.respond(history)
        return OrchestrationResult(
            response=turn.messages,
            selected_agent=agent.name,
            reduction=turn.reduction,
            metadata=OrchestrationMetadata(
                strategy_name="Custom",
                decision_duration=0.01,
                agent_scores={agent.name: 1.0},
                context=reduction_context(turn.reduction),
            ),
        )


ON_EVERY_ORCHESTRATOR = pytest.mark.parametrize(
    "orchestrator", [None, RoundRobin(), Custom()], ids=["none", "durable", "returned"]
)
"""Runs a test without an orchestrator, and with one of each kind."""


class Recorded:
    """Does what it is told to with a function, and remembers what it was given."""

    def __init__(self, act: Act) -> None:
        self._act = act
        self.histories: list[list[str]] = []
        self.options: list[OrchestrationOptions] = []
        self.ids: list[str] = []

    async def orchestrate(
        self,
        history: Sequence[Message],
        agents: Agents,
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        self.histories.append(texts(history))
        self.options.append(options)
        self.ids.append(conversation_id)
        return await self._act(history, agents)


async def talk(conversation: Conversation, count: int) -> list[OrchestrationResult]:
    return [await conversation.send(text) for text in said(count)]


def thread_of(conversation: Conversation) -> ConversationThread:
    assert conversation.thread is not None
    return conversation.thread


def named(name: str, model: ScriptedModel) -> Agent:
    return Agent(model, name=name)
