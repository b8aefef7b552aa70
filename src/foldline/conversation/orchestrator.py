"""Who decides which agent answers."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from foldline.conversation.events import ConversationEvent
from foldline.conversation.orchestrated_agent import OrchestratedAgent
from foldline.conversation.orchestration import OrchestrationOptions, OrchestrationResult
from foldline.history.messages import Message


__all__ = ["BoundedOrchestrator", "Orchestrator", "StreamingOrchestrator"]


@runtime_checkable
class Orchestrator(Protocol):
    """
    Whatever decides which agent answers, and lets it answer.

    It keeps nothing of a conversation: one serves any number of them at once.
    """

    async def orchestrate(
        self,
        history: Sequence[Message],
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> OrchestrationResult:
        """
        Let one of *agents* answer, and return what came of it.

        What a turn on the thread has stored is not stored again. Everything else of the response is
        appended behind it, in one commit with the reduction of the result.

        Args:
            history: Everything that was said, the message to answer last.
            agents: The agents by name, in the order in which they were given.
            conversation_id: The id of the thread.
            options: What there is to know besides.
        """
        ...


@runtime_checkable
class StreamingOrchestrator(Orchestrator, Protocol):
    """
    An orchestrator that tells events of its own while it works.

    Others stream as well: what their agents' turns tell is passed on.
    """

    def orchestrate_stream(
        self,
        history: Sequence[Message],
        agents: Mapping[str, OrchestratedAgent],
        conversation_id: str,
        options: OrchestrationOptions,
    ) -> AsyncGenerator[ConversationEvent | OrchestrationResult, None]:
        """
        Give the events as they happen, and what came of it last.

        Events of `OrchestratedAgent.run` are passed on by themselves, those of `run_stream` are to be
        given.

        Args:
            history: Everything that was said, the message to answer last.
            agents: The agents by name.
            conversation_id: The id of the thread.
            options: What there is to know besides.
        """
        ...


@runtime_checkable
class BoundedOrchestrator(Orchestrator, Protocol):
    """An orchestrator that needs a part of the history alone, so that no more of it is read."""

    @property
    def history_limit(self) -> int:
        """How many of the newest messages it is given."""
        ...
