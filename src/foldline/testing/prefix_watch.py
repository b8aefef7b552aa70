"""
A pytest fixture that fails a test whose requests break a vendor's prompt cache without a reason.

With `pytest_plugins = ["foldline.testing.prefix_watch"]` in the `conftest.py` at the root, a test
that takes `prefix_watch` and passes it every request fails if one of them does not begin with the
one before, unless a fold or another cause was announced in between.
"""

from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import cast

import pytest

from foldline.agent.events import RequestSentEvent
from foldline.agent.telemetry import Observation
from foldline.checks import expect
from foldline.history.codec import canonical_json
from foldline.history.messages import Message
from foldline.history.meter import PrefixMeter, PrefixReading
from foldline.history.tokens import TokenEstimator, count_message
from foldline.providers.model import (
    ChatDelta,
    ChatModel,
    ChatRequest,
    ChatResponse,
    StreamingChatModel,
    window_of,
)
from foldline.reduction.event import HistoryReductionEvent


# The fields of a vendor's request that come before its messages, whatever their order in it.
_FRONT = ("model", "tools", "tool_choice", "system", "instructions")
_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
_ESTIMATOR = TokenEstimator()
# Other instructions are known to the agent, but a clock in them is what this is to find.
_ODD = frozenset({"unexplained", "instructions"})
# The thread of the turn in which a wrapped model is asked.
_THREAD: ContextVar[str] = ContextVar("foldline_watched_thread", default="")


class PrefixWatch:
    """
    Compares each request with the one before it, and remembers what was sent again unexplained.

    It is also an `Observer`: `Agent(…, telemetry=prefix_watch)` reports every request and every
    cause by itself.
    """

    def __init__(self) -> None:
        self._meters: dict[str, PrefixMeter] = {}
        self._causes: dict[str, str] = {}
        self._requests = 0
        self.problems: list[str] = []
        """One line for each request that sent something again unexplained."""

    def read(
        self,
        request: "ChatRequest | Mapping[str, object] | Sequence[Message | Mapping[str, object]]",
        *,
        tools: object = (),
        conversation: str = "",
    ) -> PrefixReading:
        """
        Return what *request* has in common with the one before it, in estimated tokens.

        Args:
            request: The messages, foldline's or a vendor's; or the whole request, as a
                `ChatRequest` or the arguments for OpenAI or Anthropic. Cache breakpoints in it do
                not matter.
            tools: The tools, if *request* has only the messages.
            conversation: Which of several conversations it belongs to.
        """
        front, messages = _split(request)
        if tools:
            front = [("tools", tools), *front]
        view = [_text("system", {name: value}) for name, value in front]
        view += [one if isinstance(one, Message) else _text("user", one) for one in messages]
        meter = self._meters.setdefault(
            conversation, PrefixMeter(lambda one: count_message(one, _ESTIMATOR), marks=False)
        )
        reading = meter.read(view)
        cause = self._causes.pop(conversation, None) or self._causes.pop("", None)
        self._count(reading.resent if cause is None else 0, reading.tokens)
        return reading

    def explain(self, cause: str, *, conversation: str = "") -> None:
        """
        Announce that the next request breaks the prefix, for *cause*, such as a fold.

        It is the next request of *conversation*; if that is empty, the next one of any.
        """
        expect("cause", cause, str)
        expect("conversation", conversation, str)
        self._causes[conversation] = cause

    def hear(self, event: object, *, conversation: str = "") -> None:
        """
        Take an event of foldline: a fold explains the next request of *conversation*, or of any.

        A `RequestSentEvent` is a request of its own, with the cause that the agent has found.
        """
        if isinstance(event, HistoryReductionEvent):
            if event.status == "performed":
                self._causes[conversation] = event.reason.name
        elif isinstance(event, RequestSentEvent):
            announced = self._causes.pop(conversation, None) or self._causes.pop("", None)
            is_odd = event.resent_because in _ODD and announced is None
            if event.resent_because is not None and not is_odd:
                self._causes[conversation] = event.resent_because
            self._count(event.resent_tokens if is_odd else 0, event.tokens)

    def _count(self, resent: int, tokens: int) -> None:
        self._requests += 1
        if resent:
            self.problems.append(
                f"request {self._requests} sent {resent:,} of {tokens:,} tokens again, "
                "and no fold or other cause was announced before it"
            )

    def wrap(self, model: ChatModel) -> ChatModel:
        """Return *model*, with every request to it read here first."""
        streams = isinstance(model, StreamingChatModel)
        return _StreamingModel(model, self) if streams else _WatchedModel(model, self)

    @contextmanager
    def turn(
        self, *, thread_id: str = "", **_: object
    ) -> Generator[Callable[[object], None], None, None]:
        """Observe a turn, whose thread is a conversation of its own; see `Observer`."""
        outer = _THREAD.set(thread_id)
        try:
            yield partial(self.hear, conversation=thread_id)
        finally:
            _THREAD.reset(outer)

    def model_call(self, *_: object, **__: object) -> Observation[object]:
        """Observe nothing, since the turn reports it; see `Observer`."""
        return nullcontext(lambda _: None)

    tool = fold = model_call
    """Observe nothing of a tool or a fold; see `Observer`."""


class _WatchedModel:
    def __init__(self, model: ChatModel, watch: PrefixWatch) -> None:
        self._model, self._watch = model, watch

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def context_window(self) -> int | None:
        return window_of(self._model)

    async def respond(self, request: ChatRequest) -> ChatResponse:
        self._watch.read(request, conversation=_THREAD.get())
        return await self._model.respond(request)


class _StreamingModel(_WatchedModel):
    def stream(self, request: ChatRequest) -> AsyncGenerator[ChatDelta | ChatResponse, None]:
        self._watch.read(request, conversation=_THREAD.get())
        return cast("StreamingChatModel", self._model).stream(request)


def _split(
    request: "ChatRequest | Mapping[str, object] | Sequence[Message | Mapping[str, object]]",
) -> tuple[list[tuple[str, object]], Sequence[object]]:
    """Return what *request* has before its messages, by name, and the messages."""
    if isinstance(request, ChatRequest):
        tools = [(one.name, one.description, one.parameters) for one in request.tools]
        return ([("tools", tools)] if tools else []), request.messages
    if not isinstance(request, Mapping):
        return [], request
    front = [(name, request[name]) for name in _FRONT if request.get(name)]
    messages = request.get("messages") or request.get("input") or ()
    return front, [messages] if isinstance(messages, str) else cast("Sequence[object]", messages)


def _text(role: str, item: object) -> Message:
    """Return a message that says *item*, as a vendor's cache sees it."""
    written = canonical_json(_without_breakpoints(item)).decode("utf-8", "replace")
    return Message.system(written) if role == "system" else Message.user(written)


def _without_breakpoints(value: object) -> object:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {
            name: _without_breakpoints(one) for name, one in fields.items() if name not in _MARKS
        }
    if not isinstance(value, list | tuple):
        return value
    items = [_without_breakpoints(one) for one in cast("Sequence[object]", value)]
    # A str gets a breakpoint as one block of text.
    if len(items) == 1 and isinstance(items[0], Mapping):
        block = cast("Mapping[str, object]", items[0])
        return block["text"] if set(block) == {"type", "text"} else items
    return items


@pytest.fixture
def prefix_watch() -> PrefixWatch:
    """Return what the requests of a test are passed to; the test fails if it has found problems."""
    return PrefixWatch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test in *item* with one line if the watch that it took has found problems."""
    outcome = yield
    watch: object = getattr(item, "funcargs", {}).get("prefix_watch")
    if isinstance(watch, PrefixWatch) and watch.problems:
        pytest.fail(watch.problems[0], pytrace=False)
    return outcome
