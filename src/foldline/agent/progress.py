"""How far a turn has come: its thread, its state, and the commits that move both."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import UNSET, UnsetType, structs

from foldline.agent.events import AgentEvent, CheckpointEvent, CheckpointOperation
from foldline.errors import CommitUnknownError, ThreadConflictError
from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState, CheckpointSource
from foldline.threads.thread import ConversationThread
from foldline.threads.tools import ToolRun


__all__ = ["Progress"]


class Progress:
    """The thread of a turn, the state behind its last step, and the messages it has added."""

    def __init__(
        self,
        thread: ConversationThread,
        state: AgentLoopState,
        tell: Callable[[AgentEvent], None],
        *,
        messages: Sequence[Message] = (),
    ) -> None:
        """
        Stand at *state*.

        Args:
            thread: The thread.
            state: Where the run stands.
            tell: Is given every event.
            messages: What an earlier part of the turn has added.
        """
        self.thread = thread
        self.tell = tell
        self.state = state
        self.messages = list(messages)
        self._lock = asyncio.Lock()
        # What the turn knows of the thread; its object may be refreshed by others who hold it.
        self._revision, self._known = thread.head.revision, self._place()

    def check(self) -> None:
        """
        See that nobody else goes on with the thread, as far as its object knows.

        Raises:
            ThreadConflictError: Somebody does.
        """
        if self._place() != self._known:
            actual = self.thread.head.revision
            raise ThreadConflictError(
                thread_id=self.thread.id, expected=self._revision, actual=actual
            )

    async def commit(
        self,
        *,
        messages: Sequence[Message] = (),
        state: AgentLoopState | None = None,
        reduction: HistoryReductionState | UnsetType = UNSET,
        tools: Sequence[ToolRun] = (),
        settled: Sequence[str] = (),
        archive: bool = False,
        source: CheckpointSource = "loop",
    ) -> None:
        """
        Commit a step, also where somebody has stored a reduction or metadata in the meantime.

        Args:
            messages: What was said.
            state: The execution state behind the step; None where it stays.
            reduction: The newest reduction.
            tools: Intents and results.
            settled: The ids of further calls that need not be remembered any more.
            archive: Whether the messages that *reduction* stands for are archived.
            source: What the step was made after.

        Raises:
            ThreadConflictError: Somebody else goes on with the thread, or has said something.
            StoreError: The store failed; nothing was written.
            CommitUnknownError: It failed in a way that leaves open whether it was written.
        """
        change = Change(
            messages=messages,
            execution=UNSET if state is None else state,
            reduction=reduction,
            tools=tools,
            settled=settled,
            archive=archive,
            source=source,
        )
        # One at a time: parallel tools store their results through the same object.
        async with self._lock:
            await self._insist(change)
            self._revision, self._known = self.thread.head.revision, self._place()
            if state is not None:
                self.state = self.thread.execution_state or state
            self.messages.extend(messages)

    async def _insist(self, change: Change) -> None:
        def _decide(thread: ConversationThread) -> Change:
            self.check()
            return structs.replace(change, expected=thread.head.revision)

        try:
            await self.thread.retry(_decide)
        except CommitUnknownError as error:
            message = (
                f"a step of the turn on thread {self.thread.id!r} may have been stored or not. "
                "Refresh the thread: if the message is missing, send it again; if it has no answer, "
                "run (or `resume`) without a message; otherwise the turn has ended"
            )
            raise CommitUnknownError(message) from error

    def _place(self) -> object:
        """Return what only somebody changes who goes on with the thread."""
        thread = self.thread
        state = thread.execution_state
        run = None if state is None else (state.run_id, state.iteration, state.is_open)
        tools = tuple((tool.call_id, tool.result) for tool in thread.pending_tools)
        return thread.created_at, thread.count, run, tools

    async def end(
        self,
        reason: str,
        *,
        messages: Sequence[Message] = (),
        reduction: HistoryReductionState | UnsetType = UNSET,
        archive: bool = False,
    ) -> None:
        """Commit the end of the turn."""
        await self.commit(
            messages=messages,
            state=self.state.terminated(reason),
            reduction=reduction,
            settled=[run.call_id for run in self.thread.pending_tools],
            archive=archive,
        )

    def tell_checkpoint(self, operation: CheckpointOperation, *, pending: int = 0) -> None:
        """Tell of *operation*."""
        event = CheckpointEvent(
            operation=operation,
            iteration=self.state.iteration,
            message_count=self.thread.count,
            pending=pending,
        )
        self.tell(event)
