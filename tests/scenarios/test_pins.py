"""Pinned messages and the first request, word for word through folds, forks, restarts and undo."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from foldline import (
    Agent,
    ConversationThread,
    DigestSummarizer,
    HistoryReductionConfig,
    Message,
    SQLiteStore,
)
from foldline.history.parts import BlobPart
from foldline.testing.model import ScriptedModel
from tests.scenarios.stories import TALK, events


FIRST = "Plan a trip of nine days to Lofoten; nobody in the group eats fish, and Ada is 71."
RULES = {
    5: "Never book a ferry that leaves before 9:30, whatever it costs.",
    40: 'Write prices as "NOK 1 234,50", with a space and a comma.',
    90: "The car must have five seats & room for a wheelchair <folded>.",
}
"""What is pinned, by the turn in which it is said."""

FOLDS = 200


def agent(model: ScriptedModel, *, single: bool = True) -> Agent:
    config = HistoryReductionConfig(
        target_count=1,
        summarization_threshold=0,
        context_window_size=8_000,
        use_single_summary=single,
    )
    return Agent(model, history_reduction=config, summarizer=DigestSummarizer())


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[ConversationThread]:
    async with SQLiteStore(path / "chat.db", durability="relaxed") as store:
        yield await store.thread("trip")


def shown(model: ScriptedModel, said: str) -> int:
    """Return how often the last request has *said*, as a message or as a quote."""
    messages = model.requests[-1].messages
    forms = (f">\n{said}\n</quote", f"] user: {said}")
    return sum((one.text == said) + sum(map(one.text.count, forms)) for one in messages)


def missing(model: ScriptedModel, *, turn: int) -> list[str]:
    """Return what had to be in the last request word for word, and is not there once."""
    said = [FIRST, *(rule for at, rule in RULES.items() if at <= turn)]
    return [one for one in said if shown(model, one) != 1]


async def talk(path: Path, model: ScriptedModel, turns: range, *, single: bool = True) -> int:
    """Talk for *turns*, each object of the store for some of them; return how many folds there were."""
    speaker, folds = agent(model, single=single), 0
    for start in range(turns.start, turns.stop, 25):
        async with opened(path) as thread:
            for turn in range(start, min(start + 25, turns.stop)):
                folds += await one_turn(speaker, thread, turn)
                assert missing(model, turn=turn) == []
    return folds


async def one_turn(speaker: Agent, thread: ConversationThread, turn: int) -> int:
    """Say what is said in *turn*, pin it if it is a rule, and return how many folds there were."""
    text = RULES.get(turn, f"question {turn} {TALK}") if turn else FIRST
    # One rule is made pinned, the others are pinned afterward.
    message = Message.user(text, pin=turn == 5, id=f"turn-{turn}")
    result = await speaker.run([message], thread=thread)
    if turn in RULES and turn != 5:
        await thread.pin(f"turn-{turn}")
    return sum(event.status == "performed" for event in events(result))


@pytest.mark.slow
@pytest.mark.parametrize("single", [True, False], ids=["rolling", "layers"])
async def test_pins_survive_two_hundred_folds(tmp_path: Path, *, single: bool) -> None:
    """After 200 folds and nine restarts every pin and the first request are there, once each."""
    model = ScriptedModel(repeat=f"Noted. {TALK}")
    folds = await talk(tmp_path, model, range(FOLDS + 10), single=single)

    assert folds >= FOLDS


async def test_pins_survive_forks_and_undo(tmp_path: Path) -> None:
    """A fork at any place has the pins before it, and so has a thread whose folds were undone."""
    model = ScriptedModel(repeat=f"Noted. {TALK}")
    await talk(tmp_path, model, range(50))
    async with opened(tmp_path) as thread:
        fork = await thread.fork("late")
        early = await thread.fork("early", at=30)
        for _ in range(3):
            await thread.undo_reduction()
        speaker = agent(model)
        for one, turn in ((fork, 50), (thread, 50), (early, 15)):
            for _ in range(3):
                await speaker.run(f"and now? {TALK}", thread=one)
                assert missing(model, turn=turn) == []
        assert shown(model, RULES[40]) == 0


async def test_an_unpinned_message_leaves_the_view(tmp_path: Path) -> None:
    """Pinning and unpinning what is folded away shows in the next request, without a summary."""
    model = ScriptedModel(repeat=f"Noted. {TALK}")
    async with opened(tmp_path) as thread:
        speaker = agent(model)
        await speaker.run(FIRST, thread=thread)
        for turn in range(1, 20):
            await speaker.run(f"question {turn} {TALK}", thread=thread)
        answer = "the assistant once said this and nothing else of interest"
        await thread.add_messages([Message.assistant(answer), Message.user(f"go on {TALK}")])
        await talk_on(speaker, thread, 3)
        counts = [shown(model, answer)]
        index = [one.text for one in await thread.get_messages()].index(answer)
        await thread.pin(index)
        for _ in range(2):
            await talk_on(speaker, thread, 2)
            counts.append(shown(model, answer))
        await thread.unpin(index)
        await talk_on(speaker, thread, 1)
        counts.append(shown(model, answer))

    assert counts == [0, 1, 1, 0]


async def test_a_pinned_file_survives_folds_and_restarts(tmp_path: Path) -> None:
    """It opens every request from its turn on, also where the window begins after it, till unpinned."""
    path = tmp_path / "plan.png"
    path.write_bytes(b"the plan")
    model, folds, start = ScriptedModel(repeat=f"Noted. {TALK}"), 0, 0
    speaker = agent(model)
    for restart in range(4):
        async with opened(tmp_path) as thread:
            for turn in range(4):
                files = [path] if (restart, turn) == (0, 0) else []
                result = await speaker.run(f"question {turn} {TALK}", thread=thread, files=files)
                folds += sum(event.status == "performed" for event in events(result))
                await thread.pin(0)
                assert has_file(model) == [0]
            start = (await thread.window()).history.start
    async with opened(tmp_path) as thread:
        await thread.pin(2)
        await talk_on(speaker, thread, 2)
        both = has_file(model)
        await thread.unpin(0)
    async with opened(tmp_path) as thread:
        await talk_on(speaker, thread, 1)
        unpinned = has_file(model)
        await thread.pin(0)
        await talk_on(speaker, thread, 1)

    assert folds > 10
    assert start > 20
    assert (both, unpinned, has_file(model)) == ([0], [], [0])


def has_file(model: ScriptedModel) -> list[int]:
    """Return the places of messages with a file in the last request."""
    sent = enumerate(model.requests[-1].messages)
    return [at for at, one in sent if any(isinstance(part, BlobPart) for part in one.parts)]


async def talk_on(speaker: Agent, thread: ConversationThread, turns: int) -> None:
    for _ in range(turns):
        await speaker.run(f"and further {TALK}", thread=thread)


@pytest.mark.parametrize("index", [0, 2, 3])
async def test_a_pin_is_one_fold_at_most(tmp_path: Path, index: int) -> None:
    """Pinning what is quoted already, or was folded away, changes the view once and then not again."""
    model = ScriptedModel(repeat=f"Noted. {TALK}")
    config = HistoryReductionConfig(target_count=2, summarization_threshold=30)
    speaker = Agent(model, history_reduction=config, summarizer=DigestSummarizer())
    async with opened(tmp_path) as thread:
        await speaker.run(FIRST, thread=thread)
        await talk_on(speaker, thread, 33)
        await thread.pin(index)
        changes = []
        for _ in range(4):
            result = await speaker.run("and?", thread=thread)
            changes.append([event.status for event in events(result)])

    assert [one for one in changes[1:] if one != ["cache_hit"]] == []
