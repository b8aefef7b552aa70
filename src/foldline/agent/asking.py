"""Asking the model once: reduce, send, and fold harder where the vendor finds it too long."""

from functools import partial

from foldline.agent.background import FoldKey
from foldline.agent.events import RequestSentEvent
from foldline.agent.model_call import ask_model
from foldline.agent.progress import Progress
from foldline.agent.reducer import ReducedHistory
from foldline.agent.result import ReductionMetadata
from foldline.agent.service import Held, held_by, state_behind
from foldline.agent.setup import TurnSetup
from foldline.errors import (
    ConfigError,
    ContextOverflowError,
    ServiceThreadLostError,
    ThreadConflictError,
)
from foldline.history.history import History
from foldline.history.messages import Message
from foldline.providers.model import ChatRequest, ChatResponse
from foldline.reduction.run_config import AgentRunConfig
from foldline.reduction.state import HistoryReductionState
from foldline.reduction.view import view_of, view_tokens
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.read_only import ThreadWindow


__all__ = ["Asking"]


_FOLD_NOW = AgentRunConfig(
    trigger_history_reduction=True, history_reduction_behavior_override="continue"
)
# Of a window that is not told with the refusal, so much is taken to be free.
_TAKEN_SHARE = 0.9


class Asking:
    """
    One model call with all that belongs to it.

    Once `run` has ended, either `response` is there, or a fold has ended the turn.
    """

    def __init__(
        self,
        setup: TurnSetup,
        progress: Progress,
        *,
        overrides: AgentRunConfig | None,
        streams: bool,
    ) -> None:
        """
        Ask the model of *setup*, from where *progress* stands.

        Args:
            setup: What the turns of the agent have in common.
            progress: How far the turn has come.
            overrides: What this call changes.
            streams: Whether the model is asked to say what it says as it goes.
        """
        self._setup = setup
        self._progress = progress
        self._overrides = overrides
        self._streams = streams
        self.response: ChatResponse | None = None
        """What the model said; None where the turn has ended before it was asked."""
        self.reduction: ReductionMetadata | None = None
        """The newest fold that was made on the way."""

    @property
    def _may_fold(self) -> bool:
        skips = self._overrides is not None and self._overrides.skip_history_reduction
        return self._setup.reducer.config.enabled and not skips

    async def run(self) -> None:
        """
        Go on until the model has answered, or a fold has ended the turn.

        Raises:
            ContextOverflowError: The vendor finds the request too long, and it cannot be made
                shorter.
            ModelError: The model failed.
        """
        harder, refusal = False, None
        for left in range(self._setup.options.max_overflow_folds, -1, -1):
            window = await self._window(waits=harder or self._is_forced)
            reduced = await (self._harder(window) if harder else self._reduced(window))
            if reduced.event is not None:
                self._progress.tell(reduced.event)
            if refusal is not None and not _performed(reduced):
                raise refusal
            await self._keep(reduced)
            if not self._progress.state.is_open:
                return
            # A fold beside the turn may have read what somebody else has said.
            self._progress.check()
            if left and self._should_shrink(reduced, was_tried=harder):
                harder = True
                continue
            try:
                await self._ask(window.history, reduced)
            except ContextOverflowError as error:
                if not left or not self._may_fold:
                    raise
                harder, refusal = True, error
                self._learn(error, reduced)
            else:
                return

    @property
    def _is_forced(self) -> bool:
        return self._overrides is not None and self._overrides.trigger_history_reduction

    async def _window(self, *, waits: bool = False) -> ThreadWindow:
        """
        Return what the call needs, and tell of a fold that was made beside the turns and is in it.

        Where it *waits*, it is read behind the fold that is under way.
        """
        reducer, thread, ahead = self._setup.reducer, self._progress.thread, self._setup.ahead
        if ahead is not None and waits and ahead.is_under_way(self._flight):
            await ahead.wait(self._flight)
            # It may have been stored through another object of the thread.
            await thread.refresh()
        window = await thread.window(
            config_fingerprint=reducer.config_fingerprint,
            counting_unit=reducer.config.counting_unit,
            whole=not self._may_fold,
        )
        landed = None if ahead is None else ahead.landed(self._flight, window.reduction)
        if landed is not None:
            self._progress.tell(landed.event)
            if landed.event.status == "performed":
                self.reduction = landed
        return window

    async def _reduced(self, window: ThreadWindow) -> ReducedHistory[Message]:
        reducer, overrides = self._setup.reducer, self._overrides
        if not reducer.config.enabled:
            # A reducer gives back what it is given then; a request has to be valid all the same.
            return ReducedHistory(
                messages=view_of(window.history),
                state=None,
                event=None,
                verdict=reducer.plan(window.history),
            )
        ahead = self._setup.ahead
        if ahead is not None and not self._is_forced:
            held = reducer.without_folding(
                window.history, state=window.reduction, overrides=overrides
            )
            verdict, limits = held.verdict, reducer.config.limits
            if verdict.kind == "fold" and verdict.units <= limits.ceiling + limits.threshold:
                epoch = self._progress.thread.head.epoch
                ahead.start(self._flight, partial(self._fold_behind, window, epoch))
                return held
            if not verdict.folds:
                return held
            if ahead.is_under_way(self._flight):
                # So much has gathered that the turn waits for it after all.
                window = await self._window(waits=True)
        return await reducer.reduce(window.history, state=window.reduction, overrides=overrides)

    async def _harder(self, window: ThreadWindow) -> ReducedHistory[Message]:
        """Fold down to half of what stands behind the cut."""
        reducer = self._setup.reducer
        units = reducer.plan(window.history, state=window.reduction).units
        return await reducer.with_target(max(1, units // 2)).reduce(
            window.history, state=window.reduction, overrides=_FOLD_NOW
        )

    @property
    def _flight(self) -> FoldKey:
        thread = self._progress.thread
        return thread.storage, thread.tenant, thread.id, self._setup.reducer.config_fingerprint

    async def _fold_behind(self, window: ThreadWindow, epoch: bytes) -> ReductionMetadata | None:
        reducer, thread = self._setup.reducer, self._progress.thread
        reduced = await reducer.reduce(window.history, state=window.reduction)
        state, event = reduced.state, reduced.event
        if state is None or event is None or not _changed(reduced):
            return None
        if not await self._is_stored(window.reduction):
            # Somebody has taken back what it goes on from.
            return None
        try:
            archive = self._archives and _performed(reduced)
            await thread.save_reduction(state, archive=archive, epoch=epoch)
        except ThreadConflictError:
            # Somebody else has folded, or the thread was rewound since the fold began.
            return None
        return ReductionMetadata(state=state, event=event)

    async def _is_stored(self, ground: HistoryReductionState | None) -> bool:
        """Whether the thread still has *ground*, of which a fold started."""
        if ground is None:
            return True
        stored = await self._progress.thread.reductions()
        return any(ground.is_noted_on(one) for one in stored)

    @property
    def _archives(self) -> bool:
        return self._setup.reducer.config.retention == "reduced"

    async def _keep(self, reduced: ReducedHistory[Message]) -> None:
        """Store what a fold has made; where it ends the turn, in the commit that ends it."""
        state, event = reduced.state, reduced.event
        if state is None or event is None or not _changed(reduced):
            return
        archive = self._archives and _performed(reduced)
        if _performed(reduced):
            self.reduction = ReductionMetadata(state=state, event=event)
        reason = reduced.termination_reason
        try:
            if reason is None:
                await self._progress.commit(reduction=state, archive=archive)
            else:
                await self._progress.end(reason, reduction=state, archive=archive)
        except ConfigError:
            if not state.goes_back_from(self._progress.thread.last_reduction):
                raise
            # Somebody else has folded further in the meantime: theirs stands.
            if reason is not None:
                await self._progress.end(reason)

    def _should_shrink(self, reduced: ReducedHistory[Message], *, was_tried: bool) -> bool:
        """
        Whether the vendor would refuse the view, by what its earlier refusals have taught.

        Where a fold was tried for that and could not be made, the vendor is asked all the same.
        """
        state, event = self._progress.state, reduced.event
        window = state.context_window
        if window is None or state.context_window_model != self._setup.model.name:
            return False
        if event is None or not self._may_fold or (was_tried and not _performed(reduced)):
            return False
        return event.reduced_tokens > window

    def _learn(self, error: ContextOverflowError, reduced: ReducedHistory[Message]) -> None:
        sent = 0 if reduced.event is None else reduced.event.reduced_tokens
        share = _TAKEN_SHARE
        if error.window and error.tokens:
            # Our estimate and the vendor's count differ; what is learned is in ours. A vendor that
            # keeps room for the answer refuses what is shorter than its window.
            share = min(share, error.window / error.tokens)
        window = sent * share
        self._progress.state = self._progress.state.with_context_window(
            max(1, int(window)), model=self._setup.model.name
        )

    async def _ask(self, history: History, reduced: ReducedHistory[Message]) -> None:
        held = self._held(history, reduced)
        try:
            await self._send(history, reduced, held)
        except ServiceThreadLostError:
            if held.service_thread_id is None:
                raise
            self._progress.state = self._progress.state.with_service(None)
            await self._send(history, reduced, self._held(history, reduced))

    def _held(self, history: History, reduced: ReducedHistory[Message]) -> Held:
        return held_by(
            self._progress.state,
            history,
            reduced.messages,
            model=self._setup.model.name,
            reduction=_in_force(reduced),
            instructions=self._setup.instructions,
        )

    async def _send(self, history: History, reduced: ReducedHistory[Message], held: Held) -> None:
        setup, progress = self._setup, self._progress
        is_delta = held.service_thread_id is not None
        messages = held.messages
        if setup.instructions and not is_delta:
            messages = (Message.system(setup.instructions), *messages)
        iteration = progress.state.iteration
        sent = RequestSentEvent(
            iteration=iteration,
            model=setup.model.name,
            message_count=len(messages),
            tokens=self._tokens(history, reduced, is_delta=is_delta),
            is_delta=is_delta,
        )
        progress.tell(sent)
        request = ChatRequest(
            messages=messages,
            tools=setup.definitions,
            service_thread_id=held.service_thread_id,
            settings=setup.options.settings,
        )
        self.response = await ask_model(
            setup.model,
            request,
            progress.tell,
            iteration=iteration,
            streams=self._streams,
            observer=setup.observer,
            reduction=reduced.event,
        )
        progress.state = self._held_behind(history, reduced, self.response)

    def _tokens(self, history: History, reduced: ReducedHistory[Message], *, is_delta: bool) -> int:
        if is_delta:
            return history.tokens(self._progress.state.service_watermark)
        return self._setup.instruction_tokens + view_tokens(history, _in_force(reduced))

    def _held_behind(
        self, history: History, reduced: ReducedHistory[Message], response: ChatResponse
    ) -> AgentLoopState:
        return state_behind(
            self._progress.state,
            history,
            response.messages,
            service_thread_id=response.service_thread_id,
            model=self._setup.model.name,
            reduction=_in_force(reduced),
            instructions=self._setup.instructions,
        )


def _changed(reduced: ReducedHistory[Message]) -> bool:
    return reduced.event is not None and reduced.event.is_attempt


def _performed(reduced: ReducedHistory[Message]) -> bool:
    return reduced.event is not None and reduced.event.status == "performed"


def _in_force(reduced: ReducedHistory[Message]) -> HistoryReductionState | None:
    """Return the reduction that the view was made with."""
    if reduced.event is None or reduced.event.status == "skipped":
        return None
    return reduced.state if _performed(reduced) else reduced.verdict.state
