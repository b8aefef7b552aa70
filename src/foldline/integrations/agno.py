"""A model for the agents and teams of agno."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from copy import copy
from itertools import islice
from typing import Any, TypeVar

from agno.exceptions import ContextWindowExceededError, ModelProviderError
from agno.models.base import Model
from agno.models.message import Message
from agno.models.response import ModelResponse
from agno.utils.message import normalize_tool_messages

from foldline.agent.arguments import RequestOptions
from foldline.agent.log import log
from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.checks import expect
from foldline.guests import AnsweredReductions, GuestView
from foldline.guests.outputs import output_schemas
from foldline.guests.refusals import Refusals, is_too_long
from foldline.integrations.agno_messages import AgnoCodec


_Model = TypeVar("_Model", bound=Model)
# By these OpenAI's Responses and Gemini's Interactions continue from all that they have seen.
_CHAINED = frozenset({"response_id", "interaction_id"})
# Anthropic and Bedrock count apart what they read from a cache.
_COUNT_APART = frozenset({"Claude", "AwsBedrock"})
_SLID = (
    "agno leaves out the oldest runs of a session, which are then in no summary: "
    "set num_history_runs, which is 3 by default, to 100_000"
)
# So many sessions are told apart in one process.
_MOST_SECONDS = 1_000


def folding_model(model: _Model, reducer: HistoryReducer) -> _Model:
    """
    Return a copy of *model* that is shown the view at each call; agent and session keep all messages.

    The reduction is in the `provider_data` of the answer that was asked for with it, which the
    session stores, so that it comes back wherever the messages do.

    Args:
        model: A model of agno's, of any vendor. It stays as it is.
        reducer: What reduces; one may serve several models.

    Raises:
        ConfigError: *model* is no model, or *reducer* no reducer.
    """
    expect("model", model, Model)
    made = copy(model)
    if not isinstance(made, _Folding):
        kind = type(model)
        made.__class__ = type(kind.__name__, (_Folding, kind), {"__module__": kind.__module__})
    vars(made)["_foldline"] = _View(reducer)
    return made


class _View(GuestView[Message]):
    """A view that the vendor reads whole, and that is shared by the copies which agno makes."""

    def __init__(self, reducer: HistoryReducer) -> None:
        super().__init__(reducer, AgnoCodec())
        self._seconds: dict[str, None] = {}
        self._has_warned = False

    def notice(self, given: list[Message]) -> None:
        """Warn once if *given* begins with what came second before, as it does without all runs."""
        first, second, *_ = [*islice((one.id for one in given if one.role == "user"), 2), "", ""]
        if first in self._seconds and not self._has_warned:
            self._has_warned = True
            log().warning(_SLID)
        if second:
            self._seconds[second] = None
        if len(self._seconds) > _MOST_SECONDS:
            self._seconds.pop(next(iter(self._seconds)), None)

    def arranged(self, view: list[Message], given: list[Message], /) -> list[Message]:
        """Return *view* without the ids by which a vendor would go on from all that it has seen."""
        return view if view is given else list(map(_unchained, view))

    def __deepcopy__(self, _: dict[int, object]) -> "_View":
        return self


def _unchained(message: Message) -> Message:
    held = message.provider_data or {}
    if _CHAINED.isdisjoint(held):
        return message
    rest = {key: value for key, value in held.items() if key not in _CHAINED}
    return message.model_copy(update={"provider_data": rest})


class _Shown(list[Message]):
    """A view: a model that answers one call through another of its own is shown it once."""


class _Request:
    """One request of a model: what is known of it, and what its answer will keep."""

    def __init__(self, model: "_Folding", messages: list[Message], asked: dict[str, Any]) -> None:
        self._view: _View = vars(model)["_foldline"]
        self._messages, self.refusals = messages, Refusals(_is_too_long)
        self.refusals.is_over = isinstance(messages, _Shown)
        answers = [one for one in messages if one.role == model.assistant_message_role]
        self._kept = AnsweredReductions([one.provider_data for one in answers])
        self._made: dict[str, str] = {}
        self._facts: RequestOptions = {
            "state": self._kept.state,
            "usage": _usage(model, answers),
            "tools": [*(asked.get("tools") or ()), *output_schemas(asked.get("response_format"))],
        }

    def view(self) -> list[Message]:
        if isinstance(self._messages, _Shown):
            return self._messages
        return self._shown(self._view.reduce_sync(self._whole(), **self.refusals.over(self._facts)))

    async def aview(self) -> list[Message]:
        if isinstance(self._messages, _Shown):
            return self._messages
        return self._shown(
            await self._view.reduce(self._whole(), **self.refusals.over(self._facts))
        )

    def _whole(self) -> list[Message]:
        self._view.notice(self._messages)
        # Old sessions with Gemini have all results of an answer in one message.
        return normalize_tool_messages(self._messages)

    def _shown(self, reduced: ReducedHistory[Message]) -> list[Message]:
        self._made = self._kept.new(reduced.state)
        return _Shown(self.refusals.shown(reduced))

    def kept(self, response: ModelResponse) -> ModelResponse:
        """Return *response* with a new reduction."""
        if self._made:
            response.provider_data = {**(response.provider_data or {}), **self._made}
        return response


def _is_too_long(error: Exception) -> bool:
    # The words of Bedrock, xAI and llama.cpp are none of those that agno knows.
    return is_too_long(error) or (
        isinstance(error, ModelProviderError)
        and isinstance(ModelProviderError.classify(error), ContextWindowExceededError)
    )


def _usage(model: Model, answers: Sequence[Message]) -> int | None:
    """Return the tokens of the request that the newest answer reports, if it does."""
    if not answers:
        return None
    counts = answers[-1].metrics
    is_apart = not _COUNT_APART.isdisjoint(kind.__name__ for kind in type(model).__mro__)
    cached = counts.cache_read_tokens + counts.cache_write_tokens if is_apart else 0
    return counts.input_tokens + cached or None


class _Folding(Model):
    """What a model of agno's does before its vendor is asked."""

    def invoke(self, messages: list[Message], **asked: Any) -> ModelResponse:
        request = _Request(self, messages, asked)
        while True:
            view = request.view()
            with request.refusals.asking():
                return request.kept(super().invoke(messages=view, **asked))

    async def ainvoke(self, messages: list[Message], **asked: Any) -> ModelResponse:
        request = _Request(self, messages, asked)
        while True:
            view = await request.aview()
            with request.refusals.asking():
                return request.kept(await super().ainvoke(messages=view, **asked))

    def invoke_stream(self, messages: list[Message], **asked: Any) -> Iterator[ModelResponse]:
        request = _Request(self, messages, asked)
        while True:
            view = request.view()
            with request.refusals.asking():
                for one in super().invoke_stream(messages=view, **asked):
                    request.refusals.is_over = True
                    yield one
                yield request.kept(ModelResponse())
                return

    async def ainvoke_stream(
        self, messages: list[Message], **asked: Any
    ) -> AsyncIterator[ModelResponse]:
        request = _Request(self, messages, asked)
        stream = super().ainvoke_stream

        async def ask() -> AsyncIterator[ModelResponse]:
            return stream(messages=await request.aview(), **asked)

        async with aclosing(request.refusals.stream(ask)) as pieces:
            async for one in pieces:
                yield one
        yield request.kept(ModelResponse())
