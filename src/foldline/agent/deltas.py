"""The output of a model as events, while it arrives."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from foldline.agent.events import (
    AgentEvent,
    ReasoningDeltaEvent,
    ReasoningEndEvent,
    ReasoningStartEvent,
    TextDeltaEvent,
    TextEndEvent,
    TextStartEvent,
    ToolCallArgumentsEvent,
    ToolCallStartEvent,
)
from foldline.history.parts import ReasoningPart, TextPart, ToolCallPart
from foldline.providers.model import (
    ChatDelta,
    ChatResponse,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)


__all__ = ["Deltas"]


_Block: TypeAlias = (
    tuple[type[TextStartEvent], type[TextDeltaEvent], type[TextEndEvent]]
    | tuple[type[ReasoningStartEvent], type[ReasoningDeltaEvent], type[ReasoningEndEvent]]
)

_BLOCKS: Mapping[type[ChatDelta], _Block] = MappingProxyType(
    {
        TextDelta: (TextStartEvent, TextDeltaEvent, TextEndEvent),
        ReasoningDelta: (ReasoningStartEvent, ReasoningDeltaEvent, ReasoningEndEvent),
    }
)


class Deltas:
    """Turns the pieces of one response into events that start, continue and end."""

    def __init__(self, iteration: int, emit: Callable[[AgentEvent], None]) -> None:
        self._iteration = iteration
        self._emit = emit
        self._open: _Block | None = None
        self._calls: set[int] = set()
        self.has_begun = False
        """Whether any piece has arrived."""

    def add(self, piece: ChatDelta) -> None:
        """Emit the events of *piece*."""
        self.has_begun = True
        if isinstance(piece, ToolCallDelta):
            self.close()
            self._call(piece)
        elif piece.text:
            block = _BLOCKS[type(piece)]
            if block is not self._open:
                self.close()
                self._emit(block[0](iteration=self._iteration))
                self._open = block
            self._emit(block[1](iteration=self._iteration, text=piece.text))

    def _call(self, piece: ToolCallDelta) -> None:
        iteration, index = self._iteration, piece.index
        if index not in self._calls:
            self._calls.add(index)
            self._emit(ToolCallStartEvent(iteration=iteration, index=index, name=piece.name))
        if piece.arguments:
            event = ToolCallArgumentsEvent(iteration=iteration, index=index, delta=piece.arguments)
            self._emit(event)

    def close(self) -> None:
        """Emit the end of the open block, if there is one."""
        if self._open is not None:
            self._emit(self._open[2](iteration=self._iteration))
        self._open = None

    def add_all(self, response: ChatResponse) -> None:
        """Emit the events of a response that arrived as a whole."""
        calls = 0
        for message in response.messages:
            for part in message.parts:
                if isinstance(part, TextPart):
                    self.add(TextDelta(part.content))
                elif isinstance(part, ReasoningPart):
                    self.add(ReasoningDelta(part.content))
                elif isinstance(part, ToolCallPart):
                    piece = ToolCallDelta(
                        index=calls, id=part.id, name=part.name, arguments=part.arguments
                    )
                    self.add(piece)
                    calls += 1
