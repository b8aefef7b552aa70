"""Tools: typed functions that a model may call."""

from foldline.agent.tools.answer import MAX_RESULT_CHARS, ToolAnswer
from foldline.agent.tools.running import call_signature, run_tool, unknown_tool
from foldline.agent.tools.signature import ToolContext
from foldline.agent.tools.tool import Tool, as_tool, tool, tools_by_name


__all__ = [
    "MAX_RESULT_CHARS",
    "Tool",
    "ToolAnswer",
    "ToolContext",
    "as_tool",
    "call_signature",
    "run_tool",
    "tool",
    "tools_by_name",
    "unknown_tool",
]
