"""What belongs to whom: folds to their store and loop, connections to their agent."""

import asyncio

import pytest

from foldline import (
    Agent,
    AgentConfig,
    AgentRunConfig,
    BackgroundFold,
    ConfigError,
    HistoryReductionConfig,
    HistoryReductionEvent,
    ProviderConfig,
    SummaryRequest,
    TurnResult,
)
from foldline.errors import ContextOverflowError
from foldline.providers.model import ChatRequest
from foldline.testing.model import ScriptedModel
from tests.agent.test_background import agent_of, filled, key_of


class Summarizer:
    """Writes after a while, and knows how many texts were asked for at the same time."""

    name = "slow"

    def __init__(self, delay: float = 0.0) -> None:
        self._delay = delay
        self.running = 0
        self.most = 0
        self.requests: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> str:
        self.requests.append(request)
        number = len(self.requests)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self._delay)
        finally:
            self.running -= 1
        return f"they talked {number}"


def told(result: TurnResult) -> list[HistoryReductionEvent]:
    return [one for one in result.events if isinstance(one, HistoryReductionEvent)]


async def test_stores_share_no_folds() -> None:
    """Two stores with a thread of the same name have their own folds and events."""
    summarizer = Summarizer(0.01)
    threads = [await filled(), await filled()]
    async with BackgroundFold() as ahead:
        agent = agent_of(ahead, summarizer)
        for thread in threads:
            await agent.run("question 5", thread=thread)
        assert len(ahead) == 2
        for thread in threads:
            await ahead.wait(key_of(thread, agent))
        results = [await agent.run("question 6", thread=thread) for thread in threads]
    events = [told(result)[0] for result in results]

    assert [event.status for event in events] == ["performed", "performed"]
    assert len({event.summary for event in events}) == 2


@pytest.mark.parametrize("forced", [True, False], ids=["forced", "overflow"])
async def test_a_fold_waits_for_the_one_under_way(*, forced: bool) -> None:
    """Neither a fold that is asked for nor one after a refusal runs beside another one."""

    def refused_once(_: ChatRequest) -> ContextOverflowError:
        return ContextOverflowError(model="scripted", status=400)

    summarizer = Summarizer(0.02)
    thread = await filled(12)
    config = HistoryReductionConfig(target_count=8, summarization_threshold=4)
    async with BackgroundFold() as ahead:
        model = ScriptedModel(["fine", refused_once] if not forced else [], repeat="fine")
        agent = Agent(model, history_reduction=config, summarizer=summarizer, background_fold=ahead)
        await agent.run("one", thread=thread)
        assert len(ahead) == 1
        overrides = AgentRunConfig(trigger_history_reduction=forced)
        await agent.run("two", thread=thread, config=overrides)

    assert summarizer.most == 1


async def test_folds_begin_only_inside() -> None:
    """Before it is entered, after it is left and in another loop no turn begins, though none is due."""

    async def turn(ahead: BackgroundFold) -> None:
        agent, thread = agent_of(ahead, Summarizer()), await filled(0)
        with pytest.raises(ConfigError, match="enter BackgroundFold"):
            await agent.run("hello", thread=thread)
        assert thread.count == 0

    ahead = BackgroundFold()
    await turn(ahead)
    async with ahead:
        await asyncio.to_thread(lambda: asyncio.run(turn(ahead)))
    await turn(ahead)


@pytest.mark.parametrize("patience", ["long", 0, -1, float("nan")])
def test_patience_is_a_number_of_seconds(patience: object) -> None:
    """Anything else is refused at once."""
    with pytest.raises(ConfigError, match="above 0"):
        BackgroundFold(patience=patience)  # type: ignore[arg-type]


async def test_an_agent_closes_what_it_has_opened() -> None:
    """Leaving an agent closes the models that it opened; a model that was given stays."""

    class Given(ScriptedModel):
        closed = False

        async def close(self) -> None:
            self.closed = True

    provider = ProviderConfig(provider_key="openai-chat", model_name="m", api_key="k")
    config = HistoryReductionConfig(summarizer_provider=provider)
    given = Given(["fine"])
    async with Agent(given, history_reduction=config) as agent:
        await agent.run("hi")
    named = Agent.from_config(AgentConfig(provider=provider, history_reduction=config))
    await named.close()

    assert not given.closed
    assert len(named._opened) == 2  # pyright: ignore[reportPrivateUsage]
