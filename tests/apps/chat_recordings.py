"""Recordings to chat with."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from foldline.agent.agent import Agent
from foldline.errors import ModelError
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.stores.sqlite.store import SQLiteStore


FIRST = " ".join(["Parcel 0 is on its way."] * 4)
"""The first answer of the recording of the parcels."""

SECOND = " ".join(["Parcel 1 is on its way."] * 4)
"""The second one."""


def recording(path: Path, *answers: str) -> Path:
    """Write a recording with *answers*, each to a request of its own."""
    messages: list[dict[str, str]] = []
    for number, answer in enumerate(answers):
        messages.append({"role": "user", "content": f"request {number}"})
        messages.append({"role": "assistant", "content": answer})
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def break_off(folder: Path) -> None:
    """Leave a turn in the store of *folder* that failed after its first tool call."""

    def look_up(number: int) -> str:
        return f"Parcel {number} is on its way."

    async def run() -> None:
        model = ScriptedModel([calls(("look_up", {"number": 0})), ModelError("gone")])
        async with SQLiteStore(folder / "chat.db") as store:
            thread = await store.thread("chat")
            with suppress(ModelError):
                await Agent(model, tools=[look_up]).run("Where is it?", thread=thread)

    asyncio.run(run())


def tool_loop(path: Path, count: int, *, id: str = "") -> Path:
    """Write a recording of *count* tool calls, which all have the *id* if one is given."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look at all of it."}]
    for number in range(count):
        function = {"name": "look", "arguments": f'{{"number": {number}}}'}
        called = id or f"c{number}"
        call = {"id": called, "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": called, "content": f"Page {number} of it. " * 20},
        ]
    messages.append({"role": "assistant", "content": "Done."})
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path
