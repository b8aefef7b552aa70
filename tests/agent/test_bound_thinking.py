"""Threads on which a vendor signs its thinking, and refuses it after anything but its own prefix."""

from collections.abc import Iterator
from random import Random
from typing import Any, Self

import pytest
from msgspec.structs import replace

from foldline import (
    Agent,
    ConversationThread,
    HistoryReducer,
    HistoryReductionConfig,
    MemoryStore,
    Message,
)
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


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        ("anthropic:claude-sonnet-4-6", "all"),
        ("anthropic:claude-fable-5-1", "none"),
        (None, "last"),
    ],
)
@pytest.mark.parametrize("reminds", [False, True])
def test_a_fold_in_a_tool_loop_keeps_the_thinking_that_is_needed(
    model: str | None, kept: str, reminds: bool
) -> None:
    """An answer whose calls are being answered keeps it, unless the model checks the prefix."""
    config = HistoryReductionConfig(context_window_size=16_000)
    reducer, state = HistoryReducer(config, model=model), None
    before: list[Any] = []
    said: list[Any] = [{"role": "user", "content": "Fix all tests."}]
    folds = 0
    for number in range(20):
        said += _step(number, [{"type": "text", "text": "Be brief."}] if reminds else [])
        reduced = reducer.reduce_sync(said, state=state)
        thoughts = _thoughts(reduced.messages)
        if reduced.verdict.folds:
            folds += 1
            assert thoughts[-1] is (kept != "none")
            assert any(thoughts[:-1]) is (kept == "all")
        else:
            assert reduced.messages[: len(before)] == before
        before, state = reduced.messages, reduced.state
    assert folds > 2
    assert state is not None
    old = replace(state, history_length=0, thinking_from=None).sealed()
    again = reducer.reduce_sync(said, state=old)

    assert _thoughts(again.messages)[-1] is (kept != "none")


def _thoughts(view: list[Any]) -> list[bool]:
    """Return of each answer with a call in *view* whether it begins with thinking."""
    answers = (one["content"] for one in view if one["role"] == "assistant")
    return [one[0]["type"] == "thinking" for one in answers if one[-1]["type"] == "tool_use"]


def _step(number: int, after: list[Any]) -> list[Any]:
    call = {"type": "tool_use", "id": f"t{number}", "name": "run", "input": {}}
    thought = {"type": "thinking", "thinking": "hm", "signature": f"s{number}"}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": "a line\n" * 900}
    return [
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [result, *after]},
    ]
