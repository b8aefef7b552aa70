"""
LangGraph's SQLite saver: `python -m bench.peers.langgraph_saver FOLDER`.

Runs in an environment of its own (`bench/peers/requirements.txt`) and is asked line by line. Each
step stores the whole list of messages, so long conversations are out of reach.
"""

import sqlite3
import sys
from itertools import cycle
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage  # type: ignore[import-not-found]
from langgraph.checkpoint.sqlite import SqliteSaver  # type: ignore[import-not-found]
from langgraph.graph import (  # type: ignore[import-not-found]
    END,
    START,
    MessagesState,
    StateGraph,
)

from bench import measure, workload
from bench.peers.child import serve
from bench.peers.timed import Took, timed


CONFIG = {"configurable": {"thread_id": "t"}}


class Graph:
    """One conversation: a graph of one node that answers at once."""

    def __init__(self, folder: Path) -> None:
        """Keep it in *folder*."""
        graph = StateGraph(MessagesState)
        graph.add_node("model", self._answer)
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        file = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
        self._graph = graph.compile(checkpointer=SqliteSaver(file))
        self._texts = cycle(workload.texts(4_000))
        self._count = 0

    def _answer(self, _: Any) -> dict[str, Any]:
        return {"messages": [self._next()]}

    def _next(self) -> Any:
        self._count += 1
        role, text = next(self._texts)
        return HumanMessage(content=text) if role == "user" else AIMessage(content=text)

    def grow(self, size: int) -> None:
        """Bring the conversation to *size* messages, in bulk."""
        messages = [self._next() for _ in range(max(0, size - self._count))]
        self._graph.update_state(CONFIG, {"messages": messages}, as_node="model")

    def turns(self, times: int, warm: int) -> Took:
        """Return what one of *times* turns of two messages took."""
        timed(self._turn, times=warm)
        return timed(self._turn, times=times)

    def _turn(self) -> None:
        self._graph.invoke({"messages": [self._next()]}, CONFIG)


if __name__ == "__main__":
    measure.pin()
    serve(Graph(Path(sys.argv[1])))
