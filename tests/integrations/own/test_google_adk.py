"""Agents of Google's kit that hand over to each other."""

import asyncio
from typing import Any

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import errors, types

from foldline.agent.reducer import HistoryReducer
from foldline.integrations.google_adk import FoldlinePlugin
from foldline.integrations.google_adk_messages import GoogleADKCodec
from tests.integrations import refused
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


class Tiny(Scripted):
    """Refuses as Gemini does what has too many tokens; with *fails* it does so in other words."""

    fails: int = 0

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        contents = llm_request.contents
        size = refused.tokens(part.text or "" for one in contents for part in one.parts)
        self.asked.append(size)
        if len(self.asked) == self.fails:
            raise errors.ServerError(503, {"error": {"message": "overloaded"}})
        if size > refused.WINDOW:
            most = "exceeds the maximum number of tokens allowed"
            said = f"The input token count ({size}) {most} ({refused.WINDOW})."
            status = "INVALID_ARGUMENT"
            raise errors.ClientError(400, {"error": {"message": said, "status": status}})
        text = types.Part(text="It has two chairs.")
        yield LlmResponse(content=types.Content(role="model", parts=[text]))


async def _asked(model: Tiny, *questions: str, mode: StreamingMode) -> list[str]:
    """Return what is answered after a conversation that is far too long."""
    agent = LlmAgent(name="guide", model=model)
    shown = FoldlinePlugin(HistoryReducer())
    runner = InMemoryRunner(app=App(name="house", root_agent=agent, plugins=[shown]))
    service = runner.session_service
    session = await service.create_session(app_name="house", user_id="u", session_id="s")
    for room in refused.ROOMS:
        for author, text in (("user", refused.question(room)), ("guide", refused.answer(room))):
            role = "user" if author == "user" else "model"
            content = types.Content(role=role, parts=[types.Part(text=text)])
            event = Event(author=author, content=content, invocation_id="before")
            await service.append_event(session, event)
    answers: list[str] = []
    for question in questions:
        asked = types.Content(role="user", parts=[types.Part(text=question)])
        config = RunConfig(streaming_mode=mode)
        async for event in runner.run_async(
            user_id="u", session_id="s", new_message=asked, run_config=config
        ):
            answers += [part.text for part in (event.content.parts if event.content else ())]
    return answers


@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
def test_what_the_model_refuses_as_too_long_is_folded(mode: StreamingMode) -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    model = Tiny(model="tiny")
    answers = asyncio.run(_asked(model, "And the last?", "And the first?", mode=mode))

    assert answers == ["It has two chairs."] * 2
    refused.check(model.asked)


@pytest.mark.parametrize(("fails", "calls"), [(1, 1), (2, 2)])
def test_another_error_is_not_asked_again(fails: int, calls: int) -> None:
    """What the vendor fails with, at the first request or at one behind a fold, is raised."""
    model = Tiny(model="tiny", fails=fails)
    with pytest.raises((errors.ServerError, RuntimeError), match="overloaded"):
        asyncio.run(_asked(model, "And the last?", mode=StreamingMode.NONE))

    assert len(model.asked) == calls


def test_a_window_below_all_folds_is_the_vendors_refusal() -> None:
    """What no fold makes small enough ends in the error of the vendor, after a few requests."""

    class Endless(Tiny):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            self.asked.append(llm_request)
            raise errors.ClientError(400, {"error": {"message": "prompt is too long"}})
            yield

    model = Endless(model="tiny")
    with pytest.raises(errors.ClientError, match="prompt is too long"):
        asyncio.run(_asked(model, "And the last?", mode=StreamingMode.NONE))

    assert 2 < len(model.asked) < 6
