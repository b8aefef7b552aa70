"""What a wrapped model is asked for beside the view."""

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, ToolCallBlock

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.integrations.llama_index import FoldlineLLM
from foldline.integrations.llama_index_memory import FoldlineMemory
from foldline.threads.stores.memory import MemoryStore
from tests.integrations import refused
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.golden import make_reducer
from tests.integrations.players.llama_index import Scripted, model


class Obedient(Scripted):
    """Remembers whether it has to call a tool, and makes one call of several."""

    has_to: list[bool] = []  # noqa: RUF012 - a field of pydantic's

    def _prepare_chat_with_tools(
        self, tools: Any, tool_required: bool = False, **options: Any
    ) -> Any:
        self.has_to.append(tool_required)
        return super()._prepare_chat_with_tools(tools, **options)

    def _validate_chat_with_tools_response(self, response: Any, *_: Any, **__: Any) -> Any:
        return response.model_copy(update={"delta": "one call"})


def test_a_tool_that_is_required_stays_required() -> None:
    """A structured answer, which is such a call, is asked for and read as without the wrapper."""
    asked = Obedient(answers=model().answers, system_prompt="Be brief.")
    shown, said = FoldlineLLM(asked, make_reducer()), ChatMessage("Hi")

    answer = shown.chat_with_tools([], user_msg=said, tool_required=True)
    shown.chat_with_tools([], user_msg=said)

    assert asked.has_to == [True, False]
    assert (answer.delta, shown.system_prompt) == ("one call", "Be brief.")


def test_a_path_is_no_store() -> None:
    """What is given in place of a store is refused at once, and not in the first run."""
    path: Any = "chat.db"
    with pytest.raises(ConfigError, match="store must be a ThreadStore, got str"):
        FoldlineMemory(path, "u")


class Strict(Scripted):
    """Takes what its vendor takes."""

    def chat(self, messages: Any, **options: Any) -> Any:
        assert not options
        return super().chat(messages)

    async def achat(self, messages: Any, **options: Any) -> Any:
        return self.chat(messages, **options)


def test_the_tools_of_an_agent_and_of_an_answer_with_a_form_are_counted() -> None:
    """They are said in the request of the vendor, who gets no copy of them."""
    call = ToolCallBlock(tool_call_id="c1", tool_name="Room", tool_kwargs={"chairs": 2})
    answers = [ChatMessage(ANSWER, role="assistant"), ChatMessage(role="assistant", blocks=[call])]
    heard, asked = Heard(), Strict(answers=answers, asked=[])
    shown = FoldlineLLM(asked, HistoryReducer(counter=heard))
    agent = FunctionAgent(system_prompt=RULES, tools=[peek], llm=shown)

    async def play() -> None:
        await agent.run("Hi")

    asyncio.run(play())
    assert heard.parts == ["INSTRUCTED", "TOOLED"]

    shown.as_structured_llm(Room).chat([ChatMessage("Hi")])
    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]


class Tiny(Scripted):
    """Refuses what has too many tokens, a stream when it is read."""

    sizes: list[int] = []  # noqa: RUF012 - a field of pydantic's

    def chat(self, messages: Any, **_: Any) -> Any:
        self.sizes.append(refused.tokens(str(one.content) for one in messages))
        if self.sizes[-1] > refused.WINDOW:
            raise refused.too_long()
        return ChatResponse(message=ChatMessage("It has two chairs.", role="assistant"))

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        yield self.chat(messages)


HOUSE = [
    one
    for room in refused.ROOMS
    for one in (
        ChatMessage(refused.question(room), role="user"),
        ChatMessage(refused.answer(room), role="assistant"),
    )
]


@pytest.mark.parametrize("has_memory", [False, True])
@pytest.mark.parametrize("streams", [False, True])
def test_what_the_model_refuses_as_too_long_is_folded_in_the_loop_of_an_agent(
    has_memory: bool, streams: bool
) -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    asked = Tiny(sizes=[])

    async def play() -> None:
        async with MemoryStore() as store:
            memory = FoldlineMemory(store, "house")
            await memory.aput_messages(HOUSE)
            kept = memory if has_memory else None
            shown = FoldlineLLM(asked, HistoryReducer(), memory=kept)
            agent = FunctionAgent(tools=[peek], llm=shown, streaming=streams)
            for _ in range(2):
                assert str(await agent.run("And the last?", memory=memory)) == "It has two chairs."

    asyncio.run(play())
    refused.check(asked.sizes)


@pytest.mark.parametrize("streams", [False, True])
def test_what_the_model_refuses_is_folded_in_blocking_calls(streams: bool) -> None:
    """So are streams, up to their first piece."""
    asked = Tiny(sizes=[])
    shown = FoldlineLLM(asked, HistoryReducer())
    said = [*HOUSE, ChatMessage("And the last?")]
    for _ in range(2):
        answers = shown.stream_chat(said) if streams else [shown.chat(said)]
        assert [one.message.content for one in answers] == ["It has two chairs."]

    refused.check(asked.sizes)


class Broken(Scripted):
    """Fails in the middle of a stream."""

    async def astream_chat(self, messages: Any, **_: Any) -> Any:
        async def stream() -> Any:
            self.asked.append(messages)
            yield ChatResponse(message=ChatMessage("It", role="assistant"))
            raise refused.too_long()

        return stream()


def test_what_was_shown_in_part_is_not_asked_again() -> None:
    """The failure is the caller's."""
    asked = Broken(asked=[])

    async def play() -> None:
        shown = FoldlineLLM(asked, HistoryReducer())
        async for _ in await shown.astream_chat([*HOUSE, ChatMessage("And the last?")]):
            pass

    with pytest.raises(refused.BadRequestError):
        asyncio.run(play())
    assert len(asked.asked) == 1
