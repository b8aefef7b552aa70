"""LangChain's `create_agent` with a checkpointer."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.integrations.langchain import FoldlineMiddleware
from foldline.integrations.langchain_messages import LangChainCodec
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of
from tests.integrations.players.langchain_script import Scripted, as_langchain


_THREAD: Any = {"configurable": {"thread_id": "house"}}


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_langchain, player.said_on_a_page(1))]
    return model


class Player(player.Player):
    """One conversation."""

    codec = LangChainCodec()

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._model = Scripted()
        self._saver = InMemorySaver()
        self.restart(reducer)
        before = [*map(as_langchain, transcript.before)]
        if before:
            self._agent.update_state(_THREAD, {"messages": before})

    def restart(self, reducer: HistoryReducer) -> None:
        @tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        self._agent: Any = create_agent(
            self._model,
            [look],
            system_prompt=RULES,
            middleware=[FoldlineMiddleware(reducer)],
            checkpointer=self._saver,
        )

    def _script(self, turn: Sequence[Message]) -> Any:
        self._model.answers = [as_langchain(one) for one in turn if one.role == "assistant"]
        return {"messages": [as_langchain(turn[0])]}

    async def say(self, turn: Sequence[Message]) -> None:
        await self._agent.ainvoke(self._script(turn), _THREAD)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._agent.invoke(self._script(turn), _THREAD)

    async def stored(self) -> list[Any]:
        return list(self._agent.get_state(_THREAD).values.get("messages", []))
