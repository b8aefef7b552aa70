"""Folding many stored threads: each once, whatever ends it in between, and as fast as is allowed."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from foldline.agent.pace import Pace, RateLimit
from foldline.agent.reducer import HistoryReducer
from foldline.agent.refold import FoldStep, Refolded, refold, shard_of
from foldline.errors import ConfigError, SummarizerError
from foldline.history.messages import Message, Usage
from foldline.providers.summarizer import ModelSummarizer
from foldline.reduction.budget import budget_of
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.testing.model import ScriptedModel
from foldline.testing.summarizer import ScriptedSummarizer
from foldline.threads.change import Change
from foldline.threads.key import ThreadKey
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.stores.sqlite.store import SQLiteStore
from tests.agent.refolding import NOW, filled, reducer, run, said, stored


async def test_each_thread_is_folded_once(tmp_path: Path) -> None:
    """Threads with a fold due under the new configuration are folded, the others are not touched."""
    steps: list[FoldStep] = []
    async with MemoryStore() as store:
        await filled(store, 9)
        before = await stored(store)
        found = await refold(store, reducer(), on_step=steps.append)
        after = await stored(store)
        assert found == Refolded(
            counts={"folded": 6, "not_due": 3}, usage=Usage(), is_complete=True
        )
        assert Counter(one.outcome for one in steps) == found.counts
        for number, (name, (folds, reductions)) in enumerate(after.items()):
            if number % 3 == 2:
                assert (folds, reductions) == before[name]
            else:
                assert folds == before[name][0] + 1
                assert len(reductions) == 2

        again = await refold(store, reducer())
        assert again.counts == {"current": 6, "not_due": 3}
        assert await stored(store) == after


def told(path: Path, *, most: int | None) -> list[str]:
    """Fold the threads at *path* in a process, which is killed after *most*; return which it told."""
    script = [sys.executable, "-m", "tests.agent.refolding", str(path)]
    names: list[str] = []
    with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for outcome, name in map(str.split, process.stdout):
            names += [name] if outcome == "folded" else []
            if len(names) == most:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == (0 if most is None else -signal.SIGKILL)
    return names


@pytest.mark.parametrize(
    "count", [60, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(3000)])]
)
def test_killed_runs_fold_each_thread_once(count: int, tmp_path: Path) -> None:
    """After five kills each thread was folded once, and what is stored is what one run stores."""
    killed, whole = tmp_path / "killed.db", tmp_path / "whole.db"

    async def make() -> None:
        async with SQLiteStore(killed, durability="relaxed") as store:
            await filled(store, count)

    async def read(path: Path) -> dict[str, tuple[int, list[bytes]]]:
        async with SQLiteStore(path) as store:
            return await stored(store)

    asyncio.run(make())
    shutil.copyfile(killed, whole)
    before = asyncio.run(read(killed))

    names: list[str] = []
    for most in (*[count // 10] * 5, None):
        names += told(killed, most=most)
    asyncio.run(run(str(whole)))

    after = asyncio.run(read(killed))
    assert after == asyncio.run(read(whole))
    assert len(names) == len({*names})
    due = [name for place, name in enumerate(after) if place % 3 != 2]
    assert {name for name in after if after[name][0] != before[name][0]} == {*due}
    assert {after[name][0] - before[name][0] for name in due} == {1}


async def test_shards_share_the_threads() -> None:
    """Each thread is in one shard, whichever program asks, and all shards together are everything."""
    steps: list[str] = []
    async with MemoryStore() as store:
        await filled(store, 12)
        for part in range(3):
            found = await refold(
                store, reducer(), shard=(part, 3), on_step=lambda one: steps.append(one.key.id)
            )
            assert found.is_complete
        assert sorted(steps) == [f"t{number:05d}" for number in range(12)]
    places = Counter(shard_of(ThreadKey("acme", f"t{number}"), 4) for number in range(4_000))
    assert all(900 < count < 1_100 for count in places.values())
    assert shard_of(ThreadKey("acme", "t1"), 1_000_000) == 141_791


@pytest.mark.parametrize("shard", [(-1, 2), (2, 2), (0, 0)])
async def test_a_part_that_is_none_is_refused(shard: tuple[int, int]) -> None:
    """A part is from 0 up to the number of parts."""
    async with MemoryStore() as store:
        with pytest.raises(ConfigError, match="shard must be"):
            await refold(store, reducer(), shard=shard)


async def test_limits_are_checked() -> None:
    """What is no limit is refused by the name of its vendor, before a thread is read."""
    wrong: Any = {"openai": 5}
    async with MemoryStore() as store:
        with pytest.raises(ConfigError, match=r"limits\['openai'\] must be a RateLimit"):
            await refold(store, reducer(), limits=wrong)


async def test_only_what_is_due_is_read() -> None:
    """Among the threads that are listed as due, the oldest come first, and the list is empty then."""
    steps: list[FoldStep] = []
    folding = reducer()
    async with MemoryStore(clock=lambda: NOW) as store:
        await filled(store, 6)
        assert (await store.folds_due()).threads == ()
        for name in ("t00003", "t00001"):
            thread = await store.thread(name)
            rule = folding.fold_rule(_budget(folding))
            await thread.commit(Change(messages=said(8), fold_rule=rule))
        listed = [one.key.id for one in (await store.folds_due()).threads]
        found = await refold(store, folding, due_only=True, at_once=1, on_step=steps.append)
        assert found.counts == {"folded": 2}
        assert [one.key.id for one in steps] == listed == ["t00001", "t00003"]
        assert (await store.folds_due()).threads == ()


def _budget(given: HistoryReducer) -> Any:

    return budget_of(given.config, window=given.window)


async def test_prices_are_asked_when_a_thread_is_read() -> None:
    """Where prices decide, a listed thread is folded if that pays by now, and stays listed if not."""
    priced = HistoryReductionConfig(
        target_count=4, trigger="balance", prices=Prices(input=3, output=15, cached_read=0.3)
    )
    folding = reducer(priced)
    rule = folding.fold_rule(_budget(folding))
    assert rule.most == 4
    async with MemoryStore() as store:
        for name, exchanges in (("short", 5), ("long", 400)):
            thread = await store.thread(name)
            await thread.commit(Change(messages=said(exchanges), fold_rule=rule))
        assert len((await store.folds_due()).threads) == 2
        found = await refold(store, folding, due_only=True)
        assert found.counts == {"folded": 1, "not_due": 1}
        assert [one.key.id for one in (await store.folds_due()).threads] == ["short"]


async def test_what_a_failing_model_left_to_the_digest_is_not_stored() -> None:
    """After some failures in a row the run ends with nothing stored, and a later one continues."""
    failing = ScriptedSummarizer(repeat=SummarizerError("down"), name="scripted:s")
    async with MemoryStore() as store:
        await filled(store, 12)
        before = await stored(store)
        found = await refold(store, reducer(summarizer=failing), at_once=1, most_failures=3)
        assert (found.counts["failed"], found.is_complete) == (3, False)
        assert await stored(store) == before

        working = ScriptedSummarizer(repeat=" ".join(["whole"] * 30), name="scripted:s")
        found = await refold(store, reducer(summarizer=working), at_once=1)
        assert (found.counts["folded"], found.is_complete) == (8, True)


@pytest.mark.parametrize("due_only", [False, True])
async def test_a_run_begins_behind_the_threads_that_fail(*, due_only: bool) -> None:
    """Threads that always fail hold up nobody: the next run begins behind them."""
    failing = ScriptedSummarizer(repeat=SummarizerError("refused"), name="scripted:s")
    working = ScriptedSummarizer(repeat=" ".join(["whole"] * 30), name="scripted:s")
    async with MemoryStore() as store:
        for name in ("a", "b", "c"):
            await (await store.thread(name)).commit(
                Change(messages=said(8), fold_rule=reducer().fold_rule(_budget(reducer())))
            )
        found = await refold(
            store, reducer(summarizer=failing), at_once=1, most_failures=2, due_only=due_only
        )
        assert not found.is_complete
        later = await refold(
            store, reducer(summarizer=working), after=found.next, due_only=due_only
        )
        folded = {thread.id async for thread in store.threads() if thread.head.folds}

    assert (later.is_complete, later.next, folded) == (True, "", {"c"})


async def test_threads_that_cannot_be_folded_are_passed_by() -> None:
    """What is too large says nothing of the model, so that it ends no run."""
    steps: list[FoldStep] = []
    async with MemoryStore() as store:
        for name in ("a", "b", "c"):
            much = [Message.system("word " * 9_000)] if name < "c" else []
            await (await store.thread(name)).add_messages([*much, *said(8)])
        small = reducer(window=4_000)
        found = await refold(store, small, at_once=1, most_failures=1, on_step=steps.append)

    assert [(one.outcome, one.reason) for one in steps] == [
        ("failed", "RequestTooLargeError"),
        ("failed", "RequestTooLargeError"),
        ("folded", ""),
    ]
    assert found.is_complete


async def test_a_thread_that_went_on_is_folded_all_the_same() -> None:
    """Messages that come in while a summary is written stay; a thread that was rewound is left."""
    async with MemoryStore() as store:
        for name in ("grown", "rewound"):
            thread = await store.thread(name)
            await thread.add_messages(said(8))

        class Slow(ScriptedSummarizer):
            async def summarize(self, request: Any) -> Any:
                for name in ("grown", "rewound"):
                    other = await store.thread(name)
                    if name == "grown":
                        await other.append([Message.user("more")])
                    else:
                        await other.rewind(at=other.count - 1)
                return await super().summarize(request)

        slow = Slow(repeat=" ".join(["whole"] * 30), name="scripted:s")
        found = await refold(store, reducer(summarizer=slow), at_once=1)
        assert found.counts == {"folded": 1, "overtaken": 1}
        grown = await store.find("grown")
        assert grown is not None
        assert grown.last_reduction is not None
        assert grown.count > 16


class Time:
    """A clock that moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move on."""
        self.waits.append(seconds)
        self.now += seconds


@pytest.mark.parametrize(
    ("limit", "sizes", "wanted"),
    [
        (RateLimit(requests=2), [1, 1, 1, 1, 1], [0, 0, 60, 60, 120]),
        (RateLimit(tokens=100), [60, 40, 1, 99], [0, 0, 60, 60]),
        (RateLimit(tokens=100), [250, 1, 1], [0, 60, 60]),
        (RateLimit(requests=3, tokens=100), [10, 10, 90, 10], [0, 0, 60, 60]),
    ],
)
async def test_a_minute_never_has_more(
    limit: RateLimit, sizes: list[int], wanted: list[float]
) -> None:
    """What would be too much for the last 60 seconds waits; what alone is too much goes by itself."""
    time = Time()
    pace = Pace(limit, timer=time, sleep=time.sleep)
    begun = []
    for size in sizes:
        await pace.take(size)
        begun.append(time.now)
    assert begun == wanted


async def test_a_minute_is_any_minute() -> None:
    """What was asked half a minute ago still counts, and no longer after the other half."""
    time = Time()
    pace = Pace(RateLimit(requests=1), timer=time, sleep=time.sleep)
    await pace.take(1)
    time.now = 30.0
    await pace.take(1)
    assert (time.now, time.waits) == (60.0, [30.0])


def test_a_limit_limits_something() -> None:
    """A rate limit without a number, or with one below 1, is refused."""
    with pytest.raises(ConfigError, match="needs requests or tokens"):
        RateLimit()
    with pytest.raises(ConfigError, match="requests"):
        RateLimit(requests=0)


async def test_vendors_are_asked_as_fast_as_they_allow() -> None:
    """A fold waits for its own vendor, and what it has really read counts in the place of the guess."""
    time = Time()
    taken: list[tuple[float, int]] = []

    class Watched(Pace):
        async def take(self, tokens: int) -> Any:
            spent = await super().take(tokens)
            taken.append((time.now, tokens))
            return spent

    watched = Watched(RateLimit(requests=2), timer=time, sleep=time.sleep)
    said_by_model = (
        f"Summary of the conversation so far:\n{' '.join(['whole'] * 30)}\nEnd of summary."
    )
    model = ScriptedModel(repeat=said_by_model, name="openai:m", usage=True)
    async with MemoryStore() as store:
        await filled(store, 9)
        limits: dict[str, RateLimit | Pace] = {
            "openai": watched,
            "anthropic": RateLimit(requests=1),
        }
        folding = reducer(summarizer=ModelSummarizer(model))
        found = await refold(store, folding, limits=limits, at_once=1)
    assert found.counts == {"folded": 6, "not_due": 3}
    assert [at for at, _ in taken] == [0, 0, 60, 60, 120, 120]
    assert found.usage.input_tokens > 0
