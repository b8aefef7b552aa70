"""
An agent with a tool on a durable thread: run it twice, and the second run continues the first.

Replace `ScriptedModel(…)` by `"openai:gpt-5-mini"` or `"anthropic:claude-sonnet-4-6"` for a real one.
"""

import asyncio
import sys
from pathlib import Path

from foldline import Agent, Message, SQLiteStore, tool
from foldline.messages import ToolCallPart
from foldline.testing.model import ScriptedModel


@tool
def lookup(order: str) -> str:
    """Return where an order is."""
    return f"order {order} is in Lisbon"


async def main(path: Path) -> None:
    """Answer one question on a thread in the store at *path*."""
    call = ToolCallPart("call-1", "lookup", '{"order": "AB12771"}')
    agent = Agent(
        ScriptedModel([Message.assistant(tool_calls=[call]), "It is in Lisbon."]),
        tools=[lookup],
    )
    async with SQLiteStore(path) as store:
        thread = await store.thread("support-42", tenant="acme")
        result = await agent.run("Where is AB12771?", thread=thread)
        print(result.text, f"({thread.count} messages kept)")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "chat.db")))
