"""What the turns of an agent share, and how far one of them has come."""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping
from operator import attrgetter
from weakref import WeakKeyDictionary

from msgspec import Struct, field, structs

from foldline.agent.background import BackgroundFold
from foldline.agent.config import AgentOptions
from foldline.agent.events import AgentEvent, CheckpointEvent, CheckpointOperation
from foldline.agent.hold import Hold
from foldline.agent.own_reducer import ChatReducer
from foldline.agent.reducer import HistoryReducer
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
from foldline.threads.turns import TurnRecord


class FixedParts(Struct, frozen=True, kw_only=True):
    """What is in front of every view of an agent, in estimated tokens."""

    # A request without a view.
    front: ChatRequest
    instructions: int
    tools: int
    # Of the tools.
    digest: bytes
    # Whether one of them is the tool `recall`.
    recall: bool


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
    # What was sent last on the threads in memory.
    meters: MutableMapping[ConversationThread, tuple[PrefixMeter, SentRequest]] = field(
        default_factory=WeakKeyDictionary[ConversationThread, "tuple[PrefixMeter, SentRequest]"]
    )

    def budget(self, state: AgentLoopState | None = None) -> Budget:
        """Return what the next request may hold, as far as the vendor of this model has shown."""
        known = None if state is None else state.learned.get(self.model.name)
        config = self.reducer.config
        holds = known is not None and known.configured == config.context_window_size
        return budget_of(
            config,
            window=self.reducer.window,
            learned=known.window if known and holds else None,
            instructions=self.fixed.instructions,
            tools=self.fixed.tools,
            ratio=known.ratio if known else 1.0,
            recall=self.fixed.recall,
        )


class Progress:
    """The thread of a turn, its state after the last step, and the messages it has added."""

    def __init__(
        self,
        thread: ConversationThread,
        state: AgentLoopState,
        emit: Callable[[AgentEvent], None],
        *,
        hold: Hold,
        rule: FoldRule | None = None,
    ) -> None:
        self.thread = thread
        self.hold = hold
        self.turn: TurnRecord | None = None
        """The turn, if it has an id."""
        # For the first commit: from then on the thread has it.
        self._rule = rule
        self.emit = emit
        self.state = state
        self.messages: list[Message] = []
        self._lock = asyncio.Lock()
        # What the turn has seen of the thread; others may hold the object, and refresh it.
        self._revision, self._seen = thread.head.revision, self._place()

    @property
    def is_current(self) -> bool:
        """Whether nothing was stored since its last commit, as far as the thread object knows."""
        return self._place() == self._seen

    def check(self) -> None:
        """Check that no other run or message has been stored, as far as the thread object knows."""
        if self._place() != self._seen:
            actual = self.thread.head.revision
            raise ThreadConflictError(
                thread_id=self.thread.id, expected=self._revision, actual=actual
            )

    async def commit(self, change: Change) -> None:
        """Commit *change*, even if another writer has stored a reduction or metadata meanwhile."""
        decided = change

        def _decide(thread: ConversationThread) -> Change:
            nonlocal decided
            self.check()
            decided = self._marked(change, expected=thread.head.revision)
            return decided

        # One at a time: parallel tools store their results through the same object.
        async with self._lock:
            hold, was_taken = self.hold, self.hold.is_taken
            # Also if it stays unknown whether the commit was made.
            hold.is_taken = True
            try:
                await self.thread.retry(_decide)
            except ThreadConflictError:
                # It was refused, and the lease with it.
                hold.is_taken = was_taken
                raise
            except CommitUnknownError as error:
                raise CommitUnknownError(
                    f"a step of the turn on thread {self.thread.id!r} may or may not be stored. "
                    "Refresh the thread: if your message is missing, send it again; if it has no "
                    "answer, run (or `resume`) without a message; otherwise the turn has ended"
                ) from error
            self._rule = None
            self._revision, self._seen = self.thread.head.revision, self._place()
            self.turn = decided.turn or self.turn
            hold.renewed(decided.lease)
            if isinstance(change.execution, AgentLoopState):
                self.state = self.thread.execution_state or change.execution
            self.messages.extend(change.messages)

    def _marked(self, change: Change, *, expected: int) -> Change:
        """Return *change* with the lease, and with the record of the turn if it begins or ends that."""
        state = change.execution if isinstance(change.execution, AgentLoopState) else None
        lease = self.hold.lease if state is None or state.is_open else self.hold.last_lease
        turn = change.turn
        if self.turn is not None and state is not None:
            turn = self._turn_after(self.turn, state, len(change.messages)) or turn
        return structs.replace(
            change, expected=expected, lease=lease, turn=turn, fold_rule=self._rule
        )

    def _turn_after(self, turn: TurnRecord, state: AgentLoopState, news: int) -> TurnRecord | None:
        """Return the record of *turn* after a commit of *state* and *news* messages, if it changes."""
        head = self.thread.head
        if not turn.origin:
            turn = turn.begun(run_id=state.run_id, origin=head.epoch, start=head.count)
        if not state.is_open:
            turn = turn.ended(
                stop=head.count + news,
                reason=state.termination_reason or "",
                iterations=state.iteration + bool(news),
            )
        return None if turn is self.turn else turn

    def _place(self) -> object:
        """Return what changes if another run or message is stored, or the turn taken over."""
        thread, state = self.thread, self.thread.execution_state
        run = None if state is None else (state.run_id, state.iteration, state.is_open)
        head, lease = thread.head, thread.lease
        is_lost = lease is not None and lease.holder != self.hold.lease.holder
        return head.created_at, head.count, run, thread.pending_tools, is_lost

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
