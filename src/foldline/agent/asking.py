"""One model call: reduce, send, and fold more if the vendor refuses the request as too long."""

from functools import partial

from msgspec import UNSET, UnsetType, structs

from foldline.agent.background import FoldKey
from foldline.agent.events import PromptCutEvent, RequestSentEvent
from foldline.agent.log import log
from foldline.agent.model_call import ask_model, sendable_request
from foldline.agent.own_reducer import own_view
from foldline.agent.progress import Progress, TurnSetup
from foldline.agent.reduced import ReducedHistory
from foldline.agent.result import ReductionMetadata, handover
from foldline.agent.sent import Comparison, compared
from foldline.agent.service import Basis
from foldline.errors import (
    ConfigError,
    ContextOverflowError,
    RequestTooLargeError,
    ServiceThreadLostError,
    ThreadConflictError,
)
from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.history.meter import front_digest
from foldline.history.tokens import count_message
from foldline.providers.cut_prompt import CUT, cut_window
from foldline.providers.model import ChatRequest, ChatResponse, PrewarmingModel
from foldline.reduction.balance import has_gone_cold
from foldline.reduction.budget import Budget, token_ratio
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.event import Reason
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.read_only import ThreadWindow


_NO_OVERRIDES = AgentRunConfig()
# A turn that the vendor has refused is not ended by the fold that answers the refusal.
_AGAIN = AgentRunConfig(history_reduction_behavior_override="continue")
# What a vendor refuses is assumed to fit at this share of it, and to be longer than its window by
# this factor, if the refusal does not say.
_TAKEN_SHARE, _TOO_LONG = 0.9, 1.05


class Asking:
    """One model call with the reduction before it: sets `response`, unless a fold ends the turn."""

    def __init__(
        self,
        setup: TurnSetup,
        progress: Progress,
        *,
        overrides: AgentRunConfig | None,
        streams: bool,
    ) -> None:
        self._setup = setup
        self._progress = progress
        self._overrides = overrides
        self._streams = streams
        self._note: Message | None = None
        self._archives = setup.reducer.config.retention == "reduced"
        given = overrides or _NO_OVERRIDES
        self._is_forced = given.trigger_history_reduction
        self._may_fold = setup.reducer.config.enabled and not given.skip_history_reduction
        self.response: ChatResponse | None = None
        """The model's answer; None if the turn ended before the call."""
        self.reduction: ReductionMetadata | None = None
        """The newest fold of this call."""
        self.void: list[Usage | None] = []
        """What the vendor counted for answers that the response has replaced."""
        self.missed_tokens = 0
        """What the vendor's cache did not serve of the request before."""

    async def run(self) -> None:
        """
        Ask until the model has answered, or a fold has ended the turn.

        A `ContextOverflowError` beside a `response` is no failure: of a smaller request there is no
        answer, and that is the one to what the server has cut.
        """
        refusal, known = None, self._progress.state.learned
        for left in range(self._setup.options.max_overflow_folds, -1, -1):
            window = await self._window(waits=self._is_forced or refusal is not None)
            try:
                reduced = await self._reduced(window)
            except RequestTooLargeError as error:
                # Kept, a window that nothing fits would end every later turn before it is asked.
                self._progress.state = structs.replace(self._progress.state, learned=known)
                raise refusal or error from None
            if reduced.verdict.reason is not Reason.DISABLED or self._setup.own_reducer:
                self._progress.emit(reduced.event)
            fold = _fold_of(reduced)
            if fold is not None:
                learned = UNSET if refusal is None else self._progress.state
                await self._keep(fold, reduced.termination_reason, learned)
                if not self._progress.state.is_open:
                    return
            elif refusal is not None:
                raise refusal
            # A background fold may have loaded messages of another writer.
            self._progress.check()
            try:
                await self._ask(window.history, reduced)
            except ContextOverflowError as error:
                if not left or not self._may_fold:
                    raise
                refusal, self._overrides = error, _AGAIN
                self._learn(error, reduced)
            else:
                return

    async def fold(self) -> ReducedHistory[Message]:
        """Reduce once as the overrides say, without a call, and store the fold if one was made."""
        window, thread = await self._window(waits=True), self._progress.thread
        epoch = thread.head.epoch
        reduced = await self._reduced_within(window, self._overrides)
        fold = _fold_of(reduced)
        if fold is not None:
            await thread.save_reduction(fold.state, archive=self._archives, epoch=epoch)
        return reduced

    async def _window(self, *, waits: bool = False) -> ThreadWindow:
        """Return what the call needs of the thread; with *waits*, after the running fold."""
        reducer, thread = self._setup.reducer, self._progress.thread
        background = self._setup.background
        if background is not None and waits and background.is_running(self._fold_key):
            await background.wait(self._fold_key)
            # It may have been stored through another object of the thread.
            await thread.refresh()
        window = await thread.window(
            config_fingerprint=reducer.config_fingerprint,
            counting_unit=reducer.config.unit,
            whole=not self._may_fold,
        )
        if background is not None:
            landed = background.landed(self._fold_key, window.reduction)
            if landed is not None:
                self._progress.emit(landed.event)
                self.reduction = landed
        return window

    async def _reduced(self, window: ThreadWindow) -> ReducedHistory[Message]:
        said = self._progress.messages
        if not said or said[0].role == "assistant":
            # Without an input, it goes on after the answers of others.
            self._note = handover(window.history, self._setup.agent, own=len(said))
        own, overrides = self._setup.own_reducer, self._overrides
        if own is not None and not (overrides or _NO_OVERRIDES).skip_history_reduction:
            budget = self._with_note(self._setup.budget(self._progress.state), window.history)
            return await own_view(own, window.history, budget)
        background = self._setup.background
        if background is None or self._is_forced:
            return await self._reduced_within(window, overrides)
        unfolded = await self._reduced_within(window, overrides, folds=False)
        if not unfolded.verdict.folds:
            return unfolded
        if unfolded.verdict.kind == "fold" and self._may_wait(unfolded):
            epoch = self._progress.thread.head.epoch
            fold = partial(self._background_fold, window, epoch, overrides)
            background.start(self._fold_key, fold)
            return unfolded
        if background.is_running(self._fold_key):
            # The history has grown so much that the turn has to wait for the fold.
            window = await self._window(waits=True)
        return await self._reduced_within(window, overrides)

    async def _reduced_within(
        self, window: ThreadWindow, overrides: AgentRunConfig | None = None, *, folds: bool = True
    ) -> ReducedHistory[Message]:
        budget = self._setup.budget(self._progress.state)
        if self._note is not None:
            budget = self._with_note(budget, window.history)
        return await self._setup.reducer.reduce_within(
            budget,
            window.history,
            state=window.reduction,
            overrides=overrides,
            pins=window.pins,
            folds=folds,
            front=partial(self._cached_front, window.history),
        )

    def _with_note(self, budget: Budget, history: History) -> Budget:
        note = 0 if self._note is None else count_message(self._note, history.counter)
        return structs.replace(budget, instructions=budget.instructions + note)

    def _noted(self, messages: tuple[Message, ...], note: Message) -> tuple[Message, ...]:
        """Return *messages* with *note* where it was in the first request of the turn."""
        own = self._progress.messages[:1]
        if own and own[0] not in messages:
            return messages
        at = messages.index(own[0]) if own else len(messages)
        return (*messages[:at], note, *messages[at:])

    def _cached_front(self, history: History) -> ChatRequest | None:
        """Return what the vendor has in its cache before the view; None if it has nothing there."""
        setup, state = self._setup, self._progress.state
        last, prices = state.last_request, setup.prices
        if last is None or prices is None or last.at is None or state.service_thread_id:
            return None
        if has_gone_cold(last.at, self._progress.thread.now(), prices.lifetime):
            return None
        now = (
            setup.model.name,
            setup.fixed.digest,
            front_digest([*setup.fixed.front.messages, *history.system]),
        )
        return setup.fixed.front if (last.model, last.tools, last.system) == now else None

    def _may_wait(self, unfolded: ReducedHistory[Message]) -> bool:
        """Whether the call may send the view as it is, while the fold is made."""
        limits, event = self._setup.reducer.config.limits, unfolded.event
        if unfolded.verdict.is_batch or event.request_tokens > event.ceiling:
            return False
        return limits is None or unfolded.verdict.units <= limits.ceiling + limits.threshold

    @property
    def _fold_key(self) -> FoldKey:
        thread = self._progress.thread
        return (
            thread.context.storage,
            thread.tenant,
            thread.id,
            self._setup.reducer.config_fingerprint,
        )

    async def _background_fold(
        self, window: ThreadWindow, epoch: bytes, overrides: AgentRunConfig | None
    ) -> ReductionMetadata | None:
        thread = self._progress.thread
        reduced = await self._reduced_within(window, overrides)
        fold = _fold_of(reduced)
        ground = window.reduction
        if fold is None:
            return None
        if ground is not None and not any(map(ground.is_same_as, await thread.reductions())):
            # The reduction it is based on has been undone.
            return None
        try:
            await thread.save_reduction(fold.state, archive=self._archives, epoch=epoch)
        except ThreadConflictError:
            # Another writer has folded, or the thread was rewound since the fold began.
            return None
        self._prewarm(reduced)
        return fold

    def _prewarm(self, reduced: ReducedHistory[Message]) -> None:
        """Have the view read into the vendor's cache, if that is wanted and the vendor can."""
        setup, model = self._setup, self._setup.model
        least = 0 if setup.prices is None else setup.prices.minimum_prefix
        is_held = self._progress.state.service_thread_id is not None
        if (
            is_held
            or reduced.event.request_tokens < least
            or not isinstance(model, PrewarmingModel)
        ):
            return
        view = (*setup.fixed.front.messages, *reduced.messages)
        request = sendable_request(structs.replace(setup.fixed.front, messages=view), model)
        if setup.background is not None:
            setup.background.warm(partial(model.prewarm, request))

    async def _keep(
        self, fold: ReductionMetadata, reason: str | None, learned: AgentLoopState | UnsetType
    ) -> None:
        """Store *fold* and what a refusal has taught, also in the commit that ends a turn."""
        self.reduction = fold
        change = Change(reduction=fold.state, archive=self._archives, execution=learned)
        try:
            if reason is None:
                await self._progress.commit(change)
            else:
                await self._progress.end(reason, change)
        except ConfigError:
            if not fold.state.goes_back_from(self._progress.thread.last_reduction):
                raise
            # Another writer has folded further meanwhile; that fold stays.
            if reason is not None:
                await self._progress.end(reason, Change())

    def _learn(self, error: ContextOverflowError, reduced: ReducedHistory[Message]) -> None:
        sent, window = reduced.event.request_tokens, error.window
        tokens = error.tokens or (sent if window is None else max(sent, int(window * _TOO_LONG)))
        # A vendor that reserves room for the answer refuses requests that are shorter than its
        # window.
        most = min(window or tokens, int(tokens * _TAKEN_SHARE))
        self._keep_to(self._ratio(tokens, reduced), window=max(1, most))

    def _keep_to(self, ratio: float, *, window: int | None = None) -> None:
        setup, progress = self._setup, self._progress
        progress.state = progress.state.with_vendor(
            setup.model.name,
            ratio=ratio,
            window=window,
            configured=setup.reducer.config.context_window_size,
        )

    def _ratio(self, tokens: int, reduced: ReducedHistory[Message]) -> float:
        estimated = self._estimated(reduced)
        return token_ratio(reported=tokens, estimated=estimated, ceiling=reduced.event.ceiling)

    def _estimated(self, reduced: ReducedHistory[Message]) -> int:
        fixed = self._setup.fixed
        return reduced.event.reduced_tokens + fixed.instructions + fixed.tools

    async def _ask(self, history: History, reduced: ReducedHistory[Message]) -> None:
        progress, setup = self._progress, self._setup
        # The reduction that the view was made with.
        active, status = reduced.state, reduced.event.status
        if status != "performed":
            active = None if status == "skipped" else reduced.verdict.state
        basis = Basis(
            model=setup.model.name,
            instructions=setup.instructions,
            history=history,
            reduction=active,
        )
        # A caller's own reducer makes another view each time, so that no vendor holds it.
        is_held = progress.state.service_thread_id and setup.own_reducer is None
        missing = basis.missing(progress.state) if is_held else ()
        try:
            await self._send(basis, reduced, missing)
        except ServiceThreadLostError:
            if not missing:
                raise
            progress.state = progress.state.with_service(None)
            await self._send(basis, reduced, ())

    async def _send(
        self, basis: Basis, reduced: ReducedHistory[Message], missing: tuple[Message, ...]
    ) -> None:
        """Send the messages that the vendor is *missing*; if there are none, the whole view."""
        setup, progress, history = self._setup, self._progress, basis.history
        iteration, tokens = progress.state.iteration, reduced.event.request_tokens
        view = (*setup.fixed.front.messages, *reduced.messages)
        messages = missing or view
        if self._note is not None:
            messages = self._noted(messages, self._note)
        if missing:
            tokens = history.tokens(progress.state.service_watermark)
        event = RequestSentEvent(
            iteration=iteration,
            model=setup.model.name,
            message_count=len(messages),
            tokens=tokens,
            is_delta=bool(missing),
        )
        sent = compared(setup, progress, basis, view, event)
        progress.emit(sent.event)
        held = progress.state.service_thread_id if missing else None
        request = structs.replace(
            setup.fixed.front,
            messages=messages,
            service_thread_id=held,
            previous_id=sent.before.response_id if sent.before.model == event.model else None,
        )
        response = await ask_model(
            setup,
            request,
            progress.emit,
            iteration=iteration,
            streams=self._streams,
            reduction=None if reduced.verdict.reason is Reason.DISABLED else reduced.event,
        )
        if self.response is not None:
            self.void.append(self.response.usage)
        self.response = response
        cut, usage = None, response.usage
        if usage is not None and usage.input_tokens:
            cut = self._counted(request, usage, reduced, sent, history)
        if response.service_thread_id or progress.state.service_thread_id:
            progress.state = basis.state_after(progress.state, response)
        self.missed_tokens = sent.answered(setup, progress, response)
        if cut is not None:
            raise cut

    def _counted(
        self,
        request: ChatRequest,
        usage: Usage,
        reduced: ReducedHistory[Message],
        sent: Comparison,
        history: History,
    ) -> ContextOverflowError | None:
        """Learn from what the vendor has counted; return what it should have said if it has cut *request*."""
        event, before, estimated = sent.event, sent.before, self._estimated(reduced)
        window = cut_window(
            request,
            usage,
            model=event.model,
            counter=history.counter,
            estimated=estimated,
            taken=before.counted if before.model == event.model else 0,
            fresh=event.fresh_tokens * estimated // max(event.tokens, 1),
        )
        if window is None or event.is_delta:
            self._keep_to(self._ratio(usage.input_tokens, reduced))
            return None
        said = event.model, usage.input_tokens, event.tokens, window
        log().warning(CUT, *said, "context_window_size")
        told = PromptCutEvent(
            iteration=event.iteration,
            model=event.model,
            tokens=event.tokens,
            read_tokens=usage.input_tokens,
            window=window,
        )
        self._progress.emit(told)
        cut = ContextOverflowError(model=event.model, window=window, tokens=event.tokens)
        self._learn(cut, reduced)
        return cut


def _fold_of(reduced: ReducedHistory[Message]) -> ReductionMetadata | None:
    state, event = reduced.state, reduced.event
    if state is None or event.status != "performed":
        return None
    return ReductionMetadata(state=state, event=event)
