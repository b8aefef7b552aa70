"""A plugin for Google's Agent Development Kit."""

from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from foldline.agent.reducer import HistoryReducer
from foldline.guests import REDUCTION_KEY, GuestView, kept_reduction, new_reduction
from foldline.integrations.google_adk_messages import GoogleADKCodec, alternating


__all__ = ["FoldlinePlugin"]


class FoldlinePlugin(BasePlugin):
    """
    Shows the models of a runner the view of each session; its events stay.

    The reduction is in the state of the session, one for each agent of it.
    """

    def __init__(self, reducer: HistoryReducer, *, name: str = "foldline") -> None:
        """Reduce with *reducer*; one may serve several runners."""
        super().__init__(name)
        self._view: GuestView[types.Content] = GuestView(reducer, GoogleADKCodec())

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put the view into the request, which is of this call alone."""
        key = f"{REDUCTION_KEY}:{callback_context.agent_name}"
        held: Any = callback_context.state
        config = llm_request.config
        rules: Any = config.system_instruction
        tools: Any = config.tools or []
        reduced = await self._view.reduce(
            llm_request.contents,
            state=kept_reduction(held, key),
            instructions=rules if isinstance(rules, str) else "",
            tools=[
                one.model_dump(exclude_none=True) for one in tools if isinstance(one, types.Tool)
            ],
        )
        held.update(new_reduction(held, reduced.state, key))
        llm_request.contents = alternating(reduced.messages)
        return None
