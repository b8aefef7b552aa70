"""What processes do that write to one thread at once."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from threading import Barrier

from foldline.agent.reducer import HistoryReducer
from foldline.errors import ThreadConflictError
from foldline.history.messages import Message
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.request import SummaryRequest
from foldline.threads.change import Change
from foldline.threads.loop_state import COMPLETED, AgentLoopState
from foldline.threads.store import ThreadStore
from foldline.threads.stores.postgres.store import PostgresStore
from foldline.threads.stores.redis.store import RedisStore
from foldline.threads.stores.sqlite.store import SQLiteStore


THREAD = "shared"
# The file whose commits are made in place.
RELAXED = "relaxed.db"
BATCH = 3
FOLDED = "folded"
_AFTER_FOLD = 8
Report = dict[str, int]


def store_at(address: str) -> ThreadStore:
    """Return the store at *address*: a file, or the URL of a server."""
    if address.startswith(("postgres", "host=")):
        return PostgresStore(address)
    if address.startswith(("redis", "unix:")):
        return RedisStore(address)
    is_relaxed = address.endswith(RELAXED)
    return SQLiteStore(address, durability="relaxed" if is_relaxed else "full")


async def write_batches(store: ThreadStore, name: str, count: int) -> Report:
    """Add batches; on a conflict read again and retry."""
    thread = await store.thread(THREAD)
    conflicts = 0
    for batch in range(count):
        messages = [Message.user(f"{name} {batch} {place}") for place in range(BATCH)]
        while True:
            try:
                await thread.add_messages(messages)
            except ThreadConflictError:
                conflicts += 1
                await thread.refresh()
            else:
                break
    return {"acknowledged": count, "conflicts": conflicts}


async def run_turns(store: ThreadStore, name: str, count: int) -> Report:
    """Run turns of two commits each, and wait while the run of another process is open."""
    thread = await store.thread(THREAD)
    done = conflicts = 0
    while done < count:
        await thread.refresh()
        state = thread.execution_state
        if state is not None and state.is_open:
            await asyncio.sleep(0.002)
            continue
        state = AgentLoopState(
            run_id=f"{name} {done}", conversation_id=THREAD, started_at=datetime.now(UTC)
        )
        try:
            await thread.commit(Change(messages=[Message.user(f"{name} {done}")], execution=state))
        except ThreadConflictError:
            conflicts += 1
            continue
        ended = state.terminated(COMPLETED)
        await thread.commit(Change(messages=[Message.assistant(f"{name} {done}")], execution=ended))
        done += 1
    return {"acknowledged": done, "conflicts": conflicts}


async def append_messages(store: ThreadStore, name: str, count: int) -> Report:
    """Append *count* messages, then a few after each fold, until the folding process is done."""
    thread = await store.thread(THREAD)
    done, seen = 0, None
    while done < count or thread.display_name != FOLDED:
        await thread.refresh()
        folded = thread.last_reduction
        # A fold takes longer than an append, so against appends without a pause it may never win.
        if done >= count and folded == seen:
            await asyncio.sleep(0.002)
            continue
        for _ in range(_AFTER_FOLD):
            await thread.append([Message.user(f"{name} {done} about the parcel to Porto")])
            done += 1
        seen = folded
    return {"acknowledged": done, "conflicts": 0}


class Slow:
    """A summarizer that takes its time."""

    name = "slow"

    async def summarize(self, request: SummaryRequest) -> str:
        """Return a summary."""
        await asyncio.sleep(0.02)
        return f"Some {len(request.messages)} messages about parcels."


async def make_folds(store: ThreadStore, name: str, count: int) -> Report:
    """Fold repeatedly while others append."""
    config = HistoryReductionConfig(
        enabled=True,
        strategy="summarizing",
        counting_unit="messages",
        target_count=2,
        summarization_threshold=1,
    )
    reducer = HistoryReducer(config, summarizer=Slow())
    forced = AgentRunConfig(trigger_history_reduction=True)
    thread = await store.thread(THREAD)
    done = 0
    while done < count:
        await thread.refresh()
        window = await thread.window(config_fingerprint=reducer.config_fingerprint)
        reduced = await reducer.reduce(window.history, state=window.reduction, overrides=forced)
        if reduced.event.status != "performed" or reduced.state is None:
            await asyncio.sleep(0.005)
            continue
        await thread.save_reduction(reduced.state)
        done += 1
    while thread.display_name != FOLDED:
        with suppress(ThreadConflictError):
            await thread.set_metadata({}, display_name=FOLDED)
        await thread.refresh()
    return {"acknowledged": done, "conflicts": 0}


WORK: dict[str, Callable[[ThreadStore, str, int], Awaitable[Report]]] = {
    "append": append_messages,
    "batches": write_batches,
    "folds": make_folds,
    "turns": run_turns,
}


def work(address: str, start: Barrier, kind: str, name: str, count: int) -> Report:
    """Wait until the others are ready too, write to the shared thread, and report."""

    async def run() -> Report:
        async with store_at(address) as store:
            await asyncio.to_thread(start.wait)
            return await WORK[kind](store, name, count)

    return asyncio.run(run())
