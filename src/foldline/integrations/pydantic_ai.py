"""A capability for the agents of Pydantic AI."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import RunContext, exceptions
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext

from foldline.agent.arguments import RequestOptions
from foldline.agent.reducer import HistoryReducer
from foldline.guests import AnsweredReductions, GuestView
from foldline.guests.refusals import Refusals
from foldline.integrations.pydantic_ai_messages import PydanticAICodec
from foldline.providers.book import window_of_model


# What asks for another attempt; a release without it raises every refusal.
_RetryRequest: Any = getattr(exceptions, "RetryModelRequest", None)
_HAS_ATTEMPTS = hasattr(AbstractCapability, "prepare_model_request")
"""Not before 2.64; `pydantic-ai-harness` 0.62 wants 2.62."""


@dataclass
class FoldlineCapability(AbstractCapability[Any]):
    """
    Shows the model the view of each run's messages; the history of the run keeps all of them.

    The reduction is in the metadata of the answer that was asked for with it, or of the request if the
    answer is streamed; both are stored with the history and never sent, so that it comes back wherever
    the history does.
    """

    reducer: HistoryReducer
    """What reduces; one may serve several agents."""

    def __post_init__(self) -> None:
        """Prepare to remember what is read, over all runs."""
        self._view: GuestView[ModelMessage] = GuestView(self.reducer, PydanticAICodec())
        self._made: dict[str, str] = {}
        self._refusals = Refusals()

    async def for_run(self, ctx: RunContext[Any]) -> "FoldlineCapability":
        """Return what keeps the reduction of one run until it is answered."""
        return copy(self)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Do what `prepare_model_request` does where there is no such hook."""
        if _HAS_ATTEMPTS:
            return request_context
        return await self.prepare_model_request(ctx, request_context)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return the request with the view, for this attempt alone."""
        messages = request_context.messages
        answers = [one for one in messages if isinstance(one, ModelResponse)]
        # What the newest request keeps is of an attempt before this one.
        kept = AnsweredReductions([one.metadata for one in messages[:-1]])
        asked = [one.instructions for one in messages if isinstance(one, ModelRequest)]
        parameters = request_context.model_request_parameters
        output = parameters.output_object
        if getattr(request_context, "attempt", 1) == 1:
            self._refusals = Refusals()
        facts: RequestOptions = {
            "state": kept.state,
            "usage": (answers[-1].usage.input_tokens or None) if answers else None,
            "instructions": asked[-1] if asked else None,
            "tools": [
                {
                    "name": one.name,
                    "description": one.description,
                    "schema": one.parameters_json_schema,
                }
                for one in (*parameters.function_tools, *parameters.output_tools)
            ]
            + ([] if output is None or parameters.output_tools else [output.json_schema]),
        }
        window, again = _window(request_context.model), self._refusals.over(facts)
        reduced = await self._view.reduce(messages, window=window, **again)
        self._made = kept.new(reduced.state)
        if self._made and getattr(request_context, "streaming", False):
            # `run_stream` keeps the answer as it came, without what is added to it afterwards.
            messages[-1].metadata = {**(messages[-1].metadata or {}), **self._made}
            self._made = {}
        return replace(request_context, messages=self._refusals.shown(reduced))

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Return the answer with a new reduction in its metadata."""
        metadata = {**(response.metadata or {}), **self._made}
        return replace(response, metadata=metadata) if self._made else response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Have the model asked again with a smaller view if it has refused this one as too long."""
        if _RetryRequest is not None and self._refusals.answers(error):
            raise _RetryRequest
        raise error


def _window(model: Model) -> int | None:
    # A profile is filled in from genai-prices, by which a Claude of 200,000 tokens has 1,000,000.
    told = getattr(model, "context_window", None), window_of_model(model.model_id)
    return min(filter(None, told), default=None)
