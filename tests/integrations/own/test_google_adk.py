"""Agents of Google's kit that hand over to each other."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from foldline.agent.reducer import HistoryReducer
from foldline.integrations.google_adk import FoldlinePlugin
from foldline.integrations.google_adk_messages import GoogleADKCodec
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.players.google_adk import Scripted


def test_what_is_relayed_of_another_agent_is_no_users() -> None:
    """What an agent said before it handed over is not read as the user's; it is written as it was."""
    call = types.FunctionCall(id="t", name="transfer_to_agent", args={"agent_name": "desk"})
    handing = types.Content(role="model", parts=[types.Part(function_call=call)])
    answer = types.Content(role="model", parts=[types.Part(text="It is in Lisbon.")])
    model = Scripted(model="scripted", answers=[handing, answer])
    desk = LlmAgent(name="desk", model=model)
    guide = LlmAgent(name="guide", model=model, sub_agents=[desk])
    runner = InMemoryRunner(app=App(name="house", root_agent=guide))
    asyncio.run(runner.run_debug("Where is AB1771?", quiet=True))

    _, asked = model.asked[-1]
    codec = GoogleADKCodec()
    read = [codec.read(one) for one in asked]

    assert [message.role for one in read for message in one] == ["user", "assistant", "assistant"]
    written = [codec.write(one[0], item) for one, item in zip(read, asked, strict=True)]
    assert [one.model_dump() for one in written] == [one.model_dump() for one in asked]
    assert {one.role for one in asked} == {"user"}


@pytest.mark.parametrize("form", [Room, list[Room], Room.model_json_schema()])
def test_all_that_a_request_has_beside_its_contents_is_counted(form: Any) -> None:
    """The form of an answer, which is a schema in the request, as well as the tools."""

    def heard(**options: Any) -> list[str]:
        heard = Heard()
        answer = types.Content(role="model", parts=[types.Part(text=ANSWER)])
        model = Scripted(model="scripted", answers=[answer])
        agent = LlmAgent(name="guide", model=model, instruction=RULES, **options)
        shown = FoldlinePlugin(HistoryReducer(counter=heard))
        runner = InMemoryRunner(app=App(name="house", root_agent=agent, plugins=[shown]))
        asyncio.run(runner.run_debug("Hi", quiet=True))
        return heard.parts

    assert heard(tools=[peek]) == ["INSTRUCTED", "TOOLED"]
    assert heard(output_schema=form) == ["INSTRUCTED", "FORMED"]
