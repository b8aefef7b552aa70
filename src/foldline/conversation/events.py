"""The events of a conversation while it answers a message."""

from typing import TypeAlias

from msgspec import Struct

from foldline.agent.events import AgentEvent


__all__ = ["AgentSelectedEvent", "ConversationEvent"]


class AgentSelectedEvent(Struct, frozen=True, kw_only=True, tag_field="type", tag="agent_selected"):
    """An agent was chosen to answer; the events that follow are of its turn."""

    agent: str
    """The name of the agent."""

    conversation_id: str
    """The id of the thread."""


ConversationEvent: TypeAlias = AgentEvent | AgentSelectedEvent
"""Every event of a conversation; `match` over it is exhaustive."""
