"""The capability on releases of Pydantic AI that lack a hook."""

import asyncio
from typing import Any

import pytest
from pydantic_ai import Agent, NativeOutput, PromptedOutput
from pydantic_ai.capabilities import CombinedCapability
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from foldline.agent.reducer import HistoryReducer
from foldline.integrations import pydantic_ai
from foldline.reduction.config import HistoryReductionConfig
from tests.integrations import refused
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.golden import SUMMARY, ScriptedSummarizer, make_reducer


async def _unchanged(_: Any, __: Any, request_context: Any) -> Any:
    return request_context


def test_a_release_without_a_hook_for_each_attempt_folds_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The view is sent as well, and the history stays."""
    monkeypatch.setattr(CombinedCapability, "prepare_model_request", _unchanged, raising=False)
    monkeypatch.setattr(pydantic_ai, "_HAS_ATTEMPTS", False, raising=False)
    sizes: list[int] = []

    def answer(messages: list[ModelMessage], _: Any) -> ModelResponse:
        sizes.append(len(messages))
        return ModelResponse([TextPart("It has two chairs.")])

    agent = Agent(
        FunctionModel(answer), capabilities=[pydantic_ai.FoldlineCapability(make_reducer())]
    )
    history: list[ModelMessage] = []
    for number in range(20):
        asked = f"What is in room {number}?"
        history = agent.run_sync(asked, message_history=history).all_messages()

    assert len(history) == 40
    assert max(sizes) < 20


WINDOWS: list[tuple[str, Any, bool]] = [
    ("ours", {"context_window": 1_000_000}, False),
    ("ours", {"context_window": 100_000}, True),
    ("ours", None, True),
    ("claude-sonnet-4-5", {"context_window": 1_000_000}, True),
]


@pytest.mark.parametrize(("name", "profile", "folds"), WINDOWS)
def test_a_model_tells_its_window(name: str, profile: Any, folds: bool) -> None:
    """The smaller one counts of what its profile says and what the book has under its name."""
    sizes: list[int] = []

    def answer(messages: list[ModelMessage], _: Any) -> ModelResponse:
        sizes.append(len(messages))
        return ModelResponse([TextPart("It has two chairs.")])

    reducer = HistoryReducer(HistoryReductionConfig(ceiling=0.2))
    agent = Agent(
        FunctionModel(answer, model_name=name, profile=profile),
        capabilities=[pydantic_ai.FoldlineCapability(reducer)],
    )
    agent.run_sync("Room 9?", message_history=HOUSE)

    assert (sizes[0] < len(HOUSE)) == folds


@pytest.mark.parametrize("form", [Room, NativeOutput(Room), PromptedOutput(Room)])
def test_all_that_a_request_has_beside_its_messages_is_counted(form: Any) -> None:
    """So is the form of an answer, however the model is asked for it."""
    heard = Heard()
    shown = pydantic_ai.FoldlineCapability(HistoryReducer(counter=heard))
    agent = Agent(
        TestModel(
            call_tools=[],
            custom_output_text=None if form is Room else ANSWER,
            profile={"supports_json_schema_output": True},
        ),
        instructions=RULES,
        tools=[peek],
        output_type=form,
        capabilities=[shown],
    )

    agent.run_sync("Hi")

    assert heard.parts == ["INSTRUCTED", "TOOLED", "FORMED"]


def _size(messages: list[ModelMessage]) -> int:
    return refused.tokens(str(part.content) for one in messages for part in one.parts)


HOUSE: list[ModelMessage] = [
    one
    for room in refused.ROOMS
    for one in (
        ModelRequest([UserPromptPart(refused.question(room))]),
        ModelResponse([TextPart(refused.answer(room))]),
    )
]


@pytest.mark.parametrize("streams", [False, True])
def test_what_the_model_refuses_as_too_long_is_folded(streams: bool) -> None:
    """It is folded until the model takes it, and the next turn begins from there."""
    sizes: list[int] = []

    def answer(messages: list[ModelMessage], _: Any) -> ModelResponse:
        sizes.append(_size(messages))
        if sizes[-1] > refused.WINDOW:
            raise ModelHTTPError(400, "tiny", refused.too_long().body)
        return ModelResponse([TextPart("It has two chairs.")])

    async def pieces(messages: list[ModelMessage], info: Any) -> Any:
        yield answer(messages, info).parts[0].content

    agent = Agent(
        FunctionModel(answer, stream_function=pieces),
        capabilities=[pydantic_ai.FoldlineCapability(HistoryReducer())],
    )

    async def play() -> None:
        history = HOUSE
        for _ in range(2):
            if streams:
                async with agent.run_stream("And the last?", message_history=history) as run:
                    assert await run.get_output() == "It has two chairs."
                history = run.all_messages()
            else:
                history = (await agent.run("And the last?", message_history=history)).all_messages()
        assert len(history) == len(HOUSE) + 4

    asyncio.run(play())
    refused.check(sizes)


@pytest.mark.parametrize("streams", [False, True])
def test_a_reduction_comes_back_with_a_stored_history(streams: bool) -> None:
    """Another process reads no message a second time, also where the answers were streamed."""
    read: list[int] = []

    def answer(_: Any, __: Any) -> ModelResponse:
        return ModelResponse([TextPart("It has two chairs.")])

    async def pieces(_: Any, __: Any) -> Any:
        yield "It has "
        yield "two chairs."

    async def play() -> None:
        kept = b"[]"
        for number in range(40):
            writer = ScriptedSummarizer(repeat=SUMMARY)
            agent = Agent(
                FunctionModel(answer, stream_function=pieces),
                capabilities=[pydantic_ai.FoldlineCapability(make_reducer(writer))],
            )
            history = ModelMessagesTypeAdapter.validate_json(kept)
            asked = f"What is in room {number}?"
            if streams:
                async with agent.run_stream(asked, message_history=history) as run:
                    await run.get_output()
                kept = run.all_messages_json()
            else:
                kept = (await agent.run(asked, message_history=history)).all_messages_json()
            read.extend(len(one.messages) for one in writer.requests)
        assert len(ModelMessagesTypeAdapter.validate_json(kept)) == 80

    asyncio.run(play())
    assert len(read) > 3
    assert sum(read) < 80


@pytest.mark.parametrize(("status", "asked"), [(400, 4), (429, 1)])
def test_what_a_fold_does_not_help_is_the_callers(status: int, asked: int) -> None:
    """So is every other failure, at once."""
    sizes: list[int] = []

    def answer(messages: list[ModelMessage], _: Any) -> ModelResponse:
        sizes.append(_size(messages))
        raise ModelHTTPError(status, "tiny", refused.too_long().body)

    shown = pydantic_ai.FoldlineCapability(HistoryReducer())
    with pytest.raises(ModelHTTPError):
        Agent(FunctionModel(answer), capabilities=[shown]).run_sync("Hi?", message_history=HOUSE)

    assert 1 <= len(sizes) <= asked
    assert (len(sizes) > 1) == (asked > 1)
