"""
Folding many stored threads: what is due, or all for another configuration or model.

Theory of operation
-------------------

There is no list of what is done. A thread is folded again by one commit that stores the reduction
with the fingerprint of the configuration, and a thread that has such a reduction has nothing due: so a
run that is started again after a kill continues where the store is. Only what was being summarized at the
moment of the kill is asked for a second time, and stored once.

A thread whose counts leave no fold due by the new rule is passed by with its head alone; the others
are read, and the verdict decides, prices included. The offline digest stands behind every
summarizer in a turn, which has to go on. Here nobody waits, so what the digest wrote in the place of a
model that failed is not stored, and after some failures of models in a row the run ends: it may be
started again, from the beginning or after the threads that it has looked at.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from hashlib import sha256
from typing import Final, Literal, TypeAlias, TypedDict

from msgspec import Struct

from foldline.agent.pace import NO_LIMITS, Pace, RateLimit, Spent, check_limits
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect, expect_whole
from foldline.errors import (
    ConfigError,
    RequestTooLargeError,
    StoreCorruptError,
    ThreadConflictError,
    ThreadNotFoundError,
)
from foldline.history.messages import Message, Usage, total_usage
from foldline.providers.book import parted
from foldline.providers.digest import DIGEST
from foldline.reduction.budget import Budget, budget_of
from foldline.threads.key import DEFAULT_TENANT, ThreadKey
from foldline.threads.read_only import ThreadWindow
from foldline.threads.search import written_place
from foldline.threads.store import ThreadStore
from foldline.threads.thread import ConversationThread


FoldOutcome: TypeAlias = Literal["folded", "current", "not_due", "refused", "overtaken", "failed"]
"""
What became of a thread.

`folded`: a new reduction is stored. `current`: it had one of this configuration, and no more is due.
`not_due`: it needs none. `refused`: a fold would not have made its view smaller. `overtaken`: it was
rewound, folded or deleted meanwhile. `failed`: the summarizers failed, or it is damaged or too large.
"""

_Given: TypeAlias = AsyncIterator[tuple[str, ConversationThread]]
"""Threads, each with its place in their order."""

_USUAL_AT_ONCE: Final = 4
_USUAL_FAILURES: Final = 5


class FoldStep(Struct, frozen=True, kw_only=True):
    """One thread that was looked at."""

    key: ThreadKey
    """Its tenant and id."""

    outcome: FoldOutcome
    """What became of it."""

    reason: str = ""
    """Why it failed or was refused: names and fixed texts, nothing that was said."""


class Refolded(Struct, frozen=True, kw_only=True):
    """What came of folding many threads."""

    counts: Mapping[FoldOutcome, int]
    """How many threads came to each outcome."""

    usage: Usage
    """What the vendors of the summarizers counted."""

    is_complete: bool
    """Whether every thread was looked at; not if the summarizers failed too often in a row."""

    next: str = ""
    """The `after` of a run that continues after what was looked at; empty if all was."""


def shard_of(key: ThreadKey, shards: int) -> int:
    """Return which of so many *shards* the thread *key* is in, by a hash of its tenant and id."""
    named = sha256(f"{key.tenant}/{key.id}".encode()).digest()
    return int.from_bytes(named[:8], "big") % shards


class RefoldOptions(TypedDict, total=False):
    """What bounds many folds; see `refold`."""

    tenant: str
    due_only: bool
    after: str
    shard: tuple[int, int]
    at_once: int
    limits: Mapping[str, RateLimit | Pace]
    most_failures: int
    on_step: Callable[[FoldStep], None]


async def refold(  # noqa: PLR0913 - one name for each thing that bounds it
    store: ThreadStore,
    reducer: HistoryReducer,
    *,
    tenant: str = DEFAULT_TENANT,
    due_only: bool = False,
    after: str = "",
    budget: Budget | None = None,
    shard: tuple[int, int] = (0, 1),
    at_once: int = _USUAL_AT_ONCE,
    limits: Mapping[str, RateLimit | Pace] = NO_LIMITS,
    most_failures: int = _USUAL_FAILURES,
    on_step: Callable[[FoldStep], None] = lambda _: None,
) -> Refolded:
    """
    Fold the threads of *tenant* as *reducer* would at the next turn of each, and store the reductions.

    It may be killed and started again at any time, and continues then. Shards, in other processes or
    on other machines, share nothing but the store.

    Args:
        store: The store, open.
        reducer: What folds: another configuration, summarizer or model makes another reduction.
        due_only: Whether only threads in `ThreadStore.folds_due` are looked at, the oldest first.
        after: The `next` of an earlier run with the same *due_only*, to begin after it.
        budget: What a request may hold, its instructions and tools included; by default that of the
            configuration and the model's window.
        shard: Which part of the threads, from 0, and of how many; see `shard_of`.
        limits: How much may be asked in a minute, by the vendor: the name of a model before its colon.
            A fold begins when its vendor has room; what it asks beyond one request counts afterwards.
            A `Pace` is shared with whatever else goes by it.
        most_failures: After how many failures of the summarizers in a row it ends. A thread that is
            damaged or too large says nothing of them, and is passed by.

    Raises:
        ConfigError: An argument is wrong.
        StoreError: The store failed; what was stored stays.
    """
    expect("reducer", reducer, HistoryReducer)
    expect_whole("at_once", at_once, 1)
    expect_whole("most_failures", most_failures, 1)
    _check(shard, limits)
    budget = budget or budget_of(reducer.config, window=reducer.window)
    run = _Run(store, reducer, budget, limits, most_failures=most_failures, on_step=on_step)
    given = (_due if due_only else _every)(store, tenant, after)
    part, shards = shard
    own = (one async for one in given if shard_of(one[1].key, shards) == part)
    await run.all(own, at_once)
    return run.outcome()


def _check(shard: tuple[int, int], limits: Mapping[str, object]) -> None:
    check_limits(limits, RateLimit | Pace)
    if not 0 <= shard[0] < shard[1]:
        raise ConfigError(f"shard must be (part, of how many), the part from 0 up, got {shard}")


async def _every(store: ThreadStore, tenant: str, after: str) -> _Given:
    async for thread in store.threads(tenant=tenant, after=after):
        yield thread.id, thread


async def _due(store: ThreadStore, tenant: str, after: str) -> _Given:
    while True:
        page = await store.folds_due(tenant=tenant, after=after)
        for due in page.threads:
            thread = await store.find(due.key)
            if thread is not None:
                yield written_place((due.since.timestamp(), due.key.id)), thread
        after = page.next
        if not after:
            return


class _Run:
    """Threads that are folded one after the other, some at the same time."""

    def __init__(
        self,
        store: ThreadStore,
        reducer: HistoryReducer,
        budget: Budget,
        limits: Mapping[str, RateLimit | Pace],
        *,
        most_failures: int,
        on_step: Callable[[FoldStep], None],
    ) -> None:
        self._store, self._reducer, self._budget = store, reducer, budget
        self._rule = reducer.fold_rule(budget)
        self._paces = {
            vendor: one if isinstance(one, Pace) else Pace(one) for vendor, one in limits.items()
        }
        self._most_failures, self._on_step = most_failures, on_step
        self._turn = asyncio.Lock()
        self._counts: dict[FoldOutcome, int] = {}
        self._usages: list[Usage] = []
        self._failures = 0
        self._place = ""

    def outcome(self) -> Refolded:
        """Return what came of it."""
        is_complete = self._failures < self._most_failures
        return Refolded(
            counts=self._counts,
            usage=total_usage(self._usages),
            is_complete=is_complete,
            next="" if is_complete else self._place,
        )

    async def all(self, given: _Given, at_once: int) -> None:
        """Fold what is *given*, so many *at_once*."""
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(self._some(given))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _some(self, given: _Given) -> None:
        while self._failures < self._most_failures:
            async with self._turn:
                found = await anext(given, None)
                if found is None:
                    return
                self._place, thread = found
            step = await self._step(thread)
            self._counts[step.outcome] = self._counts.get(step.outcome, 0) + 1
            self._on_step(step)

    async def _step(self, thread: ConversationThread) -> FoldStep:
        outcome: FoldOutcome
        reason = ""
        try:
            outcome, reason = await self._folded(thread)
            if outcome == "failed":
                self._failures += 1
            elif outcome == "folded":
                self._failures = 0
        except (ThreadConflictError, ThreadNotFoundError):
            outcome = "overtaken"
        except (StoreCorruptError, RequestTooLargeError) as error:
            outcome, reason = "failed", type(error).__name__
        return FoldStep(key=thread.key, outcome=outcome, reason=reason)

    async def _folded(self, thread: ConversationThread) -> tuple[FoldOutcome, str]:
        reducer, last = self._reducer, thread.last_reduction
        alike = (reducer.config_fingerprint, reducer.config.unit)
        made = last is not None and last.made_with == alike
        if not thread.head.may_be_due(self._rule, folded=made):
            return ("current" if made else "not_due"), ""
        window = await thread.window(
            config_fingerprint=reducer.config_fingerprint, counting_unit=reducer.config.unit
        )
        reduce = partial(
            reducer.reduce_within,
            self._budget,
            window.history,
            state=window.reduction,
            pins=window.pins,
        )
        planned = await reduce(folds=False)
        if not planned.verdict.folds:
            return ("not_due" if window.reduction is None else "current"), ""
        spent = await self._take(planned, window)
        reduced = await reduce()
        self._settle(reduced, spent)
        event = reduced.event
        if event.status != "performed" or reduced.state is None:
            return "refused", event.reason.value
        names = [one.name for one in reducer.summarizers]
        if names and event.summarizer == DIGEST and DIGEST not in names:
            return "failed", "; ".join(dict.fromkeys(event.failures)) or event.reason.value
        archives = reducer.config.retention == "reduced"
        await thread.save_reduction(reduced.state, archive=archives)
        return "folded", ""

    async def _take(
        self, planned: ReducedHistory[Message], window: ThreadWindow
    ) -> tuple[str, Spent] | None:
        """Wait until the vendor of the first summarizer has room for the fold that is *planned*."""
        asked = self._reducer.summarizers
        vendor = _vendor_of(getattr(asked[0], "model_name", "")) if asked else ""
        pace = self._paces.get(vendor)
        if pace is None or planned.verdict.is_batch:
            return None
        active, history = planned.verdict.state, window.history
        cut = 0 if active is None else active.summarized_up_to_index
        tokens = history.tokens(cut, planned.verdict.cut) + self._budget.summary
        return vendor, await pace.take(tokens)

    def _settle(self, reduced: ReducedHistory[Message], spent: tuple[str, Spent] | None) -> None:
        """Count what the fold has really asked, in the place of what it was taken for."""
        for one in reduced.event.readings:
            usage = one.usage
            if usage is not None:
                self._usages.append(usage)
            tokens = one.tokens if usage is None else usage.input_tokens + usage.output_tokens
            vendor, calls = _vendor_of(one.model), one.calls
            if spent is not None and spent[0] == vendor:
                self._paces[vendor].settle(spent[1], calls, tokens)
                spent = None
            elif vendor in self._paces:
                self._paces[vendor].add(calls, tokens)


def _vendor_of(name: object) -> str:
    return parted(name)[0] if isinstance(name, str) else ""
