"""What is Agent Framework's alone."""

import asyncio
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ResponseStream,
    tool,
)
from agent_framework import Message as Theirs
from agent_framework.exceptions import ChatClientException

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.guests import GuestView
from foldline.integrations.agent_framework import FoldlineChatMiddleware, FoldlineHistoryProvider
from foldline.integrations.agent_framework_messages import AgentFrameworkCodec
from foldline.reduction.config import HistoryReductionConfig
from tests.integrations import refused
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.players.agent_framework import Scripted


@pytest.mark.parametrize("keep", range(2, 8))
def test_what_a_user_approved_stays_with_its_request(keep: int) -> None:
    """OpenAI refuses an approval of a tool on an MCP server without the request for it."""
    said: list[Theirs] = []
    for number in range(6):
        asked = Content.from_text(f"Pay the bill of room {number}.")
        call = Content.from_function_call(f"mcp_{number}", "pay", arguments="{}", hosted=True)
        request = Content.from_function_approval_request(f"mcpr_{number}", call)
        response = Content.from_function_approval_response(True, f"mcpr_{number}", call)
        paid = Content.from_text(f"The bill of room {number} is paid.")
        said += [Theirs("user", [asked]), Theirs("assistant", [request])]
        said += [Theirs("user", [response]), Theirs("assistant", [paid])]
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=keep, summarization_threshold=0
    )
    view = GuestView(HistoryReducer(config), AgentFrameworkCodec()).reduce_sync(said)

    kinds = [one.type for message in view.messages for one in message.contents]
    assert view.event.status == "performed"
    assert kinds.count("function_approval_request") == kinds.count("function_approval_response")


def test_a_path_is_no_store() -> None:
    """What is given in place of a store is refused at once, and not in the first run."""
    path: Any = "chat.db"
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineHistoryProvider(path)


def test_all_that_a_request_has_beside_its_messages_is_counted() -> None:
    """The form of an answer is sent with the instructions and the tools."""
    heard, model = Heard(), Scripted()
    model.answers = [Theirs("assistant", [ANSWER])]
    shown = FoldlineChatMiddleware(HistoryReducer(counter=heard))
    agent: Any = Agent(model, RULES, tools=[tool(peek)], middleware=[shown])

    asyncio.run(agent.run("Hi", options={"response_format": Room}))

    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]


class Held(Scripted):
    """Keeps the conversation itself, as a client of OpenAI does unless it is told not to."""

    def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
        self.asked.append([content.type for one in messages for content in one.contents])
        call = Content.from_function_call("c1", "peek", arguments='{"room": 1}')
        said = call if len(self.asked) == 1 else "It has two chairs."

        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Theirs("assistant", [said])], conversation_id="resp_1")

        return answer()


def test_what_goes_on_from_an_answer_that_the_service_has_is_sent_as_it_is() -> None:
    """Its calls are there, so that the results of tools alone would be no conversation."""
    model = Held()
    shown = FoldlineChatMiddleware(HistoryReducer())
    agent: Any = Agent(model, tools=[tool(peek)], middleware=[shown])

    answer = asyncio.run(agent.run("Hi", session=AgentSession()))

    assert answer.text == "It has two chairs."
    assert model.asked == [["text"], ["function_result"]]


class Tiny(Scripted):
    """Refuses as a client of the framework does what has too many tokens."""

    closed = 0

    def _inner_get_response(self, *, messages: Any, stream: bool, **_: Any) -> Any:
        self.asked.append(refused.tokens(one.text for one in messages))
        size = self.asked[-1]

        def check() -> None:
            if size > refused.WINDOW:
                failed = ChatClientException("the service failed")
                raise failed from refused.too_long()

        async def answer() -> ChatResponse:
            check()
            return ChatResponse(messages=[Theirs("assistant", ["It has two chairs."])])

        async def pieces() -> Any:
            try:
                check()
                for piece in ("It has ", "two chairs."):
                    yield ChatResponseUpdate(contents=[Content.from_text(piece)], role="assistant")
            finally:
                self.closed += 1

        if stream:
            return ResponseStream(pieces(), finalizer=ChatResponse.from_updates)
        return answer()


def long_talk() -> list[Theirs]:
    """Return a conversation that is far too long for `Tiny`."""
    return [
        one
        for room in refused.ROOMS
        for one in (
            Theirs("user", [refused.question(room)]),
            Theirs("assistant", [refused.answer(room)]),
        )
    ]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("has_session", [False, True])
def test_what_the_model_refuses_as_too_long_is_folded(has_session: bool, streams: bool) -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    model = Tiny()
    agent: Any = Agent(model, middleware=[FoldlineChatMiddleware(HistoryReducer())])

    async def answered(asked: list[Theirs], session: AgentSession | None) -> Any:
        if not streams:
            return await agent.run(asked, session=session)
        stream = agent.run(asked, session=session, stream=True)
        assert [one.text async for one in stream] == ["It has ", "two chairs."]
        return await stream.get_final_response()

    async def play() -> None:
        session = AgentSession() if has_session else None
        asked = [*long_talk(), Theirs("user", ["And the last?"])]
        for _ in range(2):
            answer = await answered(asked, session)
            assert answer.text == "It has two chairs."
            if not has_session:
                asked += [*answer.messages, Theirs("user", ["And the first?"])]
            else:
                asked = [Theirs("user", ["And the first?"])]

    asyncio.run(play())
    refused.check(model.asked)
    assert model.closed == (len(model.asked) if streams else 0)


def test_a_stream_that_breaks_after_a_piece_is_not_asked_for_again() -> None:
    """What was shown is not said twice, whatever ends the stream."""

    class Breaking(Scripted):
        def _inner_get_response(self, *, messages: Any, **_: Any) -> Any:
            self.asked.append(messages)

            async def pieces() -> Any:
                yield ChatResponseUpdate(contents=[Content.from_text("It ")], role="assistant")
                failed = ChatClientException("the service failed")
                raise failed from refused.too_long()

            return ResponseStream(pieces(), finalizer=ChatResponse.from_updates)

    model, said = Breaking(), list[str]()
    agent: Any = Agent(model, middleware=[FoldlineChatMiddleware(HistoryReducer())])

    async def play() -> None:
        async for one in agent.run("Hi", stream=True):
            said.append(one.text)

    with pytest.raises(ChatClientException):
        asyncio.run(play())
    assert said == ["It "]
    assert len(model.asked) == 1


def test_a_stream_that_nobody_reads_to_its_end_is_closed() -> None:
    """Who leaves after the first piece leaves no connection open."""
    model = Tiny()
    agent: Any = Agent(model, middleware=[FoldlineChatMiddleware(HistoryReducer())])

    async def play() -> int:
        stream = agent.run("Hi", stream=True)
        async for _ in stream:
            break
        await stream.close()
        return model.closed

    assert asyncio.run(play()) == 1
