"""
Reduction for callers with a loop of their own.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Generic, TypeVar, overload

from msgspec import Struct, structs

from foldline.agent.arguments import (
    check_config,
    check_counter,
    check_state,
    check_timeout,
    check_whole,
    summarizer_chain,
)
from foldline.agent.cache import ReductionCache
from foldline.agent.wire import Items, read_items
from foldline.errors import BlockingCallError
from foldline.history.messages import Message, NativeFormat
from foldline.history.tokens import TokenCounter
from foldline.providers.digest import DigestSummarizer
from foldline.providers.summarizer import Summarizer
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.event import HistoryReductionEvent, ReductionStatus
from foldline.reduction.fingerprint import fingerprint
from foldline.reduction.flow import Reply, run_flow_async
from foldline.reduction.fold import DEFAULT_SUMMARY_BUDGET, FoldOptions, FoldResult, fold
from foldline.reduction.reason import CIRCUIT_BREAKER_TERMINATION
from foldline.reduction.request import SummaryFailure, SummaryRequest
from foldline.reduction.run_config import AgentRunConfig
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.verdict import Verdict, decide
from foldline.reduction.view import view_of, view_tokens


__all__ = ["DEFAULT_TIMEOUT", "HistoryReducer", "ReducedHistory"]


DEFAULT_TIMEOUT = 60.0
"""How many seconds a summarizer has for one text, where nothing else is asked for."""

_LOG = logging.getLogger("foldline")

_Item = TypeVar("_Item")
_Dict = dict[str, Any]


class ReducedHistory(Struct, Generic[_Item], frozen=True, kw_only=True):
    """
    What to send to the model, and what to keep for the next call.
    """

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
        """
        Why the turn should end before the model is called; None where it should go on.
        """
        performed = self.event is not None and self.event.status == "performed"
        return CIRCUIT_BREAKER_TERMINATION if performed and self.verdict.kind == "halt" else None


class _Call(Struct, frozen=True, kw_only=True):
    """
    One call of `reduce`, up to its verdict.
    """

    items: Items
    given: HistoryReductionState | None
    verdict: Verdict
    started: float


class HistoryReducer:
    """
    Turns a history into the view that the model should be sent, and reuses what it made before.

    A reducer holds no conversation; one instance serves any number of them at once.
    """

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
            summarizer: Who writes summaries, or several to ask one after the other. The offline
                digest always stands behind them.
            cache: Where to look for reductions when no state is passed in.
            counter: What counts tokens; an estimator where none is given. A `History` brings
                its own.
            summary_budget: The most tokens that one summary may have.
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
        check_whole("summary_budget", summary_budget)
        check_whole("summarizer_window", summarizer_window, optional=True)
        check_timeout(timeout)
        check_counter(counter)
        given = summarizer_chain(summarizer, config)
        self.config = config
        self._summarizers: tuple[Summarizer, ...] = (*given, DigestSummarizer())
        self._fingerprint = fingerprint(config, [one.name for one in given or self._summarizers])
        self._cache = cache
        self._counter = counter
        self._summary_budget = summary_budget
        self._window = summarizer_window
        self._timeout = timeout
        self._clock = clock or _utc_now

    @property
    def config_fingerprint(self) -> str:
        """
        What shapes the reductions made here; those of another fingerprint are not used.
        """
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
        if not call.verdict.folds:
            return self._served(call)
        return self._folded(call, await self._fold(call), scope)

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

        Raises:
            BlockingCallError: An event loop is running in this thread.
            FormatError: A dictionary is not a message of its format.
        """
        # The public function raises where there is no loop, which costs ten times as much.
        if asyncio._get_running_loop() is not None:  # noqa: SLF001
            raise BlockingCallError
        call = self._begin(messages, state, overrides, format, scope)
        if not call.verdict.folds:
            return self._served(call)
        return self._folded(call, asyncio.run(self._fold(call)), scope)

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

    def _begin(
        self,
        messages: Sequence[Message] | Sequence[Mapping[str, Any]],
        state: HistoryReductionState | None,
        overrides: AgentRunConfig | None,
        format: NativeFormat | None,
        scope: str,
    ) -> _Call:
        started = perf_counter()
        check_state(state)
        items = read_items(messages, format, self._counter)
        verdict = decide(
            items.history,
            self.config,
            state,
            config_fingerprint=self._fingerprint,
            overrides=overrides,
        )
        if self._cache is not None and verdict.state is None:
            found = self._cache.find(
                items.history, config_fingerprint=self._fingerprint, scope=scope
            )
            if found is not None:
                return self._begin_with(items, found, overrides, started)
        return _Call(items=items, given=state, verdict=verdict, started=started)

    def _begin_with(
        self,
        items: Items,
        found: HistoryReductionState,
        overrides: AgentRunConfig | None,
        started: float,
    ) -> _Call:
        verdict = decide(
            items.history,
            self.config,
            found,
            config_fingerprint=self._fingerprint,
            overrides=overrides,
        )
        return _Call(items=items, given=found, verdict=verdict, started=started)

    async def _fold(self, call: _Call) -> FoldResult:
        options = FoldOptions(
            created_at=self._clock(),
            config_fingerprint=self._fingerprint,
            summarizers=len(self._summarizers),
            summary_budget=self._summary_budget,
            window=self._window,
        )
        flow = fold(call.items.history, call.verdict, self.config, options, given=call.given)
        return await run_flow_async(flow, self._ask)

    async def _ask(self, request: SummaryRequest) -> Reply:
        summarizer = self._summarizers[request.summarizer]
        try:
            async with asyncio.timeout(self._timeout):
                text = await summarizer.summarize(request)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # The summarizer gave up by itself; nobody has cancelled the turn.
            return SummaryFailure("CancelledError")
        except Exception as error:  # noqa: BLE001 - whatever a summarizer raises, the turn goes on
            return SummaryFailure(type(error).__name__)
        # A summarizer of the caller's own may return anything, whatever its annotation says.
        return text if isinstance(text, str) else SummaryFailure("no text")  # type: ignore[redundant-expr]

    def _served(self, call: _Call) -> ReducedHistory[Any]:
        verdict = call.verdict
        if not self.config.enabled:
            return ReducedHistory(
                messages=call.items.given(), state=call.given, event=None, verdict=verdict
            )
        status: ReductionStatus = "cache_hit" if verdict.kind == "hit" else "skipped"
        force = verdict.state if verdict.kind == "hit" else None
        view = view_of(call.items.history, force)
        age = None
        if force is not None:
            age = _age(force.created_at, self._clock())
        event = self._event(call, force, len(view), status=status, cache_age=age)
        return ReducedHistory(
            messages=call.items.write(view),
            state=verdict.state or call.given,
            event=event,
            verdict=verdict,
        )

    def _folded(self, call: _Call, result: FoldResult, scope: str) -> ReducedHistory[Any]:
        force = result.state if result.state.summarized_up_to_index else None
        if self._cache is not None:
            self._cache.put(result.state, scope=scope)
        view = view_of(call.items.history, force)
        status: ReductionStatus = "performed" if result.performed else "failed"
        if result.writing.failures:
            _LOG.warning("summarizing went wrong (fold %s): %s", status, result.writing.failures)
        writing = result.writing
        wrote = writing.summarizer
        event = structs.replace(
            self._event(call, force, len(view), status=status),
            reason=result.reason,
            summarizer=None if wrote is None else self._summarizers[wrote].name,
            summarizer_calls=writing.calls,
            summarizer_tokens=writing.tokens_read,
            failures=writing.failures,
        )
        return ReducedHistory(
            messages=call.items.write(view),
            state=result.state,
            event=event,
            verdict=call.verdict,
        )

    def _event(
        self,
        call: _Call,
        force: HistoryReductionState | None,
        reduced_count: int,
        *,
        status: ReductionStatus,
        cache_age: float | None = None,
    ) -> HistoryReductionEvent:
        history, verdict = call.items.history, call.verdict
        removed, summary = 0, None
        if force is not None:
            removed = force.summarized_up_to_index - (force.pinned_index is not None)
            summary = force.summary_content or None
        return HistoryReductionEvent(
            status=status,
            reason=verdict.reason,
            strategy=self.config.strategy,
            counting_unit=self.config.counting_unit,
            units=verdict.units,
            original_count=history.total,
            reduced_count=reduced_count,
            removed_count=removed,
            original_tokens=history.system_tokens + history.tokens(),
            reduced_tokens=view_tokens(history, force),
            summary=summary,
            cache_age=cache_age,
            duration=perf_counter() - call.started,
        )


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _age(made: datetime, now: datetime) -> float:
    """
    Return the seconds from *made* to *now*; a time without zone is taken as UTC.
    """
    if made.tzinfo is None:
        made = made.replace(tzinfo=UTC)
    if now.tzinfo is None:
        now = now.replace(tzinfo=UTC)
    return (now - made).total_seconds()
