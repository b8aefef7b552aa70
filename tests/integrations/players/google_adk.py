"""Google's Agent Development Kit with a session service in memory."""

import base64
from collections.abc import Sequence
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from foldline.agent.reducer import HistoryReducer
from foldline.history.formats.wire import object_from_json
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, ReasoningPart, TextPart, ToolCallPart
from foldline.integrations.google_adk import FoldlinePlugin
from foldline.integrations.google_adk_messages import GoogleADKCodec
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


def as_content(message: Message) -> types.Content:
    """Return *message* as Gemini says it."""
    parts: list[types.Part] = []
    for part in message.parts:
        match part:
            case TextPart(content=text):
                parts.append(types.Part(text=text))
            case ReasoningPart(content=text):
                parts.append(types.Part(text=text, thought=True))
            case ToolCallPart(id=id, name=name, arguments=arguments):
                call = types.FunctionCall(id=id, name=name, args=object_from_json(arguments))
                parts.append(types.Part(function_call=call))
            case BlobPart(mime_type=mime, content=data):
                blob = types.Blob(mime_type=mime, data=base64.b64decode(data))
                parts.append(types.Part(inline_data=blob))
            case _:
                raise TypeError(part)
    return types.Content(role="model" if message.role == "assistant" else "user", parts=parts)


class Scripted(BaseLlm):
    """Answers from a script, and remembers what it was asked."""

    answers: list[Any] = []  # noqa: RUF012 - a field of pydantic's
    asked: list[Any] = []  # noqa: RUF012 - a field of pydantic's

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        # The framework says a sentence of its own behind the rules.
        rules = str(llm_request.config.system_instruction)[: len(RULES)]
        self.asked.append((rules, list(llm_request.contents)))
        yield LlmResponse(content=self.answers.pop(0))


def model() -> Any:
    """Return the model of the page."""
    model = Scripted(model="scripted")
    model.answers = [*map(as_content, player.said_on_a_page(1))]
    return model


class Player(player.Player):
    """One conversation."""

    codec = GoogleADKCodec()
    # The thought signatures of Gemini are bound to their own answer only.
    signed = False
    unanswered = None

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._before = transcript.before
        self._model = Scripted(model="scripted")
        self._sessions = InMemorySessionService()
        self.restart(reducer)

    async def begin(self) -> None:
        session = await self._sessions.create_session(app_name="house", user_id="u", session_id="s")
        for message in self._before:
            author = "guide" if message.role == "assistant" else "user"
            event = Event(author=author, content=as_content(message), invocation_id="before")
            await self._sessions.append_event(session, event)

    def restart(self, reducer: HistoryReducer) -> None:
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        agent = LlmAgent(name="guide", model=self._model, instruction=RULES, tools=[look])
        app = App(name="house", root_agent=agent, plugins=[FoldlinePlugin(reducer)])
        self._runner = Runner(app=app, session_service=self._sessions)

    def _script(self, turn: Sequence[Message]) -> Any:
        self._model.answers = [as_content(one) for one in turn if one.role == "assistant"]
        return {"user_id": "u", "session_id": "s", "new_message": as_content(turn[0])}

    async def say(self, turn: Sequence[Message]) -> None:
        async for _ in self._runner.run_async(**self._script(turn)):
            pass

    def say_blocking(self, turn: Sequence[Message]) -> None:
        for _ in self._runner.run(**self._script(turn)):
            pass

    async def stored(self) -> list[Any]:
        session = await self._sessions.get_session(app_name="house", user_id="u", session_id="s")
        return [] if session is None else list(session.events)

    def read(self, objects: Sequence[Any]) -> list[Message]:
        said = (one.content if isinstance(one, Event) else one for one in objects)
        return super().read([one for one in said if one is not None])
