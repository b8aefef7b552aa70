"""Background folds of threads that were changed before the fold ended."""

from collections.abc import Awaitable, Callable

import pytest

from foldline import (
    Agent,
    AgentRunConfig,
    BackgroundFold,
    ConversationThread,
    HistoryReductionConfig,
    HistoryReductionEvent,
    MemoryStore,
)
from foldline.agent.background import FoldKey
from foldline.agent.events import IterationStartedEvent
from foldline.errors import ModelError
from foldline.testing.model import ScriptedModel
from tests.agent.test_background import TALK, GatedSummarizer, agent_of, filled, key_of, told


class Scene:
    """A thread of five exchanges, and an agent that folds it in the background with the next."""

    def __init__(
        self, ahead: BackgroundFold, thread: ConversationThread, *, model: ScriptedModel
    ) -> None:
        self.summarizer = GatedSummarizer()
        self.ahead = ahead
        self.thread = thread
        self.agent = agent_of(ahead, self.summarizer, model=model)

    @property
    def key(self) -> FoldKey:
        return key_of(self.thread, self.agent)

    async def land(self) -> None:
        """Let the fold under way be written, and wait for it."""
        assert self.ahead.is_running(self.key)
        self.summarizer.gate.set()
        await self.ahead.wait(self.key)
        self.summarizer.gate.clear()


async def set_up(
    ahead: BackgroundFold, store: MemoryStore, *, model: ScriptedModel | None = None
) -> Scene:
    """Return the scene before the turn that begins a fold."""
    thread = await filled(store=store)
    return Scene(ahead, thread, model=model or ScriptedModel(repeat="fine"))


async def begun(ahead: BackgroundFold, store: MemoryStore) -> Scene:
    """Return the scene behind that turn."""
    scene = await set_up(ahead, store)
    await scene.agent.run("question 5", thread=scene.thread)
    return scene


async def folded(ahead: BackgroundFold, store: MemoryStore) -> Scene:
    """Return the scene behind that fold, of which nobody has told yet."""
    scene = await begun(ahead, store)
    await scene.land()
    await scene.thread.refresh()
    assert scene.thread.last_reduction is not None
    return scene


_Way = Callable[[MemoryStore, ConversationThread], Awaitable[ConversationThread]]


async def _deleted(store: MemoryStore, thread: ConversationThread) -> ConversationThread:
    await store.delete(thread.id)
    return await store.thread(thread.id)


async def _cleared(_: MemoryStore, thread: ConversationThread) -> ConversationThread:
    await thread.clear()
    return thread


async def _rewound(_: MemoryStore, thread: ConversationThread) -> ConversationThread:
    await thread.rewind(0)
    return thread


async def _undone(_: MemoryStore, thread: ConversationThread) -> ConversationThread:
    await thread.undo_reduction()
    return thread


@pytest.mark.parametrize("take_back", [_deleted, _cleared, _rewound, _undone])
async def test_a_fold_that_was_taken_back_is_told_to_nobody(take_back: _Way) -> None:
    """The next turn, of a new thread of that id too, hears neither of it nor of its summary."""
    async with MemoryStore() as store, BackgroundFold(patience=1) as ahead:
        scene = await folded(ahead, store)
        thread = await take_back(store, scene.thread)
        result = await scene.agent.run("another question", thread=thread)
        scene.summarizer.gate.set()
        assert [status for status, _ in told(result)] == ["skipped"]
        assert "they talked" not in repr(result.events)
        assert result.reduction is None


async def test_a_turn_tells_of_the_fold_of_its_own_agent() -> None:
    """A fold of an agent with another configuration behind it is not taken for what was made."""
    async with MemoryStore() as store, BackgroundFold(patience=1) as ahead:
        scene = await folded(ahead, store)
        dropping = HistoryReductionConfig(strategy="message_counting", target_count=1)
        other = Agent(ScriptedModel(repeat="fine"), history_reduction=dropping)
        forced = AgentRunConfig(trigger_history_reduction=True)
        await other.run("question 6", thread=scene.thread, config=forced)
        result = await scene.agent.run("question 7", thread=scene.thread)
        assert [status for status, _ in told(result)] == ["performed", "cache_hit"]
        assert result.reduction is not None
        assert result.reduction.state.summary_content == "they talked"


async def test_who_resumes_tells_of_the_fold_made_meanwhile() -> None:
    """A turn that is resumed takes the thread over as it is, and tells of the fold once."""
    async with MemoryStore() as store, BackgroundFold(patience=1) as ahead:
        failed = ModelError("down")
        scene = await set_up(ahead, store, model=ScriptedModel(["fine", failed], repeat="fine"))
        await scene.agent.run("question 5", thread=scene.thread)
        with pytest.raises(ModelError):
            await scene.agent.run("question 6", thread=scene.thread)
        old = await store.thread("ahead")
        await scene.land()
        scene.summarizer.gate.set()
        resumed = await scene.agent.run(thread=old)
        later = await scene.agent.run("question 7", thread=old)
        assert [status for status, _ in told(resumed)] == ["performed", "cache_hit"]
        assert [status for status, _ in told(later)] == ["cache_hit"]
        assert resumed.reduction is not None


async def test_a_turn_on_another_object_takes_the_fold_under_way() -> None:
    """Where it has waited for a fold that goes through another object, it makes no second one."""
    async with MemoryStore() as store, BackgroundFold(patience=1) as ahead:
        scene = await begun(ahead, store)
        await scene.agent.run("question 6", thread=scene.thread)
        stream = scene.agent.run_stream("question 7", thread=await store.thread("ahead"))
        told_of = list[str]()
        async for event in stream:
            if isinstance(event, IterationStartedEvent):
                # The turn has stored its input, and reads what the fold has not moved yet.
                scene.summarizer.gate.set()
            if isinstance(event, HistoryReductionEvent):
                told_of.append(event.status)
        assert told_of == ["performed", "cache_hit"]
        assert len(scene.summarizer.requests) == 1


async def test_a_summary_that_was_taken_back_does_not_return_in_the_next() -> None:
    """A fold based on a reduction that is undone meanwhile is not stored or reported."""
    async with MemoryStore() as store, BackgroundFold(patience=1) as ahead:
        scene = await folded(ahead, store)
        for number in range(3):
            await scene.agent.run(f"{number} {TALK}", thread=scene.thread)
        await scene.thread.undo_reduction()
        await scene.land()
        await scene.thread.refresh()
        assert len(scene.summarizer.requests) == 2
        assert scene.thread.last_reduction is None


async def test_a_fold_that_began_before_a_rewind_is_not_stored() -> None:
    """Even if the rewind is after its cut; the next turn reports nothing of it."""
    async with MemoryStore() as store, BackgroundFold(patience=1) as ahead:
        scene = await begun(ahead, store)
        await scene.thread.rewind(scene.thread.head.length - 2)
        await scene.land()
        result = await scene.agent.run("question 5, in other words", thread=scene.thread)
        assert [status for status, _ in told(result)] == ["skipped"]
        assert "they talked" not in repr(result.events)
        assert await scene.thread.reductions() == []
