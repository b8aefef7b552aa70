"""Views for servers whose chat templates want the speakers to take turns."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from foldline import Agent, HistoryReducer, HistoryReductionConfig
from foldline.formats import render_openai_chat
from foldline.history.formats.renderings.sending import CONTINUES_NOTE, OPENING_NOTE
from foldline.testing.model import ScriptedModel
from foldline.threads.stores.memory import MemoryStore


RULES = {"role": "system", "content": "be brief"}


def take_turns(items: list[dict[str, Any]]) -> bool:
    """
    Whether user and assistant take turns from the user on, beside rules, calls and their results.

    So it is in the templates of Mistral Small, Devstral and Magistral; those of Gemma know no calls.
    """
    said = [
        one["role"]
        for one in items
        if one["role"] in ("user", "assistant") and not one.get("tool_calls")
    ]
    return said == ["user", "assistant"] * (len(said) // 2) + ["user"] * (len(said) % 2)


def exchange(number: int, calls: int) -> Iterator[dict[str, Any]]:
    yield {"role": "user", "content": f"And order {number}?"}
    for call in range(calls):
        name = f"c{number}-{call}"
        function = {"name": "look", "arguments": "{}"}
        yield {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": name, "type": "function", "function": function}],
        }
        yield {"role": "tool", "tool_call_id": name, "content": f"shelf {number}.{call}"}
    yield {"role": "assistant", "content": f"Order {number} is on a shelf."}


def conversation(calls: int) -> list[dict[str, Any]]:
    return [item for number in range(14) for item in exchange(number, calls)]


@pytest.mark.parametrize("layers", [False, True])
@pytest.mark.parametrize("rules", [[], [RULES]], ids=["no rules", "rules"])
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_speakers_take_turns_in_every_view(
    rules: list[dict[str, Any]], calls: int, layers: bool
) -> None:
    """Wherever a cut is, also inside an exchange, a template that the list passes takes the view."""
    notes = set[str]()
    for target, threshold in product((1, 2, 5, 7), (1, 4)):
        reducer = HistoryReducer(
            HistoryReductionConfig(
                counting_unit="messages",
                target_count=target,
                summarization_threshold=threshold,
                use_single_summary=not layers,
            )
        )
        said, folds = [*rules], 0
        for item in conversation(calls):
            if item["role"] == "assistant":
                reduced = reducer.reduce_sync(said)
                folds += reduced.verdict.kind == "fold"
                assert take_turns(said)
                assert take_turns(reduced.messages)
                notes |= {one["content"] for one in reduced.messages if "[The " in str(one)}
            said.append(item)
        assert folds

    assert OPENING_NOTE in notes
    # Without rules what is in front is written for Anthropic too, which makes layers one message.
    assert not rules or (CONTINUES_NOTE in notes) == bool(layers or calls)


async def test_speakers_take_turns_in_requests_of_an_agent() -> None:
    """What an agent asks a server with the interface of OpenAI passes such a template too."""
    config = HistoryReductionConfig(
        counting_unit="messages", target_count=3, summarization_threshold=2
    )
    model = ScriptedModel([f"Order {number} is on a shelf." for number in range(9)])
    agent = Agent(model, history_reduction=config, instructions="be brief")
    async with MemoryStore() as store:
        thread = await store.thread("orders")
        for number in range(9):
            await agent.run(f"And order {number}?", thread=thread)

    asked = [render_openai_chat(request.messages) for request in model.requests]
    assert all(map(take_turns, asked))
    assert sum(OPENING_NOTE in str(one) for one in asked) > 3
