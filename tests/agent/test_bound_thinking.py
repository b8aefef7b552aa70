"""Threads on which a vendor signs its thinking, and refuses it after anything but its own prefix."""

from collections.abc import Iterator
from random import Random
from typing import Self

import pytest

from foldline import Agent, ConversationThread, HistoryReductionConfig, MemoryStore, Message
from foldline.agent.background import BackgroundFold
from foldline.history.signed import is_signed
from foldline.providers.digest.summarizer import DigestSummarizer
from tests.providers.vendors.asking import config
from tests.servers.claude import ClaudeServer


BY_COUNT = HistoryReductionConfig(target_count=6, summarization_threshold=4)
BY_CEILING = HistoryReductionConfig(ceiling=3000, context_window_size=8000)
CLEARING = HistoryReductionConfig(strategy="clearing", ceiling=4000, context_window_size=8000)
_EVENT = 0.15


@pytest.fixture
def claude(no_proxy: None) -> Iterator[ClaudeServer]:
    """Return a vendor that checks thinking; requests to it pass any proxy of this machine."""
    with ClaudeServer() as server:
        yield server


def look() -> str:
    """Look."""
    return "found something, as often before " * 40


def other() -> str:
    """Do nothing."""
    return ""


class Talk:
    """Agents that differ in what comes before every message, and in how they fold."""

    def __init__(self, claude: ClaudeServer) -> None:
        spec = config(claude, f"anthropic:{claude.model}")
        given = (
            ("be brief", [look], BY_COUNT),
            ("be long", [look], BY_CEILING),
            ("be brief", [look, other], CLEARING),
        )
        self.background = BackgroundFold()
        self.agents = [
            Agent(
                spec,
                instructions=instructions,
                tools=tools,
                history_reduction=reduction,
                summarizer=DigestSummarizer() if reduction is not CLEARING else None,
                background_fold=self.background if number == 0 else None,
            )
            for number, (instructions, tools, reduction) in enumerate(given)
        ]
        self.agent = self.agents[0]
        self.folds = 0
        self.shortened = 0

    async def turns(self, thread: ConversationThread, count: int, *, seed: int) -> None:
        """Run *count* turns, and change something before some of them."""
        random = Random(seed)
        for number in range(count):
            if random.random() < _EVENT:
                await self._change(thread, random)
            question = f"question {number}" + (" look" if random.random() < 0.3 else "")
            result = await self.agent.run(question, thread=thread)
            if result.reduction is not None:
                self.folds += 1
                self.shortened += len(result.reduction.state.shortened)
            assert result.is_complete

    async def _change(self, thread: ConversationThread, random: Random) -> None:
        event = random.choice(["agent", "agent", "undo", "edit", "rewind", "system"])
        said = [one for one in await thread.get_messages() if one.role != "system"]
        users = [at for at, one in enumerate(said) if one.role == "user"]
        if event == "agent":
            self.agent = random.choice(self.agents)
        elif event == "undo" and thread.last_reduction is not None:
            await thread.undo_reduction()
        elif event == "system":
            await thread.add_message(Message.system(f"rule {random.random():.2f}"))
        elif event == "edit" and users:
            at = random.choice(users[-12:])
            await thread.edit(at, Message.user(f"edited {at}"))
        elif event == "rewind" and len(users) > 20:
            await thread.rewind(random.choice(users[-4:]))

    async def __aenter__(self) -> Self:
        await self.background.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.background.__aexit__(*error)
        for agent in self.agents:
            await agent.close()


@pytest.mark.parametrize(
    "turns", [40, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
async def test_every_request_is_accepted(claude: ClaudeServer, turns: int) -> None:
    """Folds, undo, edits, rewinds, other instructions and other tools: nothing is refused."""
    thread = await MemoryStore().thread("t")

    async with Talk(claude) as talk:
        await talk.turns(thread, turns, seed=turns)

    assert claude.refusals == []
    assert talk.folds >= turns // 40
    assert talk.shortened > 0
    assert claude.thoughts > turns * 3
    assert any(map(is_signed, await thread.get_messages()))
