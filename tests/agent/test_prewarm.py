"""The new view in the vendor's prompt cache before the turn that needs it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from foldline import Agent, BackgroundFold, ConversationThread, MemoryStore, Message
from foldline.errors import ModelError
from foldline.providers.model import ChatModel, ChatRequest, PrewarmingModel
from foldline.providers.vendors import client_model
from foldline.reduction.config import HistoryReductionConfig
from foldline.testing.model import ScriptedModel
from tests.agent.test_background import GatedSummarizer
from tests.providers.vendors.asking import opened, request_of, unmarked
from tests.servers.vendor import Answer, VendorServer


CONFIG = HistoryReductionConfig(target_count=3, summarization_threshold=2, quote_user_messages=0)
CLAUDE, GPT = "anthropic:claude-sonnet-4-6", "openai:gpt-5.6-sol"
ANSWERS: dict[str, dict[str, Any]] = {
    CLAUDE: {"content": [{"type": "text", "text": "fine"}]},
    GPT: {
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "fine"}],
            }
        ]
    },
}
SAID = Message.user("x")


@pytest.fixture
def vendor(no_proxy: None) -> Iterator[VendorServer]:
    """Start a server that no proxy is asked for."""
    with VendorServer() as server:
        yield server


class Prewarmed(ScriptedModel):
    """A model that notes what is read into its cache."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__(repeat="fine")
        self.warmed: list[ChatRequest] = []
        self._error = error

    async def prewarm(self, request: ChatRequest) -> bool:
        self.warmed.append(request)
        if self._error is not None:
            raise self._error
        return True


@pytest.fixture
def at_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take every address for OpenAI's own."""
    monkeypatch.setattr(client_model, "_HOSTS", (("", "openai"),))


async def filled(words: int = 200) -> ConversationThread:
    thread = await MemoryStore().thread("ahead")
    for number in range(5):
        said = f"{number} " + "words of the weather " * words
        await thread.add_messages([Message.user(said), Message.assistant(said)])
    return thread


async def two_turns(model: ChatModel, *, prewarm: bool, words: int = 200) -> ConversationThread:
    """Fold after the first turn, and ask again once that is done."""
    thread, summarizer = await filled(words), GatedSummarizer()
    summarizer.text = "they talked"
    async with BackgroundFold(prewarm=prewarm) as folds:
        agent = Agent(
            model,
            instructions="Be brief.",
            history_reduction=CONFIG,
            summarizer=summarizer,
            background_fold=folds,
        )
        await agent.run("the first", thread=thread)
        summarizer.gate.set()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait([task])
        # What the fold has started.
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait([task])
        await agent.run("the second", thread=thread)
    return thread


@pytest.mark.parametrize(("spec", "items"), [(CLAUDE, "messages"), (GPT, "input")])
@pytest.mark.usefixtures("at_openai")
async def test_the_next_request_begins_with_what_was_read(
    vendor: VendorServer, spec: str, items: str
) -> None:
    """The vendor reads the new view without an answer, and the next request continues it."""
    vendor.otherwise = Answer.of(ANSWERS[spec])
    async with opened(vendor, spec) as model:
        await two_turns(model, prewarm=True)
    first, warmed, second = [one.body for one in vendor.asked]
    front = {"tools", "system", "model"}

    assert len(warmed[items]) < len(first[items])
    shared = second[items][: len(warmed[items])]
    assert list(map(unmarked, shared)) == list(map(unmarked, warmed[items]))
    assert len(second[items]) > len(warmed[items])
    assert {key: warmed.get(key) for key in front} == {key: second.get(key) for key in front}
    if spec == CLAUDE:
        assert (warmed["max_tokens"], second["max_tokens"] > 0) == (0, True)
    else:
        assert warmed["prompt_cache_options"] == {"prewarm": True}
        assert "prompt_cache_options" not in second


async def test_nothing_is_read_ahead_by_default() -> None:
    """Without the option the model gets the requests of the turns alone."""
    model = Prewarmed()
    await two_turns(model, prewarm=False)

    assert isinstance(model, PrewarmingModel)
    assert (model.warmed, len(model.requests)) == ([], 2)


async def test_a_failed_prewarm_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The fold is stored, the next turn uses it, and the log has one line."""
    model = Prewarmed(ModelError("no"))
    thread = await two_turns(model, prewarm=True)

    assert thread.last_reduction is not None
    assert len(model.warmed) == 1
    assert model.requests[1].messages[1].text == "they talked"
    assert [one.message for one in caplog.records] == ["a prewarm failed: ModelError"]


async def test_a_view_that_is_too_short_is_not_read_ahead(vendor: VendorServer) -> None:
    """What is shorter than the vendor's minimum would not be kept."""
    vendor.otherwise = Answer.of(ANSWERS[CLAUDE])
    async with opened(vendor, CLAUDE) as model:
        await two_turns(model, prewarm=True, words=3)

    assert len(vendor.asked) == 2


@pytest.mark.parametrize(
    ("spec", "options", "settings"),
    [
        (CLAUDE, {"caches_prompt": False}, {}),
        (CLAUDE, {}, {"cache_control": None}),
        (CLAUDE, {}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (CLAUDE, {}, {"tool_choice": {"type": "any"}}),
        (CLAUDE, {}, {"output_config": {"format": {"type": "json_schema"}}}),
        (GPT, {"holds_history": True}, {}),
        ("openai:gpt-5.5", {}, {}),
        ("openai-chat:gpt-5.6", {}, {}),
        # The address is not OpenAI's.
        (GPT, {}, {}),
    ],
)
async def test_a_vendor_that_would_refuse_is_not_asked(
    vendor: VendorServer, spec: str, options: dict[str, bool], settings: dict[str, Any]
) -> None:
    """Older models, Chat Completions, and settings that need an answer."""
    async with opened(vendor, spec, **options) as model:
        assert not await model.prewarm(request_of(SAID, **settings))

    assert vendor.asked == []


@pytest.mark.usefixtures("at_openai")
async def test_what_the_caller_caches_with_stays(vendor: VendorServer) -> None:
    """A key or a lifetime belongs to the cache that is read ahead; an older response does not."""
    vendor.otherwise = Answer.of(ANSWERS[GPT])
    given = {"ttl": "12h", "comparison_response_id": None}
    async with opened(vendor, GPT) as model:
        assert await model.prewarm(request_of(SAID, prompt_cache_options=given))

    assert vendor.asked[0].body["prompt_cache_options"] == {"ttl": "12h", "prewarm": True}
