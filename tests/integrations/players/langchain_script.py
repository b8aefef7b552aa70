"""Messages of LangChain for the transcripts, and its scripted model."""

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from foldline.formats import to_anthropic
from foldline.history.messages import Message
from foldline.integrations.langchain_messages import LangChainCodec
from tests.integrations import player
from tests.integrations.golden import Transcript, answer_of


THREAD: Any = {"configurable": {"thread_id": "house"}}
"""The thread of a player."""


def as_langchain(message: Message) -> BaseMessage:
    """Return *message* as LangChain's client of Anthropic makes it."""
    (item,) = to_anthropic([message])
    content = item["content"]
    if message.role == "tool":
        (answer,) = message.tool_call_responses
        return ToolMessage(str(answer.response), tool_call_id=answer.id, name="look")
    if message.role == "user":
        return HumanMessage(content)
    calls: list[Any] = [
        {"id": one["id"], "name": one["name"], "args": one["input"], "type": "tool_call"}
        for one in (content if isinstance(content, list) else [])
        if one["type"] == "tool_use"
    ]
    return AIMessage(content, tool_calls=calls)


class Scripted(BaseChatModel):
    """Answers from a script, and remembers what it was asked."""

    answers: list[Any] = []  # noqa: RUF012 - a field of pydantic's
    asked: list[Any] = []  # noqa: RUF012 - a field of pydantic's

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        self.asked.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.answers.pop(0))])


class ScriptedPlayer(player.Player):
    """One conversation with a scripted model; `_agent` is what answers."""

    codec = LangChainCodec()
    _agent: Any

    def __init__(self, transcript: Transcript) -> None:
        @tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(transcript.messages, {"room": room, "side": side})

        self._look, self._model = look, Scripted()

    def _script(self, turn: Sequence[Message]) -> Any:
        self._model.answers = [as_langchain(one) for one in turn if one.role == "assistant"]
        return {"messages": [as_langchain(turn[0])]}

    async def say(self, turn: Sequence[Message]) -> None:
        await self._agent.ainvoke(self._script(turn), THREAD)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._agent.invoke(self._script(turn), THREAD)
