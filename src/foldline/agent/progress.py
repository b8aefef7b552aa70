"""What the turns of an agent share, and how far one of them has come."""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from operator import attrgetter
from weakref import WeakKeyDictionary

from msgspec import Struct, field, structs

from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentOptions
from foldline.agent.events import AgentEvent, CheckpointEvent, CheckpointOperation
from foldline.agent.own_reducer import ChatReducer
from foldline.agent.reducer import HistoryReducer
from foldline.agent.request import RECALL
from foldline.agent.telemetry import Observer
from foldline.agent.tools import Tool
from foldline.errors import CommitUnknownError, ThreadConflictError
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter
from foldline.providers.model import ChatModel, ChatRequest
from foldline.reduction.budget import Budget, budget_of
from foldline.reduction.fold_rule import FoldRule
from foldline.reduction.prices import Prices
from foldline.threads.change import Change
from foldline.threads.loop_state import AgentLoopState, SentRequest
from foldline.threads.thread import ConversationThread


__all__ = ["FixedParts", "Progress", "TurnSetup"]


class FixedParts(Struct, frozen=True, kw_only=True):
    """What is in front of every view of an agent, in estimated tokens."""

    front: ChatRequest
    """A request without a view."""

    instructions: int
    tools: int
    digest: bytes
    """A digest of the tools."""


class TurnSetup(Struct, frozen=True, kw_only=True):
    """What the turns of an agent share."""

    agent: str
    model: ChatModel
    reducer: HistoryReducer
    own_reducer: ChatReducer | None
    tools: Mapping[str, Tool]
    instructions: str
    fixed: FixedParts
    prices: Prices | None
    options: AgentOptions
    background: BackgroundFold | None
    observer: Observer | None
    meters: MutableMapping[ConversationThread, tuple[PrefixMeter, SentRequest]] = field(
        default_factory=WeakKeyDictionary[ConversationThread, "tuple[PrefixMeter, SentRequest]"]
    )
    """What was sent last on the threads in memory."""

    def budget(self, state: AgentLoopState | None = None) -> Budget:
        """Return what the next request may hold, as far as the vendor of this model has shown."""
        known = None if state is None else state.learned.get(self.model.name)
        window, ratio = (known.window, known.ratio) if known else (None, 1.0)
        if state is not None and known is None and state.context_window_model == self.model.name:
            window = state.context_window
        return budget_of(
            self.reducer.config,
            window=self.reducer.window,
            learned=window,
            instructions=self.fixed.instructions,
            tools=self.fixed.tools,
            ratio=ratio,
            recall=RECALL in self.tools,
        )


class Progress:
    """The thread of a turn, its state after the last step, and the messages it has added."""

    def __init__(
        self,
        thread: ConversationThread,
        state: AgentLoopState,
        emit: Callable[[AgentEvent], None],
        *,
        rule: FoldRule | None = None,
    ) -> None:
        self.thread = thread
        # For the first commit: from then on the thread has it.
        self._rule = rule
        self.emit = emit
        self.state = state
        self.messages: list[Message] = []
        self._lock = asyncio.Lock()
        # What the turn has seen of the thread; others may hold the object, and refresh it.
        self._revision, self._seen = thread.head.revision, self._place()

    def check(self) -> None:
        """Check that no other run or message has been stored, as far as the thread object knows."""
        if self._place() != self._seen:
            actual = self.thread.head.revision
            raise ThreadConflictError(
                thread_id=self.thread.id, expected=self._revision, actual=actual
            )

    async def commit(self, change: Change) -> None:
        """Commit *change*, even if another writer has stored a reduction or metadata meanwhile."""

        def _decide(thread: ConversationThread) -> Change:
            self.check()
            return structs.replace(change, expected=thread.head.revision, fold_rule=self._rule)

        # One at a time: parallel tools store their results through the same object.
        async with self._lock:
            try:
                await self.thread.retry(_decide)
            except CommitUnknownError as error:
                message = (
                    f"a step of the turn on thread {self.thread.id!r} may or may not be stored. "
                    "Refresh the thread: if your message is missing, send it again; if it has no "
                    "answer, run (or `resume`) without a message; otherwise the turn has ended"
                )
                raise CommitUnknownError(message) from error
            self._rule = None
            self._revision, self._seen = self.thread.head.revision, self._place()
            if isinstance(change.execution, AgentLoopState):
                self.state = self.thread.execution_state or change.execution
            self.messages.extend(change.messages)

    def _place(self) -> object:
        """Return what changes if another run or message is stored, and only then."""
        thread, state = self.thread, self.thread.execution_state
        run = None if state is None else (state.run_id, state.iteration, state.is_open)
        return thread.head.created_at, thread.head.count, run, tuple(thread.pending_tools)

    async def end(self, reason: str, change: Change) -> None:
        """Commit the end of the turn, for *reason*, with *change*."""
        settled = list(map(attrgetter("call_id"), self.thread.pending_tools))
        ended = self.state.terminated(reason)
        await self.commit(structs.replace(change, execution=ended, settled=settled))
        self.emit_checkpoint("saved")

    def emit_checkpoint(self, operation: CheckpointOperation, *, pending: int = 0) -> None:
        """Emit the event of *operation*."""
        event = CheckpointEvent(
            operation=operation,
            iteration=self.state.iteration,
            message_count=self.thread.count,
            pending=pending,
        )
        self.emit(event)
