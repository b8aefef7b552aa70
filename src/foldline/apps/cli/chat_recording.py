"""A recorded conversation as the one who answers."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeAlias

from foldline.agent.options import AgentOptions
from foldline.agent.tools import Tool, ToolAnswer, ToolContext
from foldline.agent.tools.arguments import ArgumentReader
from foldline.errors import ConfigError, ModelError
from foldline.history.messages import Message
from foldline.history.parts import ResponseContent
from foldline.logs.importer import Session
from foldline.testing.model import ScriptedModel


__all__ = ["AS_RECORDED", "ENDED", "Recording", "answers_in"]


AS_RECORDED = AgentOptions(
    max_iterations=1_000_000, max_consecutive_failures=1_000_000, max_identical_calls=1_000_000
)
"""The bounds of a turn that goes as far as the recorded one went."""

ENDED = "The recording has ended"
"""Why a turn ends that the recording does not finish."""

_Content: TypeAlias = str | tuple[ResponseContent, ...]

# No argument that a model writes has such a name.
_CALL = "recorded call"
_NOT_RECORDED = "The recording holds no answer to this call."


class Recording:
    """
    Says again what the assistant says in a session, and what the tools answered there.

    Which answer comes next follows from how many a thread holds already, so a thread that was
    left, resumed or rewound goes on at its place.
    """

    def __init__(self, session: Session, *, name: str, delay: float | None = None) -> None:
        """
        Play *session*.

        Args:
            session: What was recorded.
            name: The identity of the model.
            delay: How many seconds to wait before each answer and each piece of it.
        """
        self._messages = session.messages
        self._name = name
        self._delay = delay
        self._requests = list(_requests(session.messages))
        self._results = _results(session.messages)

    @property
    def count(self) -> int:
        """How many answers there are."""
        return len(self._requests)

    def model_at(self, place: int) -> ScriptedModel:
        """
        Return the model that gives the answer *place* first, from 0.

        Raises:
            ConfigError: The assistant says nothing in the recording.
        """
        try:
            return ScriptedModel.from_messages(
                self._messages, skip=place, name=self._name, delay=self._delay
            )
        except ConfigError as error:
            message = f"{self._name}: {error}"
            raise ConfigError(message) from None

    def check(self, place: int) -> None:
        """
        See that there is an answer *place*.

        Raises:
            ModelError: All were given.
        """
        if place >= self.count:
            message = (
                f"{ENDED.lower()}: this thread holds {place:,} answers, and {self._name} "
                f"has {self.count:,}; begin a new one with --thread ID, or /rewind this one"
            )
            raise ModelError(message)

    def request(self, place: int) -> str:
        """Return what the user said before the answer *place*; empty where nobody did."""
        return self._requests[place] if place < self.count else ""

    def tools(self, model: ScriptedModel, place: int) -> list[Tool]:
        """
        Return tools that answer what those of the recording answered.

        Args:
            model: The model whose calls they answer, which shows how far it has come.
            place: The answer that it gave first.
        """
        names = {call.name for message in self._messages for call in message.tool_calls}
        tools: list[Tool] = []
        for name in sorted(names):
            try:
                tools.append(self._tool(name, model, place))
            except ConfigError:
                # No vendor takes such a name; its calls are told to be unknown.
                continue
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


def answers_in(messages: Iterable[Message]) -> int:
    """Return how many answers of an assistant *messages* hold."""
    return sum(1 for _ in _requests(messages))


def _runs(messages: Iterable[Message]) -> Iterator[tuple[str, list[Message]]]:
    spoken = (message for message in messages if not message.is_summary)
    for role, run in groupby(spoken, key=lambda message: message.role):
        yield role, list(run)


def _results(messages: Iterable[Message]) -> list[Mapping[str, _Content]]:
    """
    Return for each answer what the calls in it were answered, by their ids.

    A recording may use one id again and again: a result is that of the newest call that waits.
    """
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
    """Give for each answer what the user has said since the one before it."""
    said: list[str] = []
    for role, run in _runs(messages):
        if role == "assistant":
            yield "\n\n".join(said)
            said = []
        elif role == "user":
            said.extend(message.text for message in run if message.text.strip())
