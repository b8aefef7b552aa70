"""An agent as orchestrators get it: bound to the thread of the conversation."""

from collections.abc import Callable, Sequence
from os import urandom

from msgspec import UNSET, UnsetType, structs

from foldline.agent.admission import TurnPolicy
from foldline.agent.agent import Agent
from foldline.agent.event_stream import StreamingTurnResult
from foldline.agent.events import AgentEvent
from foldline.agent.hold import Hold
from foldline.agent.result import TurnResult
from foldline.agent.turn_input import TurnInput
from foldline.conversation.orchestration import AgentSelectedEvent, ConversationEvent
from foldline.errors import ThreadConflictError
from foldline.history.history import History
from foldline.history.messages import Message, Usage
from foldline.reduction.config import AgentRunConfig
from foldline.reduction.earlier_digests import carried_over
from foldline.reduction.state import HistoryReductionState
from foldline.threads.change import Change
from foldline.threads.lease import NOBODY
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread


# Within a conversation nobody else may act, so that nothing is waited for.
_WITHIN = TurnPolicy(on_conflict="error", on_open="error")


class Stage:
    """What the agents that answer one message share."""

    def __init__(
        self,
        thread: ConversationThread,
        *,
        config: AgentRunConfig | None = None,
        listen: Callable[[ConversationEvent], None] | None = None,
    ) -> None:
        self.thread = thread
        self.config = config
        self.listen = listen
        self.turns: list[tuple[str, TurnResult]] = []
        """The finished turns on the thread, with the names of the agents."""
        self.usages: list[Usage] = []
        """The token counts of all turns, those that are not on the thread too."""
        self.conflict: ThreadConflictError | None = None
        """Another writer was faster."""
        self._shown: str | None = None
        self.look()

    def begin(self) -> None:
        """Forget an attempt that others were faster than."""
        self.conflict, self.turns, self.usages = None, [], []
        self.look()

    def look(self) -> None:
        """Take everything on the thread now as known."""
        self._count, self._revision = self.thread.count, self.thread.head.revision

    def show(self, agent: str) -> None:
        """Emit that *agent* answers, unless it answered before."""
        if self.listen is not None and agent != self._shown:
            self.listen(AgentSelectedEvent(agent=agent, conversation_id=self.thread.id))
        self._shown = agent

    def check(self) -> None:
        """Check that no other writer has added a message."""
        if self.conflict is not None:
            raise self.conflict
        if self.thread.count != self._count:
            actual = self.thread.head.revision
            raise ThreadConflictError(
                thread_id=self.thread.id, expected=self._revision, actual=actual
            )


class OrchestratedAgent:
    """
    An agent that answers on the thread of a conversation.

    It can answer in two ways. `run` is a turn on the thread itself: each step is stored at once, it
    survives a crash, and its events are those of the conversation. `respond` answers a given history
    and stores nothing; its answer is stored when the orchestrator returns it.
    """

    def __init__(self, agent: Agent, stage: Stage) -> None:
        self._stage = stage
        self.agent = agent
        """The agent itself, without the conversation."""
        self.name = agent.name
        self.instructions = agent.instructions

    async def run(self, message: TurnInput = None) -> TurnResult:
        """
        Run a durable turn on the thread of the conversation.

        Agents run one after the other. A run that another agent has left open on the thread is ended
        first; this agent continues after what is stored of it. A further *message* is stored like
        every message. Errors are those of `Agent.run`.

        Raises:
            RunStartError: Another agent is running on the thread.
        """
        return await self._turn(message, self._stage.listen, takes_over=True)

    async def resume(self) -> TurnResult:
        """Resume the open run of the thread, whichever agent has started it, like `run`."""
        return await self._turn(None, self._stage.listen, takes_over=False)

    async def begin(self, message: TurnInput, policy: TurnPolicy) -> TurnResult:
        """Run a turn like `Agent.run`, with what the caller of the conversation has said about it."""
        return await self._turn(message, self._stage.listen, takes_over=False, policy=policy)

    def run_stream(self, message: TurnInput = None) -> StreamingTurnResult:
        """Return the turn of `run` as a stream, for orchestrators that stream themselves."""
        return StreamingTurnResult(lambda listen: self._turn(message, listen, takes_over=True))

    async def respond(self, history: Sequence[Message]) -> TurnResult:
        """
        Answer *history* and store nothing: for several agents at once, or for a changed history.

        The turn has a thread of its own in memory. The last reduction of the conversation is used if
        it matches, so that nothing is summarized again. After a crash its tools run again, whatever
        their policy: use `run` for agents whose tools change something.

        Raises:
            RunStartError: *history* is empty.
            ModelError: The model failed.
        """
        thread = await MemoryStore().thread(urandom(16).hex())
        await thread.add_messages(history)
        await thread.commit(Change(reduction=self._fitting(history)))
        return await self._ran(thread, None, self._stage.listen)

    def _fitting(self, history: Sequence[Message]) -> HistoryReductionState | UnsetType:
        reduction = self._stage.thread.last_reduction
        said = History(message for message in history if message.role != "system")
        if reduction is None or reduction.summarized_up_to_index > len(said):
            return UNSET
        # That of rows which an earlier version wrote fits no list as it is.
        reduction = carried_over(reduction, said)
        return reduction if reduction.validate_integrity(said) else UNSET

    async def _turn(
        self,
        message: TurnInput,
        listen: Callable[[AgentEvent], None] | None,
        *,
        takes_over: bool,
        policy: TurnPolicy = _WITHIN,
    ) -> TurnResult:
        stage = self._stage
        state = stage.thread.execution_state
        try:
            if takes_over and state is not None and state.agent_name != self.name:
                hold = Hold.around(stage.thread)
                # Who waits for the turn waits on.
                lease = NOBODY if hold is None else hold.lease
                await stage.thread.abandon_run(f"Handed over to {self.name}", lease=lease)
            turn = await self._ran(stage.thread, message, listen, policy)
        except ThreadConflictError as error:
            stage.conflict = error
            raise
        finally:
            stage.look()
        stage.turns.append((self.name, turn))
        return turn

    async def _ran(
        self,
        thread: ConversationThread,
        message: TurnInput,
        listen: Callable[[AgentEvent], None] | None,
        policy: TurnPolicy = _WITHIN,
    ) -> TurnResult:
        stage = self._stage
        stage.show(self.name)
        options = structs.asdict(policy)
        if listen is None:
            turn = await self.agent.run(message, thread=thread, config=stage.config, **options)
        else:
            stream = self.agent.run_stream(message, thread=thread, config=stage.config, **options)
            async with stream:
                async for event in stream:
                    listen(event)
                turn = await stream.final_result
        stage.usages.append(turn.usage)
        return turn
