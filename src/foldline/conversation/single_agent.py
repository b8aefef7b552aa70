"""The orchestrator that has no choice."""

from collections.abc import Mapping, Sequence

from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import OrchestrationOptions, OrchestrationResult
from foldline.errors import ConfigError
from foldline.history.messages import Message


__all__ = ["SINGLE_AGENT", "SingleAgent"]


SINGLE_AGENT = "SingleAgent"
"""The name of the strategy, also where a conversation has one agent and needs no orchestrator."""


class SingleAgent:
    """Lets the same agent answer always."""

    def __init__(self, name: str) -> None:
        """Let the agent *name* answer."""
        self._name = name

    @property
    def history_limit(self) -> int:
        """No message."""
        return 0

    async def orchestrate(
        self,
        history: Sequence[Message],  # noqa: ARG002 - the protocol has it
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,
        options: OrchestrationOptions,  # noqa: ARG002 - the protocol has it
    ) -> OrchestrationResult:
        """
        Let the agent answer.

        Args:
            history: Not looked at.
            agents: The agents by name.
            conversation_id: The id of the thread.
            options: Not looked at.

        Raises:
            ConfigError: There is no agent of that name.
        """
        if self._name not in agents:
            known = ", ".join(agents)
            message = f"conversation {conversation_id!r} has no agent {self._name!r}, but {known}"
            raise ConfigError(message)
        turn = await agents[self._name].run()
        return OrchestrationResult.of_turn(turn, self._name, strategy_name=SINGLE_AGENT)
