"""The capability on releases of Pydantic AI that lack a hook."""

from typing import Any

import pytest
from pydantic_ai import Agent, NativeOutput, PromptedOutput
from pydantic_ai.capabilities import CombinedCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from foldline.agent.reducer import HistoryReducer
from foldline.integrations import pydantic_ai
from tests.integrations.counted import ANSWER, RULES, Heard, Room, peek
from tests.integrations.golden import make_reducer


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
