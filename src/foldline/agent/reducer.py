"""Reduction for callers with a loop of their own."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any, Generic, TypeVar, Unpack

from msgspec import Struct, structs

from foldline.agent.arguments import RequestOptions, by_hand, summarizer_chain
from foldline.agent.breaker import NOT_ASKED, FoldCalls, breakers_of
from foldline.agent.cache import ReductionCache
from foldline.agent.portal import PORTAL
from foldline.agent.request import RequestFacts, described, parts_of
from foldline.agent.telemetry import Observer
from foldline.agent.wire import Items, read_items
from foldline.checks import expect, expect_seconds, expect_whole
from foldline.errors import BlockingCallError, RequestTooLargeError
from foldline.history.history import CountingUnit, History
from foldline.history.messages import Message, NativeFormat, Usage, total_usage
from foldline.history.tokens import TokenCounter
from foldline.providers.book import window_of_model
from foldline.providers.digest.summarizer import DigestSummarizer
from foldline.providers.summarizer import Summarizer, metered
from foldline.reduction.active import outcome_of
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import (
    AgentRunConfig,
    HistoryReductionConfig,
    config_of_run,
    fingerprint,
)
from foldline.reduction.event import (
    CIRCUIT_BREAKER_TERMINATION,
    EarlierReduction,
    HistoryReductionEvent,
    Reason,
    ReductionStatus,
)
from foldline.reduction.fold import FoldOptions, FoldResult, Writing, fold
from foldline.reduction.quotes import Pins
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.verdict import Verdict, decide
from foldline.reduction.version_1 import carried_over
from foldline.reduction.view import view_of, view_tokens


__all__ = ["DEFAULT_TIMEOUT", "HistoryReducer", "ReducedHistory"]


DEFAULT_TIMEOUT = 60.0
"""How many seconds summarizers may take for one fold by default."""

_LOG = logging.getLogger("foldline")
_DEFAULTS = HistoryReductionConfig()
# A request that somebody asked for as it is may be larger than its ceiling.
_UNBOUNDED = frozenset({Reason.DISABLED, Reason.SKIPPED_BY_RUN, Reason.NO_MESSAGES})
_NO_VERDICT = Verdict(kind="skip", reason=Reason.NO_MESSAGES)

_Item = TypeVar("_Item", Message, dict[str, Any])


class ReducedHistory(Struct, Generic[_Item], frozen=True, kw_only=True):
    """What to send to the model, and what to keep for the next call."""

    messages: list[_Item]
    """The view, in the form that was given."""

    state: HistoryReductionState | None
    """The reduction to pass in next time; None if there is none yet."""

    event: HistoryReductionEvent
    """What happened and why."""

    verdict: Verdict
    """The decision."""

    @property
    def termination_reason(self) -> str | None:
        """Why the turn should end before the model call; None if it should continue."""
        performed = self.event.status == "performed"
        return CIRCUIT_BREAKER_TERMINATION if performed and self.verdict.kind == "halt" else None


class _Call(Struct, frozen=True, kw_only=True):
    items: Items
    given: HistoryReductionState | None
    """The reduction that was passed in, or found in the cache."""

    overrides: AgentRunConfig | None
    scope: str
    budget: Budget
    pins: Pins | None
    started: float
    verdict: Verdict = _NO_VERDICT


class HistoryReducer:
    """
    Turns a history into the view to send to the model, and reuses its earlier reductions.

    A reducer has no conversation of its own; one instance serves any number of them at once.
    """

    telemetry: Observer | None = None
    """Receives the folds; see `Telemetry`."""

    def __init__(  # noqa: PLR0913 - one name for each thing a caller may know
        self,
        config: HistoryReductionConfig = _DEFAULTS,
        *,
        model: str | None = None,
        window: int | None = None,
        summarizer: Summarizer | Sequence[Summarizer] = (),
        cache: ReductionCache | None = None,
        counter: TokenCounter | None = None,
        summary_budget: int | None = None,
        summarizer_window: int | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Create a reducer.

        Args:
            config: How and when to reduce; by default every request fits the model's window.
            model: The name of the model that is asked, such as `anthropic:claude-sonnet-4-6`: its
                window is looked up. It is never called.
            window: Its window in tokens, if the book of models does not know it.
            summarizer: What writes summaries; several are tried in order, the offline digest last.
            cache: Where to look if no state is passed in, or a fold is due; a fold that several
                calls need at once is made once.
            counter: Counts tokens; an estimator by default. A `History` has its own.
            summary_budget: How many tokens a summary may have, give or take a quarter; by default
                1,500, or an eighth of the ceiling if that is less.
            summarizer_window: How many tokens a summarizer can read at once, including prompt and
                earlier summary; longer spans are split. A single longer message is not.
            timeout: How many seconds a fold may wait for summarizers; the digest has no limit.
            clock: Gives the creation time of reductions.

        Raises:
            ConfigError: An argument is wrong, or a model is configured and no summarizer is given.
        """
        expect("config", config, HistoryReductionConfig, hint="see config_from_mapping")
        expect("model", model, str | None)
        expect_whole("window", window, 1, optional=True)
        expect_whole("summary_budget", summary_budget, 1, optional=True)
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
        self._model_window = window or (window_of_model(model) if model else None)
        self._window = summarizer_window
        self._timeout = timeout
        self._clock = clock or partial(datetime.now, UTC)
        self._breakers = breakers_of(self._summarizers, self._now)

    async def reduce(  # noqa: PLR0913 - one name for each part of a request
        self,
        messages: Sequence[_Item],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
        usage: Usage | int | None = None,
        instructions: str = "",
        tools: Sequence[object] = (),
        pins: Sequence[int] | None = None,
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
            usage: What the vendor counted for the last request: its `Usage`, or its input tokens,
                cached ones included. It corrects the estimate of this one.
            instructions: The system prompt, if it is not among the messages.
            tools: The schemas of the tools, as they are sent.
            pins: The indexes of all messages to keep word for word, system messages not counted;
                by default those made with `pin=True`.

        Raises:
            FormatError: A dictionary is not a message of its format.
            RequestTooLargeError: The request does not fit its ceiling, whatever is folded, cleared
                or clipped: the instructions, tools and system messages alone are too large.
        """
        given = described(usage, instructions, tools, pins)
        call = self._begin(messages, state, overrides, format, scope, given)
        return await self._settled(call) if call.verdict.folds else self._served(call)

    def reduce_sync(  # noqa: PLR0913 - one name for each part of a request
        self,
        messages: Sequence[_Item],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
        usage: Usage | int | None = None,
        instructions: str = "",
        tools: Sequence[object] = (),
        pins: Sequence[int] | None = None,
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
        given = described(usage, instructions, tools, pins)
        call = self._begin(messages, state, overrides, format, scope, given)
        return PORTAL.run(self._settled, call) if call.verdict.folds else self._served(call)

    def plan(  # noqa: PLR0913 - one name for each part of a request
        self,
        messages: Sequence[Message] | Sequence[Mapping[str, Any]],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
        usage: Usage | int | None = None,
        instructions: str = "",
        tools: Sequence[object] = (),
        pins: Sequence[int] | None = None,
    ) -> Verdict:
        """Return the verdict that `reduce` would reach, without calling a summarizer."""
        given = described(usage, instructions, tools, pins)
        return self._begin(messages, state, overrides, format, scope, given).verdict

    async def fold(
        self,
        messages: Sequence[_Item],
        *,
        focus: str = "",
        keep: int | None = None,
        **request: Unpack[RequestOptions],
    ) -> ReducedHistory[_Item]:
        """
        Fold *messages* now, whatever the counts, and return the new view.

        The reduction is one of this reducer's, and active from then on. A circuit breaker does not
        end a turn here. If there is nothing worth cutting, the event says so.

        Args:
            messages: The full history; see `reduce`.
            focus: What the summary keeps before anything else, in plain words.
            keep: How many units stay; by default the configured target, or the last exchange if no
                more than that has gathered.
            request: What `reduce` takes beside them.

        Raises:
            ConfigError: An argument is wrong.
            FormatError: A dictionary is not a message of its format.
            RequestTooLargeError: See `reduce`.
        """
        request["overrides"] = by_hand(request.get("overrides"), focus=focus, keep=keep)
        return await self.reduce(messages, **request)

    def fold_sync(
        self,
        messages: Sequence[_Item],
        *,
        focus: str = "",
        keep: int | None = None,
        **request: Unpack[RequestOptions],
    ) -> ReducedHistory[_Item]:
        """
        Do the same as `fold`, for callers without an event loop; see `reduce_sync`.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        request["overrides"] = by_hand(request.get("overrides"), focus=focus, keep=keep)
        return self.reduce_sync(messages, **request)

    async def reduce_within(
        self,
        budget: Budget,
        history: History,
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        pins: Pins = (),
        folds: bool = True,
    ) -> ReducedHistory[Message]:
        """
        Do the same as `reduce` for a request whose *budget* is known.

        Args:
            budget: What the request may hold; see `budget`.
            history: The full history, or its part after a cut.
            state: The reduction of the previous call.
            overrides: Overrides for this run.
            pins: All pinned messages before the cut, and perhaps others.
            folds: Whether to fold if a fold is due; callers who fold in the background do not wait.
        """
        call = self._decided(
            _Call(
                items=Items(history=history, kept=history),
                given=state,
                overrides=overrides,
                scope="",
                budget=budget,
                pins=pins,
                started=perf_counter(),
            )
        )
        if call.verdict.folds and folds:
            return await self._settled(call)
        served = self._served(call)
        if not call.verdict.folds:
            return served
        event = structs.replace(served.event, reason=Reason.FOLDING_BEHIND)
        return structs.replace(served, event=event)

    def budget(
        self,
        *,
        window: int | None = None,
        learned: int | None = None,
        instructions: int = 0,
        tools: int = 0,
        ratio: float = 1.0,
        recall: bool = False,
    ) -> Budget:
        """
        Return what a request may hold.

        Args:
            window: The window of the model, if this reducer was not given one.
            learned: The window as far as the vendor's refusals have shown.
            instructions: The estimated tokens of instructions that are not in the history.
            tools: The estimated tokens of the tool schemas.
            ratio: What the vendor counts for one estimated token.
            recall: Whether the model can call the tool `recall`.
        """
        return budget_of(
            self.config,
            window=self._model_window or window,
            learned=learned,
            instructions=instructions,
            tools=tools,
            ratio=ratio,
            recall=recall,
        )

    def _begin(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        state: HistoryReductionState | None,
        overrides: AgentRunConfig | None,
        format: NativeFormat | None,
        scope: str,
        request: RequestFacts,
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
        history = items.history
        call = _Call(
            items=items,
            given=state,
            overrides=overrides,
            scope=scope,
            budget=request.budget(self.config, self._model_window, history, state),
            pins=None if request.pins is None else [(at, history[at]) for at in request.pins],
            started=started,
        )
        call = self._decided(call)
        if state is not None and call.verdict.state is None:
            carried = carried_over(state, history)
            if carried is not state:
                call = self._decided(structs.replace(call, given=carried))
        return call if self._cache is None else self._looked_up(call, self._cache)

    def _decided(self, call: _Call) -> _Call:
        """Return *call* with the verdict on it."""
        verdict = decide(
            call.items.history,
            self.config,
            call.given,
            config_fingerprint=self.config_fingerprint,
            overrides=call.overrides,
            budget=call.budget,
            pins=call.pins,
        )
        return structs.replace(call, verdict=verdict)

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
        return self._decided(structs.replace(call, given=found))

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
                left_out=result.left_out,
                failures=writing.failures,
            )
            if made is not None:
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
            budget=call.budget,
            summary_budget=self._summary_budget or call.budget.summary,
            window=self._window,
            pins=call.pins,
        )
        flow = fold(
            history,
            call.verdict,
            self.config,
            options,
            given=call.given,
            overrides=call.overrides,
        )
        return await FoldCalls(chain, self._breakers, seconds=self._timeout).run(flow)

    def _now(self) -> datetime:
        now = self._clock()
        expect("clock()", now, datetime)
        return now

    def _served(self, call: _Call) -> ReducedHistory[Any]:
        active = call.verdict.state
        return self._shown(call, active, "skipped" if active is None else "cache_hit")

    def _shown(
        self,
        call: _Call,
        active: HistoryReductionState | None,
        status: ReductionStatus,
        **outcome: Any,
    ) -> ReducedHistory[Any]:
        history, budget, removed = call.items.history, call.budget, 0
        view = view_of(history, active)
        facts: dict[str, Any] = {"reason": call.verdict.reason}
        if active is not None:
            removed = active.summarized_up_to_index - (active.pinned_index is not None)
            facts["summary"] = active.summary_content or None
            if status == "cache_hit":
                _LOG.debug("cache hit: %d messages became %d", history.total, len(view))
                made, now = _zoned(active.created_at), _zoned(self._now())
                facts["cache_age"] = (now - made).total_seconds()
        how, tokens = config_of_run(self.config, call.overrides), view_tokens(history, active)
        if budget.counted(tokens) > budget.ceiling and call.verdict.reason not in _UNBOUNDED:
            raise RequestTooLargeError(
                parts=parts_of(history, active, budget), ceiling=budget.ceiling
            )
        event = HistoryReductionEvent(
            status=status,
            strategy=how.strategy,
            counting_unit=how.unit,
            units=call.verdict.units,
            original_count=history.total,
            reduced_count=len(view),
            removed_count=removed,
            original_tokens=history.system_tokens + history.tokens(),
            reduced_tokens=tokens,
            earlier=_outcome_of_given(call, self.config.unit) if call.given else "none",
            ceiling=budget.ceiling,
            request_tokens=budget.counted(tokens),
            duration=perf_counter() - call.started,
            **(facts | outcome),
        )
        # What is disabled gives back what it was given; of a history, a valid view.
        is_off = call.verdict.reason is Reason.DISABLED and call.items.kept is not history
        return ReducedHistory(
            messages=call.items.given() if is_off else call.items.write(view),
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
