"""What a thread has sent and cost."""

from typing import Any

import pytest

from foldline import Agent, HistoryReductionConfig, MemoryStore, Prices, reduction_stats
from foldline.errors import ConfigError
from foldline.history.messages import Message, Usage
from foldline.providers.model import ChatResponse
from foldline.providers.price_list import prices_of_model
from foldline.providers.summarizer import ModelSummarizer
from foldline.testing.model import ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer


CONFIG = HistoryReductionConfig(counting_unit="messages", target_count=4, summarization_threshold=4)


async def test_the_ledger_of_an_agents_thread() -> None:
    """Every call and fold of the agent is in it, with the name of the summarizer."""
    agent = Agent(
        ScriptedModel(repeat="It is in Porto. " * 20),
        history_reduction=CONFIG,
        summarizer=ScriptedSummarizer(
            repeat="The user asked about parcels, all of which are in Porto."
        ),
    )
    async with MemoryStore() as store:
        thread = await store.thread("t")
        for turn in range(12):
            await agent.run(f"Where is parcel {turn}? " * 20, thread=thread)
        stats = await reduction_stats(thread, Prices(input=3, output=15, cached_read=0.3))
        again = await reduction_stats((await store.find("t")) or thread)

    assert (stats.calls, stats.original_count) == (12, 24)
    assert stats.folds == len(stats.entries) > 1
    assert {one.summarizer for one in stats.entries} == {"scripted"}
    assert sum(one.calls for one in stats.entries) < 12
    assert stats.sent_tokens < stats.full_tokens
    assert stats.cost is not None
    assert stats.cost > 0
    assert again.sent_tokens == stats.sent_tokens
    assert again.cost is None


async def test_the_sum_is_that_of_what_the_vendors_counted() -> None:
    """The agent stores each usage, and a fold those of its summarizer, refused texts included."""
    usage = Usage(input_tokens=1_000, output_tokens=100, cache_read_tokens=600)
    said = (Message.assistant("The user asked about parcels, all in Porto. " * 3),)
    model = ScriptedModel(repeat=ChatResponse(messages=said, usage=usage))
    writer = ScriptedModel(repeat=ChatResponse(messages=said, usage=usage))
    agent = Agent(model, history_reduction=CONFIG, summarizer=ModelSummarizer(writer))
    async with MemoryStore() as store:
        thread = await store.thread("t")
        results = [await agent.run(f"Parcel {n}? " * 30, thread=thread) for n in range(9)]
        stats = await reduction_stats(thread, Prices(input=3, output=15, cached_read=0.3))

    asked = len(writer.requests)
    each = (600 * 0.3 + 400 * 3 + 100 * 15) / 1_000_000
    assert asked > 0
    assert stats.reported_calls == len(stats.turns) == len(results) == 9
    assert sum(one.price or 0 for one in stats.entries) == pytest.approx(each * asked)
    assert stats.cost == pytest.approx(each * (9 + asked))


async def test_a_summary_has_the_listed_price_of_its_model() -> None:
    """The library reckons as the command does: the given prices are for what has none, or on request."""
    usage = Usage(input_tokens=1_000, output_tokens=100)
    said = (Message.assistant("The user asked about parcels, all in Porto. " * 3),)
    writer = ScriptedModel(repeat=ChatResponse(messages=said, usage=usage), name="gpt-4o")
    agent = Agent(
        ScriptedModel(repeat="Here."), history_reduction=CONFIG, summarizer=ModelSummarizer(writer)
    )
    prices = Prices(input=100, output=100)
    async with MemoryStore() as store:
        thread = await store.thread("t")
        for turn in range(9):
            await agent.run(f"Parcel {turn}? " * 30, thread=thread)
        listed = await reduction_stats(thread, prices)
        given = await reduction_stats(thread, prices, summarizer=prices)

    asked = len(writer.requests)
    known = prices_of_model("gpt-4o")
    assert known is not None
    assert sum(one.price or 0 for one in listed.entries) == pytest.approx(
        asked * (1_000 * known.input + 100 * known.output) / 1_000_000
    )
    assert sum(one.price or 0 for one in given.entries) == pytest.approx(asked * 0.11)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prices": {"input": 3}}, "prices must be a Prices or None, got dict"),
        ({"summarizer": "gpt-4o"}, "summarizer must be a Prices or Callable, got str"),
        ({"window": 0}, "window must be a whole number of at least 1, got 0"),
    ],
)
async def test_wrong_arguments_are_refused(given: dict[str, Any], said: str) -> None:
    """The error names the argument and what is expected."""
    async with MemoryStore() as store:
        thread = await store.thread("t")
        with pytest.raises(ConfigError, match=said):
            await reduction_stats(thread, **given)
