"""A memory and a wrapper of the model for LlamaIndex."""

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.tools import BaseTool
from pydantic import PrivateAttr

from foldline.agent.reduced import ReducedHistory
from foldline.agent.reducer import HistoryReducer
from foldline.conversation.conversation import call_sync
from foldline.guests import GuestView, reduced_in
from foldline.guests.refusals import Refusals
from foldline.integrations.llama_index_memory import FoldlineMemory
from foldline.integrations.llama_index_messages import LlamaIndexCodec


__all__ = ["FoldlineLLM", "FoldlineMemory"]

_SCHEMAS = "foldline_schemas"
"""The schemas of the tools among the options of a call, which its vendor does not get."""


class FoldlineLLM(FunctionCallingLLM):
    """Another model that is shown the view at each call, also inside the loop of an agent."""

    _llm: FunctionCallingLLM = PrivateAttr()
    _memory: FoldlineMemory | None = PrivateAttr()
    _view: GuestView[ChatMessage] = PrivateAttr()

    def __init__(
        self,
        llm: FunctionCallingLLM,
        reducer: HistoryReducer,
        *,
        memory: FoldlineMemory | None = None,
    ) -> None:
        """Ask *llm*; the reduction is kept in the thread of *memory*, or in the reducer's cache."""
        super().__init__(
            callback_manager=llm.callback_manager,
            system_prompt=llm.system_prompt,
            pydantic_program_mode=llm.pydantic_program_mode,
        )
        self._llm, self._memory = llm, memory
        self._view = GuestView(reducer, LlamaIndexCodec())

    @property
    def metadata(self) -> LLMMetadata:
        """What the model can do."""
        return self._llm.metadata

    async def _shown(
        self, messages: Sequence[ChatMessage], tools: Sequence[object], refusals: Refusals
    ) -> list[ChatMessage]:
        """Return the view of *messages*, a smaller one after *refusals*."""
        thread = None if self._memory is None else await self._memory.thread()
        reduced: ReducedHistory[ChatMessage] = await reduced_in(
            thread,
            lambda state: self._view.reduce(
                messages, state=state, tools=tools, overrides=refusals.overrides
            ),
        )
        return refusals.shown(reduced)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        """Ask with the view; while it is refused as too long, again after a fold."""
        tools, refusals = kwargs.pop(_SCHEMAS, ()), Refusals()
        while True:
            view = call_sync(self._shown, messages, tools, refusals)
            with refusals.asking():
                return self._llm.chat(view, **kwargs)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        """Ask as `chat` does."""
        tools, refusals = kwargs.pop(_SCHEMAS, ()), Refusals()
        while True:
            view = await self._shown(messages, tools, refusals)
            with refusals.asking():
                return await self._llm.achat(view, **kwargs)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        """Ask as `chat` does, before the first piece."""
        tools, refusals = kwargs.pop(_SCHEMAS, ()), Refusals()
        while True:
            view = call_sync(self._shown, messages, tools, refusals)
            with refusals.asking():
                for one in self._llm.stream_chat(view, **kwargs):
                    refusals.is_over = True
                    yield one
                return

    async def astream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        """Ask as `chat` does, before the first piece."""
        tools, refusals = kwargs.pop(_SCHEMAS, ()), Refusals()

        async def ask() -> Any:
            """Return the stream of one attempt."""
            view = await self._shown(messages, tools, refusals)
            return await self._llm.astream_chat(view, **kwargs)

        return refusals.stream(ask)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Ask as it is: a prompt is no conversation."""
        return self._llm.complete(prompt, formatted, **kwargs)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Ask as it is."""
        return await self._llm.acomplete(prompt, formatted, **kwargs)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Ask as it is."""
        return self._llm.stream_complete(prompt, formatted, **kwargs)

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        """Ask as it is."""
        return await self._llm.astream_complete(prompt, formatted, **kwargs)

    # LlamaIndex looks whether a model has the parameter `tool_required` before it passes it.
    def _prepare_chat_with_tools(
        self, tools: Sequence[BaseTool], *args: Any, tool_required: bool = False, **kwargs: Any
    ) -> dict[str, Any]:
        prepare = self._llm._prepare_chat_with_tools_compat  # noqa: SLF001 - one model as another
        made = prepare(tools, *args, tool_required=tool_required, **kwargs)
        # In this form they are the same for every vendor.
        schemas = [one.metadata.to_openai_tool(skip_length_check=True) for one in tools]
        return {**made, _SCHEMAS: schemas}

    def _validate_chat_with_tools_response(self, *args: Any, **kwargs: Any) -> Any:
        return self._llm._validate_chat_with_tools_response(*args, **kwargs)  # noqa: SLF001 - the same

    def get_tool_calls_from_response(self, *args: Any, **kwargs: Any) -> Any:
        """Return the calls of an answer, as the model says them."""
        return self._llm.get_tool_calls_from_response(*args, **kwargs)
