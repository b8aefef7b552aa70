"""The middleware among others, and a model that refuses a request."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from msgspec.structs import replace

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.guests import GuestView
from foldline.integrations.langchain import FoldlineMiddleware
from foldline.integrations.langchain_messages import LangChainCodec
from foldline.reduction.config import HistoryReductionConfig
from tests.integrations import refused
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.golden import make_reducer
from tests.integrations.players.langchain_script import Scripted


FOLDS = HistoryReductionConfig(counting_unit="messages", target_count=3, summarization_threshold=0)
KEEPS_TWO = HistoryReductionConfig(
    counting_unit="messages", target_count=3, summarization_threshold=90
)


def test_a_middleware_may_have_the_name_of_another() -> None:
    """A stack, which has no two of one name, knows it by the name that it was given."""
    named = FoldlineMiddleware(make_reducer(), name="SummarizationMiddleware")
    model: Any = Scripted()

    create_agent(model, middleware=[FoldlineMiddleware(make_reducer()), named])

    assert named.name == "SummarizationMiddleware"
    with pytest.raises(AssertionError, match="duplicate"):
        create_agent(model, middleware=[named, named])


class Small(Scripted):
    """Refuses what has more than eight messages."""

    def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
        if len(messages) > 8:
            self.asked.append(list(messages))
            raise ContextOverflowError
        return super()._generate(messages)


@pytest.mark.parametrize("is_async", [False, True])
def test_what_the_model_refuses_as_too_long_is_folded(is_async: bool) -> None:
    """It is asked once more, after a fold that no count has asked for; the state keeps all."""
    model: Any = Small(answers=[AIMessage("It has two chairs.")], asked=[])
    agent: Any = create_agent(model, middleware=[FoldlineMiddleware(HistoryReducer(KEEPS_TWO))])
    said = [
        one for n in range(5) for one in (HumanMessage(f"Room {n}?"), AIMessage(f"{n} chairs."))
    ]
    asked = {"messages": [*said, HumanMessage("Room 6?")]}

    state = asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)

    assert [len(one) for one in model.asked] == [11, 5]
    assert len(state["messages"]) == 12


@pytest.mark.parametrize("is_async", [False, True])
def test_the_profile_of_a_model_tells_its_window(is_async: bool) -> None:
    """A reducer that names none folds for it before the model has to refuse."""
    said = [
        one
        for n in range(40)
        for one in (HumanMessage(f"What is in room {n}?"), AIMessage(f"{n} chairs, {n} tables."))
    ]
    asked = {"messages": [*said, HumanMessage("Room 40?")]}
    sizes = []
    for profile in (None, {"max_input_tokens": 1_000}):
        model: Any = Scripted(answers=[AIMessage("None.")], asked=[], profile=profile)
        agent: Any = create_agent(model, middleware=[FoldlineMiddleware(HistoryReducer())])
        asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)
        sizes.append(len(model.asked[0]))

    assert sizes[0] == 81
    assert sizes[1] < 40


SIGNED: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
    {"type": "redacted_thinking", "data": "s"},
    {"type": "reasoning", "reasoning": "Hm.", "extras": {"signature": "s"}},
    {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "s"}},
]


@pytest.mark.parametrize("thought", SIGNED)
def test_signed_thinking_is_left_out_behind_a_fold(thought: dict[str, Any]) -> None:
    """Claude refuses it there, also as LangChain writes it with `output_version="v1"`."""
    answer = AIMessage([thought, {"type": "text", "text": "It has two chairs."}])
    said = [one for n in range(5) for one in (HumanMessage(f"Room {n}?"), answer)]
    view = GuestView(HistoryReducer(FOLDS), LangChainCodec())

    assert [one.content for one in view.reduce_sync([*said[:2]]).messages] == [
        "Room 0?",
        answer.content,
    ]
    shown = view.reduce_sync([*said, HumanMessage("Room 6?")]).messages
    assert [one.content for one in shown[-3:]] == ["Room 4?", "It has two chairs.", "Room 6?"]


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("keep", range(2, 8))
def test_what_a_user_approved_stays_with_its_request(keep: int, is_wrapped: bool) -> None:
    """OpenAI refuses an approval of a tool on an MCP server without the request for it."""

    def block(number: int, **fields: object) -> dict[str, Any]:
        own = {"id": f"mcpr_{number}", "type": "mcp_approval_request", "name": "pay", **fields}
        return {"type": "non_standard", "value": own} if is_wrapped else own

    said: list[Any] = []
    for number in range(6):
        key = f"mcpr_{number}"
        approved = {"type": "mcp_approval_response", "approval_request_id": key, "approve": True}
        said += [HumanMessage(f"Pay the bill of room {number}."), AIMessage([block(number)])]
        said += [HumanMessage([approved]), AIMessage(f"The bill of room {number} is paid.")]
    config = replace(FOLDS, target_count=keep)
    view = GuestView(HistoryReducer(config), LangChainCodec()).reduce_sync(said)

    shown = str([one.content for one in view.messages])
    assert view.event.status == "performed"
    assert shown.count("'mcp_approval_request'") == shown.count("'mcp_approval_response'")


def test_a_name_is_a_string() -> None:
    """Another one would be found only where an agent looks for it."""
    number: Any = 3

    with pytest.raises(ConfigError, match="name must be a str, got int"):
        FoldlineMiddleware(make_reducer(), name=number)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_loop_of_tools_that_the_model_refuses_is_folded(is_async: bool) -> None:
    """It has one question, and by default exchanges would be counted, of which none is cut."""
    model: Any = Small(answers=[AIMessage("All have chairs.")], asked=[])
    agent: Any = create_agent(model, middleware=[FoldlineMiddleware(HistoryReducer())])
    said: list[Any] = [HumanMessage("Count the chairs of each room.")]
    for n in range(6):
        call = {"id": f"call-{n}", "name": "look", "args": {"room": n}}
        answer = f"Room {n} has {n + 2} chairs and a table. " * 40
        said += [AIMessage("", tool_calls=[call]), ToolMessage(answer, tool_call_id=f"call-{n}")]
    asked = {"messages": said}

    state = asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)

    first, second = model.asked
    assert len(first) == 13
    assert len(second) < 9
    assert len(state["messages"]) == 14


@pytest.mark.parametrize("form", [Room, ToolStrategy(Room), ProviderStrategy(Room)])
def test_all_that_a_request_has_beside_its_messages_is_counted(form: Any) -> None:
    """So is the form of an answer, however the model is asked for it."""
    heard = Heard()
    call = {"id": "c1", "name": "Room", "args": {"chairs": 2}}
    is_called = not isinstance(form, ProviderStrategy)
    answer = AIMessage(ANSWER, tool_calls=[call] if is_called else [])
    model: Any = Scripted(answers=[answer], asked=[])
    shown = FoldlineMiddleware(HistoryReducer(counter=heard))
    agent: Any = create_agent(
        model, [peek], system_prompt=RULES, response_format=form, middleware=[shown]
    )

    agent.invoke({"messages": [HumanMessage("Hi")]})

    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]


class Tiny(Scripted):
    """Refuses what has more than 2,000 tokens, with an error of an SDK that LangChain passes on."""

    def _generate(self, messages: Any, *_: Any, **__: Any) -> Any:
        if sum(len(one.text) for one in messages) > 8_000:
            self.asked.append(list(messages))
            raise refused.too_long()
        return super()._generate(messages)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_long_conversation_goes_on_with_a_model_of_a_far_smaller_window(
    is_async: bool, keeps: bool
) -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    model: Any = Tiny(answers=[AIMessage("It has two chairs.")] * 2, asked=[])
    shown = FoldlineMiddleware(HistoryReducer())
    saver = InMemorySaver() if keeps else None
    agent: Any = create_agent(model, middleware=[shown], checkpointer=saver)
    thread: Any = {"configurable": {"thread_id": "house"}}
    said = [
        one
        for n in range(200)
        for one in (HumanMessage(f"Room {n}? " * 9), AIMessage(f"{n} chairs and a table. " * 20))
    ]
    for _ in range(2):
        asked = {"messages": [*said, HumanMessage("And the last?")]}
        made = (
            asyncio.run(agent.ainvoke(asked, thread)) if is_async else agent.invoke(asked, thread)
        )
        said = [] if keeps else made["messages"]

    sizes = [sum(len(one.text) for one in asked) // 4 for asked in model.asked]
    assert len(sizes) == 5
    assert sizes[0] > 4 * 2_000
    assert all(after * 2 < before for before, after in pairwise(sizes[:4]))
    assert sizes[4] < 2_000
