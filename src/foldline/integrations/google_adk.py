"""A plugin for Google's Agent Development Kit."""

from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from foldline.agent.reducer import HistoryReducer
from foldline.guests import REDUCTION_KEY, kept_reduction, new_reduction
from foldline.guests.outputs import output_schemas
from foldline.guests.refusals import Refusals, is_too_long
from foldline.integrations.google_adk_messages import GoogleADKCodec
from foldline.integrations.google_genai import GeminiView


class _View(list[types.Content]):
    """What is sent of *contents*: the framework hands it back if it is refused."""

    def __init__(self, view: list[types.Content], contents: Any, refusals: Refusals) -> None:
        super().__init__(view)
        self.contents, self.refusals = contents, refusals


class FoldlinePlugin(BasePlugin):
    """
    Shows the models of a runner the view of each session; its events stay.

    The reduction is in the state of the session, one for each agent of it.
    """

    def __init__(self, reducer: HistoryReducer, *, name: str = "foldline") -> None:
        """Reduce with *reducer*; one may serve several runners."""
        super().__init__(name)
        self._view = GeminiView(reducer, GoogleADKCodec())

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put the view into the request, which is of this call alone."""
        await self._show(callback_context, llm_request, llm_request.contents, Refusals())
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """
        Ask again after a fold, while the view is refused as too long; of another error nothing comes.

        The answer comes in one piece, also where the others are streams.
        """
        agent: Any = callback_context.get_invocation_context().agent
        answer: LlmResponse | None = None
        while isinstance(view := llm_request.contents, _View) and view.refusals.answers(error):
            await self._show(callback_context, llm_request, view.contents, view.refusals)
            try:
                async for one in agent.canonical_model.generate_content_async(llm_request):
                    answer = one
            except Exception as refused:
                if not is_too_long(refused):
                    raise
                error = refused
            else:
                break
        return answer

    async def _show(
        self, context: CallbackContext, request: LlmRequest, contents: Any, refusals: Refusals
    ) -> None:
        """Put the view of *contents* into *request*, a smaller one after *refusals*."""
        key = f"{REDUCTION_KEY}:{context.agent_name}"
        held: Any = context.state
        config = request.config
        rules: Any = config.system_instruction
        tools: Any = config.tools or []
        reduced = await self._view.reduce(
            contents,
            state=kept_reduction(held, key),
            overrides=refusals.overrides,
            instructions=rules if isinstance(rules, str) else "",
            tools=[
                *(
                    one.model_dump(exclude_none=True)
                    for one in tools
                    if isinstance(one, types.Tool)
                ),
                *output_schemas(config.response_schema or config.response_json_schema),
            ],
        )
        held.update(new_reduction(held, reduced.state, key))
        view: Any = refusals.shown(reduced)
        request.contents = _View(view, contents, refusals)
