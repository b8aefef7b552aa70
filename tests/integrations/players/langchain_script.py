"""Messages of LangChain for the transcripts, and its scripted model."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from foldline.formats import to_anthropic
from foldline.history.messages import Message


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
