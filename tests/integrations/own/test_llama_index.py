"""What a wrapped model is asked for beside the view."""

import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ConfigError
from foldline.integrations.llama_index import FoldlineLLM
from foldline.integrations.llama_index_memory import FoldlineMemory
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
