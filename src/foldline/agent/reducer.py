"""Reduction for callers with a loop of their own."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar

from msgspec import Struct, structs

from foldline.agent.arguments import summarizer_chain
from foldline.agent.breaker import NOT_ASKED, FoldCalls, breakers_of
from foldline.agent.cache import ReductionCache
from foldline.agent.portal import PORTAL
from foldline.agent.telemetry import Observer
from foldline.agent.wire import Items, read_items
from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import BlockingCallError
from foldline.history.history import CountingUnit, History
from foldline.history.messages import Message, NativeFormat, total_usage
from foldline.history.tokens import TokenCounter
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.summarizer import Summarizer, metered
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, fingerprint
from foldline.reduction.event import (
    CIRCUIT_BREAKER_TERMINATION,
    EarlierReduction,
    HistoryReductionEvent,
    Reason,
    ReductionStatus,
)
from foldline.reduction.fold import DEFAULT_SUMMARY_BUDGET, FoldOptions, FoldResult, Writing, fold
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.verdict import Verdict, decide, outcome_of
from foldline.reduction.version_1 import carried_over
from foldline.reduction.view import view_of, view_tokens


__all__ = ["DEFAULT_TIMEOUT", "HistoryReducer", "ReducedHistory"]


DEFAULT_TIMEOUT = 60.0
"""How many seconds summarizers may take for one fold by default."""

_LOG = logging.getLogger("foldline")

_Item = TypeVar("_Item", Message, dict[str, Any])


class ReducedHistory(Struct, Generic[_Item], frozen=True, kw_only=True):
    """What to send to the model, and what to keep for the next call."""

    messages: list[_Item]
    """The view, in the form that was given."""

    state: HistoryReductionState | None
    """The reduction to pass in next time; None if there is none yet."""

    event: HistoryReductionEvent | None
    """What happened and why; None while reduction is disabled."""

    verdict: Verdict
    """The decision."""

    @property
    def termination_reason(self) -> str | None:
        """Why the turn should end before the model call; None if it should continue."""
        performed = self.event is not None and self.event.status == "performed"
        return CIRCUIT_BREAKER_TERMINATION if performed and self.verdict.kind == "halt" else None


class _Call(Struct, frozen=True, kw_only=True):
    items: Items
    given: HistoryReductionState | None
    """The reduction that was passed in, or found in the cache."""

    overrides: AgentRunConfig | None
    scope: str
    started: float
    verdict: Verdict


class HistoryReducer:
    """
    Turns a history into the view to send to the model, and reuses its earlier reductions.

    A reducer has no conversation of its own; one instance serves any number of them at once.
    """

    telemetry: Observer | None = None
    """Receives the folds; see `Telemetry`."""

    def __init__(
        self,
        config: HistoryReductionConfig,
        *,
        summarizer: Summarizer | Sequence[Summarizer] = (),
        cache: ReductionCache | None = None,
        counter: TokenCounter | None = None,
        summary_budget: int = DEFAULT_SUMMARY_BUDGET,
        summarizer_window: int | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Create a reducer.

        Args:
            config: How and when to reduce.
            summarizer: What writes summaries; several are tried in order, the offline digest last.
            cache: Where to look if no state is passed in, or a fold is due; a fold that several
                calls need at once is made once.
            counter: Counts tokens; an estimator by default. A `History` has its own.
            summary_budget: How many tokens a summary may have, give or take a quarter.
            summarizer_window: How many tokens a summarizer can read at once, including prompt and
                earlier summary; longer spans are split. A single longer message is not.
            timeout: How many seconds a fold may wait for summarizers; the digest has no limit.
            clock: Gives the creation time of reductions.

        Raises:
            ConfigError: An argument is wrong, or a model is configured and no summarizer is given.
        """
        expect("config", config, HistoryReductionConfig, hint="see config_from_mapping")
        expect_whole("summary_budget", summary_budget, 1)
        expect_whole("summarizer_window", summarizer_window, 1, optional=True)
        expect_seconds("timeout", timeout)
        expect("counter", counter, TokenCounter | None, hint="it needs a method count(text)")
        expect("cache", cache, ReductionCache | None)
        given = summarizer_chain(summarizer, config)
        self.config = config
        self._digest = DigestSummarizer()
        self._summarizers: tuple[Summarizer, ...] = (*given, self._digest)
        names = [one.name for one in given or self._summarizers]
        self.config_fingerprint = fingerprint(config, names)
        """What identifies the reductions made here; those with another fingerprint are not used."""
        self._cache = cache
        self._counter = counter
        self._summary_budget = summary_budget
        self._window = summarizer_window
        self._timeout = timeout
        self._clock = clock or partial(datetime.now, UTC)
        self._breakers = breakers_of(self._summarizers, self._now)

    async def reduce(
        self,
        messages: Sequence[_Item],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> ReducedHistory[_Item]:
        """
        Return the view of *messages*; fold first if a fold is due.

        A failing summarizer is not an error: the next one is tried, then the offline digest, and the
        event says so.

        Args:
            messages: The full history each time: a `History` (which is not hashed and counted
                again), messages, or OpenAI or Anthropic dictionaries. The same kind is returned,
                and unchanged dictionaries are the very objects that were given.
            state: What the previous call returned; None looks into the cache, if there is one.
            overrides: Overrides for this run.
            format: The format of dictionaries; detected by default. If it could be either, the
                result is valid for both vendors.
            scope: The tenant, for the cache.

        Raises:
            FormatError: A dictionary is not a message of its format.
        """
        call = self._begin(messages, state, overrides, format, scope)
        return await self._settled(call) if call.verdict.folds else self._served(call)

    def reduce_sync(
        self,
        messages: Sequence[_Item],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> ReducedHistory[_Item]:
        """
        Do the same as `reduce`, for callers without an event loop.

        All folds run in one loop that lives as long as the process, so a summarizer may keep
        connections. It must not block.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        # The public function raises if there is no loop, which costs 0.15 of 12 us.
        if asyncio._get_running_loop() is not None:  # noqa: SLF001
            raise BlockingCallError
        call = self._begin(messages, state, overrides, format, scope)
        return PORTAL.run(self._settled, call) if call.verdict.folds else self._served(call)

    def plan(
        self,
        messages: Sequence[Message] | Sequence[Mapping[str, Any]],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> Verdict:
        """Return the verdict that `reduce` would reach, without calling a summarizer."""
        return self._begin(messages, state, overrides, format, scope).verdict

    def without_folding(
        self,
        history: History,
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
    ) -> ReducedHistory[Message]:
        """
        Return the view of *history* without folding, even if a fold is due.

        This is for callers who fold in the background and do not wait for it.
        """
        call = self._begin(history, state, overrides, None, "")
        served = self._served(call)
        if not call.verdict.folds or served.event is None:
            return served
        event = structs.replace(served.event, reason=Reason.FOLDING_BEHIND)
        return structs.replace(served, event=event)

    def with_target(self, target: int) -> "HistoryReducer":
        """
        Return the same reducer, but one that folds down to *target* units at once.

        Its reductions are also this reducer's: targets are not part of the fingerprint.
        """
        other = copy(self)
        other.config = structs.replace(
            self.config,
            target_token_budget=target,
            token_budget_threshold=0,
            max_token_budget=None,
            token_budget_trigger_percentage=None,
            target_count=target,
            summarization_threshold=0,
        )
        return other

    def _begin(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        state: HistoryReductionState | None,
        overrides: AgentRunConfig | None,
        format: NativeFormat | None,
        scope: str,
    ) -> _Call:
        started = perf_counter()
        if state is not None:
            hint = "read JSON with HistoryReductionState.from_json"
            expect("state", state, HistoryReductionState, hint=hint)
        if overrides is not None:
            expect("overrides", overrides, AgentRunConfig)
        if scope != "":
            expect("scope", scope, str)
        items = read_items(messages, format, self._counter)
        verdict = self._decided(items.history, state, overrides)
        if state is not None and verdict.state is None:
            carried = carried_over(state, items.history)
            if carried is not state:
                state, verdict = carried, self._decided(items.history, carried, overrides)
        call = _Call(
            items=items,
            given=state,
            overrides=overrides,
            scope=scope,
            started=started,
            verdict=verdict,
        )
        return call if self._cache is None else self._looked_up(call, self._cache)

    def _decided(
        self,
        history: History,
        state: HistoryReductionState | None,
        overrides: AgentRunConfig | None,
    ) -> Verdict:
        made = self.config_fingerprint
        return decide(history, self.config, state, config_fingerprint=made, overrides=overrides)

    def _looked_up(self, call: _Call, cache: ReductionCache) -> _Call:
        """Return *call* decided with the reduction in *cache*, if that one covers more."""
        history, active = call.items.history, call.verdict.state
        if active is not None and not call.verdict.folds:
            return call
        made = self.config_fingerprint
        found = cache.find(history, config_fingerprint=made, scope=call.scope)
        reached = 0 if active is None else active.summarized_up_to_index
        if found is None or found.summarized_up_to_index <= reached:
            return call
        verdict = self._decided(history, found, call.overrides)
        return structs.replace(call, given=found, verdict=verdict)

    async def _settled(self, call: _Call) -> ReducedHistory[Any]:
        """Fold as *call* asks; if the same fold is being made already, wait for it and look again."""
        if self._cache is None:
            return await self._made(call)
        while call.verdict.folds:
            place = self._place(call)
            async with self._cache.folds.alone(place):
                call = self._looked_up(call, self._cache)
                if call.verdict.folds and self._place(call) == place:
                    return await self._made(call)
        return self._served(call)

    def _place(self, call: _Call) -> tuple[str, str, str]:
        """Return the same key for two calls that would make the same fold."""
        prefix = hash_of(call.items.history, call.verdict.cut)
        return call.scope, self.config_fingerprint, prefix

    async def _made(self, call: _Call) -> ReducedHistory[Any]:
        observed = nullcontext() if self.telemetry is None else self.telemetry.fold()
        with observed as made, metered() as spent:
            result = await self._fold(call)
            writing, wrote = result.writing, result.writing.summarizer
            status: ReductionStatus = "failed" if result.state is None else "performed"
            if self._cache is not None and result.state is not None:
                self._cache.put(result.state, scope=call.scope)
            failures = [one for one in writing.failures if one not in NOT_ASKED]
            if failures:
                _LOG.warning("%s", self._what_failed(writing, failures))
            reduced = self._shown(
                call,
                result.state or call.verdict.state,
                status,
                reason=result.reason,
                summarizer=None if wrote is None else self._summarizers[wrote].name,
                summarizer_calls=writing.calls,
                summarizer_tokens=writing.tokens_read,
                summarizer_usage=total_usage(spent) if spent else None,
                failures=writing.failures,
            )
            if made is not None and reduced.event is not None:
                made(reduced.event)
        return reduced

    def _what_failed(self, writing: Writing, failures: Sequence[str]) -> str:
        wrote, names = writing.summarizer, [one.name for one in self._summarizers]
        failed = ", ".join(names[: wrote or 1] if wrote is not None else names)
        why = "; ".join(dict.fromkeys(one.rstrip(".") for one in failures))
        end = "no summary was written" if wrote is None else f"{names[wrote]} wrote the summary"
        return f"summarizer {failed} failed ({why}): {end}"

    async def _fold(self, call: _Call) -> FoldResult:
        history = call.items.history
        # The digest counts as the history does, so that its text keeps to the budget.
        digest = DigestSummarizer(counter=history.counter)
        chain = [digest if one is self._digest else one for one in self._summarizers]
        options = FoldOptions(
            created_at=self._now(),
            config_fingerprint=self.config_fingerprint,
            summarizers=len(chain),
            summary_budget=self._summary_budget,
            window=self._window,
        )
        flow = fold(history, call.verdict, self.config, options, given=call.given)
        return await FoldCalls(chain, self._breakers, seconds=self._timeout).run(flow)

    def _now(self) -> datetime:
        now = self._clock()
        expect("clock()", now, datetime)
        return now

    def _served(self, call: _Call) -> ReducedHistory[Any]:
        if self.config.enabled:
            active = call.verdict.state
            return self._shown(call, active, "skipped" if active is None else "cache_hit")
        return ReducedHistory(
            messages=call.items.given(), state=call.given, event=None, verdict=call.verdict
        )

    def _shown(
        self,
        call: _Call,
        active: HistoryReductionState | None,
        status: ReductionStatus,
        **outcome: Any,
    ) -> ReducedHistory[Any]:
        history, removed = call.items.history, 0
        view = view_of(history, active)
        facts: dict[str, Any] = {"reason": call.verdict.reason}
        if active is not None:
            removed = active.summarized_up_to_index - (active.pinned_index is not None)
            facts["summary"] = active.summary_content or None
            if status == "cache_hit":
                _LOG.debug("cache hit: %d messages became %d", history.total, len(view))
                made, now = _zoned(active.created_at), _zoned(self._now())
                facts["cache_age"] = (now - made).total_seconds()
        event = HistoryReductionEvent(
            status=status,
            strategy=self.config.strategy,
            counting_unit=self.config.counting_unit,
            units=call.verdict.units,
            original_count=history.total,
            reduced_count=len(view),
            removed_count=removed,
            original_tokens=history.system_tokens + history.tokens(),
            reduced_tokens=view_tokens(history, active),
            earlier=_outcome_of_given(call, self.config.counting_unit) if call.given else "none",
            duration=perf_counter() - call.started,
            **(facts | outcome),
        )
        return ReducedHistory(
            messages=call.items.write(view),
            state=active or call.given,
            event=event,
            verdict=call.verdict,
        )


def _outcome_of_given(call: _Call, unit: CountingUnit) -> EarlierReduction:
    given = call.given
    if given is call.verdict.state:
        return "used"
    if given is None or call.verdict.reason is Reason.SKIPPED_BY_RUN:
        return "none"
    return outcome_of(call.items.history, given, call.verdict.state, unit=unit)


def _zoned(moment: datetime) -> datetime:
    """Return *moment*; without a zone it is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
