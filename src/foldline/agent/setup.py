"""
What the turns of one agent have in common.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from foldline.agent.ahead import FoldAhead
from foldline.agent.options import AgentOptions
from foldline.agent.reducer import HistoryReducer
from foldline.agent.telemetry import Observer
from foldline.agent.tools import Tool
from foldline.providers.model import ChatModel
from foldline.providers.tool_definition import ToolDefinition


__all__ = ["TurnSetup"]


class TurnSetup(Struct, frozen=True, kw_only=True):
    """
    What the turns of one agent have in common.
    """

    agent: str
    """The name of the agent."""

    model: ChatModel
    """Who answers."""

    reducer: HistoryReducer
    """What makes views."""

    tools: Mapping[str, Tool]
    """The tools by name."""

    definitions: tuple[ToolDefinition, ...]
    """What the model is told about them."""

    instructions: str
    """What stands in front of every view."""

    instruction_tokens: int
    """How many tokens that is, by estimate."""

    options: AgentOptions
    """What bounds a turn."""

    ahead: FoldAhead | None
    """What makes folds in the background, if anything does."""

    observer: Observer
    """Who watches."""

    new_id: Callable[[], str]
    """What names runs and calls."""
