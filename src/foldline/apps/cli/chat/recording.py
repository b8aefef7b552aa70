"""Who answers in a chat: a vendor's model, or a recorded conversation."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import TypeAlias

from msgspec import structs

from foldline.agent.agent import Agent
from foldline.agent.config import AgentConfig, AgentOptions
from foldline.agent.tools import Tool, ToolAnswer, ToolContext
from foldline.agent.tools.arguments import ArgumentReader
from foldline.errors import ConfigError, ModelError
from foldline.history.messages import Message
from foldline.history.parts import ResponseContent
from foldline.logs.importer import Session
from foldline.testing.model import ScriptedModel
from foldline.threads.read_only import ReadOnlyThread


_Content: TypeAlias = str | tuple[ResponseContent, ...]

# The bounds of a turn that goes as far as the recorded one went.
_AS_RECORDED = AgentOptions(
    max_iterations=1_000_000, max_consecutive_failures=1_000_000, max_identical_calls=1_000_000
)
# No argument that a model writes has such a name.
_CALL = "recorded call"
_NOT_RECORDED = "The recording holds no answer to this call."


class Speaker:
    """An agent with a vendor's model."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.name = agent.model.name
        """The identity of the model."""
        self.reduction = agent.reducer.config
        """How and when threads are folded."""
        self.fold = agent.fold
        """Folds a thread now."""

    async def agent(self, thread: ReadOnlyThread) -> Agent:  # noqa: ARG002 - a recording needs it
        """Return the agent that answers next on *thread*."""
        return self._agent

    async def request(self, thread: ReadOnlyThread) -> str:  # noqa: ARG002 - a recording needs it
        """Return what the user said next in the recording; empty if there is nothing."""
        return ""

    async def left(self, thread: ReadOnlyThread) -> int | None:  # noqa: ARG002 - a recording needs it
        """Return how many recorded answers are left; None without a recording."""
        return None

    async def close(self) -> None:
        """Close the connections to the vendor."""
        await self._agent.close()


class Recording(Speaker):
    """Repeats what the assistant and the tools say in a session, from where a thread stands."""

    def __init__(
        self, config: AgentConfig, session: Session, *, name: str, delay: float | None = None
    ) -> None:
        """Play *session* as *config* says, with *delay* seconds before each piece of an answer."""
        self._messages = session.messages
        self._name = name
        self._delay = delay
        self._requests = list(_requests(session.messages))
        self._results = _results(session.messages)
        self._config = config
        super().__init__(self._agent_at(0, most=1))

    async def agent(self, thread: ReadOnlyThread) -> Agent:
        """Return the agent that gives the next answer on *thread*, and only those that are left."""
        messages = await thread.get_messages()
        place = _answers_in(messages)
        count = len(self._requests)
        state = thread.execution_state
        given = _answers_in(messages[state.turn_start :]) if state and state.is_open else 0
        if place >= count and not given:
            raise ModelError(
                f"the recording has ended: this thread holds {place:,} answers, and {self._name} "
                f"has {count:,}; start a new one with --thread ID, or /rewind this one"
            )
        # A recording may end in a call: its result is the last that the turn comes to.
        return self._agent_at(place, most=given + max(0, count - place))

    async def request(self, thread: ReadOnlyThread) -> str:
        """Return what the user said before the next answer; empty if there is nothing."""
        place = _answers_in(await thread.get_messages())
        return self._requests[place] if place < len(self._requests) else ""

    async def left(self, thread: ReadOnlyThread) -> int | None:
        """Return how many answers are left."""
        return max(0, len(self._requests) - _answers_in(await thread.get_messages()))

    def _agent_at(self, place: int, *, most: int) -> Agent:
        config = self._config
        model = ScriptedModel.from_messages(
            self._messages, skip=place, name=self._name, delay=self._delay
        )
        options = _AS_RECORDED if config.options == AgentOptions() else config.options
        by_itself = config.history_reduction.summarizer_provider is None
        return Agent(
            model,
            name=config.name,
            instructions=config.system_instructions,
            tools=self._tools(model, place),
            history_reduction=config.history_reduction,
            # A recording cannot write summaries: it would give its next answer.
            summarizer=() if by_itself else None,
            options=structs.replace(options, max_iterations=min(options.max_iterations, most)),
        )

    def _tools(self, model: ScriptedModel, place: int) -> list[Tool]:
        """Return tools that repeat the results of *model*, whose first answer was *place*."""
        names = {call.name for message in self._messages for call in message.tool_calls}
        tools: list[Tool] = []
        for name in sorted(names):
            # Of a name that no vendor takes the calls are answered as unknown.
            with suppress(ConfigError):
                tools.append(self._tool(name, model, place))
        return tools

    def _tool(self, name: str, model: ScriptedModel, place: int) -> Tool:
        async def _answer(**given: object) -> ToolAnswer:
            call = given[_CALL]
            # Before the first request the calls are those of an answer that is stored already.
            said = place + len(model.requests) - 1
            found: _Content | None = None
            if isinstance(call, ToolContext) and 0 <= said < len(self._results):
                found = self._results[said].get(call.call_id)
            return ToolAnswer(_NOT_RECORDED if found is None else found, found is None)

        return Tool(
            name=name,
            function=_answer,
            policy="idempotent",
            reader=ArgumentReader(contexts=(_CALL,)),
        )


def _answers_in(messages: Iterable[Message]) -> int:
    return sum(1 for _ in _requests(messages))


def _runs(messages: Iterable[Message]) -> Iterator[tuple[str, list[Message]]]:
    spoken = (message for message in messages if not message.is_summary)
    for role, run in groupby(spoken, key=lambda message: message.role):
        yield role, list(run)


def _results(messages: Iterable[Message]) -> list[Mapping[str, _Content]]:
    """Return the results of each answer's calls by id; one used again is the newest that waits."""
    results: list[dict[str, _Content]] = []
    waiting: dict[str, list[dict[str, _Content]]] = {}
    for role, run in _runs(messages):
        if role == "assistant":
            results.append({})
            for call in (call for message in run for call in message.tool_calls):
                waiting.setdefault(call.id, []).append(results[-1])
        for answer in (answer for message in run for answer in message.tool_call_responses):
            calls = waiting.get(answer.id)
            if calls:
                calls.pop().setdefault(answer.id, answer.response)
    return list(results)


def _requests(messages: Iterable[Message]) -> Iterable[str]:
    """Yield for each answer what the user has said since the one before it."""
    said: list[str] = []
    for role, run in _runs(messages):
        if role == "assistant":
            yield "\n\n".join(said)
            said = []
        elif role == "user":
            said.extend(message.text for message in run if message.text.strip())
