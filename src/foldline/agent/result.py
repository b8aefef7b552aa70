"""What a turn leaves behind."""

from typing import Final

from msgspec import Struct

from foldline.agent.events import AgentEvent
from foldline.history.messages import Message, Usage, total_usage
from foldline.reduction.event import HistoryReductionEvent
from foldline.reduction.state import HistoryReductionState
from foldline.threads.loop_state import COMPLETED
from foldline.threads.thread import ConversationThread


__all__ = ["AGENT_KEY", "ReductionMetadata", "TurnResult"]


AGENT_KEY: Final = "agent"
"""The metadata key under which a message holds the name of the agent that said it."""


class ReductionMetadata(Struct, frozen=True, kw_only=True):
    """A fold that a turn has made."""

    state: HistoryReductionState
    """The reduction, as it is stored with the thread."""

    event: HistoryReductionEvent
    """What was told of it."""

    @property
    def summary_message(self) -> Message | None:
        """The summary as the model is shown it; None where the messages were dropped."""
        messages = self.state.summary_messages()
        return messages[-1] if messages else None

    @property
    def messages_removed_count(self) -> int:
        """How many messages the view does not show as they are."""
        return self.event.removed_count


class TurnResult(Struct, frozen=True, kw_only=True):
    """What came of a turn."""

    thread: ConversationThread
    """The thread, with everything stored."""

    messages: tuple[Message, ...]
    """What the turn added to it: the input and all that was generated, in order."""

    termination_reason: str
    """Why it ended."""

    iterations: int
    """How many model calls it took; of a resumed turn, since it was resumed."""

    usage: Usage
    """What the vendor counted for these, in all."""

    reduction: ReductionMetadata | None
    """The newest fold that the turn has made; None without one, also on a cache hit."""

    events: tuple[AgentEvent, ...]
    """Everything that it told, in order."""

    @property
    def summarizer_usage(self) -> Usage:
        """What the vendors of the summarizers counted for the folds of the turn, in all."""
        folds = (event for event in self.events if isinstance(event, HistoryReductionEvent))
        return total_usage(event.summarizer_usage for event in folds)

    @property
    def response(self) -> Message | None:
        """The last message of the assistant; None where it said nothing."""
        for message in reversed(self.messages):
            if message.role == "assistant":
                return message
        return None

    @property
    def text(self) -> str:
        """What the assistant said last; empty where it said nothing."""
        return "" if self.response is None else self.response.text

    @property
    def is_complete(self) -> bool:
        """Whether the turn came to its own end, and was not stopped."""
        return self.termination_reason == COMPLETED
