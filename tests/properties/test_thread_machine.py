"""Threads in memory and in SQLite, step by step, against a plain list."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ThreadConflictError, ThreadExistsError
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.history.units import CountingUnit
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.head import ThreadRecord
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.reader import Query, text_of
from foldline.threads.store import ThreadStore
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun
from tests.depth import by_depth
from tests.histories import COUNTING_UNITS, damaged_history, legal_history
from tests.properties.agreement import agree, is_decided_alike
from tests.properties.plain_thread import Plain


T = TypeVar("T")
SEEDS = st.integers(0, 1 << 32)
PLACES = st.integers(0, 1 << 16)
NAMES = ("one", "two", "three")
WORDS = ("cache", "flight", "東京", "поезд", '"before noon"', "R2", "absent", "look_up")
START = datetime(2026, 11, 21, tzinfo=UTC)


def _reducer(unit: CountingUnit) -> HistoryReducer:
    numbers: dict[str, Any] = {"target_count": 4, "summarization_threshold": 2}
    if unit == "tokens":
        numbers = {"target_token_budget": 400, "token_budget_threshold": 200}
    config = HistoryReductionConfig(strategy="message_counting", counting_unit=unit, **numbers)
    return HistoryReducer(config, clock=lambda: START)


@dataclass
class Pair:
    """A thread in both stores, and as a list."""

    memory: ConversationThread
    sqlite: ConversationThread
    plain: Plain

    @property
    def both(self) -> tuple[ConversationThread, ConversationThread]:
        """The thread in each store."""
        return self.memory, self.sqlite


class Threads(RuleBasedStateMachine):
    """Everything that can be done to a thread, on two stores at once."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        shm = Path("/dev/shm")
        is_fast = shm.is_dir() and os.access(shm, os.W_OK)
        self.folder = Path(tempfile.mkdtemp(dir=shm if is_fast else None))
        self.runner = asyncio.Runner()
        self.now = START
        self.stores: list[ThreadStore] = [MemoryStore(clock=self._clock), self._sqlite()]
        self.pairs: dict[str, Pair] = {}
        for store in self.stores:
            self.runner.run(store.open())

    def _clock(self) -> datetime:
        return self.now

    def _sqlite(self) -> SQLiteStore:
        return SQLiteStore(self.folder / "a.db", durability="relaxed", clock=self._clock)

    def teardown(self) -> None:
        """Close everything."""
        for store in self.stores:
            self.runner.run(store.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def _do(self, pair: Pair, act: Callable[[ConversationThread], Awaitable[T]]) -> T:
        """Do the same on both stores, and return what both gave."""
        self.now += timedelta(seconds=1)

        async def do() -> list[T]:
            return [await act(thread) for thread in pair.both]

        memory, sqlite = self.runner.run(do())
        assert memory == sqlite
        return memory

    def _pair(self, number: int) -> Pair:
        Threads.steps += 1
        return list(self.pairs.values())[number % len(self.pairs)]

    def _compare(self, pair: Pair) -> None:
        self.runner.run(self._compared(pair))

    async def _compared(self, pair: Pair) -> None:
        plain = pair.plain
        for thread, store in zip(pair.both, self.stores, strict=True):
            assert await thread.get_messages() == plain.messages
            assert (thread.count, thread.head.length) == (len(plain.messages), len(plain.visible))
            assert (thread.metadata, thread.display_name) == (plain.metadata, plain.name)
            assert (thread.head.archived, thread.head.revision) == (plain.archived, plain.commits)
            assert {run.call_id: run for run in thread.pending_tools} == plain.tools
            assert thread.pins == tuple(plain.pins)
            assert thread.last_reduction == plain.newest
            state = thread.execution_state
            assert (None if state is None else state.iteration) == plain.iteration
            stored = await store.find(thread.id)
            assert stored is not None
            assert _without_tail(stored) == _without_tail(thread)
        assert pair.memory.head.tokens == pair.sqlite.head.tokens

    @initialize()
    def begin(self) -> None:
        """Make the first thread."""
        self._make(NAMES[0])

    def _make(self, name: str) -> Pair:
        async def make() -> Pair:
            memory, sqlite = [await store.thread(name) for store in self.stores]
            return Pair(memory, sqlite, Plain())

        self.pairs[name] = self.runner.run(make())
        return self.pairs[name]

    @rule(number=PLACES, seed=SEEDS, is_damaged=st.booleans())
    def add(self, number: int, seed: int, *, is_damaged: bool) -> None:
        """Append a few exchanges, now and then damaged ones."""
        pair = self._pair(number)
        if len(pair.plain.messages) > 120:
            return
        draw = damaged_history if is_damaged else legal_history
        messages = [*draw(Random(seed), exchanges=3), Message.user(f"Keep {seed}.", pin=True)]
        self._do(pair, lambda thread: thread.add_messages(messages))
        pair.plain.add(messages)
        pair.plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES, at=PLACES, pin=st.booleans())
    def repin(self, number: int, at: int, *, pin: bool) -> None:
        """Pin a message, or stop it."""
        pair = self._pair(number)
        plain = pair.plain
        if not plain.visible:
            return
        index = at % len(plain.visible)
        self._do(pair, lambda thread: thread.pin(index) if pin else thread.unpin(index))
        others = {*plain.pins} - {index}
        plain.commits += (index in plain.pins) is not pin
        plain.pins = sorted({*others, index} if pin else others)
        self._compare(pair)

    @rule(number=PLACES, calls=st.lists(st.sampled_from("abc"), min_size=1, unique=True))
    def call(self, number: int, calls: list[str]) -> None:
        """Commit tool calls with their intents and the execution state."""
        pair = self._pair(number)
        plain = pair.plain
        message = Message.assistant("", tool_calls=[ToolCallPart(one, "t", "{}") for one in calls])
        tools = [ToolRun(call_id=one, name="t", place=at) for at, one in enumerate(calls)]
        plain.iteration = (plain.iteration or 0) + 1
        state = AgentLoopState(
            run_id="run", conversation_id="c", started_at=START, iteration=plain.iteration
        )
        self._do(
            pair,
            lambda thread: thread.commit(Change(messages=[message], execution=state, tools=tools)),
        )
        plain.add([message])
        plain.tools |= {run.call_id: run for run in tools}
        plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES, is_kept=st.booleans(), has_state=st.booleans())
    def answer(self, number: int, *, is_kept: bool, has_state: bool) -> None:
        """Store the result of a waiting call, as a result alone or as a message."""
        pair = self._pair(number)
        plain = pair.plain
        if not plain.tools:
            return
        run = next(iter(plain.tools.values()))
        done = ToolRun(call_id=run.call_id, name="t", place=run.place, result="ok\ud800")
        messages = [] if is_kept else [Message.tool(run.call_id, "ok")]
        execution = None if not has_state else pair.memory.execution_state
        self._do(
            pair,
            lambda thread: thread.commit(
                Change(messages=messages, tools=[done], execution=execution)
            ),
        )
        plain.tools[run.call_id] = done
        plain.add(messages)
        plain.iteration = plain.iteration if has_state else None
        plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES, unit=st.sampled_from(COUNTING_UNITS), is_archived=st.booleans())
    def reduce(self, number: int, unit: CountingUnit, *, is_archived: bool) -> None:
        """Reduce the window of each store and the full history alike, and store the fold."""
        pair = self._pair(number)
        full = History(pair.plain.messages)

        async def reduced(thread: ConversationThread) -> HistoryReductionState | None:
            # None of them remembers what another store, or another call, has folded.
            reducer = _reducer(unit)
            window = await thread.window(
                config_fingerprint=reducer.config_fingerprint, counting_unit=unit
            )
            agree(window.history, full, window.reduction, reducer)
            assert window.pins == tuple((index, full[index]) for index in pair.plain.pins)
            seen = await reducer.reduce(window.history, state=window.reduction)
            if is_decided_alike(window.history, full):
                wanted = await _reducer(unit).reduce(full, state=window.reduction)
                assert seen.messages == wanted.messages
                assert (seen.state, seen.verdict) == (wanted.state, wanted.verdict)
            if not seen.verdict.folds or seen.state is None:
                return None
            await thread.save_reduction(seen.state, archive=is_archived)
            return thread.last_reduction

        state = self._do(pair, reduced)
        if state is not None:
            pair.plain.fold(state, is_archived=is_archived)
        self._compare(pair)

    @rule(number=PLACES, last=st.integers(0, 30), start=PLACES, stop=PLACES)
    def read(self, number: int, last: int, start: int, stop: int) -> None:
        """Read the newest messages, and a range."""
        pair = self._pair(number)
        plain, length = pair.plain, len(pair.plain.visible)
        start, stop = sorted((start % (length + 1), stop % (length + 1)))
        wanted = plain.messages[max(0, len(plain.messages) - last) :]
        assert self._do(pair, lambda thread: thread.get_messages(last=last)) == wanted
        first = plain.place(start) if start else 0
        wanted = plain.messages[first : plain.place(stop)]
        assert self._do(pair, lambda thread: thread.get_range(start, stop)) == wanted
        wanted = plain.messages[plain.place(plain.archived) if plain.archived else 0 :]
        assert self._do(pair, lambda thread: thread.working_messages()) == wanted

    @rule(number=PLACES, text=st.sampled_from(WORDS), limit=st.integers(1, 5))
    def search(self, number: int, text: str, limit: int) -> None:
        """Find words, the newest messages first."""
        pair = self._pair(number)
        query = Query.parse(text)
        wanted = [
            at for at, message in enumerate(pair.plain.messages) if query.fits(text_of(message))
        ]
        found = self._do(pair, lambda thread: thread.search(text, limit=limit))
        assert [match.number for match in found] == wanted[::-1][:limit]
        assert [match.message for match in found] == [
            pair.plain.messages[at] for at in wanted[::-1][:limit]
        ]

    @rule(number=PLACES, at=PLACES)
    def rewind(self, number: int, at: int) -> None:
        """Take back the end."""
        pair = self._pair(number)
        # Mostly near the end, or nothing would ever grow.
        length = len(pair.plain.visible)
        at = max(0, length - at % 8) if at % 5 else at % (length + 1)
        self._do(pair, lambda thread: thread.rewind(at))
        pair.plain.back_to(at)
        pair.plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES, at=PLACES, text=st.text(max_size=9))
    def edit(self, number: int, at: int, text: str) -> None:
        """Put another message in the place of one."""
        pair = self._pair(number)
        plain = pair.plain
        if not plain.visible:
            return
        index = at % len(plain.visible)
        message = Message.user(text)
        self._do(pair, lambda thread: thread.edit(index, message))
        following, pins = plain.messages[plain.visible[index] + 1 :], plain.pins
        plain.back_to(index)
        plain.messages += [message, *following]
        plain.pins = pins
        plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES, name=st.sampled_from(NAMES), at=PLACES)
    def fork(self, number: int, name: str, at: int) -> None:
        """Branch off another thread."""
        source = self._pair(number)
        plain = source.plain
        at %= len(plain.visible) + 1
        if name in self.pairs:
            for thread in source.both:
                with pytest.raises(ThreadExistsError):
                    self.runner.run(thread.fork(name, at=at))
            return
        memory, sqlite = [self.runner.run(thread.fork(name, at=at)) for thread in source.both]
        copy = Plain(list(plain.messages), list(plain.reductions), name=plain.name)
        copy.marks, copy.pins = dict(plain.marks), plain.pins
        copy.back_to(at)
        copy.metadata = {**plain.metadata, "forked_from": source.memory.id, "forked_at": at}
        self.pairs[name] = Pair(memory, sqlite, copy)
        self._compare(self.pairs[name])

    @rule(number=PLACES)
    def undo_reduction(self, number: int) -> None:
        """Revoke the newest reduction."""
        pair = self._pair(number)
        plain = pair.plain
        state = self._do(pair, lambda thread: thread.undo_reduction())
        if plain.reductions:
            plain.commits += 1
            plain.reductions.pop()
            plain.unarchive()
        assert state == plain.newest
        self._compare(pair)

    @rule(number=PLACES, name=st.text(max_size=5), value=st.text(max_size=5))
    def set_metadata(self, number: int, name: str, value: str) -> None:
        """Replace the owner's values and the name."""
        pair = self._pair(number)
        metadata: dict[str, object] = {"value": value, "list": [1, None, {"": 2.5}]}
        self._do(pair, lambda thread: thread.set_metadata(metadata, display_name=name))
        pair.plain.metadata, pair.plain.name = metadata, name
        pair.plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES, seed=SEEDS)
    def write_twice(self, number: int, seed: int) -> None:
        """Let somebody else write first: the late one is refused, and sees it after a refresh."""
        pair = self._pair(number)
        message = Message.user(f"other {seed}")

        async def refused(thread: ConversationThread, store: ThreadStore) -> None:
            other = await store.find(thread.id)
            assert other is not None
            await other.add_message(message)
            with pytest.raises(ThreadConflictError):
                await thread.add_message(Message.user("late"))
            await thread.refresh()

        for thread, store in zip(pair.both, self.stores, strict=True):
            self.runner.run(refused(thread, store))
        pair.plain.add([message])
        pair.plain.commits += 1
        self._compare(pair)

    @rule(number=PLACES)
    def clear(self, number: int) -> None:
        """Delete all that was said, once in a while."""
        pair = self._pair(number)
        if number % 4:
            return
        self._do(pair, lambda thread: thread.clear())
        pair.plain = Plain(commits=pair.plain.commits + 1)
        self._compare(pair)

    @rule(number=PLACES, expires=st.booleans())
    def delete(self, number: int, *, expires: bool) -> None:
        """Delete a thread, or let it expire, and make it again."""
        pair = self._pair(number)
        if number % 3:
            return
        name = pair.memory.id
        if expires:
            late = self.now + timedelta(seconds=2)
            self._do(pair, lambda thread: thread.set_expiry(late))
            self.now += timedelta(seconds=2)
        for store in self.stores:
            if not expires:
                assert self.runner.run(store.delete(name))
            assert self.runner.run(store.find(name)) is None
            assert name not in self.runner.run(_ids(store))
        del self.pairs[name]
        self._compare(self._make(name))

    @precondition(lambda self: self.pairs)
    @rule()
    def reopen(self) -> None:
        """Close the file and open it again."""
        Threads.steps += 1

        async def reopened() -> None:
            await self.stores[1].close()
            self.stores[1] = await self._sqlite().open()
            for name, pair in self.pairs.items():
                found = await self.stores[1].find(name)
                assert found is not None
                pair.sqlite = found
                await self._compared(pair)

        self.runner.run(reopened())


def _without_tail(thread: ConversationThread) -> ThreadRecord:
    # The newest rows are read along with a thread, or not.
    record = thread._record  # pyright: ignore[reportPrivateUsage]
    return msgspec.structs.replace(record, tail=())


async def _ids(store: ThreadStore) -> list[str]:
    return [thread.id async for thread in store.threads()]


_MANY = 100
"""So many examples have the mean number of steps."""


def _run(examples: int) -> None:
    Threads.steps = 0
    run_state_machine_as_test(
        Threads,
        settings=settings(
            max_examples=examples,
            stateful_step_count=120,
            deadline=None,
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
        ),
    )

    # The mean of a few examples varies: 66 to 89 steps were seen for four.
    assert Threads.steps >= (80 if examples >= _MANY else 50) * examples


@pytest.mark.timeout(300)
def test_threads_are_lists_in_every_store() -> None:
    """After steps of all kinds, 30,000 in depth, both stores and the plain list are equal."""
    _run(by_depth(4, 375))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_threads_stay_lists_for_longer() -> None:
    """After 600,000 steps they are equal, too."""
    _run(7_500)
