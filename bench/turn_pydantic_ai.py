"""
Whole turns of Pydantic AI with a dump as JSON: `python -m bench.turn_pydantic_ai FOLDER`.

Runs in an environment of its own (`bench/peers/requirements.txt`). It has no store of its own; its
documents dump the messages as JSON, which is put in a file here, flushed and renamed, once a turn.
Reduced, a `ProcessHistory` sends the newest messages; there is no summary.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, ModelMessagesTypeAdapter
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from bench.turn_contest import Disk, Reply, Script, take_part
from bench.turn_work import INSTRUCTIONS, KEEP, TOOL, Said


def _said(reply: Reply | Said) -> ModelResponse:
    if not reply.call_id:
        return ModelResponse(parts=[TextPart(reply.text)])
    call = ToolCallPart(TOOL, {"query": reply.text}, tool_call_id=reply.call_id)
    return ModelResponse(parts=[call])


def message_of(said: Said) -> ModelMessage:
    """Return *said* as a message of Pydantic AI."""
    if said.role == "user":
        return ModelRequest(parts=[UserPromptPart(said.text)])
    if said.role == "tool":
        return ModelRequest(parts=[ToolReturnPart(TOOL, said.text, tool_call_id=said.call_id)])
    return _said(said)


async def _newest(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages[-KEEP:]


class PydanticAI:
    """An agent with a tool, and a file of JSON."""

    async def open(self, folder: Path, script: Script, disk: Disk, *, mode: str) -> None:
        """Make the agent."""

        async def respond(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            return _said(script.reply(len(messages)))

        self._path, self._disk = folder / "messages.json", disk
        self._agent = Agent(
            FunctionModel(respond),
            instructions=INSTRUCTIONS,
            capabilities=[ProcessHistory(_newest)] if mode == "newest" else [],
        )

        @self._agent.tool_plain(name=TOOL)
        async def search_files(query: str) -> str:
            """Search the files for a text."""
            del query
            return script.result()

        del search_files

    async def grow(self, said: Sequence[Said]) -> None:
        """Store *said*, in bulk."""
        self._write(list(map(message_of, said)))

    async def turn(self, text: str) -> None:
        """Read the messages, run the agent and write them all."""
        before = self._read()
        result = await self._agent.run(text, message_history=before)
        self._write([*before, *result.new_messages()])

    def _read(self) -> list[ModelMessage]:
        return ModelMessagesTypeAdapter.validate_json(self._path.read_bytes())

    def _write(self, messages: Sequence[Any]) -> None:
        data = ModelMessagesTypeAdapter.dump_json(list(messages))
        new = self._path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        # The new name has to be on the disk too.
        folder = os.open(self._path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
        self._disk.bytes += len(data)
        self._disk.flushes += 2

    async def count(self) -> int:
        """Return how many messages are stored."""
        return len(self._read())

    async def close(self) -> None:
        """Do nothing: there is no open file."""


if __name__ == "__main__":
    take_part(PydanticAI)
