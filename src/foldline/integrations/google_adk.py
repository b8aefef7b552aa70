"""A plugin for Google's Agent Development Kit."""

from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from foldline.agent.reducer import HistoryReducer
from foldline.guests import GuestView
from foldline.integrations.google_adk_messages import GoogleADKCodec, alternating
from foldline.reduction.state import HistoryReductionState


__all__ = ["FoldlinePlugin"]


_STATE = "foldline_reduction"


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
        key = f"{_STATE}:{callback_context.agent_name}"
        stored: Any = callback_context.state.get(key)
        config = llm_request.config
        rules: Any = config.system_instruction
        tools: Any = config.tools or []
        reduced = await self._view.reduce(
            llm_request.contents,
            state=None if stored is None else HistoryReductionState.from_json(stored),
            instructions=rules if isinstance(rules, str) else "",
            tools=[
                one.model_dump(exclude_none=True) for one in tools if isinstance(one, types.Tool)
            ],
        )
        text = None if reduced.state is None else reduced.state.to_json().decode()
        if text not in {None, stored}:
            callback_context.state[key] = text
        llm_request.contents = alternating(reduced.messages)
        return None
