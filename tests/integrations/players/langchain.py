"""LangChain's `create_agent` with a checkpointer."""

from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from foldline.agent.reducer import HistoryReducer
from foldline.integrations.langchain import FoldlineMiddleware
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript
from tests.integrations.players.langchain_script import (
    THREAD,
    Scripted,
    ScriptedPlayer,
    as_langchain,
)


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_langchain, player.said_on_a_page(1))]
    return model


class Player(ScriptedPlayer):
    """One conversation."""

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        super().__init__(transcript)
        self._saver = InMemorySaver()
        self.restart(reducer)
        before = [*map(as_langchain, transcript.before)]
        if before:
            self._agent.update_state(THREAD, {"messages": before})

    def restart(self, reducer: HistoryReducer) -> None:
        self._agent: Any = create_agent(
            self._model,
            [self._look],
            system_prompt=RULES,
            middleware=[FoldlineMiddleware(reducer)],
            checkpointer=self._saver,
        )

    async def stored(self) -> list[Any]:
        return list(self._agent.get_state(THREAD).values.get("messages", []))
