"""agno's `Agent` with a session in a database."""

import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from copy import deepcopy
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.media import Image
from agno.models.base import Model
from agno.models.message import Message as Said
from agno.models.response import ModelResponse
from agno.run.agent import RunOutput
from agno.run.base import RunStatus
from agno.session import AgentSession

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, ReasoningPart, TextPart
from foldline.integrations.agno import folding_model
from foldline.integrations.agno_messages import AgnoCodec
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


SESSION = "the house / 1"


def fields_of(message: Message) -> dict[str, Any]:
    """Return what agno keeps of *message*."""
    texts = [one.content for one in message.parts if isinstance(one, TextPart)]
    thought = [one.content for one in message.parts if isinstance(one, ReasoningPart)]
    calls = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": one.name, "arguments": one.arguments},
        }
        for one in message.tool_calls
    ]
    fields: dict[str, Any] = {"content": "\n".join(texts)}
    if calls:
        fields["tool_calls"] = calls
    if thought:
        fields["reasoning_content"] = thought[0]
        fields["provider_data"] = {"signature": f"signature of {thought[0]}"}
    return fields


class Scripted(Model):
    """Answers from a script, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(id="scripted")
        self.answers: list[Message] = []
        self.asked: list[list[Said]] = []

    def __deepcopy__(self, _: Any) -> "Scripted":
        return self

    def invoke(self, messages: list[Said], **_: Any) -> ModelResponse:
        self.asked.append([deepcopy(one) for one in messages])
        return ModelResponse(role="assistant", **fields_of(self.answers.pop(0)))

    async def ainvoke(self, messages: list[Said], **_: Any) -> ModelResponse:
        return self.invoke(messages)

    def invoke_stream(self, messages: list[Said], **_: Any) -> Iterator[ModelResponse]:
        yield self.invoke(messages)

    async def ainvoke_stream(self, messages: list[Said], **_: Any) -> AsyncIterator[ModelResponse]:
        yield self.invoke(messages)

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = player.said_on_a_page(2)
    return model


class Player(player.Player):
    """One conversation."""

    codec = AgnoCodec()

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._before = transcript.before
        self._model = Scripted()
        self._db = InMemoryDb()
        self.restart(reducer)

    async def begin(self) -> None:
        if not self._before:
            return
        said = [Said(role=one.role, **fields_of(one)) for one in self._before]
        run = RunOutput(
            run_id="before", agent_id="guide", messages=said, status=RunStatus.completed
        )
        self._db.upsert_session(AgentSession(session_id=SESSION, agent_id="guide"))
        self._db.upsert_run(run, SESSION)

    def restart(self, reducer: HistoryReducer) -> None:
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        self._agent = Agent(
            id="guide",
            model=folding_model(self._model, reducer),
            system_message=RULES,
            tools=[look],
            db=self._db,
            session_id=SESSION,
            add_history_to_context=True,
            num_history_runs=1_000,
            telemetry=False,
        )

    def _script(self, turn: Sequence[Message]) -> dict[str, Any]:
        self._model.answers.extend(one for one in turn if one.role == "assistant")
        images = [
            Image(content=base64.b64decode(part.content), mime_type=part.mime_type)
            for part in turn[0].parts
            if isinstance(part, BlobPart)
        ]
        return {"input": turn[0].text, **({"images": images} if images else {})}

    async def say(self, turn: Sequence[Message]) -> None:
        await self._agent.arun(**self._script(turn))

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._agent.run(**self._script(turn))

    async def stored(self) -> list[Any]:
        session = self._agent.get_session(SESSION)
        return [] if session is None else session.get_messages(skip_roles=["system"])
