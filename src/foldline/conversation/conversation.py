"""Many runs on one thread, of one agent or several."""

from collections.abc import Callable, Mapping, Sequence
from os import urandom
from types import MappingProxyType
from typing import cast

from foldline.agent.agent import Agent
from foldline.agent.arguments import TurnInput, messages_of
from foldline.agent.portal import PORTAL
from foldline.checks import expect
from foldline.conversation.events import ConversationEvent
from foldline.conversation.orchestration import OrchestrationResult
from foldline.conversation.orchestrator import Orchestrator
from foldline.conversation.sending import Sending, is_waiting
from foldline.conversation.streaming import ConversationStream
from foldline.errors import ConfigError, RunStartError
from foldline.history.messages import Message
from foldline.reduction.config import AgentRunConfig
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread


__all__ = ["Conversation"]


class Conversation:
    """
    Answers what a user says on one thread, one message after the other.

    Everything is stored as it happens: what the user says before anybody is asked, a fold before
    the answer, and the answer before it is returned. What a crash interrupts is taken up by `resume`.
    The agents and the orchestrator may serve any number of conversations at once.
    """

    def __init__(
        self,
        agents: Agent | Sequence[Agent] | Mapping[str, Agent],
        *,
        orchestrator: Orchestrator | None = None,
        thread: ConversationThread | None = None,
    ) -> None:
        """
        Say nothing yet.

        Args:
            agents: Who can answer. Several have a name each; a mapping has them by name.
            orchestrator: Who chooses among them; one agent needs none.
            thread: Where everything is kept; a new thread in memory by default.

        Raises:
            ConfigError: There is no agent, two have the same name, or several have no orchestrator.
        """
        self._agents = _by_name(agents)
        _check_parts(self._agents, orchestrator, thread)
        self._orchestrator = orchestrator
        self._thread = thread
        self._is_sending = False

    @property
    def agents(self) -> Mapping[str, Agent]:
        """Who can answer, by name."""
        return self._agents

    @property
    def thread(self) -> ConversationThread | None:
        """Where everything is kept; None before the first use, where no thread was given."""
        return self._thread

    async def messages(self) -> list[Message]:
        """
        Return everything that was said, oldest first.

        Raises:
            StoreError: The store failed.
        """
        return [] if self._thread is None else await self._thread.get_messages()

    async def send(
        self,
        message: TurnInput = None,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
    ) -> OrchestrationResult:
        """
        Say *message* and return the answer.

        Args:
            message: What the user says. Without it whatever waits on the thread is answered: a run
                that did not come to its end, or a message without an answer.
            config: What this run changes.
            options: Values for the orchestrator.

        Raises:
            RunStartError: Nothing waits for an answer, an open run and a message, or an answer is
                being given.
            ConfigError: An argument is of another kind, or the orchestrator returned no result.
            ThreadConflictError: Somebody else goes on with the thread, or has said something.
            ToolDecisionError: A crash interrupted a tool that waits for a decision then.
            ModelError: The model failed; nothing that was said is lost, and `resume` goes on.
            StoreError: The store failed; what was not acknowledged is not there.
        """
        return await self._send(messages_of(message), config, options, None)

    async def resume(
        self,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
    ) -> OrchestrationResult | None:
        """
        Answer whatever waits on the thread, as `send` without a message; None where nothing does.

        Args:
            config: What this run changes.
            options: Values for the orchestrator.

        Raises:
            RunStartError: An answer is being given.
            ThreadConflictError: Somebody else goes on with the thread, or has said something.
            ToolDecisionError: A crash interrupted a tool that waits for a decision then.
            ModelError: The model failed; nothing that was said is lost.
            StoreError: The store failed; what was not acknowledged is not there.
        """
        thread = self._thread
        if thread is None:
            return None
        state = thread.execution_state
        if (state is not None and state.is_open) or await is_waiting(thread):
            return await self._send([], config, options, None)
        return None

    def send_stream(
        self,
        message: TurnInput = None,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
    ) -> ConversationStream:
        """
        Return an answer that can be watched; it begins when somebody does.

        Args:
            message: What the user says, as in `send`.
            config: What this run changes.
            options: Values for the orchestrator.

        Raises:
            ConfigError: An argument is of another kind.
        """
        given = messages_of(message)
        expect("config", config, AgentRunConfig | None)
        return ConversationStream(
            lambda listen: self._send(given, config, options, listen), self.messages
        )

    def send_sync(
        self,
        message: TurnInput = None,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
    ) -> OrchestrationResult:
        """
        Do what `send` does, for callers without an event loop.

        Args:
            message: What the user says, as in `send`.
            config: What this run changes.
            options: Values for the orchestrator.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        return PORTAL.run(self._send, messages_of(message), config, options, None)

    async def _send(
        self,
        given: Sequence[Message],
        config: AgentRunConfig | None,
        options: Mapping[str, object] | None,
        listen: Callable[[ConversationEvent], None] | None,
    ) -> OrchestrationResult:
        expect("config", config, AgentRunConfig | None)
        if self._is_sending:
            message = "an answer is being given in this conversation: wait for its end"
            raise RunStartError(message)
        self._is_sending = True
        try:
            if self._thread is None:
                self._thread = await MemoryStore().thread(urandom(16).hex())
            sending = Sending(
                self._agents,
                self._orchestrator,
                self._thread,
                given,
                config=config,
                values=options,
                listen=listen,
            )
            return await sending.run()
        finally:
            self._is_sending = False


def _by_name(given: object) -> Mapping[str, Agent]:
    if isinstance(given, Mapping):
        named = cast("Mapping[object, object]", given)
        agents = [_agent(one) for one in named.values()]
        for key, agent in zip(named, agents, strict=True):
            if key != agent.name:
                message = f"agents[{key!r}] is named {agent.name!r}: the key must be the name"
                raise ConfigError(message)
    elif isinstance(given, list | tuple):
        agents = [_agent(one) for one in cast("Sequence[object]", given)]
    else:
        agents = [_agent(given)]
    by_name = {agent.name: agent for agent in agents}
    if len(by_name) < len(agents):
        names = ", ".join(agent.name for agent in agents)
        message = f"the agents are named {names}: give each a name of its own"
        raise ConfigError(message)
    return MappingProxyType(by_name)


def _agent(given: object) -> Agent:
    if not isinstance(given, Agent):
        message = f"an agent is a {type(given).__name__}: allowed are Agent objects"
        raise ConfigError(message)
    return given


def _check_parts(agents: Mapping[str, Agent], orchestrator: object, thread: object) -> None:
    if not agents:
        message = "a conversation has no agents: give it one, or several and an orchestrator"
        raise ConfigError(message)
    if orchestrator is None and len(agents) > 1:
        message = f"a conversation of {len(agents)} agents needs an orchestrator that chooses"
        raise ConfigError(message)
    if orchestrator is not None and not _is_orchestrator(orchestrator):
        message = f"orchestrator is a {type(orchestrator).__name__}: it needs async orchestrate()"
        raise ConfigError(message)
    if thread is not None and not isinstance(thread, ConversationThread):
        message = f"thread is a {type(thread).__name__}: `await store.thread(id)` gives one"
        raise ConfigError(message)


def _is_orchestrator(given: object) -> bool:
    # A class has the methods of its instances.
    return isinstance(given, Orchestrator) and not isinstance(given, type)
