"""The tool calls of one response: run, stored as each finishes, answered in their order."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import zip_longest
from time import perf_counter

from msgspec import Struct, structs

from foldline.agent.event_stream import ended
from foldline.agent.events import ToolResultEvent, ToolStartedEvent
from foldline.agent.progress import Progress, TurnSetup
from foldline.agent.recall import page_of
from foldline.agent.tools import Tool, ToolAnswer, ToolContext, run_tool, unknown_tool
from foldline.errors import ThreadConflictError, ToolDecisionError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import INTERRUPTED, ToolRun, answer_of, idempotency_key


class _Job(Struct):
    call: ToolCallPart
    run: ToolRun
    tool: Tool | None
    is_stored: bool
    attempt: int = 1
    answer: ToolAnswer | None = None

    @property
    def finished(self) -> ToolRun:
        """The run with its answer."""
        assert self.answer is not None
        return structs.replace(self.run, result=self.answer.content, is_error=self.answer.is_error)


class ToolBatch:
    """Runs the calls of one response; `answers` is complete after `run`."""

    def __init__(self, setup: TurnSetup, progress: Progress, calls: Sequence[ToolCallPart]) -> None:
        """Take *calls*, which have no answers yet, from where the store says they are."""
        self._setup = setup
        self._progress = progress
        self._parallel = setup.options.parallel_tool_calls
        pending = {run.call_id: run for run in progress.thread.pending_tools}
        self._jobs = [
            self._job(call, pending.get(call.id), place) for place, call in enumerate(calls)
        ]
        undecided = [
            job.call.id
            for job in self._jobs
            if job.is_stored and job.run.policy == "manual" and job.run.result is None
        ]
        if undecided:
            raise ToolDecisionError(thread_id=progress.thread.id, call_ids=undecided)
        for job in self._jobs:
            job.answer = self._settled(job)

    def _job(self, call: ToolCallPart, found: ToolRun | None, place: int) -> _Job:
        tool, state = self._setup.tools.get(call.name), self._progress.state
        if found is not None:
            return _Job(call, found, tool, is_stored=True, attempt=2)
        # The iteration is part of the key: a vendor may number the calls of each response from one.
        run_id = f"{state.run_id}:{state.iteration}"
        run = ToolRun(
            call_id=call.id,
            name=call.name,
            policy="at_most_once" if tool is None else tool.policy,
            key=idempotency_key(thread_id=self._progress.thread.id, run_id=run_id, call=call),
            iteration=state.iteration,
            place=place,
        )
        return _Job(call, run, tool, is_stored=False)

    def _settled(self, job: _Job) -> ToolAnswer | None:
        """Return the answer of a call that need not run: stored, interrupted or unknown."""
        if job.run.result is not None:
            return ToolAnswer(content=job.run.result, is_error=job.run.is_error)
        # A tool that has begun and that a deploy has removed since may have taken effect.
        if job.is_stored and (job.tool is None or job.run.policy == "at_most_once"):
            return ToolAnswer(content=INTERRUPTED, is_error=True)
        if job.tool is None:
            return unknown_tool(job.call.name, tuple(self._setup.tools))
        return None

    @property
    def _waiting(self) -> list[_Job]:
        return [job for job in self._jobs if job.answer is None]

    def intents(self) -> list[ToolRun]:
        """Return the intents to commit before `run`."""
        first = self._waiting if self._parallel else self._waiting[:1]
        intents = [job.run for job in first if not job.is_stored]
        for job in first:
            job.is_stored = True
        return intents

    @property
    def answers(self) -> list[Message]:
        """The answers as messages, in the order of the calls."""
        now = self._progress.thread.now()
        return [answer_of(job.finished, now) for job in self._jobs]

    def next_state(self) -> AgentLoopState:
        """Return the state of the next iteration."""
        state = self._progress.state
        has_failed = all(job.finished.is_error for job in self._jobs)
        state = state.with_failure() if has_failed else state.with_success()
        return state.with_completed(job.call.name for job in self._jobs).next_iteration()

    async def run(self) -> None:
        """Run the calls that have to run; if cancelled, cancel them and wait for their end."""
        waiting = self._waiting
        for job in self._jobs:
            if job.answer is not None:
                self._emit_result(job, job.answer, is_stored=job.run.result is not None)
        if self._parallel and len(waiting) > 1:
            await self._run_at_once(waiting)
            return
        for job, following in zip_longest(waiting, waiting[1:]):
            await self._run(job)
            if following is not None:
                # One commit for the result of this call and the intent of the next.
                intents = [] if following.is_stored else [following.run]
                await self._save(job, *intents)

    async def _run_at_once(self, jobs: Sequence[_Job]) -> None:
        tasks = [asyncio.create_task(self._run_and_save(job)) for job in jobs]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await ended([*tasks])
        for task in tasks:
            if not task.cancelled():
                # Raise what it has raised.
                task.result()

    async def _run_and_save(self, job: _Job) -> None:
        await self._run(job)
        if self._waiting:
            # The last result is stored with the answers, in one commit.
            await self._save(job)

    async def _save(self, job: _Job, *intents: ToolRun) -> None:
        await self._progress.commit(Change(tools=[job.finished, *intents]))
        pending = len(self._progress.thread.pending_tools)
        self._progress.emit_checkpoint("pending_saved", pending=pending)

    async def keep(self, conflict: ThreadConflictError) -> None:
        """Store what is not stored, after the message of another writer; or raise *conflict*."""

        def _decide(thread: ConversationThread) -> Change:
            state, pending = thread.execution_state, thread.pending_tools
            ran = [job for job in self._jobs if job.answer is not None and job.run in pending]
            runs = [job.finished for job in ran if not job.run.is_finished]
            # Another writer that continues this very run settles the calls itself.
            if state is None or len(state.current_messages) == thread.count or not runs:
                raise conflict
            return Change(tools=runs, expected=thread.head.revision)

        await self._progress.thread.refresh()
        await self._progress.thread.retry(_decide)

    async def _run(self, job: _Job) -> None:
        assert job.tool is not None
        progress = self._progress
        iteration, started = progress.state.iteration, perf_counter()
        begun = ToolStartedEvent(
            iteration=iteration, call_id=job.call.id, name=job.call.name, key=job.run.key
        )
        progress.emit(begun)
        context = ToolContext(
            call_id=job.call.id,
            name=job.call.name,
            idempotency_key=job.run.key,
            thread_id=progress.thread.id,
            tenant=progress.thread.tenant,
            run_id=progress.state.run_id,
            iteration=iteration,
            attempt=job.attempt,
            thread=progress.thread,
            page_tokens=page_of(self._setup.budget(progress.state)),
        )
        observer = self._setup.observer
        with nullcontext() if observer is None else observer.tool(job.tool, job.call) as answered:
            answer = await run_tool(job.tool, job.call.arguments, context)
            if answered is not None:
                answered(answer)
        job.answer = answer
        self._emit_result(job, answer, duration=perf_counter() - started)

    def _emit_result(
        self, job: _Job, answer: ToolAnswer, *, is_stored: bool = False, duration: float = 0.0
    ) -> None:
        event = ToolResultEvent(
            iteration=self._progress.state.iteration,
            call_id=job.call.id,
            name=job.call.name,
            result=answer.content,
            is_error=answer.is_error,
            is_stored=is_stored,
            duration=duration,
        )
        self._progress.emit(event)
