"""
One turn: from the input to the final answer, an event at a time.

Theory of operation
-------------------

Everything that a turn does is committed before anybody acts on it. The input is stored before the
model is asked; what the model said, together with the intents of the tools it wants, before a tool
runs; each result as soon as it is there; and the answers together with the next iteration. So a
crash at any instant leaves a thread from which the turn goes on where it stood, and a turn without
input is just that: it takes up what is stored.

Before each model call the history is reduced. A new reduction is committed before the model is
asked, and what the vendor refuses as too long is folded harder and sent again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from time import perf_counter

from msgspec import structs

from foldline.agent.asking import Asking
from foldline.agent.decision import Repeat, repeated_call, termination, unknown_tools
from foldline.agent.events import (
    AgentEvent,
    Decision,
    DecisionEvent,
    IterationFinishedEvent,
    IterationStartedEvent,
    RepeatBreakerEvent,
    RunCompletedEvent,
    ToolCallEndEvent,
    TurnFinishedEvent,
    TurnStartedEvent,
)
from foldline.agent.model_call import with_own_ids
from foldline.agent.progress import Progress
from foldline.agent.result import AGENT_KEY, ReductionMetadata, TurnResult
from foldline.agent.service import begun
from foldline.agent.setup import TurnSetup
from foldline.agent.tool_batch import ToolBatch
from foldline.agent.tools import call_signature
from foldline.errors import StoreError, ThreadConflictError, UsageError
from foldline.history.messages import Message, total_usage
from foldline.history.parts import ToolCallPart
from foldline.providers.model import ChatResponse, FinishReason
from foldline.reduction.config import AgentRunConfig
from foldline.threads.loop_state import COMPLETED
from foldline.threads.start import RunStart, run_start
from foldline.threads.thread import ConversationThread


__all__ = ["Turn"]


class Turn:
    """One turn on one thread; `result` is there once `run` has ended."""

    def __init__(
        self,
        setup: TurnSetup,
        thread: ConversationThread,
        given: Sequence[Message],
        *,
        overrides: AgentRunConfig | None,
        listen: Callable[[AgentEvent], None] | None = None,
    ) -> None:
        """
        Prepare a turn; nothing happens before it is run.

        Args:
            setup: What the turns of the agent have in common.
            thread: The thread.
            given: The input; empty to go on from what is stored.
            overrides: What this run changes.
            listen: Is given every event as it happens; the model is asked to say what it says as it
                goes then.
        """
        self._setup = setup
        self._thread = thread
        self._given = tuple(given)
        self._overrides = overrides
        self._listen = listen
        self._watch: Callable[[AgentEvent], None] | None = None
        self._started = 0.0
        self._progress: Progress | None = None
        self._events: list[AgentEvent] = []
        self._finished: list[IterationFinishedEvent] = []
        self._reduction: ReductionMetadata | None = None

    @property
    def _at(self) -> Progress:
        assert self._progress is not None
        return self._progress

    def result(self) -> TurnResult:
        """Return what came of the turn, which has ended."""
        return TurnResult(
            thread=self._thread,
            messages=tuple(self._at.messages),
            termination_reason=self._at.state.termination_reason or "",
            iterations=len(self._finished),
            usage=total_usage(event.usage for event in self._finished),
            reduction=self._reduction,
            events=tuple(self._events),
        )

    async def run(self) -> None:
        """
        Run the turn to its end.

        Raises:
            RunStartError: There is nothing to start from, or too much.
            ThreadConflictError: Somebody else goes on with the thread, or has said something.
            ToolDecisionError: A crash interrupted a tool that waits for a decision then.
            ModelError: The model failed; the turn stays open and can be resumed.
            StoreError: The store failed; what was not acknowledged is not there.
        """
        setup, thread = self._setup, self._thread
        watched = setup.observer.turn(
            agent=setup.agent, model=setup.model.name, thread_id=thread.id
        )
        with watched as self._watch, thread.turn():
            self._started = perf_counter()
            await self._begin()
            while self._at.state.is_open:
                await self._iterate()
            self._tell_end()

    def _tell(self, event: AgentEvent) -> None:
        self._events.append(event)
        if self._listen is not None:
            self._listen(event)
        if self._watch is not None:
            self._watch(event)

    def _tell_end(self) -> None:
        state = self._at.state
        finished = TurnFinishedEvent(
            termination_reason=state.termination_reason or "",
            iterations=len(self._finished),
            message_count=self._thread.count,
        )
        completed = RunCompletedEvent(
            run_id=state.run_id,
            usage=total_usage(event.usage for event in self._finished),
            duration=perf_counter() - self._started,
        )
        self._tell(finished)
        self._tell(completed)

    async def _begin(self) -> None:
        thread = self._thread
        stored = thread.execution_state
        start = run_start(thread.id, stored, count=thread.count, has_input=bool(self._given))
        if start == "resume" and stored is not None:
            said = await thread.get_messages(last=thread.count - stored.turn_start)
            # The vendor may hold an answer that nobody has stored, so it gets everything again.
            stored = stored.with_service(None)
            self._progress = Progress(thread, stored, self._tell, messages=said)
            self._tell_start(start)
            self._at.tell_checkpoint("restored")
            await self._take_up()
            return
        state = begun(thread, run_id=self._setup.new_id(), agent=self._setup.agent)
        self._progress = Progress(thread, state, self._tell)
        given = [self._dated(message) for message in self._given]
        await self._at.commit(messages=given, state=self._at.state, source="input")
        self._tell_start(start)
        self._at.tell_checkpoint("saved")

    def _tell_start(self, start: RunStart) -> None:
        event = TurnStartedEvent(
            agent=self._setup.agent,
            thread_id=self._thread.id,
            run_id=self._at.state.run_id,
            start=start,
            message_count=self._thread.count,
        )
        self._tell(event)

    async def _take_up(self) -> None:
        """Answer the calls that a crash has left without answers."""
        calls = _unanswered(self._at.messages)
        pending = len(self._thread.pending_tools)
        if not calls:
            return
        if pending:
            self._at.tell_checkpoint("pending_loaded", pending=pending)
        batch = ToolBatch(self._setup, self._at, calls)
        intents = batch.intents()
        if intents:
            await self._at.commit(tools=intents)
        await self._run_tools(batch)

    async def _iterate(self) -> None:
        state = self._at.state
        self._tell(IterationStartedEvent(iteration=state.iteration, state=state))
        elapsed = perf_counter() - self._started
        reason = termination(state, self._setup.options, elapsed=elapsed)
        if reason is not None:
            self._decide("terminate", reason)
            await self._at.end(reason)
            self._at.tell_checkpoint("saved")
            return
        self._decide("call_model")
        asking = Asking(
            self._setup, self._at, overrides=self._overrides_now(), streams=self._listen is not None
        )
        await asking.run()
        self._reduction = asking.reduction or self._reduction
        if asking.response is None:
            # A fold has ended the turn, in the commit that stored it.
            self._at.tell_checkpoint("saved")
            self._decide("terminate", self._at.state.termination_reason)
            return
        await self._answered(asking.response)

    def _overrides_now(self) -> AgentRunConfig | None:
        """Return what the run changes for this call; a fold is asked for once, before the first."""
        overrides = self._overrides
        if overrides is None or not overrides.trigger_history_reduction:
            return overrides
        self._overrides = structs.replace(overrides, trigger_history_reduction=False)
        return overrides

    async def _answered(self, response: ChatResponse) -> None:
        """Store what the model said, and do what it wants."""
        said = [
            self._signed(message)
            for message in with_own_ids(response.messages, (), self._setup.new_id)
        ]
        calls = [call for message in said for call in message.tool_calls]
        for index, call in enumerate(calls):
            self._tell_call(index, call)
        finished = IterationFinishedEvent(
            iteration=self._at.state.iteration,
            finish_reason=response.finish_reason,
            usage=response.usage,
            model=response.model,
            response_id=response.id,
        )
        self._finished.append(finished)
        state = structs.replace(self._at.state, last_assistant_message_id=response.id)
        self._at.state = state
        await (self._act(said, calls) if calls else self._complete(said, response.finish_reason))
        self._tell(finished)

    def _tell_call(self, index: int, call: ToolCallPart) -> None:
        event = ToolCallEndEvent(
            iteration=self._at.state.iteration,
            index=index,
            call_id=call.id,
            name=call.name,
            arguments=call.arguments,
        )
        self._tell(event)

    def _tell_repeat(self, repeat: Repeat) -> None:
        event = RepeatBreakerEvent(
            iteration=self._at.state.iteration,
            name=repeat.name,
            count=repeat.count,
            text=repeat.text,
        )
        self._tell(event)

    def _decide(self, decision: Decision, reason: str | None = None) -> None:
        iteration = self._at.state.iteration
        self._tell(DecisionEvent(iteration=iteration, decision=decision, reason=reason))

    async def _complete(self, said: Sequence[Message], finish_reason: FinishReason) -> None:
        # What was cut off or filtered is stored too, and does not pass for an answer.
        is_whole = finish_reason in {"stop", "tool_call"}
        reason = COMPLETED if is_whole else f"The model stopped early: {finish_reason}"
        await self._at.end(reason, messages=said)
        self._at.tell_checkpoint("saved")
        self._decide("complete" if is_whole else "terminate", None if is_whole else reason)

    async def _act(self, said: Sequence[Message], calls: Sequence[ToolCallPart]) -> None:
        options, state = self._setup.options, self._at.state
        repeat = repeated_call(state, calls, options)
        reason = unknown_tools(calls, tuple(self._setup.tools), options)
        if repeat is not None:
            reason = repeat.text
            self._tell_repeat(repeat)
        if reason is not None:
            self._decide("terminate", reason)
            await self._at.end(reason, messages=[*said, *self._refusals(calls, reason)])
            self._at.tell_checkpoint("saved")
            return
        for call in calls:
            state = state.with_tool_call(call.name, call_signature(call.arguments))
        self._at.state = state
        batch = ToolBatch(self._setup, self._at, calls)
        await self._at.commit(messages=said, state=state, tools=batch.intents())
        self._at.tell_checkpoint("saved", pending=len(self._thread.pending_tools))
        await self._run_tools(batch)

    def _refusals(self, calls: Sequence[ToolCallPart], reason: str) -> list[Message]:
        """Return answers to calls that are not run, and the text that the user sees."""
        answers = [Message.tool(call.id, f"Not run. {reason}", name=call.name) for call in calls]
        return [*map(self._dated, answers), self._signed(Message.assistant(reason))]

    async def _run_tools(self, batch: ToolBatch) -> None:
        try:
            await self._run_all(batch)
        except ThreadConflictError:
            with suppress(StoreError, UsageError):
                await batch.keep()
            raise

    async def _run_all(self, batch: ToolBatch) -> None:
        await batch.run()
        answers, state = batch.answers, self._at.state
        state = state.with_failure() if batch.has_failed else state.with_success()
        state = state.with_completed(message.name or "" for message in answers)
        pending = len(self._thread.pending_tools)
        await self._at.commit(messages=answers, state=state.next_iteration())
        self._at.tell_checkpoint("saved")
        if pending:
            self._at.tell_checkpoint("pending_deleted", pending=pending)

    def _dated(self, message: Message) -> Message:
        if message.created_at is not None:
            return message
        return structs.replace(message, created_at=self._thread.now())

    def _signed(self, message: Message) -> Message:
        """
        Return *message* with the name of the agent that says it, which is stored and never sent.
        """
        signed = {**(message.metadata or {}), AGENT_KEY: self._setup.agent}
        return self._dated(structs.replace(message, metadata=signed))


def _unanswered(messages: Sequence[Message]) -> list[ToolCallPart]:
    """Return the calls of the last response that none of *messages* answers."""
    answered: set[str] = set()
    calls: list[ToolCallPart] = []
    for message in reversed(messages):
        if message.role == "assistant":
            calls = [*message.tool_calls, *calls]
        elif calls or message.role != "tool":
            # What stands before answers other calls, maybe under the same ids.
            break
        answered.update(answer.id for answer in message.tool_call_responses)
    return [call for call in calls if call.id not in answered]
