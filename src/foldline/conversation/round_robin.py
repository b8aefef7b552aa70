"""The orchestrator that lets the agents answer in turn."""

from collections.abc import Mapping, Sequence

from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import OrchestrationOptions, OrchestrationResult
from foldline.history.messages import Message


__all__ = ["RoundRobin"]


class RoundRobin:
    """
    Lets the agents answer in turn, an exchange each.

    Whose turn it is follows from the number of the exchange on the thread, so a restart, a resume,
    a fork or a rewind finds the same agent.
    """

    @property
    def history_limit(self) -> int:
        """No message."""
        return 0

    async def orchestrate(
        self,
        history: Sequence[Message],  # noqa: ARG002 - the protocol has it
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,  # noqa: ARG002 - the protocol has it
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        """
        Let the agent answer whose turn it is.

        Args:
            history: Not looked at.
            agents: The agents by name, in order.
            conversation_id: The id of the thread.
            options: The number of the exchange.
        """
        names = tuple(agents)
        name = names[(options.turn_number - 1) % len(names)]
        turn = await agents[name].run()
        return OrchestrationResult.of_turn(turn, name, strategy_name="RoundRobin")
