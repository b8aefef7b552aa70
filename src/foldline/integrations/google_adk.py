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
from foldline.integrations.google_adk_messages import GoogleADKCodec
from foldline.integrations.google_genai import GeminiView


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
        key = f"{REDUCTION_KEY}:{callback_context.agent_name}"
        held: Any = callback_context.state
        config = llm_request.config
        rules: Any = config.system_instruction
        tools: Any = config.tools or []
        contents: Any = llm_request.contents
        reduced = await self._view.reduce(
            contents,
            state=kept_reduction(held, key),
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
        view: Any = reduced.messages
        llm_request.contents = view
        return None
