"""Strands Agents with a session in threads."""

import base64
import json
from collections.abc import Sequence
from typing import Any

from strands import Agent, tool
from strands.models import Model
from strands.session import RepositorySessionManager

from foldline.agent.reducer import HistoryReducer
from foldline.formats import to_anthropic
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, ReasoningPart, TextPart, ToolCallPart
from foldline.integrations.strands import FoldlineConversationManager
from foldline.integrations.strands_messages import StrandsCodec
from foldline.integrations.strands_sessions import FoldlineSessionRepository
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


def as_strands(message: Message) -> Any:
    """Return *message* as Strands has it."""
    content: list[Any] = []
    for part in message.parts:
        match part:
            case TextPart(content=text):
                content.append({"text": text})
            case ToolCallPart():
                (item,) = to_anthropic([message])
                call = next(one for one in item["content"] if one.get("id") == part.id)
                use = {"toolUseId": part.id, "name": part.name, "input": call["input"]}
                content.append({"toolUse": use})
            case ReasoningPart(content=text):
                thought = {"text": text, "signature": f"signature of {text}"}
                content.append({"reasoningContent": {"reasoningText": thought}})
            case BlobPart():
                image = {"bytes": base64.b64decode(part.content)}
                content.append({"image": {"format": "png", "source": image}})
            case _:
                raise TypeError(part)
    return {"role": message.role, "content": content}


class Scripted(Model):
    """Answers from a script, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.asked: list[Any] = []

    def update_config(self, **_: Any) -> None:
        """Have no configuration."""

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, specs: Any = None, rules: Any = None, **_: Any) -> Any:
        self.asked.append((rules, list(messages)))
        content = self.answers.pop(0)["content"]
        yield {"messageStart": {"role": "assistant"}}
        for block in content:
            use = block.get("toolUse")
            start = {} if use is None else {"toolUse": {k: use[k] for k in ("name", "toolUseId")}}
            yield {"contentBlockStart": {"start": start}}
            for delta in deltas(block):
                yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        is_call = any("toolUse" in block for block in content)
        yield {"messageStop": {"stopReason": "tool_use" if is_call else "end_turn"}}


def deltas(block: Any) -> list[Any]:
    """Return what a vendor streams of *block*."""
    if "toolUse" in block:
        return [{"toolUse": {"input": json.dumps(block["toolUse"]["input"])}}]
    if "reasoningContent" in block:
        said = block["reasoningContent"]["reasoningText"]
        return [{"reasoningContent": {key: said[key]}} for key in ("text", "signature")]
    return [block]


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_strands, player.said_on_a_page(1))]
    return model


class Player(player.Player):
    """One conversation."""

    codec = StrandsCodec()

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._before = [as_strands(one) for one in transcript.before]
        self._model = Scripted()
        self._repository = FoldlineSessionRepository(MemoryStore())
        self.restart(reducer)

    def restart(self, reducer: HistoryReducer) -> None:
        @tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        self._agent = Agent(
            self._model,
            self._before,
            [look],
            RULES,
            callback_handler=None,
            agent_id="guide",
            conversation_manager=FoldlineConversationManager(reducer),
            session_manager=RepositorySessionManager("the house / 1", self._repository),
        )

    def _script(self, turn: Sequence[Message]) -> Any:
        self._model.answers = [as_strands(one) for one in turn if one.role == "assistant"]
        return as_strands(turn[0])["content"]

    async def say(self, turn: Sequence[Message]) -> None:
        await self._agent.invoke_async(self._script(turn))

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._agent(self._script(turn))

    async def stored(self) -> list[Any]:
        # A session gives each message an id when it stores it.
        kept = (dict(one) for one in self._agent.messages)
        return [{key: one[key] for key in one if key != "tracking_id"} for one in kept]
