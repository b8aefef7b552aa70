"""An answer that is watched while it is given."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from foldline.agent.event_stream import EventStream, Later
from foldline.agent.result import ReductionMetadata
from foldline.conversation.events import ConversationEvent
from foldline.conversation.orchestration import OrchestrationResult
from foldline.history.messages import Message


__all__ = ["ConversationStream", "Send"]


Send: TypeAlias = Callable[[Callable[[ConversationEvent], None]], Awaitable[OrchestrationResult]]
"""Answers a message, gives each event to the function it is given, and returns what came of it."""


class ConversationStream(EventStream[ConversationEvent, OrchestrationResult]):
    """
    The events of an answer as they happen, and what comes of it.

    It begins when somebody iterates, or awaits one of the values, which runs it to its end. Leaving
    it early, by `aclose` or the end of its context, stops it where it is: what was stored stays, and
    the conversation can be resumed. It belongs to the event loop that it is used in.
    """

    def __init__(self, send: Send, messages: Callable[[], Awaitable[list[Message]]]) -> None:
        """
        Watch *send*.

        Args:
            send: Answers the message.
            messages: Gives all messages of the thread.
        """
        super().__init__(send)
        self._messages = messages
        self.final_history: Later[list[Message]] = Later(self._history)
        """All messages of the thread behind it."""
        self.reduction: Later[ReductionMetadata | None] = Later(self._reduction)
        """The newest fold that was made; None without one, also on a cache hit."""

    async def _history(self) -> list[Message]:
        await self.final_result
        return await self._messages()

    async def _reduction(self) -> ReductionMetadata | None:
        return (await self.final_result).reduction
