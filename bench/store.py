"""
A conversation that is kept: appending a turn with its state, and reading it again.

Beside foldline stand raw sqlite3 (the floor, `bench/peers/floor.py`), the same with what foldline
promises of each row (`bench/peers/sealed_floor.py`) and the OpenAI Agents SDK's SQLite session, in an
environment of its own. All are measured at each size in alternating rounds, by the processor time of
all threads. A ratio is the median of those of the rounds, since a flush takes longer in some of them
for everybody. A turn is two messages and the execution state, and with every third turn a reduction of
1.2 KB.

Goals: appending and loading grow with an exponent of at most 0.05; a turn costs at most 2.5 times the
floor where it is not flushed, and where it is at most 3 times the floor and no more than the session;
one flush a commit, and at most 1.2 times the bytes written; the file at most 1.35 times the messages
as JSON; with all seals checked the state and the last 20 messages at most 2.5 times the floor, what a
turn reads 3 times, the whole thread 1.8 times and 0.9 times the session; each message counted once.
Threads are loaded again and again, as by a process that serves them; `first` is a load of one that
the process has not read shortly before.
"""

import asyncio
import json
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

from msgspec import structs

from bench import measure, workload
from bench.messages import message_of
from bench.peers.child import peers
from bench.peers.floor import LAST, MODES, Floor
from bench.peers.sealed_floor import SealedFloor
from bench.peers.timed import Took, awaited
from bench.workload import Text
from foldline.agent.reducer import HistoryReducer
from foldline.history.digest import EMPTY_DIGEST, chain_digest, hash_text
from foldline.history.messages import Message
from foldline.history.tokens import TokenEstimator
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.stores.sqlite.store import SQLiteStore
from foldline.threads.thread import ConversationThread
from tests.faults.trace import Synced, record


SIZES = (200, 2_000, 20_000, 200_000, 1_000_000)
WHOLE = 20_000
ROUNDS, TURNS, WARM, LOADS = 7, 24, 3, 60
BATCH = 10_000
NOW = datetime(2026, 11, 21, tzinfo=UTC)
STATE = AgentLoopState(run_id="r", conversation_id="t", started_at=NOW, iteration=1)
REDUCTION = HistoryReductionState(
    summarized_up_to_index=0,
    message_count_at_reduction=0,
    summary_content=workload.SUMMARY,
    created_at=NOW,
    message_hash="",
    target_count=LAST,
    reduction_threshold=5,
)
Pair = tuple[Text, Text]


class Kept:
    """One thread in a SQLite file, written with a flush for each commit or without."""

    def __init__(self, path: Path, texts: Sequence[Text]) -> None:
        """Use the file at *path*, and say *texts* over and over."""
        self._runner = asyncio.Runner()
        self._stores = {mode: SQLiteStore(path, durability=mode) for mode in ("full", "relaxed")}
        self._texts = cycle(texts)
        self._digest = EMPTY_DIGEST
        self._store = self._stores["relaxed"]
        self._thread = self._runner.run(self._opened())
        self._written = 0

    async def _opened(self) -> ConversationThread:
        for store in self._stores.values():
            await store.open()
        return await self._store.thread("t")

    def _next(self, count: int) -> list[Message]:
        return [message_of(text) for text in islice(self._texts, count)]

    def grow(self, size: int) -> None:
        """Bring the thread to *size* messages, in bulk, all of them reduced."""
        self._runner.run(self._grow(size))

    async def _grow(self, size: int) -> None:
        thread = await self._stores["relaxed"].thread("t")
        digest = await self._digest_of(thread)
        while thread.count < size:
            messages = self._next(min(BATCH, size - thread.count))
            await thread.add_messages(messages)
            for message in messages:
                digest = chain_digest(digest, message)
        reduction = structs.replace(
            REDUCTION, summarized_up_to_index=thread.head.length, message_hash=hash_text(digest)
        )
        await thread.commit(Change(execution=STATE, reduction=reduction))

    @staticmethod
    async def _digest_of(thread: ConversationThread) -> bytes:
        return (await thread.window()).history.digest()

    def turns(self, mode: str, times: int, warm: int) -> Took:
        """Return what one of *times* turns of two messages took."""
        return self._runner.run(self._turns(mode, times, warm))

    async def _turns(self, mode: str, times: int, warm: int) -> Took:
        self._store = self._stores[mode]
        self._thread = await self._store.thread("t")
        await self._thread.window()
        await awaited(self._turn, times=warm)
        return await awaited(self._turn, times=times)

    async def _turn(self) -> None:
        self._written += 1
        if self._written % 3:
            await self._thread.commit(Change(messages=self._next(2), execution=STATE))
            return
        history = (await self._thread.window()).history
        cut = max(history.start, len(history) - LAST)
        reduction = structs.replace(
            REDUCTION, summarized_up_to_index=cut, message_hash=hash_of(history, cut)
        )
        await self._thread.commit(
            Change(messages=self._next(2), execution=STATE, reduction=reduction)
        )

    def loads(self, times: int) -> Took:
        """
        Return what it took to read the state and the last messages, each time in a new object.
        """
        return self._runner.run(awaited(self._load, times=times))

    async def _load(self) -> list[Message]:
        thread = await self._store.thread("t")
        return await thread.get_messages(last=LAST)

    def windows(self, times: int) -> Took:
        """Return what it took to read what a turn needs, each time in a new object."""
        return self._runner.run(awaited(self._window, times=times))

    def first(self, times: int, *, window: bool) -> Took:
        """Return what a load takes, or a *window*, in a process that remembers nothing of it."""
        read = self._window if window else self._load

        async def first() -> None:
            self._store.context.recent.forget(self._thread.key)
            await read()

        return self._runner.run(awaited(first, times=times))

    async def _window(self) -> None:
        await (await self._store.thread("t")).window()

    def whole(self, times: int) -> Took:
        """Return what it took to read everything."""
        return self._runner.run(awaited(self._thread.get_messages, times=times))

    def close(self) -> None:
        """Close the file."""
        for store in self._stores.values():
            self._runner.run(store.close())
        self._runner.close()


class Field:
    """All contestants, each with its own copy of the same conversation."""

    def __init__(self, folder: Path) -> None:
        """Let them keep it in *folder*."""
        texts = workload.texts(4_000)
        self.kept = Kept(folder / "foldline.db", texts)
        self.own: dict[str, Floor | Kept] = {
            "floor": Floor(folder / "floor.db", texts),
            "sealed": SealedFloor(folder / "sealed.db", texts),
            "foldline": self.kept,
        }
        found = peers({"openai": "bench.peers.openai_session"}, str(folder))
        self.session = found.get("openai")

    def grow(self, size: int) -> None:
        """Bring every conversation to *size* messages."""
        for one in self.own.values():
            one.grow(size)
        if self.session is not None:
            self.session.ask("grow", size)

    def close(self) -> None:
        """Let all of them end."""
        for one in self.own.values():
            one.close()
        if self.session is not None:
            self.session.close()

    def calls(self, size: int) -> dict[str, Callable[[], Took]]:
        """Return what one round at *size* messages consists of."""
        found: dict[str, Callable[[], Took]] = {}
        for mode, (name, one) in product(MODES, self.own.items()):
            found[f"{name}_{mode}"] = partial(one.turns, mode, TURNS, WARM)
        for name, one in self.own.items():
            found[f"{name}_load"] = partial(one.loads, LOADS)
        found["foldline_window"] = lambda: self.kept.windows(LOADS)
        found["foldline_first_load"] = lambda: self.kept.first(LOADS, window=False)
        found["foldline_first_window"] = lambda: self.kept.first(LOADS, window=True)
        session = self.session
        if session is not None:
            found["openai"] = lambda: session.ask("turns", TURNS, WARM)
            found["openai_load"] = lambda: session.ask("loads", LOADS)
        if size == WHOLE:
            for name, one in self.own.items():
                found[f"{name}_whole"] = partial(one.whole, 1)
            if session is not None:
                found["openai_whole"] = lambda: session.ask("whole", 1)
        return found


def rounds(calls: dict[str, Callable[[], Took]]) -> dict[str, list[Took]]:
    """Return the processor and clock seconds of each of *calls*, made in turn, in each round."""
    taken: dict[str, list[Took]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            taken[name].append(call())
    return taken


def _speed() -> dict[str, Any]:
    found: dict[str, list[list[Took]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        field = Field(Path(folder))
        for size in SIZES:
            field.grow(size)
            for name, took in rounds(field.calls(size)).items():
                found.setdefault(name, []).append(took)
        field.close()
    figures: dict[str, Any] = {"sizes": list(SIZES)}
    for name, sizes in found.items():
        for end, which in (("us", 0), ("wall_us", 1)):
            seconds = [statistics.median(took[which] for took in each) for each in sizes]
            figures[f"{name}_{end}"] = [one * 1e6 for one in seconds]
    for name in ("foldline_full", "foldline_relaxed", "foldline_load", "foldline_window"):
        figures[f"{name}_exponent"] = measure.exponent(SIZES, figures[f"{name}_us"])
    return figures | _ratios(found)


def _ratios(taken: dict[str, list[list[Took]]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    pairs = {
        "full_times_floor": ("foldline_full", "floor_full"),
        "relaxed_times_floor": ("foldline_relaxed", "floor_relaxed"),
        "full_times_sealed": ("foldline_full", "sealed_full"),
        "relaxed_times_sealed": ("foldline_relaxed", "sealed_relaxed"),
        "load_times_sealed": ("foldline_load", "sealed_load"),
        "sealed_full_times_floor": ("sealed_full", "floor_full"),
        "sealed_relaxed_times_floor": ("sealed_relaxed", "floor_relaxed"),
        "sealed_load_times_floor": ("sealed_load", "floor_load"),
        "floor_full_times_openai": ("floor_full", "openai"),
        "full_times_openai": ("foldline_full", "openai"),
        "load_times_floor": ("foldline_load", "floor_load"),
        "window_times_floor": ("foldline_window", "floor_load"),
        "first_load_times_floor": ("foldline_first_load", "floor_load"),
        "first_window_times_floor": ("foldline_first_window", "floor_load"),
        "load_times_openai": ("foldline_load", "openai_load"),
        "whole_times_floor": ("foldline_whole", "floor_whole"),
        "whole_times_openai": ("foldline_whole", "openai_whole"),
    }
    for name, (ours, theirs) in pairs.items():
        if theirs in taken:
            found[name] = [
                statistics.median(one / other for (one, _), (other, _) in zip(*each, strict=True))
                for each in zip(taken[ours], taken[theirs], strict=True)
            ]
    return found


def _flushes() -> dict[str, Any]:
    """
    Count the flushes of commits, apart from those by which the log is folded back into the file.
    """
    with tempfile.TemporaryDirectory() as folder, record(Path(folder)) as trace:
        kept = Kept(Path(folder) / "t.db", workload.texts(200))
        kept.turns("full", 1, WARM)
        counts: Counter[int] = Counter()
        for _ in range(2_000):
            before = len(trace.events)
            kept.turns("full", 1, 0)
            counts[sum(isinstance(event, Synced) for event in trace.events[before:])] += 1
        kept.close()
    total = sum(flushes * commits for flushes, commits in counts.items())
    return {
        "flushes_a_commit": counts.most_common(1)[0][0],
        "commits_that_folded_the_log": counts.total() - counts.most_common(1)[0][1],
        "flushes_with_folded_logs": total / counts.total(),
    }


def _written() -> dict[str, Any]:
    """
    Measure by how much the log grows with a turn, before it is folded back for the first time.
    """
    found: dict[str, float] = {}
    texts = workload.texts(4_000)
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in (("foldline", Kept), ("floor", Floor)):
            path = Path(folder) / f"{name}.db"
            one = kind(path, texts)
            log = path.with_name(path.name + "-wal")
            one.turns("full", 30, 0)
            before = log.stat().st_size
            one.turns("full", 120, 0)
            found[name] = (log.stat().st_size - before) / 120
            one.close()
    return {
        "bytes_a_turn": found["foldline"],
        "floor_bytes_a_turn": found["floor"],
        "bytes_times_floor": found["foldline"] / found["floor"],
    }


def _files() -> dict[str, Any]:
    sizes, shares = (2_000, 6_000, 20_000), []
    texts = workload.texts(4_000)
    payload = [len(json.dumps({"role": role, "content": text})) for role, text in texts]
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.db"
            kept = Kept(path, texts)
            kept.turns("relaxed", size // 2, 0)
            kept.close()
            shares.append(path.stat().st_size / sum(islice(cycle(payload), size)))
    return {
        "file_times_payload": shares,
        "file_exponent": 1 + measure.exponent(sizes, shares),
    }


class Counted:
    """A counter that knows what it was given."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._estimator = TokenEstimator()
        self.given: Counter[str] = Counter()
        self.folds: Counter[str] = Counter()
        self.is_folding = False

    def count(self, text: str) -> int:
        """Return the tokens of *text*."""
        (self.folds if self.is_folding else self.given)[text] += 1
        return self._estimator.count(text)


async def _exchange(path: Path, counter: Counted, reducer: HistoryReducer, said: Pair) -> None:
    """Have one turn in a new object, folding where it is time to."""
    user, assistant = said
    async with SQLiteStore(path, counter=counter) as store:
        thread = await store.thread("t")
        await thread.commit(Change(messages=[message_of(user)]))
        window = await thread.window()
        counter.is_folding = True
        reduced = await reducer.reduce(window.history, state=window.reduction)
        counter.is_folding = False
        if reduced.state is not None and reduced.state != window.reduction:
            await thread.save_reduction(reduced.state)
        await thread.commit(Change(messages=[message_of(assistant)]))


def _counting() -> dict[str, Any]:
    counter = Counted()
    said = workload.texts(400)
    config = HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        counting_unit="messages",
        target_count=LAST,
        summarization_threshold=5,
    )
    reducer = HistoryReducer(config)
    with tempfile.TemporaryDirectory() as folder:
        for pair in zip(said[::2], said[1::2], strict=True):
            asyncio.run(_exchange(Path(folder) / "t.db", counter, reducer, pair))
    whole = sum(len(text.encode()) for _, text in said)

    def share(texts: Counter[str]) -> float:
        return sum(len(text.encode()) * times for text, times in texts.items()) / whole

    return {
        "counted_bytes_times_said": share(counter.given),
        "counted_by_the_digest": share(counter.folds),
    }


def run() -> dict[str, Any]:
    """Measure everything; the peers where their environment exists."""
    return _speed() | _flushes() | _written() | _files() | _counting()


def goals(figures: dict[str, Any]) -> list[tuple[str, float | None, float]]:
    """Return each goal: what, the figure (None if there was no peer), and the most it may be."""

    def worst(name: str) -> float | None:
        return max(figures.get(name, ()), default=None)

    return [
        ("a kept turn, flushed, growth exponent", figures["foldline_full_exponent"], 0.05),
        ("a kept turn, relaxed, growth exponent", figures["foldline_relaxed_exponent"], 0.05),
        ("a kept turn, flushed, times the floor (worst)", worst("full_times_floor"), 3),
        ("a kept turn, flushed, times the OpenAI session (worst)", worst("full_times_openai"), 1),
        ("a kept turn, relaxed, times the floor (worst)", worst("relaxed_times_floor"), 2.5),
        ("flushes of a durable commit", figures["flushes_a_commit"], 1),
        ("bytes written by a turn, times the floor", figures["bytes_times_floor"], 1.2),
        ("the file of 20,000, times their JSON", figures["file_times_payload"][-1], 1.35),
        ("the file, growth exponent", figures["file_exponent"], 1.02),
        ("state and last 20, growth exponent", figures["foldline_load_exponent"], 0.05),
        ("state and last 20, times the floor (worst)", worst("load_times_floor"), 2.5),
        ("the window of a turn, growth exponent", figures["foldline_window_exponent"], 0.05),
        ("the window of a turn, times the floor (worst)", worst("window_times_floor"), 3),
        ("a whole thread of 20,000, times the floor", worst("whole_times_floor"), 1.8),
        ("a whole thread of 20,000, times the OpenAI session", worst("whole_times_openai"), 0.9),
        ("bytes counted, times the bytes said", figures["counted_bytes_times_said"], 1),
    ]
