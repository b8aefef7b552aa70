"""A model that answers from a script."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from inspect import isawaitable
from itertools import groupby
from operator import attrgetter
from typing import Self, TypeAlias

from msgspec import structs

from foldline.checks import expect, several
from foldline.errors import ConfigError, ModelError
from foldline.history.codec import encode_json
from foldline.history.messages import Message, Usage
from foldline.history.parts import Part, ReasoningPart, TextPart, ToolCallPart
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import (
    ChatDelta,
    ChatRequest,
    ChatResponse,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from foldline.testing.summarizer import Script


Answer: TypeAlias = str | Message | ChatResponse | BaseException
"""What a model does: say a string or a message, give a whole response, or fail with an error."""

ModelStep: TypeAlias = Answer | Callable[[ChatRequest], Answer | Awaitable[Answer]]
"""One step of a script: an answer, or a function of the request that gives one, awaited or not."""

_CALL_ID = re.compile(r"call_(\d{1,9})")
_AFTER_SPACE = re.compile(r"(?<= )")
_PIECE = 16
_ESTIMATOR = TokenEstimator()


def calls(
    *wanted: tuple[str, Mapping[str, object] | str], text: str = "", first: int | None = None
) -> Message:
    """
    Make a message of the assistant that calls tools, as in `calls(("lookup", {"id": 1}))`.

    Args:
        wanted: The name of a tool and its arguments, for each call; a string of arguments is
            unchanged, so it may be invalid.
        text: What is said before the calls.
        first: The number of the first call: 7 makes the ids `call_7`, `call_8` and so on. None
            leaves them to the model, which gives numbers that the conversation does not have.

    Raises:
        ConfigError: A call is no pair of a name and arguments.
    """
    for place, one in enumerate(wanted):
        hint = "calls((name, arguments), …) takes one for each call"
        expect(f"wanted[{place}]", one, tuple | list, hint=hint)
    made = [
        ToolCallPart(
            id="" if first is None else f"call_{first + place}",
            name=name,
            arguments=given if isinstance(given, str) else encode_json(given).decode(),
        )
        for place, (name, given) in enumerate(wanted)
    ]
    return Message.assistant(text, tool_calls=made)


class ScriptedModel(Script[ModelStep]):
    """
    A `StreamingChatModel` that gives the answers of a script, and remembers what it was asked.

    As a context manager it fails at the end if it was asked too often or too seldom. One model may
    answer several conversations at once; the steps are taken in the order of the requests.
    """

    writes_summaries = False
    """Whether an agent asks it for summaries, then in the script too; False leaves them to the digest."""

    def __init__(
        self,
        steps: Iterable[ModelStep] = (),
        *,
        repeat: ModelStep | None = None,
        name: str = "scripted",
        usage: bool = False,
        delay: float | None = None,
    ) -> None:
        """
        Answer with *steps*, one after the other, then with *repeat* for ever.

        A call without an id gets the next of `call_1`, `call_2` ...: above every number that this
        model has given, and above every one in the request, so also where another model was
        asked before.

        Args:
            repeat: What to answer when the steps are used up; None makes that a surprise.
            usage: Whether a response that has no usage gets an estimated one.
            delay: How many seconds to wait before each answer and each piece of a stream; 0 only
                lets others run, None does not wait at all.
        """
        super().__init__(several("steps", steps), repeat, of="model")
        self.name = name
        """The identity of the model."""
        self._usage = usage
        self._delay = delay
        self._calls = 0
        self.requests: list[ChatRequest] = []
        """What was asked, in order."""

    @classmethod
    def from_messages(
        cls,
        messages: Iterable[Message],
        *,
        skip: int = 0,
        name: str = "scripted",
        usage: bool = True,
        delay: float | None = None,
    ) -> Self:
        """
        Make a model that says again what the assistant says in *messages*, whatever it is asked.

        Messages of the assistant that follow each other are one answer. After the last one a
        request fails with a `ModelError`.

        Args:
            messages: A recorded conversation; summaries in it are left out.
            skip: How many answers were given before, as by a process that has ended.
            usage: Whether an answer that was recorded without usage gets an estimated one.
            delay: How many seconds to wait before each answer and each piece of a stream.

        Raises:
            ConfigError: The assistant says nothing in *messages*.
        """
        answers = [_recorded(run) for run in _runs(messages)]
        if not answers:
            raise ConfigError("the recording has no message of the assistant: choose another one")
        ended = (
            f"the recording has ended: all of its {len(answers)} answers were given, "
            "so begin a new thread or choose a longer recording"
        )
        return cls(
            answers[skip:], repeat=lambda _: ModelError(ended), name=name, usage=usage, delay=delay
        )

    async def respond(self, request: ChatRequest) -> ChatResponse:
        """Return the next answer of the script, or raise it if it is an error."""
        self.requests.append(request)
        step = self._next()
        if self._delay is not None:
            await asyncio.sleep(self._delay)
        answer = step(request) if callable(step) else step
        if isawaitable(answer):
            answer = await answer
        return self._finished(self._response(answer), request)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        """Yield the next answer of the script in pieces, then as a whole."""
        response = await self.respond(request)
        for delta in _deltas(response):
            yield delta
            if self._delay is not None:
                await asyncio.sleep(self._delay)
        yield response

    def _response(self, answer: Answer) -> ChatResponse:
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, ChatResponse):
            return answer
        said = Message.assistant(answer) if isinstance(answer, str) else answer
        expect(
            f"a step of {self.name}", said, Message, hint="or a text, a ChatResponse or an error"
        )
        if said.role != "assistant":
            message = f"a step of {self.name} is a message of the {said.role}, not the assistant"
            raise ConfigError(message)
        return _response_of((said,))

    def _finished(self, response: ChatResponse, request: ChatRequest) -> ChatResponse:
        """Return *response* with ids for its calls and, where that is wanted, a usage."""
        messages = response.messages
        if any(not call.id for message in messages for call in message.tool_calls):
            self._calls = max(self._calls, _highest_number((*request.messages, *messages)))
            messages = tuple(map(self._numbered, messages))
        usage = response.usage
        if usage is None and self._usage:
            usage = _estimated(request, messages)
        model = response.model or self.name
        return structs.replace(response, messages=messages, usage=usage, model=model)

    def _numbered(self, message: Message) -> Message:
        if all(call.id for call in message.tool_calls):
            return message
        parts = tuple(map(self._with_id, message.parts))
        # The vendor's own item would still have no id.
        return structs.replace(message, parts=parts, native=None)

    def _with_id(self, part: Part) -> Part:
        if not isinstance(part, ToolCallPart) or part.id:
            return part
        self._calls += 1
        return structs.replace(part, id=f"call_{self._calls}")


def _runs(messages: Iterable[Message]) -> Iterator[tuple[Message, ...]]:
    said = (message for message in messages if not message.is_summary)
    for role, run in groupby(said, key=lambda message: message.role):
        if role == "assistant":
            yield tuple(run)


def _recorded(run: tuple[Message, ...]) -> ChatResponse:
    # What belongs to the recorded thread alone stays there: ids, times and the owner's values.
    said = [structs.replace(one, id=None, created_at=None, metadata=None) for one in run]
    usage = next((one.usage for one in reversed(run) if one.usage is not None), None)
    return structs.replace(_response_of(tuple(said)), usage=usage)


def _response_of(messages: tuple[Message, ...]) -> ChatResponse:
    has_calls = any(map(attrgetter("tool_calls"), messages))
    return ChatResponse(messages=messages, finish_reason="tool_call" if has_calls else "stop")


def _highest_number(messages: tuple[Message, ...]) -> int:
    ids = [one.id for said in messages for one in said.tool_calls]
    ids += [one.id for said in messages for one in said.tool_call_responses]
    return max((int(match[1]) for match in map(_CALL_ID.fullmatch, ids) if match), default=0)


def _estimated(request: ChatRequest, messages: Iterable[Message]) -> Usage:
    tools = encode_json(request.tools).decode() if request.tools else ""
    sent = sum(count_message(message, _ESTIMATOR) for message in request.messages)
    said = sum(count_message(message, _ESTIMATOR) for message in messages)
    return Usage(input_tokens=sent + _ESTIMATOR.count(tools), output_tokens=said)


def _deltas(response: ChatResponse) -> Iterator[ChatDelta]:
    index = 0
    for part in (part for message in response.messages for part in message.parts):
        match part:
            case TextPart():
                yield from map(TextDelta, _words(part.content))
            case ReasoningPart():
                yield from map(ReasoningDelta, _words(part.content))
            case ToolCallPart():
                yield ToolCallDelta(index=index, id=part.id, name=part.name)
                for at in range(0, len(part.arguments), _PIECE):
                    yield ToolCallDelta(index=index, arguments=part.arguments[at : at + _PIECE])
                index += 1
            case _:
                # What is left does not come in pieces.
                continue


def _words(text: str) -> Iterator[str]:
    return filter(None, _AFTER_SPACE.split(text))
