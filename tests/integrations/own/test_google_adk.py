"""Agents of Google's kit that hand over to each other."""

import asyncio

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types

from foldline.integrations.google_adk_messages import GoogleADKCodec
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
