"""What decides which agent answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from foldline.checks import expect
from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import (
    ConversationEvent,
    OrchestrationOptions,
    OrchestrationResult,
)
from foldline.errors import ConfigError
from foldline.history.messages import Message


SINGLE_AGENT = "SingleAgent"
"""The name of the strategy, also if a conversation has one agent and no orchestrator."""


@runtime_checkable
class Orchestrator(Protocol):
    """
    Decides which agent answers, and lets it answer.

    It keeps nothing of a conversation: one instance serves any number of them at once.
    """

    async def orchestrate(
        self,
        history: Sequence[Message],
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        """
        Let one of *agents* answer, and return the result.

        What a turn on the thread has stored is not stored again. The rest of the response is appended
        after it, in one commit with the reduction of the result.

        Args:
            history: All messages; the last one is the one to answer.
            agents: The agents by name, in the order they were given.
            conversation_id: The id of the thread.
            options: What else there is to know.
        """
        ...


@runtime_checkable
class StreamingOrchestrator(Orchestrator, Protocol):
    """
    An orchestrator with events of its own.

    The events of its agents' turns are passed on for any orchestrator.
    """

    def orchestrate_stream(
        self,
        history: Sequence[Message],
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> AsyncGenerator[ConversationEvent | OrchestrationResult, None]:
        """
        Yield the events as they happen, and the result last.

        Events of `OrchestratedAgent.run` are passed on automatically, those of `run_stream` must be
        yielded. The arguments are those of `orchestrate`.
        """
        ...


class SingleAgent:
    """Lets the same agent answer every time."""

    history_limit = 0
    """None: no message is needed."""

    def __init__(self, name: str) -> None:
        expect("name", name, str)
        self._name = name

    async def orchestrate(
        self,
        history: Sequence[Message],  # noqa: ARG002 - the protocol has it
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,  # noqa: ARG002 - the protocol has it
        options: OrchestrationOptions,  # noqa: ARG002 - the protocol has it
    ) -> OrchestrationResult:
        """
        Let the agent answer; see `Orchestrator`.

        Raises:
            ConfigError: There is no agent of that name.
        """
        if self._name not in agents:
            known = ", ".join(agents)
            message = f"name must be an agent of the conversation ({known}), got {self._name!r}"
            raise ConfigError(message)
        turn = await agents[self._name].run()
        return OrchestrationResult.of_turn(turn, self._name, strategy_name=SINGLE_AGENT)


class RoundRobin:
    """
    Lets the agents answer in turn, one exchange each.

    The agent follows from the number of the exchange on the thread, so a restart, a resume, a fork or
    a rewind finds the same one. An agent's answer is answered by the next agent.
    """

    history_limit = 0
    """None: no message is needed."""

    async def orchestrate(
        self,
        history: Sequence[Message],  # noqa: ARG002 - the protocol has it
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,  # noqa: ARG002 - the protocol has it
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        """Let the next agent answer; see `Orchestrator`."""
        names = tuple(agents)
        place = options.turn_number - 1
        if options.replies_to in agents:
            place = names.index(options.replies_to) + 1
        name = names[place % len(names)]
        turn = await agents[name].run()
        return OrchestrationResult.of_turn(turn, name, strategy_name="RoundRobin")
