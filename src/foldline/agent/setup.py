"""What the turns of one agent have in common."""

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import force_setattr

from foldline.agent.background import BackgroundFold
from foldline.agent.options import AgentOptions
from foldline.agent.reducer import HistoryReducer
from foldline.agent.telemetry import Observer
from foldline.agent.tools import Tool
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import ChatModel
from foldline.providers.tool_definition import ToolDefinition


__all__ = ["TurnSetup"]


class TurnSetup(Struct, frozen=True, kw_only=True):
    """What the turns of one agent have in common."""

    agent: str
    """The name of the agent."""

    model: ChatModel
    """Who answers."""

    reducer: HistoryReducer
    """What makes views."""

    tools: Mapping[str, Tool]
    """The tools by name."""

    instructions: str
    """What stands in front of every view."""

    options: AgentOptions
    """What bounds a turn."""

    ahead: BackgroundFold | None
    """What makes folds in the background, if anything does."""

    observer: Observer
    """Who watches."""

    new_id: Callable[[], str]
    """What names runs and calls."""

    definitions: tuple[ToolDefinition, ...] = ()
    """What the model is told about the tools."""

    instruction_tokens: int = 0
    """How many tokens the instructions are, by estimate."""

    def __post_init__(self) -> None:
        told = Message.system(self.instructions)
        tokens = count_message(told, TokenEstimator()) if self.instructions else 0
        force_setattr(self, "instruction_tokens", tokens)
        force_setattr(self, "definitions", tuple(tool.definition for tool in self.tools.values()))
