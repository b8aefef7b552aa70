"""
Whole turns of foldline: `python -m bench.turn_foldline FOLDER`.

Each turn reads the thread again from a store that stays open and flushes each commit.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from bench.turn_contest import Disk, Reply, Script, take_part
from bench.turn_work import INSTRUCTIONS, KEEP, SLACK, TOOL, Said
from foldline.agent.agent import Agent
from foldline.agent.tools import tool
from foldline.history.codec import encode_json
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.config import HistoryReductionConfig
from foldline.threads.stores.sqlite.store import SQLiteStore


BATCH = 2_000
_NEWEST = HistoryReductionConfig(
    enabled=True,
    strategy="message_counting",
    counting_unit="messages",
    target_count=KEEP,
    summarization_threshold=SLACK,
)
REDUCTIONS = {
    "whole": None,
    "newest": _NEWEST,
    "summary": structs.replace(_NEWEST, strategy="summarizing"),
}


class Model:
    """A model that answers at once."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        """Say what *script* says."""
        self._script = script

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return the next answer."""
        reply = self._script.reply(len(request.messages) - 1)
        return ChatResponse(
            messages=(_said(reply),), finish_reason="tool_call" if reply.call_id else "stop"
        )


def _said(reply: Reply | Said) -> Message:
    if not reply.call_id:
        return Message.assistant(reply.text)
    arguments = encode_json({"query": reply.text}).decode()
    return Message.assistant(tool_calls=[ToolCallPart(reply.call_id, TOOL, arguments)])


def message_of(said: Said) -> Message:
    """Return *said* as a message of ours."""
    if said.role == "user":
        return Message.user(said.text)
    if said.role == "tool":
        return Message.tool(said.call_id, said.text, name=TOOL)
    return _said(said)


class Foldline:
    """An agent with a tool, on a thread in a SQLite file."""

    async def open(self, folder: Path, script: Script, _: Disk, *, mode: str) -> None:
        """Open the store."""

        @tool(name=TOOL)
        async def search_files(query: str) -> str:
            """Search the files for a text."""
            del query
            return script.result()

        self._store = SQLiteStore(folder / "foldline.db")
        self._agent = Agent(
            Model(script),
            instructions=INSTRUCTIONS,
            tools=[search_files],
            history_reduction=REDUCTIONS[mode],
            summarizer=DigestSummarizer(),
        )
        await self._store.open()

    async def grow(self, said: Sequence[Said]) -> None:
        """Store *said*, in bulk, and make the first fold, where there is enough to fold."""
        thread = await self._store.thread("t")
        for at in range(0, len(said), BATCH):
            await thread.add_messages(map(message_of, said[at : at + BATCH]))
        window = await thread.window()
        reduced = await self._agent.reducer.reduce(window.history)
        if reduced.state is not None:
            await thread.save_reduction(reduced.state)

    async def turn(self, text: str) -> None:
        """Read the thread and run the agent on it."""
        await self._agent.run(text, thread=await self._store.thread("t"))

    async def count(self) -> int:
        """Return how many messages are stored."""
        return (await self._store.thread("t")).count

    async def close(self) -> None:
        """Close the store."""
        await self._store.close()


if __name__ == "__main__":
    take_part(Foldline)
