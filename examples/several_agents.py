"""Two agents that take turns on one conversation."""

import asyncio

from foldline import Agent, Conversation, RoundRobin
from foldline.testing.model import ScriptedModel


async def main() -> None:
    """Send four messages and print who answers."""
    planner = Agent(ScriptedModel(["First the tests.", "Then the release."]), name="planner")
    coder = Agent(ScriptedModel(["Done: 12 pass.", "Done: 1.0 is out."]), name="coder")
    conversation = Conversation([planner, coder], orchestrator=RoundRobin())
    for text in ("What now?", "Go on.", "And then?", "Finish."):
        result = await conversation.send(text)
        print(f"{text:10} {result.text}")


if __name__ == "__main__":
    asyncio.run(main())
