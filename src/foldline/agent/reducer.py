"""Reduction for callers with a loop of their own."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from datetime import UTC, datetime
from functools import lru_cache, partial
from importlib import import_module
from sys import modules
from time import perf_counter
from typing import Any, TypeVar, Unpack

from msgspec import structs

from foldline.agent.arguments import (
    AfterRefusal,
    RequestOptions,
    assumption,
    by_hand,
    check_call,
    check_reducer,
    check_sizes,
    fold_costs,
    named_window,
    summarizer_chain,
)
from foldline.agent.breaker import breakers_of
from foldline.agent.cache import ReductionCache
from foldline.agent.fed_back import check_not_fed_back
from foldline.agent.known import KNOWN_BYTES, KnownLists
from foldline.agent.log import log
from foldline.agent.reduced import FoldObserver, ReducedHistory, ReducerCall, shown
from foldline.agent.request import RequestFacts, described
from foldline.agent.unfinished import UnfinishedFolds
from foldline.agent.wire import Items, read_items
from foldline.checks import expect, expect_whole
from foldline.history.history import History
from foldline.history.messages import Message, NativeFormat
from foldline.history.tokens import TokenCounter
from foldline.providers.book import assumed_window
from foldline.providers.digest import DIGEST
from foldline.providers.model import ChatRequest, Summarizer
from foldline.reduction.active import rebound
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.config import AgentRunConfig, HistoryReductionConfig
from foldline.reduction.earlier_digests import carried_over
from foldline.reduction.event import Reason, ReductionStatus
from foldline.reduction.fingerprint import fingerprint
from foldline.reduction.fold_rule import FoldRule, rule_of
from foldline.reduction.quotes import Pins
from foldline.reduction.state import HistoryReductionState, hash_of
from foldline.reduction.verdict import Verdict, decide


DEFAULT_TIMEOUT = 60.0
"""How many seconds summarizers may take for one fold by default."""

_FOLDING = "foldline.agent.folding"
_DEFAULTS = HistoryReductionConfig()

_Item = TypeVar("_Item")


class HistoryReducer:
    """
    Turns a history into the view to send to the model, and reuses its earlier reductions.

    A reducer has no conversation of its own; one instance serves any number of them at once.
    """

    telemetry: FoldObserver | None = None
    """Receives the folds; see `Telemetry`."""
    counter: TokenCounter | None
    """Counts the tokens of what is no `History`; None for the estimator."""
    summarizers: tuple[Summarizer, ...]
    """What writes summaries, the first one first; the offline digest stands behind them."""
    warning: str
    """What the first call logs: what holds in place of what was asked or is not known."""

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
        known_bytes: int = KNOWN_BYTES,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """
        Create a reducer.

        Args:
            config: How and when to reduce; by default every request fits the model's window.
            model: The model that is asked, such as `anthropic:claude-sonnet-4-6`, for its window.
            window: Its window in tokens, if the book of models does not know it.
            summarizer: What writes summaries; several are tried in order, the offline digest last.
            cache: Where to look without a state, and where calls share a fold; its own by default.
            counter: Counts tokens; an estimator by default. A `History` has its own.
            summary_budget: How many tokens a summary may have: at most an eighth of a request.
            summarizer_window: How many tokens a summarizer reads at once; by default 0.6 of its window.
            timeout: How many seconds a fold may wait for summarizers; the digest has no limit.
            known_bytes: About how much memory what was read from dictionaries may take; 0 for none.
            clock: Gives the creation time of reductions.

        Raises:
            ConfigError: An argument is wrong, or a model is configured and no summarizer is given.
        """
        check_reducer(config, model, counter, cache)
        sizes = {"window": window, "summary_budget": summary_budget}
        check_sizes(sizes | {"summarizer_window": summarizer_window}, known_bytes, timeout)
        self.summarizers = given = summarizer_chain(summarizer, config)
        self.config, self.counter, self._timeout = config, counter, timeout
        self._known, self._clock = KnownLists(known_bytes), clock or partial(datetime.now, UTC)
        self.config_fingerprint = fingerprint(config, [one.name for one in given] or [DIGEST])
        """What identifies the reductions made here; those with another fingerprint are not used."""
        self._shared, self._cache = cache, ReductionCache() if cache is None else cache
        self._summary_budget, self._window = summary_budget, summarizer_window
        self.model, self.window = model, named_window(model, window) or assumed_window(model or "")
        """The name of the model that is asked, and its window in tokens, known or else assumed."""
        self._budget_of = lru_cache(partial(budget_of, config))
        self._costs = fold_costs(config, model, given)
        self.warning = assumption(config, model, named_window(model, window), self._costs)
        self._breakers, self._unfinished = breakers_of(given, self._now), UnfinishedFolds()

    def for_model(self, name: str, window: int | None) -> "HistoryReducer":
        """Return this reducer for the model *name*; the window it was given counts first."""
        made = copy(self)
        known = self.window or window
        made.model, made.window = name, known or assumed_window(name)
        costs = fold_costs(self.config, name, self.summarizers)
        if costs is not None:
            from foldline.agent.riding import may_ride  # noqa: PLC0415 - what has no prices does without

            rides = bool(self.summarizers) and may_ride(self.config, self.summarizers[0], name)
            costs = structs.replace(costs, rides=rides)
        made._costs = costs  # noqa: SLF001
        is_scripted = name.partition(":")[0] == "scripted"
        made.warning = assumption(
            self.config,
            None if is_scripted else name,
            known,
            costs,
            # A model of the caller's own is on no list of prices.
            is_listed=":" in name and not is_scripted,
            option="context_window_size",
        )
        return made

    def for_window(self, window: int) -> "HistoryReducer":
        """Return this reducer for a model of that *window*; the one it was given counts first."""
        expect_whole("window", window, 1)
        made = copy(self)
        made.window = self.window or window
        made.warning = assumption(self.config, self.model, made.window, self._costs)
        return made

    def fold_rule(self, budget: Budget) -> FoldRule:
        """Return when a fold is due in requests of *budget*, as far as the counts of a thread say."""
        return rule_of(self.config, budget, by_price=self._costs is not None)

    async def reduce(  # noqa: PLR0913 - one name for each part of a request
        self,
        messages: Sequence[_Item],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
        usage: object = None,
        instructions: str | Sequence[object] | None = "",
        tools: Iterable[object] | None = (),
        pins: Iterable[int | tuple[int, Message]] | None = None,
    ) -> ReducedHistory[_Item]:
        """
        Return the view of *messages*; fold first if a fold is due.

        A failing summarizer is not an error: the next one is tried, then the offline digest, and the
        event says so.

        Args:
            messages: The full history each time: a `History` (which is not hashed and counted
                again), messages, or what OpenAI and Anthropic take: dictionaries and the objects of
                their SDKs, also mixed. The same kind is returned, and what is unchanged are the very
                objects that were given.
            state: What the previous call returned; None looks into the cache. If it was lost, or is
                undone by `undo`, signed thinking may be sent that fits no longer: have the vendor
                drop it (`drop_block`).
            format: The format of dictionaries; detected by default. If it could be either, the
                result is valid for both vendors.
            scope: The tenant, for the cache.
            usage: What the vendor counted for the last request: a `Usage`, its own answer or the
                usage of that (an object or a dictionary), or the input tokens, cached ones
                included. It corrects the estimate of this one.
            instructions: The system prompt, a str or blocks of text, if it is not among the messages.
            tools: The schemas of the tools, as they are sent, or `Tool` objects and typed functions.
            pins: The indexes of all messages to keep word for word, or `ThreadWindow.pins`; by default
                those made with `pin=True`. They count the items of a list of dictionaries or objects
                as it is given, and of a `History` or messages all but the system messages.

        Raises:
            FormatError: An item is not a message of its format.
            ViewGivenError: The messages are a view that was made before, not the full history.
            RequestTooLargeError: The request does not fit its ceiling, whatever is folded, cleared
                or clipped: the instructions, tools and system messages alone are too large.
        """
        given = described(usage, instructions, tools, pins)
        call = self._begin(messages, state, overrides, format, scope, given)
        return await self._settled(call) if call.verdict.folds else self._served(call)

    def undo(
        self, state: HistoryReductionState, *, scope: str = ""
    ) -> HistoryReductionState | None:
        """
        Take back *state*, what the last call returned, and return the reduction before it.

        That is None if it was the first one. The next call folds again if a fold is due.

        The cache of the tenant *scope* forgets it.
        """
        expect("state", state, HistoryReductionState)
        self._cache.forget(state, scope=scope)
        return state.previous

    def reduce_sync(  # noqa: PLR0913 - one name for each part of a request
        self,
        messages: Sequence[_Item],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
        usage: object = None,
        instructions: str | Sequence[object] | None = "",
        tools: Iterable[object] | None = (),
        pins: Iterable[int | tuple[int, Message]] | None = None,
    ) -> ReducedHistory[_Item]:
        """
        Do the same as `reduce`, for callers who cannot await.

        All that ask a summarizer run in one loop that lives as long as the process, so it may keep
        connections. It must not block.

        Raises:
            BlockingCallError: A summarizer has to be awaited, and an event loop is running in this
                thread: await `reduce`, or have `call_sync(reducer.reduce, …)` block the loop.
        """
        given = described(usage, instructions, tools, pins)
        call = self._begin(messages, state, overrides, format, scope, given)
        if not call.verdict.folds:
            return self._served(call)
        from foldline.agent.portal import PORTAL, finished  # noqa: PLC0415 - a hit does without
        from foldline.agent.recorded import asks, waits  # noqa: PLC0415

        if not asks(call, self.config):
            import_module(_FOLDING)
            return finished(self._made(call))
        may_block = not waits(call, self.config, self.summarizers)
        return PORTAL.run(self._settled, call, blocks_loop=may_block)

    def plan(  # noqa: PLR0913 - one name for each part of a request
        self,
        messages: Sequence[object],
        *,
        state: HistoryReductionState | None = None,
        overrides: AgentRunConfig | None = None,
        format: NativeFormat | None = None,
        scope: str = "",
        usage: object = None,
        instructions: str | Sequence[object] | None = "",
        tools: Iterable[object] | None = (),
        pins: Iterable[int | tuple[int, Message]] | None = None,
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
            focus: What the summary keeps before anything else, in plain words.
            keep: How many exchanges stay, or what the configuration or the overrides count; by
                default the configured target, or the last exchange if no more has gathered.
            request: What `reduce` takes beside them.

        Raises:
            ConfigError: An argument is wrong.
            FormatError: A dictionary is not a message of its format.
            RequestTooLargeError: See `reduce`.
        """
        request["overrides"] = by_hand(
            request.get("overrides"), self.config, focus=focus, keep=keep
        )
        return await self.reduce(messages, **request)

    def fold_sync(
        self,
        messages: Sequence[_Item],
        *,
        focus: str = "",
        keep: int | None = None,
        **request: Unpack[RequestOptions],
    ) -> ReducedHistory[_Item]:
        """Do the same as `fold`, for callers who cannot await; see `reduce_sync`."""
        request["overrides"] = by_hand(
            request.get("overrides"), self.config, focus=focus, keep=keep
        )
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
        front: Callable[[], ChatRequest | None] | None = None,
    ) -> ReducedHistory[Message]:
        """
        Do the same as `reduce` for a request whose *budget* is known.

        Args:
            budget: What the request may hold; see `budget_of`.
            history: The full history, or its part after a cut.
            pins: All pinned messages before the cut, and perhaps others.
            folds: Whether to fold if a fold is due; callers who fold in the background do not wait.
            front: Gives what the vendor has in its cache before the view, if that is known: a summary
                request on top of it may be the cheapest.
        """
        call = self._decided(
            ReducerCall(
                items=Items(history=history, kept=history),
                given=state,
                overrides=overrides,
                cache=self._shared,
                scope="",
                budget=structs.replace(budget, system=history.system_tokens),
                pins=pins,
                started=perf_counter(),
                front=front,
            )
        )
        if call.verdict.folds and folds:
            return await self._settled(call)
        served = self._served(call)
        if not call.verdict.folds:
            return served
        event = structs.replace(served.event, reason=Reason.FOLDING_BEHIND)
        return structs.replace(served, event=event)

    def _begin(
        self,
        messages: Sequence[object],
        state: HistoryReductionState | None,
        overrides: AgentRunConfig | None,
        format: NativeFormat | None,
        scope: str,
        request: RequestFacts,
    ) -> ReducerCall:
        started = perf_counter()
        check_call(state, overrides, scope)
        items = read_items(messages, format, self.counter, self._known)
        history = items.history
        check_not_fed_back(history, state, self._cache, scope)
        given = state or self._found(self._cache, history, scope, recall=request.has_recall)
        budget = request.budget(self._budget_of, self.window, history, given, self.model)
        call = ReducerCall(
            items=items,
            given=given,
            overrides=overrides,
            cache=self._cache if state is None else self._shared,
            scope=scope,
            budget=budget,
            pins=request.pinned(items),
            started=started,
        )
        call = self._decided(call)
        found = call.verdict.state
        if state is not None and not (found is not None and found.is_like(state)):
            carried = carried_over(state, history)
            if carried is not state:
                call = self._decided(structs.replace(call, given=carried))
        call = self._looked_up(call)
        active = call.verdict.state
        if active is None:
            return call
        bound = rebound(history, call.given, active, self.model)
        if bound is active:
            return call
        return structs.replace(call, verdict=structs.replace(call.verdict, state=bound))

    def _decided(self, call: ReducerCall) -> ReducerCall:
        """Return *call* with the verdict on it."""
        costs = self._costs
        if costs is not None:
            costs = structs.replace(costs, now=self._now())
        if self.warning:
            log().warning("%s", self.warning)
            self.warning = ""
        deciding = partial(
            decide,
            call.items.history,
            self.config,
            call.given,
            config_fingerprint=self.config_fingerprint,
            overrides=call.overrides,
            pins=call.pins,
            costs=costs,
        )
        verdict = deciding(budget=call.budget)
        if isinstance(call.overrides, AfterRefusal) and not verdict.folds:
            # Nothing was to be cut: what was refused is shortened.
            verdict = deciding(budget=call.aim)
        return structs.replace(call, verdict=verdict)

    def _looked_up(self, call: ReducerCall) -> ReducerCall:
        """Return *call* decided with the reduction in the cache, if that one covers more."""
        active = call.verdict.state
        if call.cache is None or (active is not None and not call.verdict.folds):
            return call
        recall = bool(call.budget.recall)
        found = self._found(call.cache, call.items.history, call.scope, recall=recall)
        if found is None or (active is not None and found.covered[0] <= active.covered[0]):
            return call
        return self._decided(structs.replace(call, given=found))

    def _found(
        self, cache: ReductionCache, history: History, scope: str, *, recall: bool
    ) -> HistoryReductionState | None:
        """Return what *cache* has of *history* for a request that has the tool `recall`, or has not."""
        made = self.config_fingerprint
        return cache.find(history, config_fingerprint=made, scope=scope, recall=recall)

    async def _settled(self, call: ReducerCall) -> ReducedHistory[Any]:
        """Fold as *call* asks; if the same fold is being made already, wait for it and look again."""
        if (cache := call.cache) is None:
            return await self._made(call)
        while call.verdict.folds:
            place = self._place(call)
            async with cache.folds.alone(place):
                call = self._looked_up(call)
                if call.verdict.folds and self._place(call) == place:
                    return await self._made(call)
        return self._served(call)

    def _place(self, call: ReducerCall) -> tuple[str, str, str]:
        """Return the same key for two calls that would make the same fold."""
        return call.scope, self.config_fingerprint, hash_of(call.items.history, call.verdict.cut)

    async def _made(self, call: ReducerCall) -> ReducedHistory[Any]:
        if _FOLDING not in modules:
            import asyncio  # noqa: PLC0415 - a hit does without

            # It takes as long as many hits, and would hold up all tasks of the loop.
            await asyncio.to_thread(import_module, _FOLDING)
        from foldline.agent.folding import Means, made  # noqa: PLC0415

        means = Means(
            config=self.config,
            fingerprint=self.config_fingerprint,
            given=self.summarizers,
            breakers=self._breakers,
            unfinished=self._unfinished,
            costs=self._costs,
            model=self.model,
            summary_budget=self._summary_budget,
            window=self._window,
            seconds=self._timeout,
            observer=self.telemetry,
            now=self._now,
        )
        return await made(call, means)

    def _now(self) -> datetime:
        now = self._clock()
        expect("clock()", now, datetime)
        return now

    def _served(self, call: ReducerCall) -> ReducedHistory[Any]:
        active = call.verdict.state
        status: ReductionStatus = "skipped" if active is None else "cache_hit"
        return shown(call, self.config, active, status, self._now)
