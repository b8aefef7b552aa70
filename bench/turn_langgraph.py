"""
Whole turns of LangGraph with its SQLite saver: `python -m bench.turn_langgraph FOLDER`.

Runs in an environment of its own (`bench/peers/requirements.txt`). Each step is on the disk before the
next begins (`durability="sync"`, SQLite flushes each commit), as it is with foldline. Reduced, the
model is sent the newest messages, by `trim_messages`; there is no summary.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel  # type: ignore[import-not-found]
from langchain_core.messages import (  # type: ignore[import-not-found]
    AIMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    trim_messages,
)
from langchain_core.outputs import ChatGeneration, ChatResult  # type: ignore[import-not-found]
from langchain_core.tools import StructuredTool  # type: ignore[import-not-found]
from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
from langgraph.graph import START, MessagesState, StateGraph  # type: ignore[import-not-found]
from langgraph.prebuilt import ToolNode, tools_condition  # type: ignore[import-not-found]

from bench.turn_contest import Disk, Reply, Script, take_part
from bench.turn_work import INSTRUCTIONS, KEEP, TOOL, Said


CONFIG = {"configurable": {"thread_id": "t"}}


class Model(BaseChatModel):  # type: ignore[misc]
    """A model that answers at once."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[Any], *_: Any, **__: Any) -> Any:
        reply = self.script.reply(len(messages) - 1)
        return ChatResult(generations=[ChatGeneration(message=_said(reply))])


def _said(reply: Reply | Said) -> Any:
    if not reply.call_id:
        return AIMessage(content=reply.text)
    call = {"name": TOOL, "args": {"query": reply.text}, "id": reply.call_id}
    return AIMessage(content="", tool_calls=[call])


def message_of(said: Said) -> Any:
    """Return *said* as a message of LangChain."""
    if said.role == "user":
        return HumanMessage(content=said.text)
    if said.role == "tool":
        return ToolMessage(content=said.text, tool_call_id=said.call_id, name=TOOL)
    return _said(said)


class LangGraph:
    """A graph of a model and its tools, on a thread in a SQLite file."""

    async def open(self, folder: Path, script: Script, _: Disk, *, mode: str) -> None:
        """Open the file."""
        model, system = Model(script=script), SystemMessage(content=INSTRUCTIONS)

        def search_files(query: str) -> str:
            """Search the files for a text."""
            del query
            return script.result()

        def ask(state: Any) -> dict[str, Any]:
            messages = state["messages"]
            if mode == "newest":
                messages = trim_messages(
                    messages,
                    max_tokens=KEEP,
                    token_counter=len,
                    strategy="last",
                    start_on="human",
                )
            return {"messages": [model.invoke([system, *messages])]}

        graph = StateGraph(MessagesState)
        graph.add_node("model", ask)
        graph.add_node("tools", ToolNode([StructuredTool.from_function(search_files)]))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "model")
        self._file = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
        self._file.execute("PRAGMA synchronous = FULL")
        self._graph = graph.compile(checkpointer=SqliteSaver(self._file))

    async def grow(self, said: Sequence[Said]) -> None:
        """Store *said*, in bulk."""
        messages = list(map(message_of, said))
        self._graph.update_state(CONFIG, {"messages": messages}, as_node="model")

    async def turn(self, text: str) -> None:
        """Run the graph on the thread."""
        self._graph.invoke({"messages": [HumanMessage(content=text)]}, CONFIG, durability="sync")

    async def count(self) -> int:
        """Return how many messages are stored."""
        return len(self._graph.get_state(CONFIG).values["messages"])

    async def close(self) -> None:
        """Close the file."""
        self._file.close()


if __name__ == "__main__":
    take_part(LangGraph)
