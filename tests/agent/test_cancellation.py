"""A turn that is cancelled at every place where one of its tasks waits can be resumed."""

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

from foldline.agent.agent import Agent
from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentOptions
from foldline.agent.event_stream import StreamingTurnResult
from foldline.agent.tools import tool
from foldline.errors import TurnStoppedError
from foldline.history.messages import PARTIAL_KEY
from foldline.testing.model import ScriptedModel, calls
from foldline.threads.stores.memory import MemoryStorage, MemoryStore
from foldline.threads.thread import ConversationThread
from tests.agent.crashes.book import Book
from tests.agent.crashes.case import Ground, Grounds, in_file, in_memory
from tests.agent.crashes.judge import (
    Model,
    Sight,
    broken_between,
    broken_in_the_end,
    model_of,
    sight_of,
)
from tests.agent.crashes.life import Life, MortalStorage
from tests.agent.crashes.play import (
    NAME,
    go_on,
    note_what_is_found,
    store_on,
    tool_threads_ended,
)
from tests.agent.crashes.scene import Scene, agent_of, old_messages
from tests.agent.crashes.scenes import (
    AHEAD,
    AT_ONCE,
    HANGING,
    MID_TURN,
    ONE_BY_ONE,
    OVERFLOWING,
    PLAIN,
    QUITTING,
    WATCHED,
    WITH_FOLD,
    mostly_slow,
)
from tests.threads.test_cancellation import MODES, Cancelled, Mode


MOST = 400
PATIENCE = 20.0

SCENES = tuple(
    structs.replace(scene, stagger=min(scene.stagger, 3), slowness=4, thinking=2)
    for scene in (
        PLAIN,
        ONE_BY_ONE,
        AT_ONCE,
        WITH_FOLD,
        AHEAD,
        WATCHED,
        QUITTING,
        HANGING,
        MID_TURN,
        OVERFLOWING,
        structs.replace(AT_ONCE, name="with a limit", timeout=60.0),
    )
)

STREAMED = next(scene for scene in SCENES if scene.streams)
MODEL = model_of(STREAMED)
FEWEST = 20

Leaving = Callable[[StreamingTurnResult, int], Coroutine[Any, Any, bool]]
Inner = Coroutine[Any, Any, Any]


class Watch:
    """Counts the waits of a task and all that it starts, and cancels it at number *at*."""

    def __init__(self, at: int, mode: Mode) -> None:
        self._at = at
        self._mode = mode
        self._turn: asyncio.Task[Any] | None = None
        self.waits = 0

    async def run(self, turn: Inner) -> None:
        loop = asyncio.get_running_loop()
        loop.set_task_factory(self._task)
        task = self._turn = loop.create_task(turn)
        await asyncio.wait([task])
        loop.set_task_factory(None)
        if not task.cancelled():
            task.result()

    def _task(
        self, loop: asyncio.AbstractEventLoop, inner: Any, **options: Any
    ) -> "asyncio.Task[Any]":
        return asyncio.Task(Watched(inner, self), loop=loop, **options)

    def waited(self, waited_for: Any) -> None:
        turn = self._turn
        if turn is None or turn.done():
            return
        if self.waits == self._at and self._mode == "late" and waited_for is not None:
            waited_for.add_done_callback(lambda _: turn.cancel())
        elif self.waits == self._at or (self.waits > self._at and self._mode == "twice"):
            turn.cancel()
        self.waits += 1


class Watched(Cancelled):
    """A coroutine that tells a watch each time that it waits."""

    def __init__(self, inner: Inner, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    def _watched(self, waited_for: Any) -> Any:
        self._watch.waited(waited_for)
        return waited_for


class Talk(Struct):
    scene: Scene
    thread: ConversationThread
    life: Life
    book: Book

    async def __call__(self) -> None:
        async with AsyncExitStack() as stack:
            ahead = await stack.enter_async_context(BackgroundFold())
            agent = agent_of(self.scene, self.life, self.book, ahead=ahead)
            await go_on(self.scene, agent, self.thread)


async def pause(number: int, name: str) -> None:
    await asyncio.sleep(0)


@asynccontextmanager
async def talking(scene: Scene, ground: Ground, book: Book) -> AsyncGenerator[Talk]:
    storage, life = ground(), Life(meet=pause)
    if isinstance(storage, MemoryStorage):
        # It waits before and behind each commit, like one that has to ask a server.
        storage = MortalStorage(storage, life)
    async with asyncio.timeout(PATIENCE), store_on(scene, storage) as store:
        thread = await store.thread(NAME)
        await thread.add_messages(old_messages(scene))
        yield Talk(scene, thread, life, book)


async def resumed(talk: Talk, model: Model, ground: Ground) -> set[str]:
    """Use the object of a cancelled turn at once; return what is broken before and after."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    broken = {f"left: {task.get_name()}" for task in others}
    talk.book.write("end", "killed", "0")
    await talk.thread.refresh()
    broken |= broken_between(model, await sight_of(talk.scene, ground()))
    await note_what_is_found(talk.thread, talk.book)
    await talk()
    await tool_threads_ended()
    sight = await sight_of(talk.scene, ground())
    return broken | broken_in_the_end(talk.scene, model, sight, talk.book)


async def gone_on(talk: Talk, model: Model, ground: Ground) -> set[str]:
    """Go on after a turn was cancelled or left; what was told already is its answer, and ends it."""
    await talk.thread.refresh()
    last = (await talk.thread.get_messages(last=1))[0] if talk.thread.count else None
    if last is not None and last.metadata and PARTIAL_KEY in last.metadata:
        return _broken_behind(await sight_of(talk.scene, ground()), talk.thread)
    return await resumed(talk, model, ground)


async def check_point(
    scene: Scene, ground: Ground, at: int, mode: Mode, model: Model
) -> tuple[bool, set[str]]:
    """Cancel a talk at one place; return whether there is a next one, and what is broken."""
    watch, book = Watch(at, mode), Book()
    async with talking(scene, ground, book) as talk:
        await watch.run(talk())
        return watch.waits > at, await gone_on(talk, model, ground)


def points(
    scene: Scene, grounds: Grounds, mode: Mode, *, step: int = 1
) -> tuple[int, Counter[str]]:
    """Cancel a talk at every *step*-th place; return how many there were, and what was broken."""
    model, broken = model_of(scene), Counter[str]()
    for at in range(0, MOST, step):
        with grounds() as ground:
            has_next, found = asyncio.run(check_point(scene, ground, at, mode, model))
        broken.update(found)
        if not has_next:
            return at, broken
    return MOST, broken


def held() -> set[str]:
    """Return the threads that run and the files that are open."""
    names = {f"thread {thread.name} {thread.ident}" for thread in threading.enumerate()}
    for file in Path("/proc/self/fd").glob("*"):
        # What other tests left to the garbage collector may be closed at any time.
        with suppress(FileNotFoundError):
            names.add(f"file {file.readlink()}")
    return names


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_a_cancelled_turn_is_resumed(scene: Scene, mode: Mode) -> None:
    """Cancelled anywhere, a turn leaves no task and no half step, and continues at once."""
    count, broken = points(scene, in_memory, mode)

    assert broken == {}
    assert count >= FEWEST


@pytest.mark.parametrize("scene", mostly_slow(SCENES[1:4], AT_ONCE), ids=str)
def test_a_cancelled_turn_is_resumed_in_a_file(scene: Scene) -> None:
    """The same on a file; neither a thread nor a handle is left of it."""
    before = held()
    count, broken = points(scene, in_file, "late", step=4)

    assert broken == {}
    assert count >= FEWEST // 2
    assert held() - before == set()


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_a_cancelled_turn_is_always_resumed_in_a_file(scene: Scene, mode: Mode) -> None:
    """The same for every way of being cancelled."""
    count, broken = points(scene, in_file, mode)

    assert broken == {}
    # Two plain turns wait for little more than their four commits.
    assert count >= FEWEST // 3


async def close(stream: StreamingTurnResult, count: int) -> bool:
    async for _ in stream:
        if not count:
            await stream.aclose()
            return True
        count -= 1
    return False


async def leave(stream: StreamingTurnResult, count: int) -> bool:
    async with stream:
        async for _ in stream:
            if not count:
                return True
            count -= 1
    return False


async def forget(stream: StreamingTurnResult, count: int) -> bool:
    async for _ in stream:
        if not count:
            break
        count -= 1
    else:
        return False
    del stream
    # What nobody holds any longer is closed by the loop.
    gc.collect()
    for _ in range(20):
        await asyncio.sleep(0)
    return True


async def lose_patience(stream: StreamingTurnResult, count: int) -> bool:
    for _ in range(count):
        try:
            await anext(stream)
        except StopAsyncIteration:
            return False
    waiting = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    waiting.cancel()
    with suppress(asyncio.CancelledError, StopAsyncIteration):
        await waiting
    await stream.aclose()
    return True


async def stop_waiting(stream: StreamingTurnResult, count: int) -> bool:
    async def result() -> object:
        return await stream.final_result

    waiting = asyncio.create_task(result())
    for _ in range(count):
        await asyncio.sleep(0)
    if waiting.done():
        return False
    waiting.cancel()
    await asyncio.wait([waiting])
    return True


async def left(scene: Scene, ground: Ground, part: Leaving, count: int) -> tuple[bool, set[str]]:
    """Leave a stream after *count* events; return whether it went on, and what is broken."""
    book = Book()
    async with talking(scene, ground, book) as talk:
        agent = agent_of(scene, talk.life, book)
        goes_on = await part(agent.run_stream(scene.questions[0], thread=talk.thread), count)
        return goes_on, await gone_on(talk, MODEL, ground)


def _broken_behind(sight: Sight, thread: ConversationThread) -> set[str]:
    """Return what is wrong where the turn has ended with a partial answer."""
    *said, last = sight.messages
    broken = broken_between(MODEL, structs.replace(sight, messages=said))
    state, whole = thread.execution_state, MODEL.messages[len(said)]
    if not whole.text.startswith(last.text):
        broken.add("another answer")
    if state is None or state.is_open or thread.pending_tools or thread.lease:
        broken.add("not ended")
    return broken


@pytest.mark.slow
@pytest.mark.parametrize("part", [close, leave, stop_waiting, forget, lose_patience])
def test_a_stream_is_left(part: Leaving) -> None:
    """Left at any event, in any way, a stream stops its turn: it can be resumed, or has ended."""
    broken, count = Counter[str](), 0
    for count in range(MOST):
        with in_memory() as ground:
            goes_on, found = asyncio.run(left(STREAMED, ground, part, count))
        broken.update(found)
        if not goes_on:
            break

    assert broken == {}
    assert 40 <= count < MOST


async def test_a_stream_is_closed_while_somebody_reads_it() -> None:
    """Who waits for an event of a stream that somebody else closes comes to its end."""
    book = Book()
    with in_memory() as ground:
        async with talking(STREAMED, ground, book) as talk:
            agent = agent_of(STREAMED, talk.life, book)
            stream = agent.run_stream(STREAMED.questions[0], thread=talk.thread)
            reading = asyncio.create_task(read(stream))
            await asyncio.sleep(0)
            await stream.aclose()
            count, broken = await reading, await resumed(talk, MODEL, ground)

    assert broken == set()
    assert count == 0


async def read(stream: StreamingTurnResult) -> int:
    return len([event async for event in stream])


@pytest.mark.parametrize("parallel", [False, True])
async def test_a_tool_may_close_its_stream(parallel: bool) -> None:
    """Where a tool closes the stream that it runs in its turn ends there, and can be resumed."""
    streams: list[StreamingTurnResult] = []

    @tool
    async def leave() -> None:
        await streams[0].aclose()
        await asyncio.sleep(0)

    @tool
    async def stay() -> str:
        return "there"

    thread = await MemoryStore().thread("talk")
    model = ScriptedModel([calls(("leave", {}), ("stay", {})), "done"])
    options = AgentOptions(parallel_tool_calls=parallel)
    agent = Agent(model, tools=[leave, stay], options=options)
    async with asyncio.timeout(PATIENCE):
        streams.append(agent.run_stream("leave", thread=thread))
        await read(streams[0])
        with pytest.raises(TurnStoppedError):
            await streams[0].final_result

        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert (await agent.run(thread=thread)).is_complete
