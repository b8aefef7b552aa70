"""
One turn: from the input to the final answer.

Everything it does is committed before it is acted on, so that a crash at any instant leaves a thread
that a turn without input can resume.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from os import urandom
from time import perf_counter

from msgspec import structs

from foldline.agent.asking import Asking
from foldline.agent.config import AgentOptions
from foldline.agent.events import (
    AgentEvent,
    Decision,
    DecisionEvent,
    IterationFinishedEvent,
    IterationStartedEvent,
    RepeatBreakerEvent,
    RequestSentEvent,
    RunCompletedEvent,
    TextDeltaEvent,
    ToolCallEndEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.agent.hold import Hold
from foldline.agent.progress import Progress, TurnSetup
from foldline.agent.result import ReductionMetadata, TurnResult, signed
from foldline.agent.service import begun
from foldline.agent.telemetry import Observation
from foldline.agent.tool_batch import ToolBatch
from foldline.agent.tools import call_signature
from foldline.errors import ContextOverflowError, StoreError, ThreadConflictError, UsageError
from foldline.history.messages import PARTIAL_KEY, Message, Usage, total_usage
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatResponse
from foldline.reduction.config import AgentRunConfig
from foldline.threads.change import Change
from foldline.threads.loop_state import COMPLETED, STOPPED, AgentLoopState
from foldline.threads.start import run_start
from foldline.threads.thread import ConversationThread
from foldline.threads.turns import TurnRecord


class Turn:
    """One turn on one thread."""

    def __init__(
        self,
        setup: TurnSetup,
        thread: ConversationThread,
        given: Sequence[Message],
        *,
        overrides: AgentRunConfig | None,
        listen: Callable[[AgentEvent], None] | None = None,
        turn: TurnRecord | None = None,
    ) -> None:
        """With *listen*, which receives every event as it happens, the model is asked to stream."""
        self.waited = 0.0
        """How many seconds it has waited for turns of others."""
        self.keeps_partial = True
        """Whether what was streamed of an answer ends a turn that is cancelled."""
        self.on_begun: Callable[[], None] | None = None
        """What is called when the first of it is stored."""
        self._setup = setup
        self._thread = thread
        self._given = given
        self._overrides = overrides
        self._listen = listen
        self._observe: Callable[[AgentEvent], None] | None = None
        self._started = perf_counter()
        self._events: list[AgentEvent] = []
        self._usages: list[Usage | None] = []
        self._reduction: ReductionMetadata | None = None
        self._said: list[str] = []
        run_id = urandom(16).hex()
        # Who resumes takes over the id of the run, and not this one.
        self._hold = Hold(thread, run_id[:16])
        state = begun(thread, run_id=run_id, agent=setup.agent)
        rule = setup.reducer.fold_rule(setup.budget(state))
        self._at = Progress(thread, state, self._emit, hold=self._hold, rule=rule)
        self._at.turn = turn
        turn_id = self._hold.outer_turn_id if turn is None else turn.id
        if turn_id:
            self._at.state = structs.replace(state, turn_id=turn_id)

    async def run(self) -> TurnResult:
        """Run the turn to its end; see `Agent.run`."""
        setup, thread, at = self._setup, self._thread, self._at
        observed: Observation[AgentEvent] | nullcontext[None] = nullcontext()
        if setup.observer is not None:
            named = setup.model.name
            observed = setup.observer.turn(agent=setup.agent, model=named, thread_id=thread.id)
        with observed as self._observe, thread.turn():
            async with self._hold:
                await self._run()
            reason, usage = at.state.termination_reason or "", total_usage(self._usages)
            finished = TurnFinishedEvent(
                termination_reason=reason, iterations=len(self._usages), message_count=thread.count
            )
            self._emit(finished)
            duration = perf_counter() - self._started
            self._emit(RunCompletedEvent(run_id=at.state.run_id, usage=usage, duration=duration))
        return TurnResult(
            thread=thread,
            messages=tuple(at.messages),
            termination_reason=reason,
            iterations=len(self._usages),
            usage=usage,
            reduction=self._reduction,
            events=tuple(self._events),
        )

    async def _run(self) -> None:
        try:
            await self._begin()
            while self._at.state.is_open:
                await self._iterate()
        except asyncio.CancelledError:
            await self._keep_partial()
            raise

    async def _keep_partial(self) -> None:
        """End the turn with what a reader has seen of an answer that is not stored, if anything."""
        text = "".join(self._said)
        if text and self.keeps_partial and self._at.is_current and self._at.state.is_open:
            said = structs.replace(Message.assistant(text), metadata={PARTIAL_KEY: True})
            answer = signed(said, self._thread.now(), agent=self._setup.agent)
            # Its vendor has not said the rest of it.
            self._at.state = self._at.state.with_service(None)
            with suppress(StoreError, UsageError):
                await self._at.end(STOPPED, Change(messages=[answer]))

    def _emit(self, event: AgentEvent) -> None:
        self._events.append(event)
        if isinstance(event, TextDeltaEvent):
            self._said.append(event.text)
        elif isinstance(event, RequestSentEvent):
            # What an answer to the request before it has said is void.
            self._said.clear()
        if self._listen is not None:
            self._listen(event)
        if self._observe is not None:
            self._observe(event)

    async def _begin(self) -> None:
        thread, stored, at = self._thread, self._thread.execution_state, self._at
        start = run_start(thread.id, stored, count=thread.count, has_input=bool(self._given))
        resumed = stored if start == "resume" else None
        if resumed is not None:
            at.messages = await thread.get_messages(last=thread.count - resumed.turn_start)
            # The vendor may have an answer that was never stored, so it gets everything again.
            at.state = resumed.with_service(None)
        turn_id = self._hold.outer_turn_id if resumed is None else resumed.turn_id
        if turn_id and (at.turn is None or resumed is not None):
            at.turn = await thread.stored_turn(turn_id)
        # The one who resumes takes the lease: the next commit of the worker before is refused.
        given = list(map(partial(signed, now=thread.now()), self._given))
        await at.commit(Change(messages=given, execution=at.state, source="input"))
        if self.on_begun is not None:
            self.on_begun()
        started = TurnStartedEvent(
            agent=self._setup.agent,
            thread_id=thread.id,
            run_id=at.state.run_id,
            start=start,
            message_count=thread.count,
            waited=self.waited,
        )
        self._emit(started)
        at.emit_checkpoint("saved" if resumed is None else "restored")
        if resumed is not None:
            await self._answer_pending()

    async def _answer_pending(self) -> None:
        calls = _unanswered(self._at.messages)
        pending = len(self._thread.pending_tools)
        if not calls:
            return
        if pending:
            self._at.emit_checkpoint("pending_loaded", pending=pending)
        batch = ToolBatch(self._setup, self._at, calls)
        intents = batch.intents()
        if intents:
            await self._at.commit(Change(tools=intents))
        await self._run_tools(batch)

    async def _iterate(self) -> None:
        state = self._at.state
        self._emit(IterationStartedEvent(iteration=state.iteration, state=state))
        elapsed = perf_counter() - self._started
        reason = termination(state, self._setup.options, elapsed=elapsed)
        if reason is not None:
            self._decide("terminate", reason)
            await self._at.end(reason, Change())
            return
        self._decide("call_model")
        overrides = self._overrides
        if overrides is not None:
            # A fold is forced once, before the first call.
            self._overrides = structs.replace(overrides, trigger_history_reduction=False)
        streams = self._listen is not None
        asking = Asking(self._setup, self._at, overrides=overrides, streams=streams)
        try:
            await asking.run()
        except ContextOverflowError:
            if asking.response is None:
                raise
        self._reduction = asking.reduction or self._reduction
        if asking.response is None:
            # A fold has ended the turn, in the commit that stored it.
            self._decide("terminate", self._at.state.termination_reason)
            return
        await self._answered(asking.response, asking.missed_tokens)
        if asking.void:
            self._usages[-1] = total_usage((self._usages[-1], *asking.void))

    async def _answered(self, response: ChatResponse, missed_tokens: int) -> None:
        iteration = self._at.state.iteration
        # From here on the commit keeps what was said.
        self._said.clear()
        sign = partial(signed, now=self._thread.now(), agent=self._setup.agent)
        said = list(map(sign, response.messages))
        calls: list[ToolCallPart] = []
        for message in said:
            calls += message.tool_calls
        for index, call in enumerate(calls):
            event = ToolCallEndEvent(
                iteration=iteration,
                index=index,
                call_id=call.id,
                name=call.name,
                arguments=call.arguments,
            )
            self._emit(event)
        self._usages.append(response.usage)
        self._at.state = structs.replace(self._at.state, last_assistant_message_id=response.id)
        if calls:
            await self._act(said, calls)
        else:
            # An answer that was cut off or filtered is stored too, but the turn is not complete.
            is_whole = response.finish_reason in {"stop", "tool_call"}
            reason = None if is_whole else f"The model stopped early: {response.finish_reason}"
            await self._at.end(reason or COMPLETED, Change(messages=said))
            self._decide("complete" if is_whole else "terminate", reason)
        finished = IterationFinishedEvent(
            iteration=iteration,
            finish_reason=response.finish_reason,
            usage=response.usage,
            missed_tokens=missed_tokens,
            cache_miss=response.cache_miss,
            model=response.model,
            response_id=response.id,
        )
        self._emit(finished)

    def _decide(self, decision: Decision, reason: str | None = None) -> None:
        iteration = self._at.state.iteration
        self._emit(DecisionEvent(iteration=iteration, decision=decision, reason=reason))

    async def _act(self, said: Sequence[Message], calls: Sequence[ToolCallPart]) -> None:
        options = self._setup.options
        state, repeat = called(self._at.state, calls, options)
        unknown = sorted({call.name for call in calls}.difference(self._setup.tools))
        reason = None
        if unknown and options.terminate_on_unknown_tools:
            reason = f"Unknown tools requested: {', '.join(unknown)}"
        if repeat is not None:
            reason = repeat.text
            self._emit(repeat)
        if reason is not None:
            self._decide("terminate", reason)
            text = f"Not run. {reason}"
            refused = (Message.tool(call.id, text, name=call.name) for call in calls)
            sign = partial(signed, now=self._thread.now())
            shown = sign(Message.assistant(reason), agent=self._setup.agent)
            await self._at.end(reason, Change(messages=[*said, *map(sign, refused), shown]))
            return
        self._at.state = state
        batch = ToolBatch(self._setup, self._at, calls)
        await self._at.commit(Change(messages=said, execution=state, tools=batch.intents()))
        self._at.emit_checkpoint("saved", pending=len(self._thread.pending_tools))
        await self._run_tools(batch)

    async def _run_tools(self, batch: ToolBatch) -> None:
        try:
            await batch.run()
            pending = len(self._thread.pending_tools)
            change = Change(messages=batch.answers, execution=batch.next_state())
            await self._at.commit(change)
        except ThreadConflictError as conflict:
            with suppress(StoreError, UsageError):
                await batch.keep(conflict)
            raise
        self._at.emit_checkpoint("saved")
        if pending:
            self._at.emit_checkpoint("pending_deleted", pending=pending)


def _unanswered(messages: Sequence[Message]) -> list[ToolCallPart]:
    """Return the calls of the last response that none of *messages* answers."""
    answered: set[str] = set()
    calls: list[ToolCallPart] = []
    for message in reversed(messages):
        if message.role == "assistant":
            calls = [*message.tool_calls, *calls]
        elif calls or message.role != "tool":
            # Earlier messages answer other calls, perhaps with the same ids.
            break
        answered.update(answer.id for answer in message.tool_call_responses)
    return [call for call in calls if call.id not in answered]


def termination(state: AgentLoopState, options: AgentOptions, *, elapsed: float) -> str | None:
    """Return why there is no further model call after *elapsed* seconds; None if there is one."""
    if state.is_terminated:
        return state.termination_reason or "Terminated"
    if state.consecutive_failures >= options.max_consecutive_failures:
        return f"Maximum consecutive failures ({options.max_consecutive_failures}) exceeded"
    if state.iteration >= options.max_iterations:
        return f"Maximum iterations ({options.max_iterations}) reached"
    if options.max_duration is not None and elapsed >= options.max_duration:
        return f"Maximum duration ({options.max_duration:g} s) reached"
    return None


def called(
    state: AgentLoopState, calls: Sequence[ToolCallPart], options: AgentOptions
) -> tuple[AgentLoopState, RepeatBreakerEvent | None]:
    """Return *state* after *calls*, or after the first that is one repetition too many, with its event."""
    for call in calls:
        state = state.with_tool_call(call.name, call_signature(call.arguments))
        count = state.repeat_counts[call.name]
        if count >= options.max_identical_calls:
            text = (
                f"Circuit breaker triggered: Function '{call.name}' with same arguments would be "
                f"called {count} times consecutively. Stopping to prevent infinite loop."
            )
            return state, RepeatBreakerEvent(
                iteration=state.iteration, name=call.name, count=count, text=text
            )
    return state, None
