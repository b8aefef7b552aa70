"""Reduction for callers with a loop of their own."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct, structs

from foldline.agent.arguments import (
    check_cache,
    check_config,
    check_counter,
    check_overrides,
    check_state,
    summarizer_chain,
)
from foldline.agent.cache import ReductionCache
from foldline.agent.call import Call, age, event_of
from foldline.agent.portal import PORTAL
from foldline.agent.telemetry import UNOBSERVED, Observer
from foldline.agent.wire import read_items
from foldline.checks import expect_seconds, expect_whole
from foldline.errors import BlockingCallError, SummarizerError
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat, total_usage
from foldline.history.tokens import TokenCounter
from foldline.providers.digest import DigestSummarizer
from foldline.providers.spending import metered
from foldline.providers.summarizer import Summarizer
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig, fingerprint
from foldline.reduction.event import (
    CIRCUIT_BREAKER_TERMINATION,
    HistoryReductionEvent,
    Reason,
    ReductionStatus,
)
from foldline.reduction.fold import DEFAULT_SUMMARY_BUDGET, FoldOptions, FoldResult, fold
from foldline.reduction.request import Reply, SummaryFailure, SummaryRequest, run_flow
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.verdict import Verdict, decide
from foldline.reduction.version_1 import carried_over
from foldline.reduction.view import view_of


__all__ = ["DEFAULT_TIMEOUT", "HistoryReducer", "ReducedHistory"]


DEFAULT_TIMEOUT = 60.0
"""How many seconds a summarizer has for one text, where nothing else is asked for."""

_LOG = logging.getLogger("foldline")

_Item = TypeVar("_Item")
_Dict = dict[str, Any]


class ReducedHistory(Struct, Generic[_Item], frozen=True, kw_only=True):
    """What to send to the model, and what to keep for the next call."""

    messages: list[_Item]
    """The view, in the kind that was given."""

    state: HistoryReductionState | None
    """The reduction to pass in next time; None while there is none."""

    event: HistoryReductionEvent | None
    """What happened and why; None while reduction is disabled."""

    verdict: Verdict
    """The decision that was taken."""

    @property
    def termination_reason(self) -> str | None:
        """Why the turn should end before the model is called; None where it should go on."""
        performed = self.event is not None and self.event.status == "performed"
        return CIRCUIT_BREAKER_TERMINATION if performed and self.verdict.kind == "halt" else None


class HistoryReducer:
    """
    Turns a history into the view that the model should be sent, and reuses what it made before.

    A reducer holds no conversation; one instance serves any number of them at once.
    """

    _observer: Observer = UNOBSERVED

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
        Reduce as *config* says.

        Args:
            config: How and when to reduce.
            summarizer: Who writes summaries, or several to ask in turn, before the offline digest.
            cache: Where to look when no state is passed in, or a fold is due; a fold that several
                calls want at once is made once.
            counter: What counts tokens; an estimator where none is given. A `History` brings
                its own.
            summary_budget: The tokens to keep to; a summary of over a quarter more is not taken.
            summarizer_window: The most tokens that a summarizer can read at once, prompt and earlier
                summary included; longer spans are given to it in pieces. A single message that
                is longer is given to it whole.
            timeout: How many seconds a summarizer has for one text.
            clock: What tells the time that reductions are stamped with.

        Raises:
            ConfigError: An argument is of the wrong kind or not positive, or the configuration
                names a model and no summarizer is given.
        """
        check_config(config)
        expect_whole("summary_budget", summary_budget, 1)
        expect_whole("summarizer_window", summarizer_window, 1, optional=True)
        expect_seconds("timeout", timeout)
        check_counter(counter)
        check_cache(cache)
        given = summarizer_chain(summarizer, config)
        self.config = config
        self._digest = DigestSummarizer()
        self._summarizers: tuple[Summarizer, ...] = (*given, self._digest)
        self._fingerprint = fingerprint(config, [one.name for one in given or self._summarizers])
        self._cache = cache
        self._counter = counter
        self._summary_budget = summary_budget
        self._window = summarizer_window
        self._timeout = timeout
        self._clock = clock or partial(datetime.now, UTC)

    @property
    def config_fingerprint(self) -> str:
        """What shapes the reductions made here; those of another fingerprint are not used."""
        return self._fingerprint

    @overload
    async def reduce(
        self,
        messages: Sequence[Message],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        scope: str = "",
    ) -> ReducedHistory[Message]: ...

    @overload
    async def reduce(
        self,
        messages: Sequence[_Dict],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> ReducedHistory[_Dict]: ...

    async def reduce(
        self,
        messages: Sequence[Message] | Sequence[_Dict],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> ReducedHistory[Any]:
        """
        Return the view of *messages*, folding first where it is time to.

        A failing summarizer never makes this fail: the next one is asked, then the offline
        digest, and the event says so.

        Args:
            messages: The full history each time: a `History` (which is not hashed and counted
                again), messages, or OpenAI or Anthropic dictionaries. The same kind comes back,
                and dictionaries that stay are the very objects that were given.
            state: What the call before returned; None looks into the cache, where there is one.
            overrides: What this run changes.
            format: The format of dictionaries; found out where it is not given. Where it could be
                either, what comes back is valid for both vendors.
            scope: The tenant, for the cache.

        Raises:
            FormatError: A dictionary is not a message of its format.
        """
        call = self._begin(messages, state, overrides, format, scope)
        return await self._settled(call) if call.verdict.folds else self._served(call)

    @overload
    def reduce_sync(
        self,
        messages: Sequence[Message],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        scope: str = "",
    ) -> ReducedHistory[Message]: ...

    @overload
    def reduce_sync(
        self,
        messages: Sequence[_Dict],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> ReducedHistory[_Dict]: ...

    def reduce_sync(
        self,
        messages: Sequence[Message] | Sequence[_Dict],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
    ) -> ReducedHistory[Any]:
        """
        Do what `reduce` does, for callers without an event loop.

        Folds of all threads run in one loop, which lives as long as the process: a summarizer may
        keep what belongs to a loop, as a pool of connections. It must not block.

        Raises:
            BlockingCallError: An event loop is running in this thread.
            FormatError: A dictionary is not a message of its format.
        """
        # The public function raises where there is no loop: 0.15 us more in a call of twelve.
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
        """
        Return the verdict that `reduce` would take, and the cut, without any call.

        Raises:
            FormatError: A dictionary is not a message of its format.
        """
        return self._begin(messages, state, overrides, format, scope).verdict

    def without_folding(
        self,
        history: History,
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
    ) -> ReducedHistory[Message]:
        """
        Return the view of *history* as it is without a fold, also where it is time for one.

        It is for callers who have the fold made in the background and do not wait for it.

        Args:
            history: The full history.
            state: The reduction to start from.
            overrides: What this run changes.
        """
        call = self._begin(history, state, overrides, None, "")
        held = self._served(call)
        if not call.verdict.folds or held.event is None:
            return held
        event = structs.replace(held.event, reason=Reason.FOLDING_BEHIND)
        return structs.replace(held, event=event)

    def observed_by(self, observer: Observer) -> "HistoryReducer":
        """Return a reducer whose folds *observer* watches, and that is otherwise the same."""
        other = copy(self)
        other._observer = observer  # noqa: SLF001 - of this very class
        return other

    def with_target(self, target: int) -> "HistoryReducer":
        """
        Return a reducer that folds down to *target* units at once, and is otherwise the same.

        What it makes is a reduction of this reducer too: targets are not in the fingerprint.
        """
        other = copy(self)
        if self.config.counting_unit == "tokens":
            other.config = structs.replace(
                self.config,
                target_token_budget=target,
                token_budget_threshold=0,
                max_token_budget=None,
                token_budget_trigger_percentage=None,
            )
        else:
            other.config = structs.replace(
                self.config, target_count=target, summarization_threshold=0
            )
        return other

    def _begin(
        self,
        messages: Sequence[Message] | Sequence[Mapping[str, Any]],
        state: HistoryReductionState | None,
        overrides: AgentRunConfig | None,
        format: NativeFormat | None,
        scope: str,
    ) -> Call:
        started = perf_counter()
        check_state(state)
        if overrides is not None:
            check_overrides(overrides)
        items = read_items(messages, format, self._counter)
        verdict = self._decided(items.history, state, overrides)
        if state is not None and verdict.state is None:
            carried = carried_over(state, items.history)
            if carried is not state:
                state, verdict = carried, self._decided(items.history, carried, overrides)
        call = Call(
            config=self.config,
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
        made = self._fingerprint
        return decide(history, self.config, state, config_fingerprint=made, overrides=overrides)

    def _looked_up(self, call: Call, cache: ReductionCache) -> Call:
        """Return *call* as it is decided with what *cache* knows, where that is more."""
        history, active = call.items.history, call.verdict.state
        if active is not None and not call.verdict.folds:
            return call
        found = cache.find(history, config_fingerprint=self._fingerprint, scope=call.scope)
        reached = 0 if active is None else active.summarized_up_to_index
        if found is None or found.summarized_up_to_index <= reached:
            return call
        verdict = self._decided(history, found, call.overrides)
        return structs.replace(call, given=found, verdict=verdict)

    async def _settled(self, call: Call) -> ReducedHistory[Any]:
        """Fold as *call* asks; where somebody does so already, wait for it and look again."""
        if self._cache is None:
            return await self._made(call)
        while call.verdict.folds:
            place = self._place(call)
            async with self._cache.folds.alone(place):
                call = self._looked_up(call, self._cache)
                if call.verdict.folds and self._place(call) == place:
                    return await self._made(call)
        return self._served(call)

    def _place(self, call: Call) -> tuple[str, str, str]:
        """Return what two calls share that would make the same fold."""
        prefix = hash_of(call.items.history, call.verdict.cut)
        return call.scope, self._fingerprint, prefix

    async def _made(self, call: Call) -> ReducedHistory[Any]:
        with self._observer.fold() as made, metered() as spent:
            reduced = self._folded(call, await self._fold(call))
            assert reduced.event is not None
            usage = total_usage(spent) if spent else None
            event = structs.replace(reduced.event, summarizer_usage=usage)
            made(event)
        return structs.replace(reduced, event=event)

    async def _fold(self, call: Call) -> FoldResult:
        history = call.items.history
        # The digest counts as the history does, so that its text keeps to the budget.
        digest = DigestSummarizer(counter=history.counter)
        chain = [digest if one is self._digest else one for one in self._summarizers]
        options = FoldOptions(
            created_at=self._clock(),
            config_fingerprint=self._fingerprint,
            summarizers=len(chain),
            summary_budget=self._summary_budget,
            window=self._window,
        )
        flow = fold(history, call.verdict, self.config, options, given=call.given)
        return await run_flow(flow, partial(self._ask, chain))

    async def _ask(self, chain: Sequence[Summarizer], request: SummaryRequest) -> Reply:
        summarizer = chain[request.summarizer]
        task = asyncio.current_task()
        # A task that once caught its cancellation may go on; only a new one ends the turn.
        cancellations = 0 if task is None else task.cancelling()
        try:
            async with asyncio.timeout(self._timeout):
                text = await summarizer.summarize(request)
        except asyncio.CancelledError:
            if task is not None and task.cancelling() > cancellations:
                raise
            # The summarizer gave up by itself; nobody has cancelled the turn.
            return SummaryFailure("CancelledError")
        except Exception as error:  # noqa: BLE001 - whatever a summarizer raises, the turn goes on
            # The error's own text may quote the conversation: only who asks for it gets to see it.
            _LOG.debug("summarizer %s failed", summarizer.name, exc_info=error)
            defect = error.defect if isinstance(error, SummarizerError) else ""
            return SummaryFailure(type(error).__name__, defect=defect)
        # A summarizer of the caller's own may return anything, whatever its annotation says.
        return text if isinstance(text, str) else SummaryFailure("no text")  # type: ignore[redundant-expr]

    def _served(self, call: Call) -> ReducedHistory[Any]:
        verdict = call.verdict
        if not self.config.enabled:
            return ReducedHistory(
                messages=call.items.given(), state=call.given, event=None, verdict=verdict
            )
        status: ReductionStatus = "skipped"
        # An active reduction is shown, also if `without_folding` puts a fold off.
        active, cache_age = verdict.state, None
        if active is not None:
            status = "cache_hit"
            cache_age = age(active.created_at, self._clock())
        view = view_of(call.items.history, active)
        return ReducedHistory(
            messages=call.items.write(view),
            state=verdict.state or call.given,
            event=event_of(call, active, shown=len(view), status=status, cache_age=cache_age),
            verdict=verdict,
        )

    def _folded(self, call: Call, result: FoldResult) -> ReducedHistory[Any]:
        active = result.state or call.verdict.state
        if self._cache is not None and result.state is not None:
            self._cache.put(result.state, scope=call.scope)
        view = view_of(call.items.history, active)
        status: ReductionStatus = "failed" if result.state is None else "performed"
        writing = result.writing
        if writing.failures:
            _LOG.warning("summarizing went wrong (fold %s): %s", status, writing.failures)
        wrote = writing.summarizer
        event = structs.replace(
            event_of(call, active, shown=len(view), status=status),
            reason=result.reason,
            summarizer=None if wrote is None else self._summarizers[wrote].name,
            summarizer_calls=writing.calls,
            summarizer_tokens=writing.tokens_read,
            failures=writing.failures,
        )
        return ReducedHistory(
            messages=call.items.write(view),
            state=active or call.given,
            event=event,
            verdict=call.verdict,
        )
