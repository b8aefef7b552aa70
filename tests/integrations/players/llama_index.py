"""LlamaIndex's `FunctionAgent` with a memory in a thread."""

import base64
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ImageBlock,
    LLMMetadata,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import FunctionTool

from foldline.agent.reducer import HistoryReducer
from foldline.history.formats.wire import object_from_json
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, ReasoningPart, TextPart, ToolCallPart
from foldline.integrations.llama_index import FoldlineLLM, FoldlineMemory
from foldline.integrations.llama_index_messages import LlamaIndexCodec
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


def as_theirs(message: Message) -> ChatMessage:
    """Return *message* as LlamaIndex has it."""
    blocks: list[Any] = []
    for part in message.parts:
        match part:
            case TextPart(content=text):
                blocks.append(TextBlock(text=text))
            case ReasoningPart(content=text):
                signed = {"signature": f"signature of {text}"}
                blocks.append(ThinkingBlock(content=text, additional_information=signed))
            case ToolCallPart(id=id, name=name, arguments=arguments):
                given = object_from_json(arguments)
                blocks.append(ToolCallBlock(tool_call_id=id, tool_name=name, tool_kwargs=given))
            case BlobPart(mime_type=mime, content=data):
                blocks.append(ImageBlock(image=base64.b64decode(data), image_mimetype=mime))
            case _:
                raise TypeError(part)
    return ChatMessage(role=message.role, content=blocks)


class Scripted(FunctionCallingLLM):
    """Answers from a script, and remembers what it was asked."""

    answers: list[Any] = []  # noqa: RUF012 - a field of pydantic's
    asked: list[Any] = []  # noqa: RUF012 - a field of pydantic's

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def chat(self, messages: Any, **_: Any) -> Any:
        self.asked.append(list(messages))
        return ChatResponse(message=self.answers.pop(0))

    async def achat(self, messages: Any, **_: Any) -> Any:
        return self.chat(messages)

    async def astream_chat(self, messages: Any, **_: Any) -> Any:
        async def stream() -> Any:
            yield self.chat(messages)

        return stream()

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any
    ) -> Any:
        return {"messages": [*(chat_history or []), *([] if user_msg is None else [user_msg])]}

    def get_tool_calls_from_response(self, response: Any, **_: Any) -> Any:
        return [
            ToolSelection(
                tool_id=one.tool_call_id, tool_name=one.tool_name, tool_kwargs=one.tool_kwargs
            )
            for one in response.message.blocks
            if isinstance(one, ToolCallBlock)
        ]

    def stream_chat(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    complete = acomplete = stream_complete = astream_complete = stream_chat


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_theirs, player.said_on_a_page(1))]
    return model


class Player(player.Player):
    """One conversation; the agent has no blocking face, so an own loop stands for it."""

    codec = LlamaIndexCodec()
    cannot = MappingProxyType({player.BLOCKING: "cannot be called from a running event loop"})

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._before = transcript.before
        self._model = Scripted()
        self._store = MemoryStore()
        self.restart(reducer)

    async def begin(self) -> None:
        await self._memory.aput_messages([*map(as_theirs, self._before)])

    def restart(self, reducer: HistoryReducer) -> None:
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        self._memory = FoldlineMemory(self._store, "the house / 1")
        self._agent = FunctionAgent(
            name="guide",
            system_prompt=RULES,
            tools=[FunctionTool.from_defaults(look)],
            llm=FoldlineLLM(self._model, reducer, memory=self._memory),
        )

    async def say(self, turn: Sequence[Message]) -> None:
        self._model.answers = [as_theirs(one) for one in turn if one.role == "assistant"]
        await self._agent.run(as_theirs(turn[0]), memory=self._memory)

    async def stored(self) -> list[Any]:
        return await self._memory.aget_all()
