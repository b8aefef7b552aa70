"""A graph of LangGraph on our checkpointer: `fold_messages` is before the node that asks."""

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.integrations.langchain_messages import LangChainCodec
from foldline.integrations.langgraph import fold_messages
from foldline.integrations.langgraph_checkpoints import FoldlineSaver
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of
from tests.integrations.players.langchain_script import Scripted, as_langchain


_THREAD: Any = {"configurable": {"thread_id": "house"}}


class State(TypedDict, total=False):
    """What the graph keeps."""

    messages: Annotated[list[BaseMessage], add_messages]
    llm_input_messages: list[BaseMessage]
    foldline_reduction: str


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_langchain, player.said_on_a_page(2))]
    return model


class Player(player.Player):
    """One conversation."""

    codec = LangChainCodec()

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._model = Scripted()
        self._store = MemoryStore()
        self.restart(reducer)
        before = [*map(as_langchain, transcript.before)]
        rules = SystemMessage(RULES, id="rules")
        self._agent.update_state(_THREAD, {"messages": [rules, *before]}, as_node=START)

    def restart(self, reducer: HistoryReducer) -> None:
        @tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        def ask(state: Any) -> Any:
            return {"messages": [self._model.invoke(state["llm_input_messages"])]}

        async def ask_awaited(state: Any) -> Any:
            return {"messages": [await self._model.ainvoke(state["llm_input_messages"])]}

        graph: Any = StateGraph(State)
        graph.add_node("fold", fold_messages(reducer))
        graph.add_node("ask", RunnableLambda(ask, ask_awaited))
        graph.add_node("tools", ToolNode([look]))
        graph.add_edge(START, "fold")
        graph.add_edge("fold", "ask")
        graph.add_conditional_edges("ask", tools_condition)
        graph.add_edge("tools", "fold")
        self._agent: Any = graph.compile(checkpointer=FoldlineSaver(self._store))

    def _script(self, turn: Sequence[Message]) -> Any:
        self._model.answers = [as_langchain(one) for one in turn if one.role == "assistant"]
        return {"messages": [as_langchain(turn[0])]}

    async def say(self, turn: Sequence[Message]) -> None:
        await self._agent.ainvoke(self._script(turn), _THREAD)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._agent.invoke(self._script(turn), _THREAD)

    async def stored(self) -> list[Any]:
        return list((await self._agent.aget_state(_THREAD)).values.get("messages", []))
