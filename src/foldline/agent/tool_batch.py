"""
The tool calls of one response: run, stored as each finishes, answered in their order.

Before a tool runs its intent is stored, and as soon as it has run its result is. What a crash left
behind is taken up from there: a stored result is used, and a call whose intent alone is stored is
settled by the policy of its tool.
"""

import asyncio
from collections.abc import Sequence
from itertools import zip_longest
from time import perf_counter

from msgspec import Struct, structs

from foldline.agent.event_stream import ended
from foldline.agent.events import ToolResultEvent, ToolStartedEvent
from foldline.agent.progress import Progress
from foldline.agent.setup import TurnSetup
from foldline.agent.tools import Tool, ToolAnswer, ToolContext, run_tool, unknown_tool
from foldline.errors import ThreadConflictError, ToolDecisionError
from foldline.history.messages import Message
from foldline.history.parts import ToolCallPart
from foldline.threads.change import Change
from foldline.threads.tools import INTERRUPTED, ToolRun, answer_of, idempotency_key


__all__ = ["ToolBatch"]


_ATTEMPTS = 8


class _Job(Struct):
    """One call on its way to its answer."""

    call: ToolCallPart
    run: ToolRun
    tool: Tool | None
    attempt: int = 1
    is_stored: bool = False
    """Whether its intent is in the store."""


class ToolBatch:
    """Runs the calls of one response; `answers` is whole once `run` has ended."""

    def __init__(self, setup: TurnSetup, progress: Progress, calls: Sequence[ToolCallPart]) -> None:
        """
        Take up *calls*, which no message answers, where the store says that they are.

        Raises:
            ToolDecisionError: A crash interrupted a tool that waits for a decision then.
        """
        self._setup = setup
        self._progress = progress
        self._parallel = setup.options.parallel_tool_calls
        pending = {run.call_id: run for run in progress.thread.pending_tools}
        self._jobs = [
            self._job(call, pending.get(call.id), place) for place, call in enumerate(calls)
        ]
        undecided = [job.call.id for job in self._jobs if _is_undecided(job)]
        if undecided:
            raise ToolDecisionError(thread_id=progress.thread.id, call_ids=undecided)
        self._answers: dict[str, ToolAnswer] = {}
        self._settle()

    def _job(self, call: ToolCallPart, found: ToolRun | None, place: int) -> _Job:
        tool, state = self._setup.tools.get(call.name), self._progress.state
        if found is not None:
            return _Job(call, found, tool, attempt=2, is_stored=True)
        # The iteration is named too: a vendor may number the calls of each response from one.
        run_id = f"{state.run_id}:{state.iteration}"
        run = ToolRun(
            call_id=call.id,
            name=call.name,
            policy="at_most_once" if tool is None else tool.policy,
            key=idempotency_key(thread_id=self._progress.thread.id, run_id=run_id, call=call),
            iteration=state.iteration,
            place=place,
        )
        return _Job(call, run, tool)

    def _settle(self) -> None:
        """Settle the calls that need not run: the stored, the interrupted and the unknown."""
        for job in self._jobs:
            if job.run.result is not None:
                self._answers[job.call.id] = ToolAnswer(
                    content=job.run.result, is_error=job.run.is_error
                )
            elif job.is_stored and job.run.policy == "at_most_once":
                self._answers[job.call.id] = ToolAnswer(content=INTERRUPTED, is_error=True)
            elif job.tool is None:
                self._answers[job.call.id] = unknown_tool(job.call.name, tuple(self._setup.tools))

    @property
    def _waiting(self) -> list[_Job]:
        return [job for job in self._jobs if job.call.id not in self._answers]

    def intents(self) -> list[ToolRun]:
        """Return the intents to commit before `run` begins."""
        first = self._waiting if self._parallel else self._waiting[:1]
        intents = [job.run for job in first if not job.is_stored]
        for job in first:
            job.is_stored = True
        return intents

    @property
    def answers(self) -> list[Message]:
        """The answers as messages, in the order of the calls."""
        now = self._progress.thread.now()
        return [answer_of(self._finished(job), now) for job in self._jobs]

    @property
    def has_failed(self) -> bool:
        """Whether every call failed."""
        return all(answer.is_error for answer in self._answers.values())

    async def run(self) -> None:
        """
        Run what has to run; being cancelled cancels what runs, and waits for its end.

        Raises:
            StoreError: A result could not be stored.
        """
        for job in self._jobs:
            if job.call.id in self._answers:
                self._tell_result(job, is_stored=job.run.result is not None)
        waiting = self._waiting
        if self._parallel and len(waiting) > 1:
            await self._run_at_once(waiting)
        else:
            await self._run_in_turn(waiting)

    async def _run_in_turn(self, jobs: Sequence[_Job]) -> None:
        for job, following in zip_longest(jobs, jobs[1:]):
            await self._run(job)
            if following is not None:
                # One commit for what this one answered and for what the next is about to do.
                intents = [] if following.is_stored else [following.run]
                await self._save(job, *intents)

    async def _run_at_once(self, jobs: Sequence[_Job]) -> None:
        tasks = [asyncio.create_task(self._run_and_save(job)) for job in jobs]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await ended([*tasks])
        errors = [task.exception() for task in tasks if not task.cancelled()]
        for error in errors:
            if error is not None:
                raise error
        if len(errors) < len(tasks):
            # A tool has cancelled its own task: the turn ends as it does with one tool alone.
            raise asyncio.CancelledError

    async def _run_and_save(self, job: _Job) -> None:
        await self._run(job)
        if self._waiting:
            # The last result is stored with the answers, in one commit.
            await self._save(job)

    async def _save(self, job: _Job, *intents: ToolRun) -> None:
        await self._progress.commit(tools=[self._finished(job), *intents])
        pending = len(self._progress.thread.pending_tools)
        self._progress.tell_checkpoint("pending_saved", pending=pending)

    def _finished(self, job: _Job) -> ToolRun:
        answer = self._answers[job.call.id]
        return structs.replace(job.run, result=answer.content, is_error=answer.is_error)

    async def keep(self) -> None:
        """
        Store the results that are not stored, where somebody has spoken behind the run.

        It cannot go on then, but what a tool has done is known to whoever ends it. Somebody who
        goes on with the run itself settles its calls, and is left alone.

        Raises:
            ThreadConflictError: Others write all the while.
            StoreError: The store failed; nothing was written.
        """
        thread = self._progress.thread
        for attempt in range(_ATTEMPTS, 0, -1):
            await thread.refresh()
            state = thread.execution_state
            if state is None or len(state.current_messages) == thread.count:
                return
            runs = [
                self._finished(job)
                for job in self._jobs
                if job.call.id in self._answers
                and not job.run.is_finished
                and job.run in thread.pending_tools
            ]
            if not runs:
                return
            try:
                await thread.commit(Change(tools=runs))
            except ThreadConflictError:
                if attempt == 1:
                    raise
            else:
                return

    async def _run(self, job: _Job) -> None:
        assert job.tool is not None
        progress = self._progress
        iteration, started = progress.state.iteration, perf_counter()
        begun = ToolStartedEvent(
            iteration=iteration, call_id=job.call.id, name=job.call.name, key=job.run.key
        )
        progress.tell(begun)
        context = ToolContext(
            call_id=job.call.id,
            name=job.call.name,
            idempotency_key=job.run.key,
            thread_id=progress.thread.id,
            tenant=progress.thread.tenant,
            run_id=progress.state.run_id,
            iteration=iteration,
            attempt=job.attempt,
        )
        with self._setup.observer.tool(job.tool, job.call) as answered:
            answer = await run_tool(job.tool, job.call.arguments, context)
            answered(answer)
        self._answers[job.call.id] = answer
        self._tell_result(job, duration=perf_counter() - started)

    def _tell_result(self, job: _Job, *, is_stored: bool = False, duration: float = 0.0) -> None:
        answer = self._answers[job.call.id]
        event = ToolResultEvent(
            iteration=self._progress.state.iteration,
            call_id=job.call.id,
            name=job.call.name,
            result=answer.content,
            is_error=answer.is_error,
            is_stored=is_stored,
            duration=duration,
        )
        self._progress.tell(event)


def _is_undecided(job: _Job) -> bool:
    return job.is_stored and job.run.policy == "manual" and job.run.result is None
