"""What orchestrators are told, and what they return."""

from collections.abc import Mapping
from typing import Literal, Self, TypeAlias

from msgspec import Struct

from foldline.agent.result import ReductionMetadata, TurnResult
from foldline.history.messages import Message, Usage
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.event import CIRCUIT_BREAKER_TERMINATION
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import AgentLoopState


__all__ = [
    "MESSAGES_REMOVED_COUNT",
    "SUMMARY_MESSAGE",
    "OrchestrationMetadata",
    "OrchestrationOptions",
    "OrchestrationResult",
    "OrchestrationStatus",
    "reduction_context",
]


SUMMARY_MESSAGE = "SummaryMessage"
"""The context key of the summary as a message, where a fold has written one."""

MESSAGES_REMOVED_COUNT = "MessagesRemovedCount"
"""The context key of how many messages the view does not show as they are, where there was a fold."""

OrchestrationStatus: TypeAlias = Literal["pending", "executing", "completed", "failed"]
"""
How far an orchestration has come.

`pending`: a fold has ended the turn before an answer, and the next run gives it. `executing`: it is
under way. `completed`: it came to its end. `failed`: a limit has ended it.
"""


class OrchestrationOptions(Struct, frozen=True, kw_only=True):
    """What an orchestrator is told beside the history."""

    config: AgentRunConfig | None = None
    """What this run changes; the agents that are handed over know it already."""

    last_reduction: HistoryReductionState | None = None
    """The newest reduction of the thread."""

    last_agent: str | None = None
    """Who was the last to answer on the thread, as far as it is known."""

    turn_number: int = 1
    """The number of this exchange on the thread, from 1: the same after a restart."""

    values: Mapping[str, object] = {}
    """What the caller of `send` gave for the orchestrator."""


class OrchestrationMetadata(Struct, frozen=True, kw_only=True):
    """How the choice was made."""

    strategy_name: str
    """The way of choosing."""

    decision_duration: float = 0.0
    """How long the choice took, in seconds."""

    agent_scores: Mapping[str, float] = {}
    """How well each agent suits, where the strategy rates them."""

    context: Mapping[str, object] = {}
    """More about it. After a fold `MessagesRemovedCount` is in it, and `SummaryMessage` where there
    is a summary; the conversation puts them there where the orchestrator has not."""


class OrchestrationResult(Struct, frozen=True, kw_only=True):
    """What came of a message."""

    response: tuple[Message, ...]
    """What was said to it: messages of the assistant and of tools, in order."""

    selected_agent: str
    """The name of the agent that answered."""

    metadata: OrchestrationMetadata
    """How the choice was made."""

    reduction: ReductionMetadata | None = None
    """The newest fold; None without one. The record in it is what counts: the context keys are for
    display."""

    run_id: str = ""
    """The id of the run; an orchestrator may leave it to the conversation."""

    status: OrchestrationStatus = "completed"
    """How far it has come."""

    activated_agents: tuple[str, ...] = ()
    """The agents that had a turn on the thread, each once."""

    execution_order: tuple[str, ...] = ()
    """The agents of these turns, in order."""

    execution_count: int = 1
    """How many turns there were; a response without one counts as one."""

    execution_time: float = 0.0
    """How long it took, the choice included, in seconds."""

    turn_number: int = 0
    """The number of the exchange on the thread, from 1."""

    requires_user_input: bool = False
    """Whether the orchestrator waits for the user."""

    usage: Usage | None = None
    """What the vendor counted, in all."""

    checkpoint: AgentLoopState | None = None
    """The execution state behind it, as it is stored with the thread."""

    @classmethod
    def of_turn(
        cls,
        turn: TurnResult,
        selected_agent: str,
        *,
        strategy_name: str,
        decision_duration: float = 0.0,
        agent_scores: Mapping[str, float] | None = None,
        context: Mapping[str, object] | None = None,
    ) -> Self:
        """
        Return the result in which the answer is that of *turn*, its fold included.

        Args:
            turn: What came of the turn.
            selected_agent: The name of the agent.
            strategy_name: The way of choosing it.
            decision_duration: How long the choice took, in seconds.
            agent_scores: How well each agent suits.
            context: More about the choice.
        """
        metadata = OrchestrationMetadata(
            strategy_name=strategy_name,
            decision_duration=decision_duration,
            agent_scores=agent_scores or {},
            context={**(context or {}), **reduction_context(turn.reduction)},
        )
        return cls(
            response=tuple(one for one in turn.messages if one.role in {"assistant", "tool"}),
            selected_agent=selected_agent,
            metadata=metadata,
            reduction=turn.reduction,
            status=_status_of(turn),
            usage=turn.usage,
        )

    @property
    def primary_agent(self) -> str:
        """The name of the agent that answered, by its other name."""
        return self.selected_agent

    @property
    def is_complete(self) -> bool:
        """Whether it came to its end."""
        return self.status == "completed"

    @property
    def text(self) -> str:
        """What the assistant said last; empty where it said nothing."""
        for message in reversed(self.response):
            if message.role == "assistant":
                return message.text
        return ""


def reduction_context(reduction: ReductionMetadata | None) -> dict[str, object]:
    """Return what the context of a result holds after the fold *reduction*; nothing without one."""
    if reduction is None:
        return {}
    context: dict[str, object] = {MESSAGES_REMOVED_COUNT: reduction.messages_removed_count}
    if reduction.summary_message is not None:
        context[SUMMARY_MESSAGE] = reduction.summary_message
    return context


def _status_of(turn: TurnResult) -> OrchestrationStatus:
    if turn.is_complete:
        return "completed"
    return "pending" if turn.termination_reason == CIRCUIT_BREAKER_TERMINATION else "failed"
