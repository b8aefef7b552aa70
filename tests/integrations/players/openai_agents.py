"""The OpenAI Agents SDK's `Runner` with a session."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseReasoningItem,
)

from foldline.agent.reducer import HistoryReducer
from foldline.formats import from_openai_responses, to_openai_responses
from foldline.history.messages import Message
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.integrations.openai_agents import FoldlineSession, model_input_filter
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


def output_of(message: Message, number: int) -> list[Any]:
    """Return the items of an answer; the SDK drops a second item of one id."""
    items: list[Any] = []
    for part in message.parts:
        match part:
            case ReasoningPart(content=text):
                summary: Any = [{"type": "summary_text", "text": text}]
                items.append(
                    ResponseReasoningItem(id=f"rs_{number}", summary=summary, type="reasoning")
                )
            case ToolCallPart(id=id, name=name, arguments=arguments):
                items.append(
                    ResponseFunctionToolCall(
                        call_id=id, name=name, arguments=arguments, type="function_call"
                    )
                )
            case TextPart(content=text):
                said: Any = [{"type": "output_text", "text": text, "annotations": []}]
                items.append(
                    ResponseOutputMessage(
                        id=f"msg_{number}",
                        content=said,
                        role="assistant",
                        status="completed",
                        type="message",
                    )
                )
            case _:
                raise TypeError(part)
    return items


class Scripted(Model):
    """Answers from a script, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Message] = []
        self.asked: list[Any] = []

    async def get_response(self, *_: Any, **given: Any) -> Any:
        self.asked.append((given["system_instructions"], list(given["input"])))
        return ModelResponse(
            output=output_of(self.answers.pop(0), len(self.asked)), usage=Usage(), response_id=None
        )

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = player.said_on_a_page(1)
    return model


class Player(player.Player):
    """One conversation."""

    codec = None
    # Its items have no place for a signature of Anthropic's.
    signed = False
    # What the model receives has no such call; the session still has it.
    unanswered = None
    cannot = MappingProxyType(
        {
            "reused ids and an unanswered call": "of two calls under one id only the newest is sent",
            player.BLOCKING: "cannot be called when an event loop is already running",
        }
    )

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._model = Scripted()
        self._store = MemoryStore()
        self.restart(reducer)
        self._before = transcript.before

    async def begin(self) -> None:
        await self._session.add_items(to_openai_responses(self._before))

    def restart(self, reducer: HistoryReducer) -> None:
        @function_tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        self._session = FoldlineSession(self._store, "the house / 1")
        self._agent = Agent(name="guide", instructions=RULES, tools=[look], model=self._model)
        chosen = model_input_filter(reducer, session=self._session)
        self._config = RunConfig(call_model_input_filter=chosen, tracing_disabled=True)

    def _script(self, turn: Sequence[Message]) -> Any:
        self._model.answers = [one for one in turn if one.role == "assistant"]
        return to_openai_responses([turn[0]])

    async def say(self, turn: Sequence[Message]) -> None:
        said = self._script(turn)
        await Runner.run(self._agent, said, session=self._session, run_config=self._config)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        said = self._script(turn)
        Runner.run_sync(self._agent, said, session=self._session, run_config=self._config)

    async def stored(self) -> list[Any]:
        return await self._session.get_items()

    def read(self, objects: Sequence[Any]) -> list[Message]:
        return list(from_openai_responses(objects))
