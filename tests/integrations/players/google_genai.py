"""A loop of one's own on Google's SDK, whose requests go to a server on this machine."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from google.genai import Client, types

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.integrations.google_genai import GeminiView
from foldline.integrations.google_genai_messages import ContentCodec
from foldline.reduction.state import HistoryReductionState
from tests.integrations.golden import RULES, Transcript, answer_of
from tests.integrations.player import said_on_a_page
from tests.integrations.served import Desk, anything, gemini, open_desk


# The thought signatures of Gemini are bound to their own answer only.
SIGNED = False
UNANSWERED = ""
CODEC = ContentCodec()
CANNOT: Mapping[str, str] = MappingProxyType({})


def as_content(message: Message) -> types.Content:
    """Return *message* as Gemini says it."""
    written: Any = CODEC.write(message, None)
    assert isinstance(written, types.Content)
    return written


def answered(message: Message) -> dict[str, Any]:
    """Return the response that says *message*."""
    content = as_content(message).model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"candidates": [{"content": content}], "usageMetadata": {"promptTokenCount": 9}}


def client_at(desk: Desk) -> Client:
    """Return a client that asks *desk*."""
    return Client(api_key="none", http_options=types.HttpOptions(base_url=desk.url))


def model() -> Any:
    """Return the client of the page."""
    desk = open_desk(gemini)
    desk.answers = [*map(answered, said_on_a_page(2))]
    return client_at(desk)


class Player:
    """One conversation."""

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        self._said = transcript.messages
        self._contents: list[Any] = [as_content(one) for one in transcript.before]
        self._desk = open_desk(gemini if reducer.config.enabled else anything)
        self._client = client_at(self._desk)
        self._kept = b""
        self._shown: list[Any] = []
        self.restart(reducer)

    async def begin(self) -> None:
        """Nothing is left to do."""

    @property
    def requests(self) -> list[list[Message]]:
        system = Message.system(RULES)
        return [[system, *self.read(asked["contents"])] for asked in self._desk.asked]

    def received(self) -> list[Any]:
        return self._shown

    def restart(self, reducer: HistoryReducer) -> None:
        self._view = GeminiView(reducer)

    def _state(self) -> HistoryReductionState | None:
        return HistoryReductionState.from_json(self._kept) if self._kept else None

    def _begin(self, turn: Sequence[Message]) -> None:
        self._desk.answers = [answered(one) for one in turn if one.role == "assistant"]
        self._contents.append(as_content(turn[0]))

    def _request(self, reduced: Any) -> dict[str, Any]:
        self._kept = b"" if reduced.state is None else reduced.state.to_json()
        self._shown = reduced.messages
        config = types.GenerateContentConfig(system_instruction=RULES)
        return {"model": "gemini-3-pro", "contents": reduced.messages, "config": config}

    def _goes_on(self, response: Any) -> bool:
        content = response.candidates[0].content
        self._contents.append(content)
        calls = [part for part in content.parts if part.function_call]
        results = [self._run(part.function_call) for part in calls]
        if results:
            self._contents.append(types.UserContent(parts=results))
        return bool(results)

    def _run(self, call: types.FunctionCall) -> types.Part:
        said = {"result": answer_of(self._said, call.args)}
        answer = types.FunctionResponse(id=call.id, name=call.name, response=said)
        return types.Part(function_response=answer)

    async def say(self, turn: Sequence[Message]) -> None:
        self._begin(turn)
        goes_on = True
        while goes_on:
            reduced = await self._view.reduce(self._contents, state=self._state())
            asked = self._client.aio.models.generate_content(**self._request(reduced))
            goes_on = self._goes_on(await asked)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._begin(turn)
        goes_on = True
        while goes_on:
            reduced = self._view.reduce_sync(self._contents, state=self._state())
            asked = self._client.models.generate_content(**self._request(reduced))
            goes_on = self._goes_on(asked)

    async def stored(self) -> list[Any]:
        return list(self._contents)

    def read(self, objects: Sequence[Any]) -> list[Message]:
        return [message for one in objects for message in CODEC.read(one)]
