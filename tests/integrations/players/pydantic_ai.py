"""Pydantic AI's `Agent`, whose history the caller keeps."""

import base64
from collections.abc import Sequence
from types import MappingProxyType, SimpleNamespace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, FunctionModel

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, ReasoningPart, TextPart
from foldline.integrations.pydantic_ai import FoldlineCapability
from foldline.integrations.pydantic_ai_messages import PydanticAICodec
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


def prompt_of(message: Message) -> Any:
    """Return what the user says."""
    said: list[Any] = [
        theirs.BinaryContent(base64.b64decode(part.content), media_type=part.mime_type)
        if isinstance(part, BlobPart)
        else part.content
        for part in message.parts
        if isinstance(part, BlobPart | TextPart)
    ]
    return said[0] if len(said) == 1 else said


def response_of(message: Message) -> theirs.ModelResponse:
    """Return what the model says."""
    parts: list[Any] = []
    for part in message.parts:
        match part:
            case ReasoningPart(content=text):
                signature = f"signature of {text}"
                parts.append(
                    theirs.ThinkingPart(text, signature=signature, provider_name="anthropic")
                )
            case TextPart(content=text):
                parts.append(theirs.TextPart(text))
            case _:
                call = message.tool_calls[len([p for p in parts if p.part_kind == "tool-call"])]
                parts.append(theirs.ToolCallPart(call.name, call.arguments, call.id))
    return theirs.ModelResponse(parts)


def model() -> Any:
    """Return the model of the page."""
    answers = map(response_of, player.said_on_a_page(2))
    return FunctionModel(lambda *_: next(answers))


class Player(player.Player):
    """One conversation."""

    codec = PydanticAICodec()
    cannot = MappingProxyType({player.BLOCKING: "event loop is already running"})
    unanswered = "The tool call was interrupted before a result was produced."

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._model = SimpleNamespace(asked=[])
        self._answers: list[theirs.ModelResponse] = []
        self._history: list[theirs.ModelMessage] = []
        for message in transcript.before:
            if message.role == "assistant":
                self._history.append(response_of(message))
                continue
            rules = [] if self._history else [theirs.SystemPromptPart(RULES)]
            prompt = theirs.UserPromptPart(prompt_of(message))
            self._history.append(theirs.ModelRequest([*rules, prompt]))
        self.restart(reducer)

    def restart(self, reducer: HistoryReducer) -> None:
        def answer(messages: list[theirs.ModelMessage], _: AgentInfo) -> theirs.ModelResponse:
            self._model.asked.append(list(messages))
            return self._answers.pop(0)

        self._agent = Agent(
            FunctionModel(answer),
            system_prompt=RULES,
            capabilities=[FoldlineCapability(reducer)],
        )

        @self._agent.tool_plain
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        stored = theirs.ModelMessagesTypeAdapter.dump_json(self._history)
        self._history = theirs.ModelMessagesTypeAdapter.validate_json(stored)

    async def say(self, turn: Sequence[Message]) -> None:
        self._answers = [response_of(one) for one in turn if one.role == "assistant"]
        run = await self._agent.run(prompt_of(turn[0]), message_history=self._history)
        self._history = run.all_messages()

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._answers = [response_of(one) for one in turn if one.role == "assistant"]
        run = self._agent.run_sync(prompt_of(turn[0]), message_history=self._history)
        self._history = run.all_messages()

    async def stored(self) -> list[Any]:
        return list(self._history)
