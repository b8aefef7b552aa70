"""Many turns on one thread, of one agent or several."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from inspect import iscoroutine
from os import urandom
from types import MappingProxyType
from typing import ParamSpec, TypeVar, cast

from foldline.agent.admission import OnConflict, OnOpen, TurnPolicy, checked_policy
from foldline.agent.agent import Agent
from foldline.agent.arguments import expect_async
from foldline.agent.event_stream import EventStream
from foldline.agent.files import TurnFiles, with_files
from foldline.agent.hold import Hold
from foldline.agent.portal import PORTAL
from foldline.agent.reduced import ReducedHistory
from foldline.agent.result import answered_by
from foldline.agent.turn_input import TurnInput, checked_input
from foldline.agent.unanswered import is_waiting
from foldline.checks import expect, expect_choice
from foldline.conversation.orchestration import ConversationEvent, OrchestrationResult
from foldline.conversation.orchestrator import Orchestrator
from foldline.conversation.sending import Sending
from foldline.errors import ConfigError, RunStartError, TurnRunningError
from foldline.history.messages import Message
from foldline.reduction.config import AgentRunConfig
from foldline.threads.key import ThreadKey
from foldline.threads.lease import TURN_WAIT
from foldline.threads.stores.memory import MemoryStore
from foldline.threads.thread import ConversationThread
from foldline.threads.waiters import Waiter, Waiters


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Of a conversation that has no thread yet. Those who wait for it have one line, as it has one thread.
_NEW = ThreadKey("conversation", "new")


class ConversationStream(EventStream[ConversationEvent, OrchestrationResult]):
    """The events of an answer as they happen, and its result; see `EventStream`."""


class Conversation:
    """
    Answers the messages of a user on one thread, one after the other.

    Everything is stored as it happens: the user's message before a model is asked, a fold before the
    answer, and the answer before it is returned. `resume` continues what a crash has interrupted.
    The agents and the orchestrator may serve any number of conversations at once.
    """

    def __init__(
        self,
        agents: Agent | Sequence[Agent] | Mapping[str, Agent],
        orchestrator: Orchestrator | None = None,
        thread: ConversationThread | None = None,
    ) -> None:
        """
        Create a conversation.

        Args:
            agents: One agent, or several with different names; a mapping has them by name.
            orchestrator: Chooses among them; not needed for one agent.
            thread: Where everything is stored; by default a new thread in memory.

        Raises:
            ConfigError: There is no agent, two have the same name, or several have no orchestrator.
        """
        self._agents = _by_name(agents)
        if not self._agents:
            raise ConfigError("agents must not be empty")
        if orchestrator is None and len(self._agents) > 1:
            message = f"a conversation of {len(self._agents)} agents needs an orchestrator, such as RoundRobin()"
            raise ConfigError(message)
        if orchestrator is not None:
            hint = "it needs async orchestrate()"
            expect_async("orchestrator", orchestrator, Orchestrator, "orchestrate", hint=hint)
        checked_input(None, thread=thread)
        self._orchestrator = orchestrator
        self._thread = thread
        self._waiters = Waiters()

    @property
    def agents(self) -> Mapping[str, Agent]:
        """The agents by name."""
        return self._agents

    @property
    def thread(self) -> ConversationThread | None:
        """Where everything is stored; None before the first use if no thread was given."""
        return self._thread

    async def messages(self) -> list[Message]:
        """Return all messages, oldest first."""
        return [] if self._thread is None else await self._thread.get_messages()

    async def send(
        self,
        message: TurnInput = None,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
        files: TurnFiles = (),
        turn_id: str | None = None,
        on_conflict: OnConflict = "wait",
        on_open: OnOpen = "leave",
    ) -> OrchestrationResult:
        """
        Send *message* and return the answer.

        Args:
            message: The user's message. Without it, whatever waits on the thread is answered: an
                interrupted run, or a message without an answer. If nothing waits, one of several
                agents answers the last answer, unless there is a *turn_id*; `resume` never does that.
            config: Overrides for this run.
            options: Values for the orchestrator.
            files: Files that go with the message; see `Agent.run`.
            turn_id: The id of the turn, so that it runs once; see `Agent.run`.
            on_conflict: What to do while this or another conversation answers on the thread; see
                `Agent.run`.
            on_open: What to do with an open run of another message; see `Agent.run`.

        Raises:
            RunStartError: Nothing waits for an answer and there is one agent, or `on_open` is
                `error` and a run is open.
            TurnRunningError: `on_conflict` is `error`, and another answer is not finished.
            TurnIdError: The id belongs to a turn with other content.
            ConfigError: An argument is wrong, or the orchestrator returned something else.
            ThreadConflictError: Another worker has taken the turn over, or added a message.
            ToolDecisionError: A crash interrupted a tool that needs a decision then.
            ModelError: The model failed; no message is lost, and `resume` continues.
            StoreError: The store failed; what was not acknowledged is not stored.
        """
        given = checked_input(message, config=config)
        policy = checked_policy(turn_id, on_conflict, on_open)
        return await self._send(given, config, options, files, policy, None)

    async def resume(
        self,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
    ) -> OrchestrationResult | None:
        """Answer what waits on the thread like `send` without a message; None if nothing waits."""
        thread = self._thread
        if thread is None:
            return None
        if thread.has_open_run or await is_waiting(thread):
            return await self.send(config=config, options=options)
        return None

    def send_stream(
        self,
        message: TurnInput = None,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
        files: TurnFiles = (),
        turn_id: str | None = None,
        on_conflict: OnConflict = "wait",
        on_open: OnOpen = "leave",
    ) -> ConversationStream:
        """
        Return an answer as a stream of events; it starts with the first iteration.

        Arguments and errors are those of `send`.
        """
        given = checked_input(message, config=config)
        policy = checked_policy(turn_id, on_conflict, on_open)
        return ConversationStream(
            lambda listen: self._send(given, config, options, files, policy, listen),
            lambda _: self.messages(),
        )

    def send_sync(
        self,
        message: TurnInput = None,
        *,
        config: AgentRunConfig | None = None,
        options: Mapping[str, object] | None = None,
        files: TurnFiles = (),
        turn_id: str | None = None,
        on_conflict: OnConflict = "wait",
        on_open: OnOpen = "leave",
    ) -> OrchestrationResult:
        """
        Send *message* like `send`, for callers without an event loop.

        Raises:
            BlockingCallError: An event loop is running in this thread.
        """
        given = checked_input(message, config=config)
        policy = checked_policy(turn_id, on_conflict, on_open)
        return PORTAL.run(self._send, given, config, options, files, policy, None)

    async def fold(
        self,
        *,
        focus: str = "",
        keep: int | None = None,
        config: AgentRunConfig | None = None,
        agent: str | None = None,
    ) -> ReducedHistory[Message]:
        """
        Fold the thread now, whatever the counts, as *agent*, by default the one that answered last.

        The other arguments and errors are those of `Agent.fold`.

        Raises:
            RunStartError: There is no thread yet.
            ConfigError: No agent has that name.
        """
        thread = self._thread
        if thread is None:
            raise RunStartError("there is nothing to fold yet: send a message first")
        if agent is not None:
            expect_choice("agent", agent, tuple(self._agents))
        last = [] if agent else await thread.get_messages(last=1)
        name = agent or next(filter(None, map(answered_by, last)), None)
        chosen = self._agents.get(name or "", next(iter(self._agents.values())))
        return await chosen.fold(thread, focus=focus, keep=keep, config=config)

    async def _send(
        self,
        given: Sequence[Message],
        config: AgentRunConfig | None,
        options: Mapping[str, object] | None,
        files: TurnFiles,
        policy: TurnPolicy,
        listen: Callable[[ConversationEvent], None] | None,
    ) -> OrchestrationResult:
        hint = "they are for the orchestrator; `AgentOptions` belong to an agent"
        expect("options", options, Mapping | None, hint=hint)
        place = self._waiters.join(_NEW)
        try:
            await self._come_first(place, policy)
            thread = self._thread
            if thread is None:
                thread = self._thread = await MemoryStore().thread(urandom(16).hex())
            if files:
                given = await asyncio.to_thread(with_files, given, files)
            sending = Sending(
                self._agents,
                self._orchestrator,
                thread,
                given,
                policy=policy,
                config=config,
                values=options,
                listen=listen,
            )
            return await sending.run()
        finally:
            self._waiters.leave(place)

    async def _come_first(self, place: Waiter, policy: TurnPolicy) -> None:
        """Wait until *place* is the first in the line of this conversation."""
        key, most = _NEW, TURN_WAIT
        if self._thread is not None:
            is_inside = Hold.around(self._thread) is not None
            key, most = self._thread.key, 0 if is_inside else self._thread.context.turn_wait
        if not await place.becomes_first(most if policy.on_conflict == "wait" else 0):
            raise TurnRunningError(thread_id=key.id)


def _by_name(given: object) -> Mapping[str, Agent]:
    keys: list[object] = []
    agents: list[object] = [given]
    if isinstance(given, Mapping):
        named = cast("Mapping[object, object]", given)
        keys, agents = list(named), list(named.values())
    elif isinstance(given, list | tuple):
        agents = list(cast("Sequence[object]", given))
    by_name: dict[str, Agent] = {}
    for agent in agents:
        expect("agent", agent, Agent, hint="`Agent(model)` makes one")
        assert isinstance(agent, Agent)
        if agent.name in by_name:
            raise ConfigError(f"agents must have different names, got {agent.name} twice")
        by_name[agent.name] = agent
    for key, name in zip(keys, by_name, strict=False):
        if key != name:
            raise ConfigError(f"the key of an agent must be its name {name!r}, got {key!r}")
    return MappingProxyType(by_name)


def call_sync(
    function: Callable[_Arguments, Coroutine[object, object, _Result]],
    *args: _Arguments.args,
    **kwargs: _Arguments.kwargs,
) -> _Result:
    """
    Return what `await function(*args, **kwargs)` returns, for callers who cannot await.

    It runs in the same loop as every `*_sync` method, in a thread of its own, so a store that is
    opened like this serves them all. Inside a running event loop, as in a notebook or in a
    framework's blocking hook, it blocks that loop until the end. So *function* must not wait for
    anything that this loop does, such as a task or a client of it.

    Raises:
        BlockingCallError: It is called by something that itself runs in a blocking call.
        ConfigError: *function* is a coroutine.
    """
    if iscoroutine(function):
        function.close()
        example = "call_sync(thread.add_message, message)"
        raise ConfigError(f"call_sync takes a function and its arguments: {example}")
    return PORTAL.run(partial(function, *args, **kwargs), blocks_loop=True)
