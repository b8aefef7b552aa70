"""Microsoft's Agent Framework with a history in a thread."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    tool,
)
from agent_framework import Message as Theirs

from foldline.agent.reducer import HistoryReducer
from foldline.history.formats.wire import data_url
from foldline.history.messages import Message
from foldline.history.parts import BlobPart, ReasoningPart, TextPart, ToolCallPart
from foldline.integrations.agent_framework import FoldlineChatMiddleware, FoldlineHistoryProvider
from foldline.integrations.agent_framework_messages import AgentFrameworkCodec
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import player
from tests.integrations.golden import RULES, Transcript, answer_of


def as_theirs(message: Message) -> Theirs:
    """Return *message* as the framework has it."""
    contents: list[Any] = []
    for part in message.parts:
        match part:
            case TextPart(content=text):
                contents.append(Content.from_text(text))
            case ReasoningPart(content=text):
                signature = f"signature of {text}"
                contents.append(Content.from_text_reasoning(text=text, protected_data=signature))
            case ToolCallPart(id=id, name=name, arguments=arguments):
                contents.append(Content.from_function_call(id, name, arguments=arguments))
            case BlobPart(mime_type=mime):
                contents.append(Content.from_uri(data_url(part), media_type=mime))
            case _:
                raise TypeError(part)
    return Theirs(message.role, contents)


class Scripted(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Answers from a script, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Theirs] = []
        self.asked: list[Any] = []

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        self.asked.append((options.get("instructions"), list(messages)))

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[self.answers.pop(0)])

        return answer()


def model() -> Any:
    """Return the model of the page."""
    model = Scripted()
    model.answers = [*map(as_theirs, player.said_on_a_page(1))]
    return model


class Player(player.Player):
    """One conversation; the framework has no blocking face, so an own loop stands for it."""

    codec = AgentFrameworkCodec()
    cannot = MappingProxyType({player.BLOCKING: "cannot be called from a running event loop"})

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._messages = transcript.messages
        self._before = transcript.before
        self._model = Scripted()
        self._store = MemoryStore()
        self._session = AgentSession(session_id="the house / 1")
        self.restart(reducer)

    async def begin(self) -> None:
        await self._history.save_messages("the house / 1", [*map(as_theirs, self._before)])

    def restart(self, reducer: HistoryReducer) -> None:
        @tool
        def look(room: int, side: int) -> str:
            """Look at a side of a room."""
            return answer_of(self._messages, {"room": room, "side": side})

        self._history = FoldlineHistoryProvider(self._store)
        self._session = AgentSession.from_dict(self._session.to_dict())
        self._agent: Any = Agent(
            self._model,
            RULES,
            name="guide",
            tools=[look],
            middleware=[FoldlineChatMiddleware(reducer)],
            context_providers=[self._history],
        )

    async def say(self, turn: Sequence[Message]) -> None:
        self._model.answers = [as_theirs(one) for one in turn if one.role == "assistant"]
        await self._agent.run([as_theirs(turn[0])], session=self._session)

    async def stored(self) -> list[Any]:
        return [one.to_dict() for one in await self._history.get_messages("the house / 1")]

    def read(self, objects: Sequence[Any]) -> list[Message]:
        return super().read(
            [Theirs.from_dict(one) if isinstance(one, dict) else one for one in objects]
        )
