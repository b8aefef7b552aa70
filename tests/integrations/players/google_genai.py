"""A loop of one's own on Google's SDK, whose requests go to a server on this machine."""

from collections.abc import Sequence
from typing import Any

from google.genai import Client, types

from foldline.agent.reducer import HistoryReducer
from foldline.history.messages import Message
from foldline.integrations.google_genai import GeminiView
from foldline.integrations.google_genai_messages import ContentCodec
from tests.integrations.golden import RULES, Transcript, answer_of
from tests.integrations.own_loop import OwnLoop
from tests.integrations.player import said_on_a_page
from tests.integrations.served import Desk, gemini, open_desk


CODEC = ContentCodec()


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


class Player(OwnLoop):
    """One conversation."""

    codec = CODEC
    # The thought signatures of Gemini are bound to their own answer only.
    signed = False
    field = "contents"
    judge = gemini

    def __init__(self, transcript: Transcript, reducer: HistoryReducer) -> None:
        super().__init__(transcript, reducer)
        self._client = client_at(self._desk)

    def view(self, reducer: HistoryReducer) -> GeminiView:
        return GeminiView(reducer)

    def answered(self, message: Message) -> dict[str, Any]:
        return answered(message)

    def _request(self, reduced: Any) -> dict[str, Any]:
        self._keep(reduced)
        config = types.GenerateContentConfig(system_instruction=RULES)
        return {"model": "gemini-3-pro", "contents": reduced.messages, "config": config}

    def _goes_on(self, response: Any) -> bool:
        content = response.candidates[0].content
        self._given.append(content)
        calls = [part for part in content.parts if part.function_call]
        results = [self._run(part.function_call) for part in calls]
        if results:
            self._given.append(types.UserContent(parts=results))
        return bool(results)

    def _run(self, call: types.FunctionCall) -> types.Part:
        said = {"result": answer_of(self._said, call.args)}
        answer = types.FunctionResponse(id=call.id, name=call.name, response=said)
        return types.Part(function_response=answer)

    async def say(self, turn: Sequence[Message]) -> None:
        self._begin(turn)
        goes_on = True
        while goes_on:
            reduced = await self._view.reduce(self._given, state=self._state())
            asked = self._client.aio.models.generate_content(**self._request(reduced))
            goes_on = self._goes_on(await asked)

    def say_blocking(self, turn: Sequence[Message]) -> None:
        self._begin(turn)
        goes_on = True
        while goes_on:
            reduced = self._view.reduce_sync(self._given, state=self._state())
            asked = self._client.models.generate_content(**self._request(reduced))
            goes_on = self._goes_on(asked)
