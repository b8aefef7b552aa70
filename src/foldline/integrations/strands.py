"""A conversation manager for Strands Agents."""

from typing import Any

from strands import Agent
from strands.agent.conversation_manager import ConversationManager
from strands.hooks import AgentInitializedEvent, HookRegistry
from strands.middleware import InvokeModelContext, InvokeModelStage

from foldline.agent.reducer import HistoryReducer
from foldline.guests import kept_reduction, new_reduction
from foldline.guests.refusals import Refusals
from foldline.integrations.bedrock import ConverseView
from foldline.integrations.strands_messages import StrandsCodec
from foldline.reduction.state import HistoryReductionState


class FoldlineConversationManager(ConversationManager):
    """
    Shows the model of one agent the view at each call; `agent.messages` keeps all messages.

    The reduction is in the state of the manager, which a session manager of the agent stores.
    """

    def __init__(self, reducer: HistoryReducer) -> None:
        """Reduce with *reducer*, which several managers may share."""
        super().__init__()
        self._view = ConverseView(reducer, StrandsCodec())
        self._state: HistoryReductionState | None = None
        self._refusals = Refusals()

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Join the agent: its middleware gets a copy of the messages before each call."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join)

    def _join(self, event: AgentInitializedEvent) -> None:
        event.agent.add_middleware(InvokeModelStage.Input, self._reduced)

    async def _reduced(self, context: InvokeModelContext) -> InvokeModelContext:
        given, prompt = context.system_prompt, ""
        if given is not None:
            blocks: Any = [{"text": given}] if isinstance(given, str) else given
            prompt = "\n".join(block.get("text", "") for block in blocks)
        messages: Any = context.messages
        again, self._refusals.overrides = self._refusals.overrides, None
        if again is None:
            self._refusals.begin()
        reduced = await self._view.reduce(
            messages,
            state=self._state,
            overrides=again,
            instructions=prompt,
            tools=[dict(one) for one in context.tool_specs],
        )
        self._state = reduced.state
        view: Any = self._refusals.shown(reduced)
        return context.replace(messages=view)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Change nothing: what the model is shown is decided at each call."""
        self._refusals.overrides = None

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:
        """Fold before the next call, whatever the counts; raise *e* if that was not enough."""
        if e is None:
            self._refusals.begin()
        if not self._refusals.fold() and e is not None:
            raise e

    def get_state(self) -> dict[str, Any]:
        """Return what a session stores."""
        state = super().get_state()
        return {**state, **new_reduction(state, self._state)}

    def restore_from_session(self, state: dict[str, Any]) -> None:
        """Go on with what a session has stored."""
        super().restore_from_session(state)
        self._state = kept_reduction(state)
