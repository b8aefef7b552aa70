"""
Whole turns of the OpenAI Agents SDK with its SQLite session: `python -m bench.turn_openai FOLDER`.

Runs in an environment of its own (`bench/peers/requirements.txt`). The session flushes each commit and
cannot be told otherwise. Reduced, it reads its newest items alone; there is no summary.
"""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from agents import (  # type: ignore[import-not-found]
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    Usage,
    function_tool,
)
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from bench.turn_contest import Disk, Reply, Script, take_part
from bench.turn_work import INSTRUCTIONS, KEEP, TOOL, Said


BATCH = 2_000


class Scripted(Model):  # type: ignore[misc]
    """A model that answers at once."""

    def __init__(self, script: Script) -> None:
        """Say what *script* says."""
        self._script = script

    async def get_response(self, *_: Any, **asked: Any) -> Any:
        """Return the next answer."""
        reply = self._script.reply(len(asked["input"]))
        return ModelResponse(output=[_output(reply)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Refuse: nobody streams here."""
        raise NotImplementedError


def _output(reply: Reply) -> Any:
    if reply.call_id:
        return ResponseFunctionToolCall(
            type="function_call",
            call_id=reply.call_id,
            name=TOOL,
            arguments=json.dumps({"query": reply.text}),
        )
    text = ResponseOutputText(type="output_text", text=reply.text, annotations=[])
    return ResponseOutputMessage(
        id="msg", type="message", role="assistant", status="completed", content=[text]
    )


def item_of(said: Said) -> Any:
    """Return *said* as an item of the session."""
    if said.role == "user":
        return {"role": "user", "content": said.text}
    if said.role == "tool":
        return {"type": "function_call_output", "call_id": said.call_id, "output": said.text}
    return _output(Reply(said.text, said.call_id)).model_dump(exclude_none=True)


class OpenAI:
    """An agent with a tool, on a session in a SQLite file."""

    async def open(self, folder: Path, script: Script, _: Disk, *, mode: str) -> None:
        """Open the session."""

        @function_tool(name_override=TOOL)  # type: ignore[untyped-decorator]
        async def search_files(query: str) -> str:
            """Search the files for a text."""
            del query
            return script.result()

        self._session = SQLiteSession("t", folder / "openai.db")
        self._agent = Agent(
            name="agent", instructions=INSTRUCTIONS, model=Scripted(script), tools=[search_files]
        )
        limit = KEEP if mode == "newest" else None
        self._config = RunConfig(
            tracing_disabled=True, session_settings=SessionSettings(limit=limit)
        )

    async def grow(self, said: Sequence[Said]) -> None:
        """Store *said*, in bulk."""
        for at in range(0, len(said), BATCH):
            await self._session.add_items(list(map(item_of, said[at : at + BATCH])))

    async def turn(self, text: str) -> None:
        """Run the agent on the session."""
        await Runner.run(self._agent, text, session=self._session, run_config=self._config)

    async def count(self) -> int:
        """Return how many items are stored."""
        return len(await self._session.get_items())

    async def close(self) -> None:
        """Close the session."""
        self._session.close()


if __name__ == "__main__":
    take_part(OpenAI)
