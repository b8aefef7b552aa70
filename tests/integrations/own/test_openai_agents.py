"""A session of OpenAI Agents in a thread, and the SDK's own models behind the filter."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from agents import (
    Agent,
    HostedMCPTool,
    Model,
    ModelResponse,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    Session,
    SQLiteSession,
    Usage,
    function_tool,
)
from agents.extensions.memory.encrypt_session import EncryptedSession
from agents.mcp import MCPServer
from agents.memory.session_settings import SessionSettings
from agents.models.fake_id import FAKE_RESPONSES_ID
from httpx2 import AsyncBaseTransport, AsyncClient, Request, Response
from mcp.types import Tool as Served
from openai import AsyncOpenAI
from openai.types.responses import Response as Answered
from openai.types.responses import ResponseCompletedEvent

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.guests import OPENING_NOTE
from foldline.history.messages import Message
from foldline.integrations.openai_agents import (
    FoldlineModel,
    FoldlineSession,
    model_input_filter,
)
from foldline.testing.grammars import check_openai_chat, check_openai_responses
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import refused
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.golden import make_reducer
from tests.integrations.players.openai_agents import Scripted, output_of


_T = TypeVar("_T")

ITEMS: list[Any] = [
    {"role": "user", "content": "Where is order AB1771?", "extra": {"kept": [1, 1.0, True]}},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"},
    {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{ "at": 1 }'},
    {"type": "function_call_output", "call_id": "c1", "output": "on its way"},
    {"role": "system", "content": "Be brief."},
]


def run(work: Callable[[FoldlineSession], Awaitable[_T]], name: str = "user@example.com") -> _T:
    """Return what *work* does with a session that has items."""

    async def play() -> _T:
        session = FoldlineSession(MemoryStore(), name)
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        return await work(session)

    return asyncio.run(play())


def test_it_is_a_session() -> None:
    """It has everything that the SDK asks of one."""
    assert isinstance(FoldlineSession(MemoryStore(), "a"), Session)


def test_another_session_is_refused_where_it_is_named() -> None:
    """A session that keeps no reduction, and a store in the wrong place, are refused at once."""
    other: Any = SQLiteSession("u")
    swapped: Any = "user@example.com"
    with pytest.raises(ConfigError, match=r"session must be .* got SQLiteSession: leave it out"):
        model_input_filter(make_reducer(), session=other)
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineSession(swapped, "u")
    with pytest.raises(ConfigError, match="reducer must be"):
        model_input_filter(swapped)


def test_items_come_back_as_they_were() -> None:
    """Each item comes back as it was given, unknown fields included, under an id of any text."""
    assert run(lambda session: session.get_items(), "a / b, ü") == ITEMS


def test_the_newest_items_are_a_limit_away() -> None:
    """A limit gives the newest items, of the call or of the session; none of them for zero."""

    async def limited(session: FoldlineSession) -> list[Any]:
        found = [await session.get_items(limit=2), await session.get_items(limit=0)]
        session.session_settings = SessionSettings(limit=1)
        return [*found, await session.get_items()]

    assert run(limited) == [ITEMS[-2:], [], ITEMS[-1:]]


def test_the_limit_may_be_given_with_the_session() -> None:
    """A session takes its settings when it is made, as the sessions of the SDK do."""

    async def limited() -> list[Any]:
        store = MemoryStore()
        await FoldlineSession(store, "a").add_items(ITEMS)
        session = FoldlineSession(store, "a", session_settings=SessionSettings(limit=2))
        return await session.get_items()

    assert asyncio.run(limited()) == ITEMS[-2:]


def test_an_encrypted_session_may_be_around_it() -> None:
    """What `EncryptedSession` writes is no item of OpenAI's, is kept as it is, and says nothing."""

    async def wrapped(session: FoldlineSession) -> list[Any]:
        around: Any = EncryptedSession("house", session, "a key")
        await session.clear_session()
        await around.add_items(ITEMS[:2])
        rows = await (await session.thread()).get_messages()
        said = [one.is_opaque for one in rows]
        return [await around.get_items(), await around.pop_item(), await around.get_items(), said]

    assert run(wrapped) == [ITEMS[:2], ITEMS[1], ITEMS[:1], [True, True]]


def test_the_newest_item_is_taken_back() -> None:
    """Each item is popped in turn, a system message too, and then None."""

    async def popped(session: FoldlineSession) -> list[Any]:
        return [await session.pop_item() for _ in range(len(ITEMS) + 1)]

    assert run(popped) == [*reversed(ITEMS), None]


def test_a_cleared_session_is_empty() -> None:
    """Nothing is left, and it can be used again."""

    async def cleared(session: FoldlineSession) -> list[Any]:
        await session.clear_session()
        left = await session.get_items()
        await session.add_items(ITEMS[:1])
        return [left, await session.get_items()]

    assert run(cleared) == [[], ITEMS[:1]]


def test_two_sessions_never_meet() -> None:
    """Two ids that differ in a character that no thread id has are two sessions."""

    async def play() -> list[Any]:
        store = MemoryStore()
        await FoldlineSession(store, "a/b").add_items(ITEMS[:1])
        return await FoldlineSession(store, "a b").get_items()

    assert asyncio.run(play()) == []


class Vendor(AsyncBaseTransport):
    """Answers as OpenAI does, with a call and then in words, what passes its grammar."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    async def handle_async_request(self, request: Request) -> Response:
        asked = json.loads(request.content)
        self.requests.append(asked)
        is_chat = request.url.path.endswith("/chat/completions")
        body = self._chat(asked["messages"]) if is_chat else self._response(asked["input"])
        return Response(200, json=body, request=request)

    def _chat(self, messages: list[Any]) -> Any:
        assert check_openai_chat(messages) == ()
        number = len(self.requests)
        said: Any = {"role": "assistant", "content": "I look.", "refusal": None}
        if messages[-1]["role"] == "user":
            call = {"name": "look", "arguments": "{}"}
            said["tool_calls"] = [{"id": f"c{number}", "type": "function", "function": call}]
        choice = {"index": 0, "finish_reason": "stop", "message": said, "logprobs": None}
        kind = {"object": "chat.completion", "created": 1, "model": "m"}
        return {"id": f"a{number}", **kind, "choices": [choice]}

    def _response(self, items: list[Any]) -> Any:
        assert check_openai_responses(items) == ()
        number = len(self.requests)
        text = {"type": "output_text", "text": "I look.", "annotations": []}
        ids: Any = {"id": f"msg_{number}", "status": "completed"}
        output: Any = [{"type": "message", "role": "assistant", "content": [text], **ids}]
        if items[-1].get("role") == "user":
            call = {"call_id": f"c{number}", "name": "look", "arguments": "{}"}
            output.append({"type": "function_call", **call, "id": f"fc_{number}"})
        kind = {"object": "response", "created_at": 1, "model": "m", "status": "completed"}
        rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        return {"id": f"r{number}", **kind, **rest, "output": output}


def requests_of(make: Callable[..., Model], turns: int = 8) -> tuple[list[Any], list[Any]]:
    """Return what the vendor got in a run over its own model class, and what the session keeps."""
    vendor = Vendor()

    @function_tool
    def look() -> str:
        """Look around."""
        return "chairs"

    async def play() -> list[Any]:
        client = AsyncOpenAI(api_key="none", http_client=AsyncClient(transport=vendor))
        session = FoldlineSession(MemoryStore(), "the house")
        chosen = model_input_filter(make_reducer(), session=session)
        config = RunConfig(call_model_input_filter=chosen, tracing_disabled=True)
        agent = Agent(name="guide", tools=[look], model=make("m", openai_client=client))
        for number in range(turns):
            asked = f"What is in room {number}?"
            await Runner.run(agent, asked, session=session, run_config=config)
        return await session.get_items()

    stored = asyncio.run(play())
    return vendor.requests, stored


def test_a_chat_completions_model_goes_on_after_a_fold() -> None:
    """Its answers are told from inputs in each view, whose calls stay with the words before them."""
    requests, stored = requests_of(OpenAIChatCompletionsModel)

    views = [one["messages"] for one in requests]
    folded = [view for view in views if OPENING_NOTE in str(view)]
    assert len(requests) == 16
    assert len(folded) >= 2
    assert all([one["role"] for one in view[:2]] == ["user", "assistant"] for view in folded)
    calls = [one for view in views for one in view if one.get("tool_calls")]
    assert all(one["content"] == "I look." for one in calls)
    assert OPENING_NOTE not in str(stored)


def test_the_vendor_sees_no_placeholder() -> None:
    """What stands for an id inside the SDK is sent to no Responses API, and is not stored."""
    requests, stored = requests_of(OpenAIResponsesModel)

    assert any(OPENING_NOTE in str(one["input"]) for one in requests)
    assert FAKE_RESPONSES_ID not in str(requests)
    assert FAKE_RESPONSES_ID not in str(stored)


class Server(MCPServer):
    """A server of tools that keeps no list, and counts how often it is asked for it."""

    name = "house"

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def list_tools(self, *_: Any) -> Any:
        self.asked += 1
        return [Served(name="walk", description="Be SERVED.", inputSchema={"type": "object"})]

    async def _none(self, *_: Any, **__: Any) -> Any:
        return None

    connect = cleanup = call_tool = list_prompts = get_prompt = _none


def test_all_that_a_request_has_beside_its_input_is_counted() -> None:
    """So are the tools of servers, which are asked for them once more in all, and not at each call."""
    heard, server, scripted = Heard(), Server(), Scripted()
    scripted.answers = [Message.assistant(ANSWER)] * 3
    config: Any = {"type": "mcp", "server_label": "desk", "server_description": "Be HOSTED."}
    agent = Agent(
        name="guide",
        instructions=RULES,
        tools=[function_tool(peek), HostedMCPTool(config)],
        mcp_servers=[server],
        handoffs=[Agent(name="desk", handoff_description="Be HANDED.")],
        output_type=Room,
        model=scripted,
    )
    chosen = model_input_filter(HistoryReducer(counter=heard))

    async def play() -> None:
        for _ in range(3):
            given = RunConfig(call_model_input_filter=chosen, tracing_disabled=True)
            await Runner.run(agent, "Hi", run_config=given)

    asyncio.run(play())

    assert heard.parts == ["INSTRUCTED", "TOOLED", "SERVED", "HOSTED", "HANDED", "FORMED"]
    assert server.asked == 3 + 1


HOUSE: list[Any] = [
    item
    for room in refused.ROOMS
    for item in (
        {"role": "user", "content": refused.question(room)},
        {"role": "assistant", "content": refused.answer(room)},
    )
]


class Tiny(Scripted):
    """Refuses what has too many tokens."""

    def _answer(self, view: Any) -> Any:
        self.asked.append(refused.tokens(str(one["content"]) for one in view))
        if self.asked[-1] > refused.WINDOW:
            raise refused.too_long()
        answer = Message.assistant("It has two chairs.")
        return output_of(answer, len(self.asked))

    async def get_response(self, *_: Any, **given: Any) -> Any:
        return ModelResponse(output=self._answer(given["input"]), usage=Usage(), response_id=None)

    async def stream_response(self, *_: Any, **given: Any) -> Any:
        yield SimpleNamespace(type="response.created")
        output = self._answer(given["input"])
        response = Answered(
            id="r",
            created_at=0,
            model="tiny",
            object="response",
            output=output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(
            response=response, sequence_number=1, type="response.completed"
        )


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("has_session", [False, True])
def test_what_the_model_refuses_as_too_long_is_folded(has_session: bool, streams: bool) -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    model = Tiny()

    async def play() -> None:
        session = FoldlineSession(MemoryStore(), "house")
        await session.add_items(HOUSE)
        kept = session if has_session else None
        shown = FoldlineModel(model, HistoryReducer(), session=kept)
        agent = Agent(name="guide", model=shown)
        config = RunConfig(tracing_disabled=True)
        for _ in range(2):
            if streams:
                run = Runner.run_streamed(
                    agent, "And the last?", session=session, run_config=config
                )
                async for _event in run.stream_events():
                    pass
                assert run.final_output == "It has two chairs."
            else:
                done = await Runner.run(agent, "And?", session=session, run_config=config)
                assert done.final_output == "It has two chairs."
        assert len(await session.get_items()) == len(HOUSE) + 4

    asyncio.run(play())
    refused.check(model.asked)


@pytest.mark.parametrize("held", ["conversation_id", "previous_response_id"])
def test_what_goes_on_from_an_answer_that_openai_has_is_sent_as_it_is(held: str) -> None:
    """Its calls are there, so that the results of tools alone would be no conversation."""
    model = Scripted()
    model.answers = [Message.assistant("It has two chairs.")]
    result = {"type": "function_call_output", "call_id": "c1", "output": "two chairs"}
    asked: dict[str, Any] = {"system_instructions": None, "input": [result], held: "r1"}

    asyncio.run(FoldlineModel(model, HistoryReducer()).get_response(**asked))

    assert model.asked == [(None, [result])]


def test_what_openai_refuses_of_a_conversation_that_it_has_is_the_callers() -> None:
    """Nothing of it is there to fold."""
    model, said = Tiny(), [{"role": "user", "content": refused.answer(1) * 40}]
    asked: dict[str, Any] = {"input": said, "previous_response_id": "r1"}

    with pytest.raises(refused.BadRequestError):
        asyncio.run(FoldlineModel(model, HistoryReducer()).get_response(**asked))

    assert len(model.asked) == 1


def test_what_is_no_model_is_refused_at_once() -> None:
    """A name is made a model by the SDK."""
    name: Any = "gpt-5.2"
    with pytest.raises(ConfigError, match="get_model"):
        FoldlineModel(name, make_reducer())
