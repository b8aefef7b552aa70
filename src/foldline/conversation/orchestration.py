"""What orchestrators get, and what they return."""

from collections.abc import Mapping
from typing import Literal, Self, TypeAlias

from msgspec import Struct

from foldline.agent.events import AgentEvent
from foldline.agent.result import ReductionMetadata, TurnResult
from foldline.history.messages import Message, Usage
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.event import CIRCUIT_BREAKER_TERMINATION
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import AgentLoopState


SUMMARY_MESSAGE = "SummaryMessage"
"""The context key of the summary as a message, if a fold has written one."""

MESSAGES_REMOVED_COUNT = "MessagesRemovedCount"
"""The context key of how many messages the view does not contain, if there was a fold."""

OrchestrationStatus: TypeAlias = Literal["pending", "executing", "completed", "failed"]
"""`pending`: a fold has ended the turn, and the next run answers. `failed`: a limit has ended it."""


class AgentSelectedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="agent_selected"):
    """An agent was chosen to answer; the events that follow are of its turn."""

    agent: str
    """The name of the agent."""

    conversation_id: str
    """The id of the thread."""


ConversationEvent: TypeAlias = AgentEvent | AgentSelectedEvent
"""Every event of a conversation; `match` over it is exhaustive."""


class OrchestrationOptions(Struct, frozen=True, kw_only=True):
    """What an orchestrator gets beside the history."""

    config: AgentRunConfig | None = None
    """Overrides for this run; the agents apply them already."""

    last_reduction: HistoryReductionState | None = None
    """The newest reduction of the thread."""

    last_agent: str | None = None
    """The agent that answered last on the thread, if known."""

    turn_number: int = 1
    """The number of this exchange on the thread, from 1; the same after a restart."""

    replies_to: str | None = None
    """The agent whose answer is to be answered; None if a message waits that is no agent's answer."""

    values: Mapping[str, object] = {}
    """The `options` of `send`."""


class OrchestrationMetadata(Struct, frozen=True, kw_only=True):
    """How the agent was chosen."""

    strategy_name: str
    """The strategy."""

    decision_duration: float = 0.0
    """How long the choice took, in seconds."""

    agent_scores: Mapping[str, float] = {}
    """A score for each agent, if the strategy has them."""

    context: Mapping[str, object] = {}
    """Further facts. After a fold it has `MessagesRemovedCount`, and `SummaryMessage` if there is a
    summary; the conversation adds them if the orchestrator has not."""


class OrchestrationResult(Struct, frozen=True, kw_only=True):
    """The result of a message."""

    response: tuple[Message, ...]
    """The answer: messages of the assistant and of tools, in order."""

    selected_agent: str
    """The name of the agent that answered."""

    metadata: OrchestrationMetadata
    """How the agent was chosen."""

    reduction: ReductionMetadata | None = None
    """The newest fold; None if there was none. The context keys of the metadata are for display."""

    run_id: str = ""
    """The id of the run; the conversation fills it in if it is empty."""

    status: OrchestrationStatus = "completed"
    """The status."""

    activated_agents: tuple[str, ...] = ()
    """The agents that had a turn on the thread, without repetition."""

    execution_order: tuple[str, ...] = ()
    """The agents of the turns, in order."""

    execution_count: int = 1
    """How many turns there were; a response without a turn counts as one."""

    execution_time: float = 0.0
    """How long it took, including the choice, in seconds."""

    turn_number: int = 0
    """The number of the exchange on the thread, from 1."""

    usage: Usage | None = None
    """The vendor's token counts in total."""

    checkpoint: AgentLoopState | None = None
    """The execution state after it, as stored with the thread."""

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
        """Return the result whose answer and fold are those of *turn*; the rest is its metadata."""
        is_pending = turn.termination_reason == CIRCUIT_BREAKER_TERMINATION
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
            status="completed" if turn.is_complete else "pending" if is_pending else "failed",
            usage=turn.usage,
        )

    @property
    def is_complete(self) -> bool:
        """Whether it is completed."""
        return self.status == "completed"

    @property
    def text(self) -> str:
        """The text of the last assistant message; empty if there is none."""
        for message in reversed(self.response):
            if message.role == "assistant":
                return message.text
        return ""


def reduction_context(reduction: ReductionMetadata | None) -> dict[str, object]:
    """Return the context entries for the fold *reduction*; none without one."""
    if reduction is None:
        return {}
    context: dict[str, object] = {MESSAGES_REMOVED_COUNT: reduction.messages_removed_count}
    if reduction.summary_message is not None:
        context[SUMMARY_MESSAGE] = reduction.summary_message
    return context
