"""A loop of one's own on boto3, whose requests go to a server on this machine."""

import asyncio
import base64
from collections.abc import Sequence
from typing import Any

import boto3
from botocore.config import Config

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart
from foldline.integrations.bedrock import ConverseView
from foldline.integrations.bedrock_messages import ConverseCodec
from tests.integrations.golden import RULES, Transcript, answer_of
from tests.integrations.own_loop import OwnLoop
from tests.integrations.player import said_on_a_page
from tests.integrations.served import Desk, converse, open_desk


CODEC = ConverseCodec()
TOOL = {"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}


def as_turn(message: Message) -> Any:
    """Return *message* as Converse has it."""
    item = CODEC.write(message, None)
    for block, part in zip(item["content"], message.parts, strict=True):
        if isinstance(part, ReasoningPart):
            said = block["reasoningContent"]["reasoningText"]
            said["signature"] = f"signature of {part.content}"
    return item


def answered(message: Message) -> dict[str, Any]:
    """Return the response that says *message*."""
    reason = "tool_use" if message.tool_calls else "end_turn"
    return {
        "output": {"message": as_turn(message)},
        "stopReason": reason,
        "usage": {"inputTokens": 9, "outputTokens": 9, "totalTokens": 18},
        "metrics": {"latencyMs": 1},
    }


def client_at(desk: Desk) -> Any:
    """Return a client that asks *desk*."""
    return boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=desk.url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"total_max_attempts": 1}),
    )


def model() -> Any:
    """Return the client of the page."""
    desk = open_desk(converse)
    desk.answers = [*map(answered, said_on_a_page(2))]
    return client_at(desk)


class Player(OwnLoop):
    """One conversation."""

    codec = CODEC
    field = "messages"
    judge = converse

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        super().__init__(transcript, reducer)
        self._client = client_at(self._desk)

    def view(self, reducer: HistoryReducer) -> ConverseView:
        return ConverseView(reducer)

    def answered(self, message: Message) -> dict[str, Any]:
        return answered(message)

    def _answer(self, reduced: Any) -> bool:
        self._keep(reduced)
        response = self._client.converse(
            modelId="anthropic.claude-sonnet-4-6",
            messages=reduced.messages,
            system=[{"text": RULES}],
            toolConfig={"tools": [TOOL]},
        )
        message = response["output"]["message"]
        self._given.append(message)
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [self._run(call) for call in calls]
        if results:
            self._given.append({"role": "user", "content": results})
        return bool(results)

    def _run(self, call: Any) -> Any:
        said = [{"text": answer_of(self._said, call["input"])}]
        return {"toolResult": {"toolUseId": call["toolUseId"], "content": said}}

    async def say(self, turn: Sequence[Message]) -> None:
        self._begin(turn)
        goes_on = True
        while goes_on:
            reduced = await self._view.reduce(self._given, state=self._state())
            goes_on = await asyncio.to_thread(self._answer, reduced)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._begin(turn)
        goes_on = True
        while goes_on:
            reduced = self._view.reduce_sync(self._given, state=self._state())
            goes_on = self._answer(reduced)


def picture(data: str) -> Any:
    """Return a block of a picture, *data* in base64."""
    return {"image": {"format": "png", "source": {"bytes": base64.b64decode(data)}}}
